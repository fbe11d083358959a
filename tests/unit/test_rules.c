#include "base/str.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "model/onnx.h"
#include "rules/rewriting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__})

static const struct shape square = {2, {2, 2}};

static void set_input(struct test_case *test, const char *name)
{
    struct tensor tensor;
    struct value value;
    value_init(&value);
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &square, 0, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        tensor_set(&tensor, i, (long double)i - 1.5L);
    value_set_name(&value, name);
    value_set_tensor(&value, &tensor);
    assert_int_equal(test_case_add_inputs(test, &value, 1, NULL), 0);
    value_release(&value);
}

/* "a b" -> h 1 = Relu -> y = Neg: names with blanks are quoted in rewritings. */
static struct test_case *small_case(void)
{
    struct model *model = model_new(13);
    model_add_input(model, "a b", DTYPE_FLOAT, &square);
    model_add_output(model, "y", DTYPE_FLOAT, &square);
    model_add_node(model, "Relu", "r", 1, NAMES("a b"), 1, NAMES("h 1"));
    model_add_node(model, "Neg", "n", 1, NAMES("h 1"), 1, NAMES("y"));
    struct test_case *test = test_case_new(model);
    set_input(test, "a b");
    return test;
}

static size_t nodes_of(const struct test_case *test)
{
    return test_case_model(test, NULL)->graph->n_node;
}

static void names_are_quoted_and_found_again(void **state)
{
    (void)state;
    struct test_case *test = small_case(), *other;
    struct rewriting_steps list;
    struct error err = {0};
    assert_int_equal(rewriting_steps(&list, test, &(struct rule_choice){.rules = "identity"}, &err), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.steps[0], "identity@a%20b");
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(rewriting_apply(test, list.steps[i], &other, &err), 1);
        assert_int_equal(nodes_of(other), 3);
        assert_ptr_equal(other->equivalence->origin, test);
        assert_string_equal(other->equivalence->rewriting, list.steps[i]);
        test_case_free(other);
    }
    rewriting_steps_free(&list);
    test_case_free(test);
}

static void steps_follow_each_other(void **state)
{
    (void)state;
    struct test_case *test = small_case(), *other;
    struct error err = {0};
    assert_int_equal(rewriting_apply(test, "identity@y transpose-pair@h%201#2 knob@opt=none", &other, &err),
                     1);
    assert_int_equal(nodes_of(other), 5);
    assert_string_equal(other->equivalence->knobs, "opt=none");
    assert_int_equal(other->equivalence->relation, RELATION_BOUNDS);
    assert_int_equal(rewriting_depth(other->equivalence->rewriting), 3);
    assert_string_equal(rewriting_rule(other->equivalence->rewriting)->name, "knob");
    test_case_free(other);
    test_case_free(test);
}

static void the_same_text_gives_the_same_bytes(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        struct test_case *test, *a, *b;
        struct error err = {0};
        struct rng rng = rng_seed(i);
        if (generate_graph(7, i, &(struct generate_options){.max_nodes = 5}, &test, NULL))
            continue;
        if (rewriting_draw(test, &(struct rule_choice){.no_runs = true}, 3, 10, &rng, &a, &err) == 1) {
            const uint8_t *bytes_a, *bytes_b;
            size_t size_a, size_b;
            assert_int_equal(rewriting_apply(test, a->equivalence->rewriting, &b, &err), 1);
            assert_int_equal(test_case_bytes(a, &bytes_a, &size_a, NULL), 0);
            assert_int_equal(test_case_bytes(b, &bytes_b, &size_b, NULL), 0);
            assert_int_equal(size_a, size_b);
            assert_memory_equal(bytes_a, bytes_b, size_a);
            assert_string_equal(a->recipe, b->recipe);
            assert_non_null(strstr(a->recipe, " | "));
            test_case_free(a);
            test_case_free(b);
        }
        test_case_free(test);
    }
}

static void bad_text_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "nonsense",
                                      "identity@%2",
                                      "identity@%00",
                                      "identity@%zz",
                                      "identity@y#",
                                      "identity@y#x",
                                      "identity@y#-1",
                                      "identity@y#99999999999999999999999"};
    struct test_case *test = small_case(), *other;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = {0};
        assert_int_equal(rewriting_apply(test, bad[i], &other, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        assert_null(other);
    }
    struct error err = {0};
    assert_int_equal(rewriting_apply(test, "identity@nowhere", &other, &err), 0);
    assert_int_equal(rewriting_apply(test, "auto-pad@y", &other, &err), 0);
    test_case_free(test);
}

static void long_rewritings_are_refused(void **state)
{
    (void)state;
    struct test_case *test = small_case(), *other;
    struct str text;
    struct error err = {0};
    str_init(&text);
    for (int i = 0; i < REWRITING_MAX_DEPTH + 1; i++)
        str_printf(&text, "%sidentity@y#%d", i ? " " : "", i);
    assert_int_equal(rewriting_apply(test, text.data, &other, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    str_release(&text);
    test_case_free(test);
}

static void misspelt_rules_get_a_suggestion(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(rule_choice_check(&(struct rule_choice){.rules = "identity,auto-pat"}, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_non_null(strstr(err.message, "did you mean auto-pad?"));
    assert_int_equal(rule_choice_check(&(struct rule_choice){.rules = "identity", .without = "knob"}, &err),
                     0);
}

/* What the list and the tables need. */
static void every_rule_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        assert_non_null(rule->name);
        assert_non_null(rule->summary);
        assert_true(rule->scope >= RULE_NODE && rule->scope <= RULE_RUN);
        assert_true(rule->relation == RELATION_BITS || rule->relation == RELATION_BOUNDS);
        assert_true(rule->paper >= 0 && rule->paper <= 16);
        assert_true(!rule->operators || rule->scope == RULE_NODE);
        assert_true(!rule->each_knob || rule->scope == RULE_RUN);
        assert_true(!rule->apply == (rule->knobs != NULL));
        assert_ptr_equal(rule_named(rule->name, strlen(rule->name)), rule);
        assert_true(strspn(rule->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(rule->name));
    }
}

/* A case with one input x, of the numbers -1.5 to 1.5. */
static struct test_case *case_of_text(const char *text)
{
    struct model *model = NULL;
    struct error err = {0};
    uint8_t *bytes = NULL;
    size_t size;
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&model, bytes, size, &err))
        fail_msg("%s", err.message);
    free(bytes);
    struct test_case *test = test_case_new(model);
    set_input(test, "x");
    return test;
}

/* A BatchNormalization whose mean has another type than its data was multiplied by a number of the wrong one.
 */
static void types_that_differ_are_not_scaled(void **state)
{
    static const char text[] = "scaled@y#12";
    struct test_case *test, *other;
    struct error err = {0};
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        struct str model;
        str_init(&model);
        str_printf(&model,
                   "<ir_version: 8, opset_import: [\"\" : 15]> g (float[2,2] x) => (float[2,2] y)"
                   " <float[2] s = {1, 2}, float[2] b = {1, 1}, %s[2] m = {1, 2}, %s[2] v = {1, 1}>"
                   " { y = BatchNormalization (x, s, b, m, v) }",
                   mixed ? "double" : "float", mixed ? "double" : "float");
        test = case_of_text(model.data);
        assert_int_equal(rewriting_apply(test, text, &other, &err), !mixed);
        test_case_free(other);
        test_case_free(test);
        str_release(&model);
    }
}

/* The default of GridSample's mode has another name from opset 20 on, which the libonnx at hand may not know.
 */
static void defaults_are_those_of_the_opset(void **state)
{
    static const char text[] =
        "<ir_version: 9, opset_import: [\"\" : 20]> g (float[2,2] x) => (float[1,1,2,2] y)"
        " <int64[4] a = {1, 1, 2, 2}, float[1,2,2,2] grid = {0, 0, 1, 1, 0, 1, 1, 0}>"
        " { v = Reshape (x, a) y = GridSample (v, grid) }";
    struct error err = {0};
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct test_case *test = case_of_text(text), *other = NULL;
        char step[32];
        snprintf(step, sizeof step, "defaults@y#%d", i);
        if (rewriting_apply(test, step, &other, &err) == 1) {
            const Onnx__GraphProto *graph = test_case_model(other, NULL)->graph;
            for (size_t k = 0; k < graph->n_node; k++) {
                const Onnx__AttributeProto *mode = node_attribute(graph->node[k], "mode");
                assert_true(!mode || (mode->s.len == 6 && memcmp(mode->s.data, "linear", 6) == 0));
            }
        }
        test_case_free(other);
        test_case_free(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_quoted_and_found_again),
        cmocka_unit_test(steps_follow_each_other),
        cmocka_unit_test(the_same_text_gives_the_same_bytes),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(long_rewritings_are_refused),
        cmocka_unit_test(misspelt_rules_get_a_suggestion),
        cmocka_unit_test(every_rule_is_complete),
        cmocka_unit_test(types_that_differ_are_not_scaled),
        cmocka_unit_test(defaults_are_those_of_the_opset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
