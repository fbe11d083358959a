/*
 * How many of the variants that are drawn of a model can be made, and of how many of its parameters there is
 * one: bench_variants_survey [--illegal] [--seed S] [--list] [--data FOLDER] COUNT MODEL...
 *
 * One line a model; --list prints every variant and, of those that could not be made, why. The last line is
 *
 *     drawn N made N parameters N of N
 */
#include "base/memory.h"
#include "base/str.h"
#include "case/inputs.h"
#include "search/variant.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct survey {
    enum variant_law law;
    uint64_t seed;
    size_t count;
    bool list;
    size_t drawn, made, params, reached;
};

static int open_seed(const char *path, struct test_case **test, struct error *err)
{
    struct model *model;
    struct inputs inputs;
    struct value *values;
    if (model_load(&model, path, err))
        return -1;
    *test = test_case_new(model);
    test_case_set_name(*test, path);
    if (inputs_random(&inputs, model, 1, 1, NULL, 0, err) || inputs_get(&inputs, 0, &values, err))
        return -1;
    (*test)->inputs = values;
    (*test)->n_inputs = inputs.count;
    inputs_release(&inputs);
    return 0;
}

static void survey_one(struct survey *s, const struct variant_seed *seed, uint64_t number, bool *reached)
{
    struct test_case *made;
    struct variant_facts facts;
    const struct variant_param *params;
    struct error err = {0};
    int result = variant_make(seed, s->law, s->seed, number, &made, &facts, &err);
    variant_params(seed, &params);
    s->drawn++;
    s->made += result == 0;
    if (!result && (facts.changes == 1 || s->law == VARIANT_ILLEGAL))
        reached[facts.param] = true;
    if (s->list)
        printf("%s\t%llu\t%s %s\t%s\t%s\n", result ? "not made" : "made", (unsigned long long)number,
               params[facts.param].op->name, params[facts.param].param->name, result ? "" : made->note,
               result                ? err.message
               : made->forbidden_why ? made->forbidden_why
                                     : "");
    test_case_free(made);
}

static int survey_model(struct survey *s, const char *path, struct error *err)
{
    struct test_case *test;
    struct variant_seed *seed;
    const struct variant_param *params;
    if (open_seed(path, &test, err) || variant_seed_new(&seed, test, err))
        return -1;
    size_t count = variant_params(seed, &params), before = s->made, found = 0;
    bool *reached = memory_zeroed(count, sizeof *reached);
    for (uint64_t i = 0; i < s->count; i++)
        survey_one(s, seed, i, reached);
    printf("%-40s made %zu of %zu", path, s->made - before, s->count);
    for (size_t i = 0; i < count; i++)
        found += reached[i];
    size_t can = 0;
    for (size_t i = 0; i < count; i++)
        can += params[i].varies || s->law == VARIANT_ILLEGAL;
    printf(", parameters %zu of %zu; none of:", found, can);
    for (size_t i = 0; i < count; i++)
        if (!reached[i] && (params[i].varies || s->law == VARIANT_ILLEGAL))
            printf(" %s.%s", params[i].op->name, params[i].param->name);
    printf("\n");
    s->params += can;
    s->reached += found;
    free(reached);
    variant_seed_free(seed);
    test_case_free(test);
    return 0;
}

int main(int argc, char **argv)
{
    struct survey s = {.law = VARIANT_LEGAL, .seed = 1};
    static const struct option options[] = {{"illegal", no_argument, NULL, 'i'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"list", no_argument, NULL, 'l'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'i')
            s.law = VARIANT_ILLEGAL;
        else if (option == 's')
            s.seed = strtoull(optarg, NULL, 10);
        else if (option == 'l')
            s.list = true;
        else
            return 2;
    }
    if (optind + 2 > argc)
        return 2;
    s.count = strtoull(argv[optind], NULL, 10);
    for (int i = optind + 1; i < argc; i++) {
        struct error err = {0};
        if (survey_model(&s, argv[i], &err)) {
            fprintf(stderr, "%s: %s\n", argv[i], err.message);
            return 2;
        }
    }
    printf("drawn %zu made %zu parameters %zu of %zu\n", s.drawn, s.made, s.reached, s.params);
    return 0;
}
