/* The part at fault of a larger case, on the reference with a planted fault. */
#include "base/memory.h"
#include "engine/registry.h"
#include "locate/excerpt.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

static const struct shape two = {1, {2}}, six = {1, {6}};

struct bench {
    struct registry *registry;
    struct pool *pool;
    int engine;
    struct model *model;
    struct value x;
    struct error err;
};

static struct tensor floats(const struct shape *shape, const float *values, size_t size)
{
    struct tensor tensor;
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, shape, values, size, NULL), 0);
    return tensor;
}

/* y = Tanh(Concat(x + w, w, x * x)): the fault leaves out the third. */
static struct model *make(void)
{
    struct model *model = model_new(13);
    struct tensor w = floats(&two, (float[]){3, 4}, 8);
    model_add_input(model, "x", DTYPE_FLOAT, &two);
    model_add_initializer(model, "w", &w);
    tensor_release(&w);
    model_add_node(model, "Add", "add", 2, NAMES("x", "w"), 1, NAMES("s"));
    model_add_node(model, "Mul", "mul", 2, NAMES("x", "x"), 1, NAMES("m"));
    Onnx__NodeProto *concat =
        model_add_node(model, "Concat", "concat", 3, NAMES("s", "w", "m"), 1, NAMES("c"));
    node_set_int(&model->arena, concat, "axis", 0);
    model_add_node(model, "Tanh", "tanh", 1, NAMES("c"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &six);
    return model;
}

static void bench_open(struct bench *bench, const char *label)
{
    const struct engine_spec *spec;
    *bench = (struct bench){.model = make(), .pool = pool_new(NULL)};
    assert_int_equal(registry_open(&bench->registry, NULL, 0, &bench->err), 0);
    assert_int_equal(registry_find(bench->registry, given_typed(registry_arena(bench->registry), label),
                                   &spec, &bench->err),
                     0);
    bench->engine = pool_add(bench->pool, spec);
    struct tensor x = floats(&two, (float[]){1, 2}, 8);
    value_init(&bench->x);
    value_set_tensor(&bench->x, &x);
    value_set_name(&bench->x, "x");
}

static void bench_close(struct bench *bench)
{
    pool_free(bench->pool);
    registry_free(bench->registry);
    model_free(bench->model);
    value_release(&bench->x);
}

static int excerpt(struct bench *bench, struct test_case **part)
{
    struct test_case *whole = test_case_view(bench->model, &bench->x, 1);
    int status = excerpt_make(part, whole, bench->pool, bench->engine, &bench->err);
    test_case_free(whole);
    return status;
}

static void the_node_at_fault_alone(void **state)
{
    (void)state;
    struct bench bench;
    struct test_case *part;
    bench_open(&bench, "reference:fault=concat-three");
    assert_int_equal(excerpt(&bench, &part), 0);
    const struct model *model = test_case_model(part, &bench.err);
    assert_int_equal(model->graph->n_node, 1);
    assert_string_equal(model->graph->node[0]->op_type, "Concat");
    assert_int_equal(model->graph->n_initializer, 1); /* weights stay weights */
    assert_int_equal(part->n_inputs, 2);
    for (size_t i = 0; i < part->n_inputs; i++) {
        const struct value *input = &part->inputs[i];
        bool sum = strcmp(input->name, "s") == 0;
        assert_string_equal(input->name, model->graph->input[i]->name);
        assert_true(tensor_get(&input->tensors[0], 0) == (sum ? 4 : 1));
        assert_true(tensor_get(&input->tensors[0], 1) == (sum ? 6 : 4));
    }
    test_case_free(part);
    bench_close(&bench);
}

static void nothing_where_nobody_is_to_blame(void **state)
{
    (void)state;
    struct bench bench;
    struct test_case *part;
    bench_open(&bench, "reference:round=on");
    assert_int_equal(excerpt(&bench, &part), -1);
    assert_int_equal(bench.err.code, ERROR_NOT_FOUND);
    assert_non_null(
        strstr(bench.err.message, "none of its nodes is at fault on reference:round=on (agrees)"));
    assert_null(part);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_node_at_fault_alone),
        cmocka_unit_test(nothing_where_nobody_is_to_blame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
