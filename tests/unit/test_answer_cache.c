/* Answers on disk and groups of samples: what comes back is what went in, and rubbish comes back as nothing.
 */
#include "base/file.h"
#include "base/memory.h"
#include "case/idx.h"
#include "engine/answer_cache.h"
#include "compare/batch.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test-answers-XXXXXX";

static struct answer_cache *open_answers(void)
{
    struct answer_cache *answers = NULL;
    struct error err = {0};
    struct answer_cache_key key = {"some/model.onnx", 42, "engine@1:a=b", NULL};
    assert_int_equal(answer_cache_open(&answers, folder, &key, &err), 0);
    return answers;
}

static struct result some_result(float first)
{
    struct result result;
    struct error err = {0};
    float values[] = {first, 2, 3, 4};
    struct shape shape = shape_make(2, (int64_t[]){2, 2});
    struct tensor tensor;
    result_init(&result);
    result.outcome = OUTCOME_OK;
    result.stage = STAGE_RUN;
    result.run_ns = 7;
    result.message = memory_strdup("hm");
    result.borrowed = memory_zeroed(2, sizeof *result.borrowed);
    result.borrowed[0] = memory_strdup("Relu");
    result.count = 1;
    result.outputs = memory_zeroed(1, sizeof *result.outputs);
    value_init(&result.outputs[0]);
    value_set_name(&result.outputs[0], "y");
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &shape, values, sizeof values, &err), 0);
    value_set_tensor(&result.outputs[0], &tensor);
    return result;
}

static void check_result(const struct result *result, float first)
{
    assert_int_equal(result->outcome, OUTCOME_OK);
    assert_int_equal(result->stage, STAGE_RUN);
    assert_int_equal(result->run_ns, 7);
    assert_string_equal(result->message, "hm");
    assert_string_equal(result->borrowed[0], "Relu");
    assert_null(result->borrowed[1]);
    assert_int_equal(result->count, 1);
    assert_string_equal(result->outputs[0].name, "y");
    assert_int_equal(result->outputs[0].tensors[0].shape.dims[1], 2);
    assert_true(tensor_get(&result->outputs[0].tensors[0], 0) == first);
}

static void put(struct answer_cache *answers, uint64_t inputs, float first)
{
    struct error err = {0};
    struct result result = some_result(first);
    assert_int_equal(answer_cache_put(answers, inputs, &result, &err), 0);
    result_release(&result);
}

static void fill(void)
{
    struct answer_cache *answers = open_answers();
    put(answers, 1, 10);
    put(answers, 2, 20);
    put(answers, 1, 11); /* the later one counts */
    answer_cache_close(answers);
}

static char *answers_path(void)
{
    return file_join(folder, "model.onnx-000000000000002a/engine_1_a=b-unknown.answers");
}

static void test_round_trip(void **state)
{
    (void)state;
    fill();
    struct answer_cache *answers = open_answers();
    struct result result;
    assert_true(answer_cache_get(answers, 1, &result));
    check_result(&result, 11);
    result_release(&result);
    assert_true(answer_cache_get(answers, 2, &result));
    check_result(&result, 20);
    result_release(&result);
    assert_false(answer_cache_get(answers, 3, &result));
    answer_cache_close(answers);
}

static void test_texts(void **state)
{
    (void)state;
    struct answer_cache *answers = NULL;
    struct error err = {0};
    struct result result;
    struct answer_cache_key key = {"texts", 7, "engine", "1"};
    char *text;
    for (int time = 0; time < 2; time++) {
        assert_int_equal(answer_cache_open(&answers, folder, &key, &err), 0);
        assert_int_equal(answer_cache_get_text(answers, 5, &text), time);
        if (time) {
            assert_string_equal(text, "a\tb");
            free(text);
            assert_false(answer_cache_get(answers, 5, &result)); /* it is no answer */
        }
        assert_false(answer_cache_get_text(answers, 6, &text));
        assert_int_equal(answer_cache_put_text(answers, 5, "a\tb", &err), 0);
        answer_cache_close(answers);
    }
}

/* Cut at any length: what is whole stays, and new answers can be added behind it. */
static void test_cut_short(void **state)
{
    (void)state;
    char *path = answers_path(), *bytes;
    size_t size;
    struct error err = {0};
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
    for (size_t length = 0; length < size; length += 7) {
        assert_int_equal(file_write(path, bytes, length, &err), 0);
        struct answer_cache *answers = open_answers();
        put(answers, 9, 90);
        answer_cache_close(answers);
        answers = open_answers();
        struct result result;
        assert_true(answer_cache_get(answers, 9, &result));
        check_result(&result, 90);
        result_release(&result);
        answer_cache_close(answers);
    }
    free(bytes);
    free(path);
}

/* Any byte changed: the record is gone, never another answer. */
static void test_changed_bytes(void **state)
{
    (void)state;
    char *path = answers_path(), *bytes;
    size_t size;
    struct error err = {0};
    unlink(path);
    fill();
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), 0);
    for (size_t at = sizeof(uint64_t); at < size; at += 3) { /* behind what tells that it is ours */
        bytes[at] ^= 0x55;
        assert_int_equal(file_write(path, bytes, size, &err), 0);
        bytes[at] ^= 0x55;
        struct answer_cache *answers = open_answers();
        struct result result;
        if (answer_cache_get(answers, 2, &result)) {
            check_result(&result, 20);
            result_release(&result);
        }
        answer_cache_close(answers);
    }
    free(bytes);
    free(path);
}

static struct model *add_model(void)
{
    struct model *model = model_new(13);
    struct shape shape = shape_make(2, (int64_t[]){1, 3});
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    const char *in[] = {"x"}, *out[] = {"y"};
    model_add_node(model, "Neg", NULL, 1, in, 1, out);
    return model;
}

static void test_groups(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = add_model();
    struct inputs inputs = {0};
    struct batch group;
    assert_int_equal(inputs_random(&inputs, model, 5, 1, NULL, 0, &err), 0);
    assert_false(batch_possible(&inputs)); /* the first dimension is not open */
    assert_int_equal(batch_init(&group, &inputs, 1, 3, 1, &err), 0);
    assert_int_equal(group.inputs[0].tensors[0].shape.dims[0], 3);
    for (size_t k = 0; k < 3; k++) {
        struct value *alone;
        assert_int_equal(inputs_get(&inputs, 1 + k, &alone, &err), 0);
        assert_true(tensor_identical(&batch_views(&group, k)[0].tensors[0], &alone[0].tensors[0]));
        values_free(alone, 1);
    }
    struct result result;
    result_init(&result);
    result.outcome = OUTCOME_OK;
    result.stage = STAGE_RUN;
    result.count = 1;
    result.outputs = memory_zeroed(1, sizeof *result.outputs);
    assert_int_equal(value_copy(&result.outputs[0], &group.inputs[0], &err), 0);
    assert_true(batch_answer_usable(&group, &result));
    result.outputs[0].tensors[0].shape.dims[0] = 1; /* as if it had looked at one sample alone */
    assert_false(batch_answer_usable(&group, &result));
    result.outputs[0].tensors[0].shape.dims[0] = 3;
    batch_answer_reset(&group, 0, false);
    group.answers[0].results[0] = result;
    struct batch_row row;
    batch_row_init(&row, 1);
    batch_row_fill(&row, &group, 2);
    assert_true(
        tensor_identical(&row.results[0].outputs[0].tensors[0], &batch_views(&group, 2)[0].tensors[0]));
    batch_row_release(&row);
    batch_release(&group);
    inputs_release(&inputs);
    model_free(model);
}

/* A file that is none of answers is refused, and stays as it is. */
static void test_foreign_file(void **state)
{
    (void)state;
    struct answer_cache *answers;
    struct answer_cache_key key = {"some/model.onnx", 42, "engine@1:a=b", NULL};
    char *path = answers_path(), *bytes;
    size_t size;
    assert_int_equal(file_write(path, "my notes", 8, NULL), 0);
    assert_int_equal(answer_cache_open(&answers, folder, &key, NULL), -1);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), 0);
    assert_string_equal(bytes, "my notes");
    free(bytes);
    free(path);
}

static int read_idx(const char *bytes, size_t size, struct tensor *tensor)
{
    struct error err = {0};
    char *path = file_join(folder, "images-idx3-ubyte");
    assert_int_equal(file_write(path, bytes, size, &err), 0);
    int status = idx_read(path, tensor, &err);
    free(path);
    return status;
}

static void test_idx(void **state)
{
    (void)state;
    struct tensor tensor;
    const char good[] = "\0\0\10\2\0\0\0\2\0\0\0\3abcdef";
    assert_int_equal(read_idx(good, sizeof good - 1, &tensor), 0);
    assert_int_equal(tensor.shape.dims[1], 3);
    assert_true(tensor_get(&tensor, 5) == 'f');
    tensor_release(&tensor);
    for (size_t size = 0; size < sizeof good - 1; size++)
        assert_int_equal(read_idx(good, size, &tensor), -1);
    assert_int_equal(read_idx("\0\0\15\1\0\0\0\1abcd", 12, &tensor), -1); /* floats */
    assert_int_equal(read_idx("\0\0\10\2\377\377\377\377\377\377\377\377", 12, &tensor),
                     -1);                                               /* 2^64 elements */
    assert_int_equal(read_idx("\0\0\10\100\0\0\0\1a", 9, &tensor), -1); /* rank 64 */
}

int main(void)
{
    struct error err = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_texts),  cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_changed_bytes), cmocka_unit_test(test_groups), cmocka_unit_test(test_idx),
        cmocka_unit_test(test_foreign_file),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    file_remove_tree(folder, &err);
    return failed;
}
