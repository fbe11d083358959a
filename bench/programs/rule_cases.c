#include "rule_cases.h"

#include "base/hash.h"
#include "base/str.h"
#include "case/inputs.h"
#include "generate/operator_case.h"
#include "model/edit.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATORS = 2000, SITES = 6, SETTINGS = 60 };

enum turn { TURN_FAULT, TURN_RULE, TURN_GRAPH, TURN_WEIGHTS, TURN_BY_HAND, TURN_COUNT };

/* Forms that are hardly ever drawn, or never: values with several consumers, operands of other shapes, nodes
 * on constants alone, functions, fused neighbours. */
static const char *const by_hand[] = {
    "g (float[3,4] x) => (float[3,4] y) { a = local.f(x) b = Neg(a) y = local.f(b) } "
    "<opset_import: [\"\" : 13], domain: \"local\"> f (a) => (b) { c = Tanh(a) b = Add(c, a) }",
    "g (float[3,4] x) => (float[3,4] y, float[3,4] z) "
    "{ a = Relu(x) b = Tanh(a) c = Neg(a) d = Sub(b, c) y = Mul(d, a) e = Abs(d) z = Sub(e, b) }",
    "g (float[3,1] x, float[3,4] w) => (float[3,4] y) { a = Add(x, w) b = Mul(x, a) y = Max(x, b) }",
    "g (float[1,2,5,5] x) => (float[1,3,3,3] y) <float[3,2,3,3] w = {"
    "1,-2,3,-1,2,-3,1,2,-1, 2,1,-1,3,-2,1,-1,1,2, -3,1,2,2,-1,1,1,-2,3, 1,1,-2,-1,2,3,-1,1,2, "
    "2,-1,3,1,1,-2,3,2,-1,"
    "-1,3,1,2,-2,1,1,3,-1}, float[3] b = {0.5,-1.5,2.5}> { a = Conv(x, w, b) y = Relu(a) }",
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1.5,-2,3,-1}, float[2] b = {0.5,-1.5}>"
    "{ y = Conv(x, w, b) }",
    "g (float[2,6] x) => (float[2,6] y) <float[1,3] v = {1.1,2.3,3.7}, float[1,3] w = {4.1,5.3,6.7}>"
    "{ a = Concat<axis = 1>(v, w) b = Exp(a) y = Add(x, b) }",
    "g (float[6] x) => (int8[6] y) { y = Cast<to = 3>(x) }",
    "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {2.5,2.5,2.5,2.5}> { y = Mul(x, w) }",
    "g (float[4,3] x) => (float[2,3] y) <int64[1] k = {2}> { y, i = TopK<axis = 0>(x, k) }",
    "g (float[2,3,4] x) => (float[2,1,1] y) { a = Abs(x) y = ReduceProd<axes = [1, 2]>(a) }",
    "g (float[4] x) => (float[4] y) <bool yes = {1}> { y = If (yes) <then_branch = t () => (float[4] a) "
    "{ a = Relu(x) }, else_branch = e () => (float[4] b) { b = Neg(x) }> }",
};

/* Appends "A|B" as "A,B". */
static void add_operators(char *list, const char *operators)
{
    size_t used = strlen(list);
    if (!operators || text_equal(operators, "any"))
        return;
    snprintf(list + used, OPERATORS - used, "%s%s", used ? "," : "", operators);
    for (char *at = list + used; *at; at++)
        if (*at == '|')
            *at = ',';
}

static const char *node_operators(const struct rule *rule)
{
    return rule->scope == RULE_NODE ? rule->operators : NULL;
}

/* Inputs become initialisers, except the first where there are several. */
static int freeze(struct test_case *test, struct error *err)
{
    struct model *copy;
    const struct model *model = test_case_model(test, err);
    if (!model || model_clone(&copy, model, err))
        return -1;
    size_t kept = test->n_inputs > 1 ? 1 : 0;
    int result = 0;
    for (size_t i = kept; i < test->n_inputs && !result; i++) {
        if (test->inputs[i].kind != VALUE_TENSOR)
            result = -1;
        else
            result = model_freeze_input(copy, test->inputs[i].name, &test->inputs[i].tensors[0], err);
    }
    if (result) {
        model_free(copy);
        return -1;
    }
    while (test->n_inputs > kept)
        value_release(&test->inputs[--test->n_inputs]);
    test_case_set_model(test, copy);
    return 0;
}

/* Whether the text has one of the operators "A|B"; NULL and "any" are any. */
static bool has_operator(const char *text, const char *operators)
{
    if (!operators || text_equal(operators, "any"))
        return true;
    while (*operators) {
        size_t length = strcspn(operators, "|");
        for (const char *at = text; (at = strstr(at, " = ")) != NULL;) {
            at += strlen(" = ");
            if (strncmp(at, operators, length) == 0 && strchr("(< ", at[length]))
                return true;
        }
        operators += length + (operators[length] == '|');
    }
    return false;
}

/* The text of one of those that have the operators, or of any if none has. */
static const char *text_by_hand(const char *operators, uint64_t index)
{
    enum { COUNT = sizeof by_hand / sizeof *by_hand };
    const char *fitting[COUNT];
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++)
        if (has_operator(by_hand[i], operators))
            fitting[count++] = by_hand[i];
    return count ? fitting[index % count] : by_hand[index % COUNT];
}

static void must(int failed, const char *text, const struct error *err)
{
    if (!failed)
        return;
    fprintf(stderr, "%s: %s\n", text, err->message);
    exit(2);
}

/* Inputs are normal numbers. */
static struct test_case *make_by_hand(const char *operators, uint64_t seed, uint64_t index)
{
    const char *made = text_by_hand(operators, index);
    struct error err = {0};
    struct inputs inputs = {0};
    struct value *values = NULL;
    struct str text;
    uint8_t *bytes;
    size_t size;
    str_init(&text);
    str_printf(&text, "<ir_version: 8, opset_import: [\"\" : %d, \"local\" : 1]> %s", index % 2 ? 15 : 13,
               made);
    must(onnx_parse_text(text.data, &bytes, &size, &err), made, &err);
    str_release(&text);
    struct test_case *test = test_case_from_bytes(bytes, size);
    const struct model *model = test_case_model(test, &err);
    must(!model || inputs_random(&inputs, model, 1, seed + index, NULL, 0, &err) ||
             inputs_get(&inputs, 0, &values, &err) || test_case_add_inputs(test, values, inputs.count, &err),
         made, &err);
    values_free(values, inputs.count);
    inputs_release(&inputs);
    test_case_set_recipe(test, made);
    return test;
}

static struct test_case *make(const struct rule_case_options *options, uint64_t index)
{
    struct test_case *test = NULL;
    char operators[OPERATORS] = "";
    enum turn turn = (enum turn)(index % TURN_COUNT);
    const char *of_rule = node_operators(options->rule);
    if (turn == TURN_BY_HAND)
        return make_by_hand(index / TURN_COUNT % 2 && of_rule ? of_rule : options->operators, options->seed,
                            index / TURN_COUNT);
    if (turn != TURN_RULE || !of_rule)
        add_operators(operators, options->operators);
    if (turn == TURN_RULE || turn == TURN_GRAPH || !*operators)
        add_operators(operators, of_rule);
    struct generate_options generate = {.ops = *operators ? operators : NULL,
                                        .max_opset = index % 8 < 6 ? 17 : 0,
                                        .min_nodes = 2,
                                        .max_nodes = 6};
    if (turn != TURN_RULE || !of_rule) {
        generate.fill = options->fill;
        generate.types = options->types;
    }
    uint64_t seed = hash_combine(options->seed, hash_text(options->rule->name));
    int failed = turn == TURN_GRAPH ? generate_graph(seed, index, &generate, &test, NULL)
                                    : generate_one(seed, index, &generate, &test, NULL);
    if (!failed && turn == TURN_WEIGHTS && freeze(test, NULL)) {
        test_case_free(test);
        return NULL;
    }
    return failed ? NULL : test;
}

static int rewrite_somewhere(struct test_case *test, const struct rule_choice *choice, struct rng *rng,
                             struct test_case **rewritten, struct error *err)
{
    struct rewriting_steps list;
    int result = rewriting_steps(&list, test, choice, err) ? -1 : 0;
    size_t tries = list.count && list.rules[0]->each_knob ? SETTINGS : SITES;
    for (size_t i = 0; result == 0 && i < tries && list.count; i++) {
        struct str text;
        str_init(&text);
        str_printf(&text, "%s#%d", list.steps[rng_below(rng, list.count)], (int)rng_below(rng, 100));
        result = rewriting_apply(test, text.data, rewritten, err);
        str_release(&text);
    }
    rewriting_steps_free(&list);
    return result;
}

int rule_case_draw(const struct rule_case_options *options, uint64_t index, struct test_case **rewritten,
                   struct error *err)
{
    struct rule_choice choice = {
        .rules = options->rule->name, .n_knobs = options->n_knobs, .knobs = options->knobs};
    struct rng rng = rng_seed(hash_combine(options->seed, index));
    struct test_case *test = make(options, index);
    *rewritten = NULL;
    if (!test)
        return 0;
    int result = rewrite_somewhere(test, &choice, &rng, rewritten, err);
    test_case_free(test);
    return result;
}
