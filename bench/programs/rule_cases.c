#include "rule_cases.h"

#include "base/hash.h"
#include "base/str.h"
#include "generate/operator_case.h"
#include "model/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATORS = 2000, SITES = 6 };

enum turn { TURN_FAULT, TURN_RULE, TURN_GRAPH, TURN_WEIGHTS, TURN_COUNT };

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

static struct test_case *make(const struct rule_case_options *options, uint64_t index)
{
    struct test_case *test = NULL;
    char operators[OPERATORS] = "";
    enum turn turn = (enum turn)(index % TURN_COUNT);
    const char *of_rule = node_operators(options->rule);
    if (turn != TURN_RULE || !of_rule)
        add_operators(operators, options->operators);
    if (turn == TURN_RULE || turn == TURN_GRAPH || !*operators)
        add_operators(operators, of_rule);
    struct generate_options generate = {.ops = *operators ? operators : NULL,
                                        .max_opset = index % 8 < 6 ? 17 : 0,
                                        .min_nodes = 2,
                                        .max_nodes = 6};
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
    for (size_t i = 0; result == 0 && i < SITES && list.count; i++) {
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
