/*
 * What is reduced stays valid: the checker of another libonnx as a process, what is asked when there is none,
 * and reductions that were invalid once.
 */
#define _GNU_SOURCE
#include "base/file.h"
#include "base/memory.h"
#include "engine/onnx_checker.h"
#include "engine/registry.h"
#include "model/build.h"
#include "model/onnx.h"
#include "reduce/pass.h"
#include "reduce/reduce.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subject_text.h"

/* A data folder of its own, in which the checker lies as libonnx 1.12.0's, or not. */
struct data {
    char folder[64];
    char *program; /* this system's libonnx as a process: tests/unit/check-onnx */
};

static char *beside(const char *name)
{
    char exe[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(length > 0);
    exe[length] = '\0';
    *strrchr(exe, '/') = '\0';
    return file_join(exe, name);
}

static int open_data(void **state)
{
    struct data *data = memory_zeroed(1, sizeof *data);
    strcpy(data->folder, "/tmp/assay-valid-XXXXXX");
    data->program = beside("check-onnx");
    *state = data;
    if (!mkdtemp(data->folder) || access(data->program, X_OK) != 0)
        return -1;
    return setenv("ASSAY_DATA", data->folder, 1);
}

static int close_data(void **state)
{
    struct data *data = *state;
    int status = file_remove_tree(data->folder, NULL);
    free(data->program);
    free(data);
    return status;
}

/* The checker as a version of libonnx, where tools/fetch-root puts it. */
static void put_checker(const struct data *data, const char *version)
{
    char *all = file_join(data->folder, "libonnx"), *folder = file_join(all, version);
    char *link = file_join(folder, "check-onnx");
    assert_int_equal(file_make_folders(folder, NULL), 0);
    assert_int_equal(symlink(data->program, link), 0);
    free(link);
    free(folder);
    free(all);
}

static void remove_checkers(const struct data *data)
{
    char *all = file_join(data->folder, "libonnx");
    file_remove_tree(all, NULL);
    free(all);
}

static int ask_text(struct checker *checker, const char *text, struct error *err)
{
    uint8_t *bytes;
    size_t size;
    assert_int_equal(onnx_parse_text(text, &bytes, &size, NULL), 0);
    int result = onnx_checker_ask(checker, bytes, size, CHECKER_FULL, err);
    free(bytes);
    return result;
}

static const char range_of_seven[] = "<ir_version: 10, opset_import: [\"\": 7]>\n"
                                     "agraph (float a, float b, float c) => (float[n] y) "
                                     "{ y = Range(a, b, c) }";
static const char range_of_eleven[] = "<ir_version: 10, opset_import: [\"\": 11]>\n"
                                      "agraph (float a, float b, float c) => (float[n] y) "
                                      "{ y = Range(a, b, c) }";
static const char of_tomorrow[] = "<ir_version: 10, opset_import: [\"\": 999]>\n"
                                  "agraph (float[2] a) => (float[2] y) { y = Abs(a) }";
/* The types are wrong, which only inference sees. */
static const char of_two_types[] = "<ir_version: 10, opset_import: [\"\": 13]>\n"
                                   "agraph (float[2] a, int64[2] b) => (float[2] y) { y = Add(a, b) }";

static void the_newest_checker_is_taken(void **state)
{
    const struct data *data = *state;
    assert_null(onnx_checker_newest());
    put_checker(data, "1.9.0");
    put_checker(data, "1.12.0");
    char *newest = onnx_checker_newest();
    assert_non_null(newest);
    assert_non_null(strstr(newest, "/1.12.0/"));
    free(newest);
    remove_checkers(data);
}

static void a_checker_answers(void **state)
{
    const struct data *data = *state;
    struct checker checker, none = {0};
    struct error err = {0};
    assert_int_equal(onnx_checker_start(&checker, data->program, &err), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(ask_text(&checker, range_of_eleven, &err), 0);
        assert_int_equal(ask_text(&checker, range_of_seven, &err), -1);
        assert_non_null(strstr(err.message, "Range"));
        assert_int_equal(ask_text(&checker, of_two_types, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(ask_text(&checker, of_tomorrow, &err), ONNX_UNCHECKABLE);
    }
    assert_int_equal(onnx_checker_ask(&checker, "\x3a\x05", 2, CHECKER_ALONE, &err), -1);
    onnx_checker_stop(&checker);
    assert_int_equal(ask_text(&none, range_of_seven, &err), ONNX_UNCHECKABLE);
    onnx_checker_stop(&none);
}

static void a_checker_that_dies_says_nothing_good(void **state)
{
    (void)state;
    struct checker checker;
    struct error err = {0};
    assert_int_equal(onnx_checker_start(&checker, "/bin/false", &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask_text(&checker, range_of_eleven, &err), -1);
        assert_int_equal(err.code, ERROR_IO);
    }
    onnx_checker_stop(&checker);
    assert_int_equal(onnx_checker_start(&checker, "/nonexistent/check-onnx", &err), -1);
    onnx_checker_stop(&checker);
}

/* The smaller case of a fault that is planted in the reference. */
static void reduce_text(const char *text, const char *engine, struct subject *whole, struct test_case **small)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct reduce_stats stats;
    struct error err = {0};
    assert_int_equal(registry_open(&registry, NULL, 0, NULL), 0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), engine), &spec, NULL), 0);
    struct pool *pool = pool_new(&(struct pool_options){.deadline = 20});
    assert_int_equal(pool_add(pool, spec), 0);
    subject_from_text(whole, text);
    struct tensor *first = &whole->inputs[0].tensors[0];
    for (size_t i = 0; first->type == DTYPE_INT32 && i < first->count; i++)
        tensor_set(first, i, 32767); /* two of them wrap at 16 bits */
    struct subject copy;
    assert_int_equal(subject_copy(&copy, whole, &err), 0);
    struct test_case *test = subject_to_case(&copy);
    if (reduce_case(small, test, &(struct reduce_options){.pool = pool, .companion = -1}, &stats, &err))
        fail_msg("%s on %s", err.message, text);
    assert_true(stats.complete);
    assert_int_equal(stats.nodes_after, 1);
    test_case_free(test);
    pool_free(pool);
    registry_free(registry);
}

/* By this system's libonnx; of an opset that it does not know, what is left is part of what there was. */
static void check_small(const struct subject *whole, const struct test_case *small)
{
    struct checker none = {0};
    struct error err = {0};
    struct subject part;
    const uint8_t *bytes;
    size_t size;
    assert_int_equal(test_case_bytes(small, &bytes, &size, &err), 0);
    unsigned doubts = model_doubts(&none, bytes, size, &err);
    if (doubts & DOUBT_CHECKER)
        fail_msg("%s", err.message);
    assert_int_equal(subject_from_case(&part, small, &err), 0);
    assert_true(!(doubts & DOUBT_UNKNOWN) || subject_is_part(&part, whole));
    subject_release(&part);
}

static const struct {
    const char *engine, *text;
} planted[] = {
    /* It came with opset 10. */
    {"reference:fault=thresholdedrelu-ge",
     "<ir_version: 10, opset_import: [\"\": 17]>\n"
     "agraph (float[2,3] a) => (float[2,3] y) { b = Neg(a) c = ThresholdedRelu <alpha: float = 0.25> (b) "
     "y = Abs(c) }"},
    /* Its axes became an input in opset 13. */
    {"reference:fault=narrow-accumulator",
     "<ir_version: 10, opset_import: [\"\": 17]>\n"
     "agraph (int32[2,4] a) => (int32[2,1] y) { b = Abs(a) axes = Constant <value: tensor = int64[1] {1}> () "
     "y = ReduceSum(b, axes) }"},
    /* No libonnx of this system knows these opsets. */
    {"reference:fault=narrow-accumulator",
     "<ir_version: 10, opset_import: [\"\": 20]>\n"
     "agraph (int32[2,4] a) => (int32[2,1] y) { b = Abs(a) axes = Constant <value: tensor = int64[1] {1}> () "
     "y = ReduceSum(b, axes) }"},
    {"reference:fault=pad-unpad-off",
     "<ir_version: 10, opset_import: [\"\": 21]>\n"
     "agraph (float[2,5] a) => (float[2,3] y) { b = Neg(a) axes = Constant <value: tensor = int64[1] {1}> () "
     "pads = Constant <value: tensor = int64[2] {-1,-1}> () y = Pad(b, pads, , axes) }"},
};

static void what_is_reduced_is_valid(void **state)
{
    const struct data *data = *state;
    for (int with = 0; with < 2; with++) {
        if (with)
            put_checker(data, "1.12.0");
        for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
            struct subject whole;
            struct test_case *small;
            reduce_text(planted[i].text, planted[i].engine, &whole, &small);
            check_small(&whole, small);
            test_case_free(small);
            subject_release(&whole);
        }
    }
    remove_checkers(data);
}

static void a_part_has_nothing_of_its_own(void **state)
{
    (void)state;
    static const char whole_text[] = "<ir_version: 10, opset_import: [\"\": 21]>\n"
                                     "agraph (float[2,3] a) => (float[2,3] y) "
                                     "{ b = Neg(a) y = Elu <alpha: float = 0.5> (b) }";
    static const struct {
        bool part;
        const char *text;
    } others[] = {
        {true, whole_text},
        {true, "<ir_version: 10, opset_import: [\"\": 21]>\n"
               "agraph (float[1] b) => (float[1] y) { y = Elu <alpha: float = 0.5> (b) }"},
        {false, "<ir_version: 10, opset_import: [\"\": 20]>\n"
                "agraph (float[1] b) => (float[1] y) { y = Elu <alpha: float = 0.5> (b) }"},
        {false, "<ir_version: 10, opset_import: [\"\": 21]>\n"
                "agraph (float[1] b) => (float[1] y) { y = Elu <alpha: float = 1.0> (b) }"},
        {false, "<ir_version: 10, opset_import: [\"\": 21]>\n"
                "agraph (float[1] b) => (float[1] y) { y = Elu(b) }"},
        {false, "<ir_version: 10, opset_import: [\"\": 21]>\n"
                "agraph (float[1] b) => (float[1] y) { y = Abs(b) }"},
        {false, "<ir_version: 10, opset_import: [\"\": 21]>\n"
                "agraph (double[2,3] a) => (double[2,3] b) { b = Neg(a) }"},
    };
    struct subject whole, other;
    subject_from_text(&whole, whole_text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        subject_from_text(&other, others[i].text);
        if (subject_is_part(&other, &whole) != others[i].part)
            fail_msg("%s", others[i].text);
        subject_release(&other);
    }
    subject_release(&whole);
}

/* The operator's own opset is the lowest that is tried, or the first whose text the kernels follow. */
static void no_opset_below_the_operators_own(void **state)
{
    static const struct {
        const char *text;
        int lowest;
    } rows[] = {
        {"<ir_version: 10, opset_import: [\"\": 16]>\n"
         "agraph (float[2] a) => (float[2] y) { y = HardSwish(a) }",
         14},
        {"<ir_version: 10, opset_import: [\"\": 13]>\n"
         "agraph (float[2] a) => (float[2] y) { y = ThresholdedRelu(a) }",
         11},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct subject subject;
        struct record record = {0};
        struct edits edits = {0};
        subject_from_text(&subject, rows[i].text);
        pass_opset.list(&subject, &record, &edits);
        assert_int_equal(edits.count, 2);
        assert_int_equal(edits.items[0].to, rows[i].lowest);
        free(edits.items);
        subject_release(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_checker_is_taken),
        cmocka_unit_test(a_checker_answers),
        cmocka_unit_test(a_checker_that_dies_says_nothing_good),
        cmocka_unit_test(a_part_has_nothing_of_its_own),
        cmocka_unit_test(no_opset_below_the_operators_own),
        cmocka_unit_test(what_is_reduced_is_valid),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
