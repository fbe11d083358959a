/*
 * Whether the rules are true: every rule is applied to generated cases, and the reference evaluates both
 * forms. Their exact values must agree within the hard bounds of both, and so must the values that an engine
 * with correctly rounded operators computes. Prints a line for each rule: cases tried, rewritten, not valid,
 * and how many of the rewritten ones disagree, each with its recipe.
 *
 * usage: bench_rules_hold CASES SEED [RULE...]
 */
#include "answers.h"

#include "base/str.h"
#include "generate/operator_case.h"
#include "rules/rewriting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
    size_t tried, applied, invalid, judged, wrong;
    char why[300];
};

/* Rows are put right before the answers are compared. */
static size_t place_of(const struct equivalence *way, const struct bounded *a, const struct bounded *b,
                       size_t i)
{
    if (way->rows == ROWS_LAST)
        return i + (b->count - a->count);
    if (way->rows != ROWS_REVERSED || a->shape.rank == 0 || a->count == 0)
        return i;
    size_t row = a->count / (size_t)a->shape.dims[0];
    return ((size_t)a->shape.dims[0] - 1 - i / row) * row + i % row;
}

/* How many elements of `a` the rewritten form has as well: its batch may be smaller. */
static size_t compared(const struct equivalence *way, const struct bounded *a, const struct bounded *b)
{
    return way->rows == ROWS_FIRST && b->count < a->count ? b->count : a->count;
}

static bool same_form(const struct equivalence *way, const struct bounded *a, const struct bounded *b)
{
    struct shape shape = b->shape;
    if (shape.rank > 0 && shape.rank == a->shape.rank &&
        (way->rows == ROWS_FIRST || (way->rows == ROWS_LAST && shape.dims[0] >= a->shape.dims[0])))
        shape.dims[0] = a->shape.dims[0];
    return a->type == b->type && shape_equal(&a->shape, &shape);
}

/* Whether a difference is within the bounds; elements that are not judged pass. */
static bool close_enough(long double a, long double b, double bound)
{
    if (isinf(bound) || (isnan(a) && isnan(b)) || a == b)
        return true;
    return fabsl(a - b) <= bound * (1 + 1e-9L);
}

static bool agree(const struct equivalence *way, const struct answers *a, const struct answers *b,
                  const struct answers *bounds_a, const struct answers *bounds_b, bool *judged)
{
    for (size_t k = 0; k < a->count; k++) {
        const struct bounded *x = &a->values[k], *y = &b->values[k];
        if (!same_form(way, x, y))
            return false;
        size_t count = compared(way, x, y);
        for (size_t i = 0; i < count; i++) {
            size_t j = place_of(way, x, y, i);
            double bound = bounded_hard(&bounds_a->values[k], i) + bounded_hard(&bounds_b->values[k], j);
            *judged |= !isinf(bound);
            if (!close_enough(x->value[i], y->value[j], bound))
                return false;
        }
    }
    return true;
}

static void hold(struct test_case *origin, struct test_case *other, struct tally *tally, bool loud)
{
    struct error err = {0};
    const struct model *from = test_case_model(origin, NULL), *to = test_case_model(other, NULL);
    const char **names = calloc(from->graph->n_output + 1, sizeof *names);
    struct answers exact_a = {0}, exact_b = {0}, round_a = {0}, round_b = {0};
    struct evaluate_options exact = {0}, round = {.round = true};
    bool judged = false;
    size_t count = from->graph->n_output;
    for (size_t i = 0; i < count; i++)
        names[i] = from->graph->output[i]->name;
    if (answers_compute(&exact_a, from, origin, &exact, names, count, &err) ||
        answers_compute(&round_a, from, origin, &round, names, count, &err))
        goto out; /* the original cannot be computed: nothing is said of the rule */
    const char *what = NULL;
    if (answers_compute(&exact_b, to, other, &exact, names, count, &err) ||
        answers_compute(&round_b, to, other, &round, names, count, &err))
        what = err.code == ERROR_UNSUPPORTED ? NULL : err.message;
    else if (!agree(other->equivalence, &exact_a, &exact_b, &exact_a, &exact_b, &judged))
        what = "exact values disagree";
    else if (!agree(other->equivalence, &round_a, &round_b, &exact_a, &exact_b, &judged))
        what = "rounded values disagree";
    tally->judged += judged;
    if (what) {
        tally->wrong++;
        if (loud)
            printf("  %s: %s\n", other->recipe, what);
    }
out:
    answers_release(&exact_a);
    answers_release(&exact_b);
    answers_release(&round_a);
    answers_release(&round_b);
    free(names);
}

static struct test_case *make_case(const struct rule *rule, uint64_t seed, uint64_t index)
{
    struct test_case *test;
    struct generate_options options = {.max_opset = index % 4 ? 17 : 0};
    char ops[600] = "";
    if (rule->scope == RULE_NODE && rule->operators) {
        snprintf(ops, sizeof ops, "%s", rule->operators);
        for (char *at = ops; *at; at++)
            if (*at == '|')
                *at = ',';
        options.ops = ops;
    }
    int status = index % 3 || options.ops ? generate_one(seed, index, &options, &test, NULL)
                                          : generate_graph(seed, index, &options, &test, NULL);
    return status ? NULL : test;
}

/* Cases that no generator makes are made by another rule: NAME is tried on what FIRST has rewritten. */
static const struct {
    const char *name, *first;
} after[] = {{"function-inlined", "function-called"}};

static struct test_case *prepare(const struct rule *rule, struct test_case *test)
{
    for (size_t i = 0; test && i < sizeof after / sizeof *after; i++) {
        struct rule_choice choice = {.rules = after[i].first};
        struct rng rng = rng_seed(1);
        struct test_case *made;
        if (!text_equal(after[i].name, rule->name))
            continue;
        if (rewriting_draw(test, &choice, 1, 4, &rng, &made, NULL) != 1)
            made = NULL;
        test_case_free(test);
        return made;
    }
    return test;
}

static void try_rule(const struct rule *rule, uint64_t seed, size_t cases, struct tally *tally)
{
    struct rule_choice choice = {.rules = rule->name};
    for (size_t i = 0; i < cases; i++) {
        struct error err = {0};
        struct rewriting_steps list;
        struct test_case *test = prepare(rule, make_case(rule, seed, i)), *other;
        if (!test)
            continue;
        if (rewriting_steps(&list, test, &choice, NULL) == 0)
            for (size_t k = 0; k < list.count && k < 4; k++) {
                /* Every case with another choice of what the rule leaves open. */
                char step[300];
                snprintf(step, sizeof step, "%s#%zu",
                         list.steps[list.count <= 4 ? k : (i + k * list.count / 4) % list.count], i);
                tally->tried++;
                int status = rewriting_apply(test, step, &other, &err);
                if (status == 1) {
                    tally->applied++;
                    hold(test, other, tally, tally->wrong < 5);
                    test_case_free(other);
                } else if (status < 0 || err.code == ERROR_INVALID) {
                    tally->invalid++;
                    snprintf(tally->why, sizeof tally->why, "%s | %s: %s", test->recipe, step, err.message);
                }
            }
        rewriting_steps_free(&list);
        test_case_free(test);
    }
}

static bool is_named(const struct rule *rule, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (text_equal(names[i], rule->name))
            return true;
    return count <= 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_rules_hold CASES SEED [RULE...]\n");
        return 2;
    }
    size_t wrong = 0, idle = 0;
    printf("%-24s %8s %8s %8s %8s %8s\n", "rule", "tried", "applied", "invalid", "judged", "wrong");
    for (size_t i = 0; i < rules_count; i++) {
        struct tally tally = {0};
        if (rules_all[i]->scope == RULE_RUN || !is_named(rules_all[i], argc - 3, argv + 3))
            continue;
        try_rule(rules_all[i], strtoull(argv[2], NULL, 10), strtoul(argv[1], NULL, 10), &tally);
        printf("%-24s %8zu %8zu %8zu %8zu %8zu\n", rules_all[i]->name, tally.tried, tally.applied,
               tally.invalid, tally.judged, tally.wrong);
        if (tally.invalid)
            printf("  not valid: %s\n", tally.why);
        fflush(stdout);
        wrong += tally.wrong + tally.invalid;
        idle += !tally.judged;
    }
    printf("%zu rewritings wrong or not valid, %zu rules never judged\n", wrong, idle);
    return wrong || idle;
}
