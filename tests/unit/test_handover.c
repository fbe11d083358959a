/* How models go out to engines: as bytes, by their own path, or written for them. */
#include "base/file.h"
#include "engine/handover.h"
#include "engine/paths.h"
#include "engine/registry.h"
#include "engine/sandbox.h"
#include "engine/views.h"
#include "model/build.h"
#include "model/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SMALL = 20000, LARGE = 20 << 20 }; /* elements; the second has 80 MB, more than goes out as bytes */

static const struct engine_spec here = {.label = "here", .name = "here"};
static const struct engine_spec away = {.label = "away", .name = "away", .launcher = true};

struct bench {
    char folder[64], path[128];
    struct pool *pool;
    struct error err;
};

static int bench_open(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    strcpy(bench->folder, "/tmp/assay-test-XXXXXX");
    setenv("TMPDIR", "/tmp", 1); /* scratch folders on the file system of the models */
    *state = bench;
    if (!mkdtemp(bench->folder))
        return -1;
    snprintf(bench->path, sizeof bench->path, "%s/model.onnx", bench->folder);
    bench->pool = pool_new(NULL);
    return pool_add(bench->pool, &here);
}

static int bench_close(void **state)
{
    struct bench *bench = *state;
    pool_free(bench->pool);
    file_remove_tree(bench->folder, NULL);
    free(bench);
    return 0;
}

/* y = -(x + w), w of the given length, its last element 7; w in a second file unless `whole`. A row and no
 * vector: OpenCV has no tensors of rank 1, and 4.10 broadcasts them against each other. */
static struct model *make(struct bench *bench, int64_t length, bool whole)
{
    struct shape shape = shape_make(2, (const int64_t[]){1, length});
    struct tensor w;
    struct model *model = model_new(13), *loaded;
    assert_int_equal(tensor_alloc(&w, DTYPE_FLOAT, &shape, SIZE_MAX, &bench->err), 0);
    memset(w.data, 0, w.size);
    ((float *)w.data)[length - 1] = 7;
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_initializer(model, "w", &w);
    tensor_release(&w);
    model_add_node(model, "Add", "add", 2, (const char *const[]){"x", "w"}, 1, (const char *const[]){"s"});
    model_add_node(model, "Neg", "neg", 1, (const char *const[]){"s"}, 1, (const char *const[]){"y"});
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    assert_int_equal(whole ? model_save(model, USERS_PATH, bench->path, &bench->err)
                           : model_save_external(model, USERS_PATH, bench->path, &bench->err),
                     0);
    model_free(model);
    assert_int_equal(model_load(&loaded, bench->path, &bench->err), 0);
    return loaded;
}

static void expect_weight(const struct model *model, size_t length)
{
    const ProtobufCBinaryData *data = &model->graph->initializer[0]->raw_data;
    float last;
    assert_int_equal(data->len, length * sizeof last);
    memcpy(&last, data->data + data->len - sizeof last, sizeof last);
    assert_true(last == 7);
}

static void expect_bytes(struct bench *bench, const struct handover *handover, size_t length)
{
    struct model *model;
    assert_non_null(handover->bytes);
    assert_null(handover->path);
    assert_int_equal(model_parse(&model, handover->bytes, handover->size, &bench->err), 0);
    expect_weight(model, length);
    model_free(model);
}

static ino_t file_number(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

static void small_ones_are_bytes(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, SMALL, false);
    assert_true(model_is_external(model));
    assert_int_equal(handover_open(&handover, bench->pool, model, &bench->err), 0);
    expect_bytes(bench, &handover, SMALL);
    handover_close(&handover);
    model_free(model);
}

static void a_whole_file_goes_out_as_it_is(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, SMALL, true);
    char *file;
    size_t size;
    assert_false(model_is_external(model));
    assert_int_equal(file_read(bench->path, SIZE_MAX, &file, &size, &bench->err), 0);
    assert_int_equal(handover_open(&handover, bench->pool, model, &bench->err), 0);
    assert_null(handover.packed);
    assert_int_equal(handover.size, size);
    assert_memory_equal(handover.bytes, file, size);
    free(file);
    handover_close(&handover);
    model_free(model);
}

static void large_ones_go_by_path(void **state)
{
    struct bench *bench = *state;
    struct job job = {0};
    for (int whole = 0; whole < 2; whole++) {
        struct handover handover;
        struct model *model = make(bench, LARGE, whole);
        assert_int_equal(handover_open(&handover, bench->pool, model, &bench->err), 0);
        handover_give(&handover, &job);
        assert_null(job.model);
        assert_string_equal(job.path, bench->path);
        handover_close(&handover);
        model_free(model);
    }
}

static void relative_paths_become_absolute(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    char *before = getcwd(NULL, 0);
    model_free(make(bench, LARGE, false));
    struct model *model;
    assert_int_equal(chdir(bench->folder), 0);
    assert_int_equal(model_load(&model, "model.onnx", &bench->err), 0);
    assert_int_equal(handover_open(&handover, bench->pool, model, &bench->err), 0);
    assert_string_equal(handover.path, bench->path);
    assert_int_equal(chdir(before), 0);
    handover_close(&handover);
    model_free(model);
    free(before);
}

/* An engine behind ssh or docker sees none of our files. */
static void engines_elsewhere_get_bytes(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, LARGE, false);
    pool_add(bench->pool, &away);
    assert_int_equal(handover_open(&handover, bench->pool, model, &bench->err), 0);
    expect_bytes(bench, &handover, LARGE);
    handover_close(&handover);
    model_free(model);
}

/* An engine that cannot hold the model is not asked, and so not blamed. */
static void limits_are_said_beforehand(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, LARGE, false);
    struct pool *pool = pool_new(&(struct pool_options){.memory = (size_t)80 << 20});
    pool_add(pool, &here);
    assert_int_equal(handover_open(&handover, pool, model, &bench->err), -1);
    assert_non_null(
        strstr(bench->err.message, "has 0.08 GB, which an engine takes at least; it may take 0.08 GB"));
    assert_non_null(strstr(bench->err.message, "(--memory)"));
    handover_close(&handover);
    pool_free(pool);
    model_free(model);
}

/* What helps is said: the option, or another machine. */
static void what_would_help_is_said(void **state)
{
    struct bench *bench = *state;
    const size_t gb = 1000000000;
    assert_int_equal(handover_fits(4 * gb, 4 * gb, 4 * gb, &bench->err), 0);
    assert_int_equal(handover_fits(6 * gb, 4 * gb, 16 * gb, &bench->err), -1);
    assert_int_equal(bench->err.code, ERROR_LIMIT);
    assert_string_equal(
        bench->err.message,
        "with its weights the model has 6.00 GB, which an engine takes at least; it may take 4.00 "
        "GB (--memory), and this machine has 16.00 GB");
    assert_string_equal(error_advice(&bench->err), "Choose something smaller, or allow more with --memory.");
    for (size_t limit = 4; limit <= 64; limit += 60) {
        assert_int_equal(handover_fits(20 * gb, limit * gb, 16 * gb, &bench->err), -1);
        assert_non_null(strstr(bench->err.message, "this machine has 16.00 GB of memory"));
        assert_string_equal(error_advice(&bench->err), "Choose something smaller.");
    }
}

/* The edited copy of a large model, read back from where it was written; its weights in `data`. */
static void hand_out_edited(struct bench *bench, const struct model *model, struct handover *handover,
                            struct model **read, char data[static 512])
{
    struct model *edited;
    assert_int_equal(model_clone(&edited, model, &bench->err), 0);
    assert_int_equal(model_expose(edited, (const char *const[]){"s"}, 1, &bench->err), 0);
    assert_int_equal(handover_open(handover, bench->pool, edited, &bench->err), 0);
    model_free(edited);
    assert_null(handover->bytes);
    assert_string_not_equal(handover->path, bench->path);
    assert_int_equal(model_load(read, handover->path, &bench->err), 0);
    assert_int_equal((*read)->graph->n_output, 2);
    expect_weight(*read, LARGE);
    snprintf(data, 512, "%s.data1", handover->path);
}

static void edited_ones_share_the_weights(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, LARGE, false), *read;
    char weights[256], data[512];
    hand_out_edited(bench, model, &handover, &read, data);
    snprintf(weights, sizeof weights, "%s.data", bench->path);
    assert_int_equal(file_number(data), file_number(weights));
    model_free(read);
    model_free(model);
    handover_close(&handover);
    assert_false(file_exists(data));
    assert_true(file_exists(weights));
}

/* Under the name of the weights lies something else by now: what was read is written out. */
static void what_was_read_counts(void **state)
{
    struct bench *bench = *state;
    struct handover handover;
    struct model *model = make(bench, LARGE, false), *read;
    char weights[256], data[512];
    snprintf(weights, sizeof weights, "%s.data", bench->path);
    assert_int_equal(unlink(weights), 0);
    assert_int_equal(file_write(weights, "other", 5, &bench->err), 0);
    hand_out_edited(bench, model, &handover, &read, data);
    assert_false(file_exists(data));
    model_free(read);
    model_free(model);
    handover_close(&handover);
}

static void edits_leave_the_path_behind(void **state)
{
    struct bench *bench = *state;
    struct model *model = make(bench, SMALL, false), *copy;
    assert_string_equal(model->path, bench->path);
    assert_int_equal(model_clone(&copy, model, &bench->err), 0);
    assert_null(copy->path);
    assert_true(model_is_external(copy));
    model_free(copy);
    assert_int_equal(model_expose(model, (const char *const[]){"s"}, 1, &bench->err), 0);
    assert_null(model->path);
    model_free(model);
}

/* A change of one byte in either file is another model. */
static void the_hash_is_of_all_files(void **state)
{
    struct bench *bench = *state;
    struct model *model = make(bench, SMALL, false);
    uint64_t first = model_hash(model);
    model_free(model);
    char weights[256];
    snprintf(weights, sizeof weights, "%s.data", bench->path);
    assert_int_equal(truncate(weights, SMALL * 4 - 4), 0);
    assert_int_equal(truncate(weights, SMALL * 4), 0);
    assert_int_equal(model_load(&model, bench->path, &bench->err), 0);
    assert_true(model_hash(model) != first);
    model_free(model);
}

/* x is 0: y = -(x + w) ends with -7. An engine that is not installed shows nothing. */
static void expect_answer(struct bench *bench, const char *label, const char *path, enum sandbox_mode sandbox)
{
    const struct engine_spec *spec;
    struct registry *registry;
    struct value x;
    struct tensor zeros;
    struct result result;
    char data[600];
    snprintf(data, sizeof data, "%s.data", path);
    result_init(&result);
    value_init(&x);
    assert_int_equal(registry_open(&registry, NULL, 0, &bench->err), 0);
    assert_int_equal(
        tensor_alloc(&zeros, DTYPE_FLOAT, &(struct shape){.rank = 2, .dims = {1, SMALL}}, 0, &bench->err), 0);
    value_set_tensor(&x, &zeros);
    value_set_name(&x, "x");
    if (registry_find(registry, given_typed(registry_arena(registry), label), &spec, &bench->err) == 0) {
        struct pool *pool = pool_new(&(struct pool_options){.sandbox = sandbox});
        struct view *view = pool_view_open(pool, (const char *const[]){path, data, NULL});
        struct job job = {.engine = pool_add(pool, spec), .path = path, .n_inputs = 1, .inputs = &x};
        assert_int_equal(pool_run_one(pool, &job, &result, &bench->err), 0);
        if (result.outcome != OUTCOME_NO_ENGINE) {
            assert_int_equal(result.outcome, OUTCOME_OK);
            assert_true(tensor_get(&result.outputs[0].tensors[0], 0) == 0);
            assert_true(tensor_get(&result.outputs[0].tensors[0], SMALL - 1) == -7);
        }
        pool_free(pool);
        view_close(view);
    }
    result_release(&result);
    value_release(&x);
    registry_free(registry);
}

static void engines_read_weights_beside_the_model(void **state)
{
    struct bench *bench = *state;
    model_free(make(bench, SMALL, false));
    static const char *const engines[] = {
        "reference", "onnxruntime@1.12.0", "onnxruntime@1.30.0", "opencv", "torch", "onednn", "xnnpack"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        expect_answer(bench, engines[i], bench->path, i % 2 ? SANDBOX_OFF : SANDBOX_DEFAULT);
}

static enum outcome outcome_on(struct pool *pool, int engine, const char *path)
{
    struct value x;
    struct tensor zeros;
    struct result result;
    struct error err;
    value_init(&x);
    result_init(&result);
    assert_int_equal(
        tensor_alloc(&zeros, DTYPE_FLOAT, &(struct shape){.rank = 2, .dims = {1, SMALL}}, 0, &err), 0);
    value_set_tensor(&x, &zeros);
    value_set_name(&x, "x");
    struct job job = {.engine = engine, .path = path, .n_inputs = 1, .inputs = &x};
    assert_int_equal(pool_run_one(pool, &job, &result, &err), 0);
    enum outcome outcome = result.outcome;
    result_release(&result);
    value_release(&x);
    return outcome;
}

static bool files_have_a_wall(void)
{
    struct str text;
    struct error err;
    char *libexec = paths_libexec();
    str_init(&text);
    bool wall = sandbox_describe(libexec, &text, &err) == 0 && !strstr(text.data, "no wall");
    str_release(&text);
    free(libexec);
    return wall;
}

/* A model elsewhere is not there for a worker until it is shown to the pool; then a worker that was started
 * before is replaced by one that sees it. What was handed over is seen from the start. */
static void workers_see_what_is_shown(void **state)
{
    struct bench *bench = *state;
    struct registry *registry;
    const struct engine_spec *spec;
    char *folder, path[512];
    struct model *model = make(bench, SMALL, false);
    assert_int_equal(registry_open(&registry, NULL, 0, &bench->err), 0);
    assert_int_equal(
        registry_find(registry, given_typed(registry_arena(registry), "reference"), &spec, &bench->err), 0);
    struct pool *pool = pool_new(NULL);
    int engine = pool_add(pool, spec);
    if (files_have_a_wall())
        assert_int_not_equal(outcome_on(pool, engine, bench->path), OUTCOME_OK);
    struct view *view = pool_view_open(pool, (const char *const[]){bench->folder, NULL});
    assert_int_equal(outcome_on(pool, engine, bench->path), OUTCOME_OK);
    view_close(view);
    assert_int_equal(outcome_on(pool, engine, bench->path), OUTCOME_OK); /* to one that saw it, it stays */
    assert_int_equal(pool_folder(pool, &folder, &bench->err), 0);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    assert_int_equal(model_save_linked(model, USERS_PATH, path, &bench->err), 0);
    assert_int_equal(outcome_on(pool, engine, path), OUTCOME_OK);
    assert_true(pool_counters(pool, engine).started <= 2);
    free(folder);
    pool_free(pool);
    registry_free(registry);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_ones_are_bytes, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(a_whole_file_goes_out_as_it_is, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(large_ones_go_by_path, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(relative_paths_become_absolute, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(engines_elsewhere_get_bytes, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(limits_are_said_beforehand, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(what_would_help_is_said, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(edited_ones_share_the_weights, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(what_was_read_counts, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(edits_leave_the_path_behind, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(engines_read_weights_beside_the_model, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(workers_see_what_is_shown, bench_open, bench_close),
        cmocka_unit_test_setup_teardown(the_hash_is_of_all_files, bench_open, bench_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
