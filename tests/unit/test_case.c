/* A case's two forms of a model, each made once; shares; cases of one model; reading and writing folders. */
#include "case/test_case.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/build.h"
#include "same_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct model *make_model(void)
{
    struct model *model = model_new(17);
    const char *x = "x", *y = "y";
    struct shape shape = {1, {2}};
    model_add_input(model, x, DTYPE_FLOAT, &shape);
    model_add_node(model, "Abs", NULL, 1, &x, 1, &y);
    model_add_output(model, y, DTYPE_FLOAT, &shape);
    return model;
}

static struct value make_input(const char *name, float value)
{
    struct shape shape = {1, {2}};
    struct tensor tensor;
    struct value input;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    tensor_set(&tensor, 0, value);
    tensor_set(&tensor, 1, -value);
    value_init(&input);
    value_set_name(&input, name);
    value_set_tensor(&input, &tensor);
    return input;
}

static void bytes_are_made_once_from_the_model(void **state)
{
    (void)state;
    struct model *model = make_model();
    struct test_case *test = test_case_new(model);
    const uint8_t *bytes, *again;
    size_t size, same;
    assert_ptr_equal(test_case_model(test, NULL), model);
    assert_int_equal(test_case_bytes(test, &bytes, &size, NULL), 0);
    assert_int_equal(test_case_bytes(test, &again, &same, NULL), 0);
    assert_ptr_equal(bytes, again);
    assert_int_equal(size, same);
    assert_ptr_equal(test_case_model(test, NULL), model);
    test_case_free(test);
}

static void the_model_is_made_once_from_bytes(void **state)
{
    (void)state;
    struct model *model = make_model();
    uint8_t *packed;
    const uint8_t *bytes;
    size_t size, same;
    assert_int_equal(model_pack(model, &packed, &size, NULL), 0);
    model_free(model);
    struct test_case *test = test_case_from_bytes(packed, size);
    const struct model *parsed = test_case_model(test, NULL);
    assert_non_null(parsed);
    assert_string_equal(parsed->graph->node[0]->op_type, "Abs");
    assert_ptr_equal(test_case_model(test, NULL), parsed);
    assert_int_equal(test_case_bytes(test, &bytes, &same, NULL), 0);
    assert_ptr_equal(bytes, packed);
    assert_int_equal(size, same);
    test_case_free(test);
}

static void bytes_that_are_no_model(void **state)
{
    (void)state;
    struct error err = {0};
    struct test_case *test = test_case_from_bytes(memset(memory_zeroed(64, 1), 0xa5, 64), 64);
    assert_null(test_case_model(test, &err));
    assert_true(err.message[0]);
    assert_null(test_case_model(test, NULL));
    test_case_free(test);
}

static void the_bytes_of_a_file_are_the_files_own(void **state)
{
    (void)state;
    char path[] = "/tmp/test-case-XXXXXX";
    struct model *model = make_model(), *loaded;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(model_save(model, USERS_PATH, path, NULL), 0);
    assert_int_equal(model_load(&loaded, path, NULL), 0);
    struct test_case *test = test_case_new(loaded), *built = test_case_new(model);
    size_t size, own;
    const uint8_t *bytes, *mapped = model_own_bytes(loaded, &own);
    assert_int_equal(test_case_bytes(test, &bytes, &size, NULL), 0);
    assert_ptr_equal(bytes, mapped);
    assert_int_equal(size, own);
    assert_true(same_bytes(test, built));
    test_case_free(test);
    test_case_free(built);
    unlink(path);
}

static void the_last_share_frees(void **state)
{
    (void)state;
    struct value input = make_input("x", 3);
    struct test_case *test = test_case_new(make_model());
    assert_int_equal(test_case_add_inputs(test, &input, 1, NULL), 0);
    value_release(&input);
    test_case_set_recipe(test, "seed 1 index 2");
    struct test_case *share = test_case_share(test);
    assert_ptr_equal(share, test);
    test_case_free(test);
    assert_string_equal(share->recipe, "seed 1 index 2");
    assert_string_equal(share->note, "");
    assert_int_equal(share->n_inputs, 1);
    assert_true(tensor_get(&share->inputs[0].tensors[0], 1) == -3);
    test_case_free(share);
    test_case_free(NULL);
}

static void cases_of_one_model(void **state)
{
    (void)state;
    struct test_case *test = test_case_new(make_model()), *other = test_case_same_model(test);
    const struct model *model = test_case_model(test, NULL);
    struct value input = make_input("x", 5);
    assert_int_equal(test_case_add_inputs(other, &input, 1, NULL), 0);
    assert_int_equal(test_case_add_inputs(other, &input, 1, NULL), 0);
    value_release(&input);
    assert_int_equal(other->n_inputs, 2);
    assert_int_equal(test->n_inputs, 0);
    test_case_free(test);
    assert_ptr_equal(test_case_model(other, NULL), model);
    test_case_set_model(other, make_model());
    assert_non_null(test_case_model(other, NULL));
    test_case_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_made_once_from_the_model),
        cmocka_unit_test(the_model_is_made_once_from_bytes),
        cmocka_unit_test(bytes_that_are_no_model),
        cmocka_unit_test(the_bytes_of_a_file_are_the_files_own),
        cmocka_unit_test(the_last_share_frees),
        cmocka_unit_test(cases_of_one_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
