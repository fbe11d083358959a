/* What an engine says it did with a case, and what of it concerns the nodes that are to blame. */
#include "locate/traced_case.h"

#include "engine/panel.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

/* x -> Neg -> a -> Exp -> b -> Abs -> c, and a -> Sqrt -> d */
static struct model *chain(void)
{
    struct model *model = model_new(13);
    struct shape shape = shape_make(1, (int64_t[]){2});
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_node(model, "Neg", NULL, 1, (const char *[]){"x"}, 1, (const char *[]){"a"});
    model_add_node(model, "Exp", NULL, 1, (const char *[]){"a"}, 1, (const char *[]){"b"});
    model_add_node(model, "Abs", NULL, 1, (const char *[]){"b"}, 1, (const char *[]){"c"});
    model_add_node(model, "Sqrt", NULL, 1, (const char *[]){"a"}, 1, (const char *[]){"d"});
    model_add_output(model, "c", DTYPE_FLOAT, &shape);
    model_add_output(model, "d", DTYPE_FLOAT, &shape);
    return model;
}

static void add_kernel(struct trace *trace, const char *name, const char *value)
{
    trace_add(trace,
              &(struct trace_step){.kind = TRACE_KERNEL, .name = name, .n_outputs = 1, .outputs = &value});
}

static void assert_words(const struct trace *trace, const struct model *model, const size_t *nodes,
                         size_t count, const char *expected)
{
    struct str words;
    str_init(&words);
    traced_words(trace, model, nodes, count, &words);
    assert_string_equal(words.data, expected);
    str_release(&words);
}

static void fused_nodes_are_those_of_the_value_behind(void **state)
{
    (void)state;
    struct model *model = chain();
    struct trace *trace = trace_new();
    add_kernel(trace, "neg", "a");
    add_kernel(trace, "exp_abs", "c");
    add_kernel(trace, "sqrt", "d");
    assert_words(trace, model, (size_t[]){0}, 1, "computed by neg");
    assert_words(trace, model, (size_t[]){1}, 1, "computed by exp_abs"); /* b is not the engine's */
    assert_words(trace, model, (size_t[]){1, 2}, 2, "computed by exp_abs");
    assert_words(trace, model, (size_t[]){0, 3}, 2, "computed by sqrt");
    assert_words(trace, model, NULL, 0, "computed by neg, exp_abs and sqrt");
    assert_words(trace, model, (size_t[]){99}, 1, "computed by neg, exp_abs and sqrt");
    assert_words(NULL, model, (size_t[]){0}, 1, "");
    add_kernel(trace, "copy", "c"); /* computed by several kernels, the last of which hands it on */
    struct str kernels;
    str_init(&kernels);
    assert_string_equal(traced_kernels(trace, model, (size_t[]){1, 2}, 2, &kernels), "");
    assert_string_equal(kernels.data, "exp_abs, copy");
    str_release(&kernels);
    trace_free(trace);
    model_free(model);
}

static void passes_of_an_engine_that_ended_early(void **state)
{
    (void)state;
    struct model *model = chain();
    struct trace *trace = trace_new();
    trace_add(trace, &(struct trace_step){.kind = TRACE_PASS, .name = "FuseAll"});
    assert_words(trace, model, (size_t[]){0}, 1, "with the graph changed by FuseAll");
    trace_free(trace);
    model_free(model);
}

static void an_engine_is_asked(void **state)
{
    (void)state;
    struct model *model = chain();
    struct registry *registry = NULL;
    struct panel panel = {0};
    struct error err = {0};
    struct tensor tensor;
    struct value input;
    struct shape shape = shape_make(1, (int64_t[]){2});
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, &err), 0);
    tensor_set(&tensor, 0, 1);
    tensor_set(&tensor, 1, 2);
    value_init(&input);
    value_set_name(&input, "x");
    value_set_tensor(&input, &tensor);
    assert_int_equal(registry_open(&registry, NULL, 0, &err), 0);
    assert_int_equal(panel_open(&panel, registry,
                                given_all_typed(registry_arena(registry), (const char *[]){"reference"}, 1),
                                NULL, &err),
                     0);
    struct test_case *test = test_case_view(model, &input, 1);
    struct trace *trace = traced_case(panel.pool, panel.engines[0], test);
    assert_non_null(trace);
    assert_words(trace, model, (size_t[]){1}, 1, "computed by Exp");
    trace_free(trace);
    test_case_free(test);
    panel_close(&panel);
    registry_free(registry);
    value_release(&input);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_nodes_are_those_of_the_value_behind),
        cmocka_unit_test(passes_of_an_engine_that_ended_early),
        cmocka_unit_test(an_engine_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
