#include "compare/compare_cause.h"

#include "locate/localize.h"

enum { SECONDS = 20, NODES = 1000 }; /* it takes a second or two; the rest is for slow machines */

static void find_cause(struct compare *compare, struct engine_verdict *overall, struct localize_case *where)
{
    struct localization found = {0};
    if (!localize(&found, where, NULL) && found.cause.certain && found.cause.n_parameters)
        overall->cause = arena_strdup(&compare->arena, found.cause.text);
    localization_release(&found);
}

void compare_causes(struct compare *compare, const struct model *model, const struct inputs *inputs,
                    const struct panel *panel)
{
    for (size_t i = 0; i < compare->engines && model->graph->n_node <= NODES; i++) {
        struct engine_verdict *overall = &compare->verdicts.engine[i];
        struct value *values;
        bool wanted = overall->n_nodes && verdict_is_finding(overall->verdict.kind) &&
                      verdict_is(overall->verdict.kind, CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) &&
                      !verdict_row(overall->verdict.kind)->to_deadline;
        if (!wanted || inputs_get(inputs, overall->sample, &values, NULL))
            continue;
        struct test_case *test = test_case_view(model, values, inputs->count);
        struct localize_case where = {.pool = panel->pool,
                                      .engine = panel->engines[i],
                                      .test = test,
                                      .method = LOCALIZE_LOCAL | LOCALIZE_CAUSE,
                                      .cause_seconds = SECONDS};
        find_cause(compare, overall, &where);
        test_case_free(test);
        values_free(values, inputs->count);
    }
}
