/* The ONNX Runtime engine through the pool. Skipped where no release was fetched (tools/setup brings them).
 */
#include "base/file.h"
#include "base/memory.h"
#include "engine/pool.h"
#include "engine/views.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MESON_SKIP = 77 };

static const char *const releases[] = {"1.12.0", "1.17.0", "1.23.2", "1.30.0"};

/* One engine and its pool for one test. */
struct bench {
    struct registry *registry;
    struct pool *pool;
    int engine;
};

static void bench_open(struct bench *bench, const char *label)
{
    struct error err = {0};
    const struct engine_spec *spec;
    assert_int_equal(registry_open(&bench->registry, NULL, 0, &err), 0);
    if (registry_find(bench->registry, given_typed(registry_arena(bench->registry), label), &spec, &err))
        fail_msg("%s", err.message);
    bench->pool = pool_new(&(struct pool_options){.deadline = 60});
    bench->engine = pool_add(bench->pool, spec);
}

static void bench_close(struct bench *bench)
{
    pool_free(bench->pool);
    registry_free(bench->registry);
}

static struct result bench_bytes(struct bench *bench, const void *data, size_t size,
                                 const struct value *inputs, size_t count)
{
    struct error err = {0};
    struct result result;
    struct job job = {
        .engine = bench->engine, .model = data, .model_size = size, .inputs = inputs, .n_inputs = count};
    result_init(&result);
    assert_int_equal(pool_run_one(bench->pool, &job, &result, &err), 0);
    return result;
}

static struct result bench_run(struct bench *bench, const struct model *model, const struct value *inputs,
                               size_t count)
{
    struct error err = {0};
    uint8_t *data;
    size_t size;
    assert_int_equal(model_pack(model, &data, &size, &err), 0);
    struct result result = bench_bytes(bench, data, size, inputs, count);
    free(data);
    return result;
}

static struct value input(const char *name, enum dtype type, size_t count, const void *data, size_t size)
{
    struct error err = {0};
    struct value value;
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    assert_int_equal(tensor_from_bytes(&tensor, type, &shape, data, size, &err), 0);
    value_init(&value);
    value_set_name(&value, name);
    value_set_tensor(&value, &tensor);
    return value;
}

/* y = op(x), z = op(y): two outputs, all of n elements. */
static struct model *chain(const char *op, enum dtype type, int64_t n, int opset)
{
    struct model *model = model_new(opset);
    struct shape shape = shape_make(1, &n);
    model_add_input(model, "x", type, &shape);
    model_add_node(model, op, NULL, 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    model_add_node(model, op, NULL, 1, (const char *[]){"y"}, 1, (const char *[]){"z"});
    model_add_output(model, "y", type, &shape);
    model_add_output(model, "z", type, &shape);
    return model;
}

static void expect_failure(struct result *result, enum outcome outcome, enum stage stage)
{
    if (result->outcome != outcome || result->stage != stage)
        fail_msg("%s at %s: %s", outcome_name(result->outcome), stage_name(result->stage),
                 result->message ? result->message : "");
    assert_non_null(result->message);
    assert_true(result->message[0] != '\0');
    assert_int_equal(result->count, 0);
    result_release(result);
}

static void every_release_computes_and_tells_its_version(void **state)
{
    (void)state;
    static const char *const levels[] = {"none", "basic", "extended", "all"};
    struct value x = input("x", DTYPE_FLOAT, 3, (float[]){1, -2, 0.5F}, 12);
    struct model *model = chain("Neg", DTYPE_FLOAT, 3, 13);
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        struct bench bench;
        char label[64];
        snprintf(label, sizeof label, "onnxruntime@%s:opt=%s", releases[i], levels[i]);
        bench_open(&bench, label);
        struct result result = bench_run(&bench, model, &x, 1);
        assert_int_equal(result.outcome, OUTCOME_OK);
        assert_int_equal(result.count, 2);
        assert_string_equal(result.outputs[0].name, "y");
        assert_memory_equal(result.outputs[0].tensors[0].data, ((float[]){-1, 2, -0.5F}), 12);
        assert_string_equal(result.outputs[1].name, "z");
        assert_true(tensor_identical(&result.outputs[1].tensors[0], &x.tensors[0]));
        assert_string_equal(pool_engine(bench.pool, bench.engine)->version, releases[i]);
        result_release(&result);
        bench_close(&bench);
    }
    model_free(model);
    value_release(&x);
}

/* Where the graph changes on its way: with opt=all the two nodes become one, or none. */
static void every_release_reloads_and_binds(void **state)
{
    (void)state;
    static const char *const ways[] = {"reload=onnx", "reload=own", "binding=on", "reload=own,binding=on"};
    struct value x = input("x", DTYPE_FLOAT, 3, (float[]){1, -2, 0.5F}, 12);
    struct model *model = chain("Neg", DTYPE_FLOAT, 3, 13);
    for (size_t i = 0; i < 4 * sizeof releases / sizeof *releases; i++) {
        struct bench bench;
        char label[64];
        snprintf(label, sizeof label, "onnxruntime@%s:%s", releases[i / 4], ways[i % 4]);
        bench_open(&bench, label);
        for (int k = 0; k < 2; k++) { /* a second model, too, finds its own file */
            struct result result = bench_run(&bench, model, &x, 1);
            if (result.outcome != OUTCOME_OK)
                fail_msg("%s: %s", label, result.message);
            assert_memory_equal(result.outputs[0].tensors[0].data, ((float[]){-1, 2, -0.5F}), 12);
            assert_true(tensor_identical(&result.outputs[1].tensors[0], &x.tensors[0]));
            result_release(&result);
        }
        bench_close(&bench);
    }
    model_free(model);
    value_release(&x);
}

static void reloading_keeps_the_file_that_the_user_named(void **state)
{
    (void)state;
    struct bench bench;
    char label[120], path[64] = "/tmp/assay-test-XXXXXX";
    struct value x = input("x", DTYPE_FLOAT, 3, (float[]){1, -2, 0.5F}, 12);
    struct model *model = chain("Neg", DTYPE_FLOAT, 3, 13);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path); /* what a knob writes is made anew */
    snprintf(label, sizeof label, "onnxruntime@1.23.2:reload=own,save=%s", path);
    bench_open(&bench, label);
    struct result result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 1 << 20, &data, &size, NULL), 0);
    assert_true(size > 8);
    assert_memory_equal(data + 4, "ORTM", 4); /* the mark of its own format */
    free(data);
    unlink(path);
    result_release(&result);
    bench_close(&bench);
    model_free(model);
    value_release(&x);
}

static void every_type_goes_through_bit_by_bit(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "onnxruntime@1.23.2");
    for (enum dtype type = DTYPE_FLOAT; type <= DTYPE_FLOAT8E5M2FNUZ; type++) {
        if (type == DTYPE_STRING || type == DTYPE_COMPLEX64 || type == DTYPE_COMPLEX128)
            continue; /* strings below; the library has no complex kernels */
        uint8_t bytes[64];
        bool few = type == DTYPE_BOOL;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(few ? i % 2 : 0x3c + i); /* no NaN among the floats */
        struct value x = input("x", type, 5, bytes, 5 * dtype_size(type));
        struct model *model = chain("Identity", type, 5, dtype_is_narrow(type) ? 21 : 16);
        struct result result = bench_run(&bench, model, &x, 1);
        if (result.outcome != OUTCOME_OK)
            fail_msg("%s: %s", dtype_name(type), result.message);
        assert_true(tensor_identical(&result.outputs[0].tensors[0], &x.tensors[0]));
        assert_true(tensor_identical(&result.outputs[1].tensors[0], &x.tensors[0]));
        result_release(&result);
        model_free(model);
        value_release(&x);
    }
    bench_close(&bench);
}

static void strings_go_in_and_out(void **state)
{
    (void)state;
    static const char payload[] = "\5\0\0\0hello\0\0\0\0\3\0\0\0\xc3\xa9!";
    static const char with_nul[] = "\3\0\0\0a\0b\0\0\0\0\1\0\0\0c";
    struct bench bench;
    bench_open(&bench, "onnxruntime@1.23.2");
    struct model *model = chain("Identity", DTYPE_STRING, 3, 16);
    struct value x = input("x", DTYPE_STRING, 3, payload, sizeof payload - 1);
    struct result result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_true(tensor_identical(&result.outputs[1].tensors[0], &x.tensors[0]));
    result_release(&result);
    value_release(&x);
    x = input("x", DTYPE_STRING, 3, with_nul, sizeof with_nul - 1);
    result = bench_run(&bench, model, &x, 1);
    expect_failure(&result, OUTCOME_UNSUPPORTED, STAGE_RUN);
    value_release(&x);
    model_free(model);
    bench_close(&bench);
}

static void empty_tensors_and_scalars(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "onnxruntime@1.12.0");
    struct value x = input("x", DTYPE_FLOAT, 0, NULL, 0);
    struct model *model = chain("Neg", DTYPE_FLOAT, 0, 13);
    struct result result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_int_equal(result.outputs[0].tensors[0].count, 0);
    result_release(&result);
    model_free(model);
    value_release(&x);

    struct error err = {0};
    struct shape scalar = shape_make(0, NULL);
    struct tensor tensor;
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &scalar, &(float){2}, 4, &err), 0);
    value_init(&x);
    value_set_name(&x, "x");
    value_set_tensor(&x, &tensor);
    model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &scalar);
    model_add_output(model, "y", DTYPE_FLOAT, &scalar);
    model_add_node(model, "Neg", NULL, 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_int_equal(result.outputs[0].tensors[0].shape.rank, 0);
    assert_true(tensor_get(&result.outputs[0].tensors[0], 0) == -2);
    result_release(&result);
    model_free(model);
    value_release(&x);
    bench_close(&bench);
}

static void wanted_outputs_come_in_the_order_wanted(void **state)
{
    (void)state;
    struct error err = {0};
    struct bench bench;
    struct result result;
    uint8_t *data;
    size_t size;
    struct value x = input("x", DTYPE_FLOAT, 1, &(float){3}, 4);
    struct model *model = chain("Neg", DTYPE_FLOAT, 1, 13);
    bench_open(&bench, "onnxruntime@1.30.0");
    assert_int_equal(model_pack(model, &data, &size, &err), 0);
    struct job job = {.engine = bench.engine, .model = data, .model_size = size, .inputs = &x, .n_inputs = 1};
    job.outputs = (const char *[]){"z", "y"};
    job.n_outputs = 2;
    result_init(&result);
    assert_int_equal(pool_run_one(bench.pool, &job, &result, &err), 0);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_int_equal(result.count, 2);
    assert_string_equal(result.outputs[0].name, "z");
    assert_string_equal(result.outputs[1].name, "y");
    result_release(&result);

    job.n_outputs = 1;
    assert_int_equal(pool_run_one(bench.pool, &job, &result, &err), 0);
    assert_int_equal(result.count, 1);
    assert_true(tensor_get(&result.outputs[0].tensors[0], 0) == 3);
    result_release(&result);

    job.outputs = (const char *[]){"nothing"};
    assert_int_equal(pool_run_one(bench.pool, &job, &result, &err), 0);
    expect_failure(&result, OUTCOME_FAILED, STAGE_LOAD);
    free(data);
    model_free(model);
    value_release(&x);
    bench_close(&bench);
}

static void models_load_by_path(void **state)
{
    (void)state;
    struct error err = {0};
    struct bench bench;
    struct result result;
    char folder[] = "/tmp/assay-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    struct value x = input("x", DTYPE_FLOAT, 1, &(float){3}, 4);
    struct model *model = chain("Neg", DTYPE_FLOAT, 1, 13);
    assert_int_equal(model_save(model, USERS_PATH, path, &err), 0);
    bench_open(&bench, "onnxruntime@1.17.0");
    struct view *view = pool_view_open(bench.pool, (const char *const[]){folder, NULL});
    struct job job = {.engine = bench.engine, .path = path, .inputs = &x, .n_inputs = 1};
    result_init(&result);
    assert_int_equal(pool_run_one(bench.pool, &job, &result, &err), 0);
    assert_int_equal(result.outcome, OUTCOME_OK);
    assert_true(tensor_get(&result.outputs[0].tensors[0], 0) == -3);
    result_release(&result);
    unlink(path);
    assert_int_equal(pool_run_one(bench.pool, &job, &result, &err), 0);
    expect_failure(&result, OUTCOME_FAILED, STAGE_LOAD);
    model_free(model);
    value_release(&x);
    rmdir(folder);
    view_close(view);
    bench_close(&bench);
}

static void failures_are_classed(void **state)
{
    (void)state;
    struct value x = input("x", DTYPE_FLOAT, 2, (float[]){1, 2}, 8);
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        struct bench bench;
        char label[64];
        snprintf(label, sizeof label, "onnxruntime@%s", releases[i]);
        bench_open(&bench, label);

        struct model *model = chain("NoSuchOperator", DTYPE_FLOAT, 2, 13);
        struct result result = bench_run(&bench, model, &x, 1);
        expect_failure(&result, OUTCOME_UNSUPPORTED, STAGE_LOAD);
        model_free(model);

        model = chain("Neg", DTYPE_FLOAT, 2, 99); /* an opset nobody has */
        result = bench_run(&bench, model, &x, 1);
        expect_failure(&result, OUTCOME_UNSUPPORTED, STAGE_LOAD);
        model_free(model);

        model = chain("Neg", DTYPE_FLOAT, 2, 13);
        model->proto->ir_version = 99;
        result = bench_run(&bench, model, &x, 1);
        expect_failure(&result, OUTCOME_UNSUPPORTED, STAGE_LOAD);
        model_free(model);

        model = chain("Not", DTYPE_FLOAT, 2, 13); /* takes bool only */
        result = bench_run(&bench, model, &x, 1);
        expect_failure(&result, OUTCOME_REJECTED, STAGE_LOAD);
        model_free(model);

        result = bench_bytes(&bench, "not a model", 11, &x, 1);
        expect_failure(&result, OUTCOME_REJECTED, STAGE_LOAD);

        model = chain("Neg", DTYPE_FLOAT, 3, 13); /* another shape than the input's */
        result = bench_run(&bench, model, &x, 1);
        expect_failure(&result, OUTCOME_FAILED, STAGE_RUN);
        result = bench_run(&bench, model, NULL, 0);
        expect_failure(&result, OUTCOME_FAILED, STAGE_RUN);
        model_free(model);
        bench_close(&bench);
    }
    value_release(&x);
}

/* Releases interpolate over some dims only and say which: lacking, though an assertion says it at run time.
 */
static void resize_of_other_dims_is_lacking(void **state)
{
    (void)state;
    struct value inputs[] = {input("x", DTYPE_FLOAT, 2, (float[]){1, 2}, 8),
                             input("sizes", DTYPE_INT64, 4, (int64_t[]){1, 1, 1, 1}, 32)};
    inputs[0].tensors->shape = (struct shape){4, {2, 1, 1, 1}};
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        struct bench bench;
        char label[64];
        snprintf(label, sizeof label, "onnxruntime@%s", releases[i]);
        bench_open(&bench, label);
        struct model *model = model_new(13);
        model_add_input(model, "x", DTYPE_FLOAT, &inputs[0].tensors->shape);
        model_add_input(model, "sizes", DTYPE_INT64, &inputs[1].tensors->shape);
        Onnx__NodeProto *node = model_add_node(
            model, "Resize", "resize", 4, (const char *[]){"x", "", "", "sizes"}, 1, (const char *[]){"y"});
        node_set_string(&model->arena, node, "mode", "linear");
        model_add_output(model, "y", DTYPE_FLOAT, NULL);
        struct result result = bench_run(&bench, model, inputs, 2);
        expect_failure(&result, OUTCOME_UNSUPPORTED, STAGE_RUN);
        model_free(model);
        bench_close(&bench);
    }
    value_release(&inputs[0]);
    value_release(&inputs[1]);
}

static void knobs_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"onnxruntime@1.23.2:opt=most", "onnxruntime@1.23.2:threads=0",
                                      "onnxruntime@1.23.2:arena=perhaps", "onnxruntime@1.23.2:speed=high"};
    struct value x = input("x", DTYPE_FLOAT, 1, &(float){3}, 4);
    struct model *model = chain("Neg", DTYPE_FLOAT, 1, 13);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench bench;
        bench_open(&bench, bad[i]);
        struct result result = bench_run(&bench, model, &x, 1);
        assert_int_equal(result.outcome, OUTCOME_NO_ENGINE);
        assert_non_null(result.message);
        result_release(&result);
        bench_close(&bench);
    }
    struct bench bench;
    bench_open(&bench,
               "onnxruntime@1.23.2:opt=extended,threads=2,arena=off,pattern=off,disable=MatMulAddFusion");
    struct result result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    result_release(&result);
    bench_close(&bench);
    model_free(model);
    value_release(&x);
}

/* False when a release that the tests use was not fetched. */
static bool releases_are_here(void)
{
    struct error err = {0};
    struct registry *registry;
    const struct engine_spec *spec;
    bool here = registry_open(&registry, NULL, 0, &err) == 0;
    if (!here)
        return false;
    for (size_t i = 0; i < sizeof releases / sizeof *releases && here; i++) {
        char label[64];
        snprintf(label, sizeof label, "onnxruntime@%s", releases[i]);
        here = registry_find(registry, given_typed(registry_arena(registry), label), &spec, &err) == 0;
    }
    registry_free(registry);
    if (!here)
        fprintf(stderr, "skipped: %s (tools/setup fetches what the tests need)\n", err.message);
    return here;
}

/* The library's reports to its maker would go through a database there. */
static void nothing_is_written_to_the_cache_folder(void **state)
{
    (void)state;
    struct bench bench;
    char folder[] = "/tmp/assay-cache-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    bench_open(&bench, "onnxruntime@1.30.0");
    struct model *model = chain("Neg", DTYPE_FLOAT, 1, 17);
    struct value x = input("x", DTYPE_FLOAT, 1, &(float){1}, sizeof(float));
    struct result result = bench_run(&bench, model, &x, 1);
    assert_int_equal(result.outcome, OUTCOME_OK);
    result_release(&result);
    value_release(&x);
    model_free(model);
    bench_close(&bench);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_release_computes_and_tells_its_version),
        cmocka_unit_test(every_release_reloads_and_binds),
        cmocka_unit_test(reloading_keeps_the_file_that_the_user_named),
        cmocka_unit_test(every_type_goes_through_bit_by_bit),
        cmocka_unit_test(strings_go_in_and_out),
        cmocka_unit_test(empty_tensors_and_scalars),
        cmocka_unit_test(wanted_outputs_come_in_the_order_wanted),
        cmocka_unit_test(models_load_by_path),
        cmocka_unit_test(failures_are_classed),
        cmocka_unit_test(resize_of_other_dims_is_lacking),
        cmocka_unit_test(knobs_are_checked),
        cmocka_unit_test(nothing_is_written_to_the_cache_folder),
    };
    if (!releases_are_here())
        return getenv("CI") ? EXIT_FAILURE : MESON_SKIP; /* CI fetches them: there it is a failure */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
