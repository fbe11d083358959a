/* Cases in other ranks: the shapes that come out, that an axis of length 1 changes no number, and what a
 * folder gives. */
#include "campaign/folder_source.h"
#include "campaign/other_rank.h"
#include "case/case_answers.h"
#include "model/valid.h"
#include "tensor/identical.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "saved_case.h"

static const struct rank_change *change_named(const char *name)
{
    for (size_t i = 0; i < RANK_CHANGES; i++)
        if (strcmp(rank_changes[i].name, name) == 0)
            return &rank_changes[i];
    fail_msg("there is no change %s", name);
    return NULL;
}

/* The case with its answer in the first reading in which it is valid; NULL: in none. */
static struct test_case *changed(struct test_case *given, const char *name)
{
    for (enum rank_reading reading = 0; reading < RANK_READINGS; reading++) {
        struct test_case *test;
        if (case_in_other_rank(given, change_named(name), reading, &test, NULL))
            continue;
        if (model_valid(test_case_model(test, NULL), NULL) == 0 &&
            test_case_add_answers(test, NULL, NULL) == 0)
            return test;
        test_case_free(test);
    }
    return NULL;
}

static void assert_shape(const struct tensor *tensor, const char *expected, const char *text)
{
    char dims[100] = "";
    for (int i = 0; i < tensor->shape.rank; i++)
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%s%d", i ? "," : "",
                 (int)tensor->shape.dims[i]);
    if (strcmp(dims, expected) != 0)
        fail_msg("[%s] instead of [%s]: %s", dims, expected, text);
}

static const struct {
    const char *change, *text, *shape;
} forms[] = {
    {"front-1", "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add (x, b) }", "1,2,3"},
    {"front-2", "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add (x, b) }", "2,2,3"},
    {"back-1", "(float[2,3] x, float[3] b) => (float[2,3] y) { y = Add (x, b) }", "2,3,1"},
    {"front-0", "(float[1,3] x) => (float[1,3] y) { y = Neg (x) }", "3"},
    {"back-0", "(float[3,1] x) => (float[3,1] y) { y = Neg (x) }", "3"},
    {"back-1", "(float[3] x, float[3] s) => (float[3] y) { y = PRelu (x, s) }", "3,1"},
    {"front-1", "(float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 0> (x) }", "1,2,3"},
    {"back-1", "(float[2,3] x) => (float[2,3] y) { y = Softmax (x) }", "2,3,1"},
    {"front-1", "(float[2,3] x) => (int64[1,3] y) { y = ArgMax (x) }", "1,1,3"},
    {"front-1", "(float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }", "1,3,2"},
    {"back-1", "(float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }", "3,2,1"},
    {"front-0", "(float[1,2,3] x) => (float[3,1,2] y) { y = Transpose <perm = [2, 0, 1]> (x) }", "3,2"},
    {"third-1", "(float[1,2,5] x, float[2,2,3] w) => (float[1,2,3] y) { y = Conv (x, w) }", "1,2,1,3"},
    {"back-1", "(float[1,2,5] x, float[2,2,3] w) => (float[1,2,5] y) { y = Conv <pads = [1, 1]> (x, w) }",
     "1,2,5,1"},
    {"back-2", "(float[1,2,5] x, float[2,2,3] w) => (float[1,2,5] y) { y = Conv <pads = [1, 1]> (x, w) }",
     "1,2,5,2"},
    {"third-0",
     "(float[1,2,1,5] x, float[2,2,1,3] w) => (float[1,2,1,5] y)"
     "{ y = Conv <kernel_shape = [1, 3], pads = [0, 1, 0, 1]> (x, w) }",
     "1,2,5"},
    {"third-1",
     "(float[1,2,5] x) => (float[1,2,3] y) { y = MaxPool <kernel_shape = [2], strides = [2], "
     "pads = [0, 1]> (x) }",
     "1,2,1,3"},
    {"back-1",
     "(float[2,3] x) => (float[2] y) <int64[1] axes = {-1}> { y = ReduceSum <keepdims = 0> (x, axes) }",
     "2,1"},
    {"front-1", "(float[2,3] x) => (float[2,6] y) <int64[4] pads = {0, 1, 0, 2}> { y = Pad (x, pads) }",
     "1,2,6"},
    {"back-1",
     "(float[2,3] x) => (float[2,2] y) <int64[1] b = {1}, int64[1] e = {3}, int64[1] a = {-1}>"
     "{ y = Slice (x, b, e, a) }",
     "2,2,1"},
    {"front-1",
     "(float[2,3] x) => (float[1,3] y) <int64[2] b = {1, 0}, int64[2] e = {2, 3}>"
     "{ y = Slice (x, b, e) }",
     "1,1,3"},
    {"front-2", "(float[2,3] x) => (float[6] y) <int64[1] s = {-1}> { y = Reshape (x, s) }", "2,6"},
    {"front-1",
     "(float[2,3] x) => (float[6] y) { s = Constant <value = int64[1] {-1}> () y = Reshape (x, s) }", "1,6"},
    {"back-1", "(float[2,3] x) => (float[2,3,1] y) <int64[1] a = {2}> { y = Unsqueeze (x, a) }", "2,3,1,1"},
    {"front-1", "(float[2,3] x, int64[2,1] i) => (float[2,1] y) { y = GatherElements <axis = 1> (x, i) }",
     "1,2,1"},
    {"front-1", "(float[2,3] a, float[3,4] b) => (float[2,4] y) { y = MatMul (a, b) }", "1,2,4"},
    {"front-1", "(float[2,3] x) => (float[3,2] z) { y = Softmax <axis = 0> (x) z = Transpose (y) }", "3,2,1"},
    {"front-0", "(float[2,3] x) => (float[2,3] y) { y = Neg (x) }", NULL},
    {"third-1", "(float[2,3] x) => (float[2,3] y) { y = Neg (x) }", NULL},
    {"front-1", "(float[2,3] a, float[3,4] b) => (float[2,4] y) { y = Gemm (a, b) }", NULL},
    {"front-1", "(float[1,2,5] x, float[2,2,3] w) => (float[1,2,3] y) { y = Conv (x, w) }", NULL},
    {"back-0", "(float[2,1] x) => (float[2,1] y) { y = Softmax (x) }", NULL},
};

static void axes_and_parameters_follow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[400];
        struct error err = {0};
        snprintf(text, sizeof text, "g %s", forms[i].text);
        struct test_case *given = case_of_text(text, 0), *test = changed(given, forms[i].change);
        if (!test != !forms[i].shape)
            fail_msg("%s: %s", forms[i].change, forms[i].text);
        if (test) {
            assert_int_equal(test_case_add_answers(given, NULL, &err), 0);
            const struct tensor *before = &given->outputs[0].tensors[0],
                                *after = &test->outputs[0].tensors[0];
            assert_shape(after, forms[i].shape, forms[i].text);
            for (size_t k = 0; k < before->count && change_named(forms[i].change)->length < 2; k++)
                if (tensor_get(before, k) != tensor_get(after, k))
                    fail_msg("%s: another number: %s", forms[i].change, forms[i].text);
        }
        test_case_free(test);
        test_case_free(given);
    }
}

/* A folder's case comes in the ranks that it has, under names that say so. */
static void a_folder_gives_other_ranks(void **state)
{
    static const char *const expected[] = {"front-1-add-0", "front-2-add-0"};
    struct scene scene = {.folder = "/tmp/assay-unit-XXXXXX"};
    struct case_source source;
    struct error err = {0};
    size_t ranks = 0;
    (void)state;
    assert_non_null(mkdtemp(scene.folder));
    save_case(&scene, "add", "g (float[2] x, float[2] b) => (float[2] y) { y = Add (x, b) }", 1, NULL);
    assert_int_equal(folder_source_new(&source, scene.folder, &err), 0);
    for (uint64_t index = 0; !source.kind->over(source.self); index++) {
        struct test_case *test = NULL;
        if (source.kind->make(source.self, index, 0, &test, NULL))
            continue;
        for (size_t i = 0; i < RANK_CHANGES; i++)
            if (strncmp(test->name, rank_changes[i].name, strlen(rank_changes[i].name)) == 0 && ranks < 2)
                assert_string_equal(test->name, expected[ranks++]);
        test_case_free(test);
    }
    assert_int_equal(ranks, 2);
    source.kind->free(source.self);
    assert_int_equal(file_remove_tree(scene.folder, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_and_parameters_follow),
        cmocka_unit_test(a_folder_gives_other_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
