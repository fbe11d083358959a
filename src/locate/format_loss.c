#include "locate/format_loss.h"

#include "against/against.h"
#include "case/inputs.h"
#include "engine/handover.h"
#include "locate/expected.h"

/* Whether an answer is that of the model as the tool wrote it. */
static bool is_as_written(const struct model *written, const struct test_case *test,
                          const struct result *result)
{
    struct expected expected = {0};
    struct verdict verdict = {0};
    struct arithmetic fusing = {.fuses = true};
    if (expected_compute(&expected, written, &fusing, test->inputs, test->n_inputs))
        return false;
    expected_judge(&expected, written, result, &verdict);
    expected_release(&expected);
    return !verdict_is(verdict.kind, CLASS_DEVIATES | CLASS_NOTHING);
}

static bool is_explained(const struct model *written, const struct test_case *test, struct verdict *verdict)
{
    const struct model *model = test_case_model(test, NULL);
    const struct panel nobody = {.reference = -1};
    struct against against = {0};
    struct inputs inputs = {0};
    bool explained =
        model && inputs_of_values(&inputs, written, test->inputs, test->n_inputs, NULL) == 0 &&
        against_run(&against, written, model, &inputs, &nobody, &(struct against_options){0}, NULL) == 0 &&
        against.explained;
    if (explained)
        verdict_lose_precision(verdict, against.formats, against_share(against.output, against.n_outputs));
    against_release(&against);
    inputs_release(&inputs);
    return explained;
}

bool format_loss_explains(const struct settle_case *which, struct verdict *verdict)
{
    struct job job = {.engine = which->engine, .trace = true};
    struct model *written = NULL;
    struct result result;
    if (!which->pool || !pool_engine(which->pool, which->engine)->spec->tool || which->test->gradient)
        return false;
    result_init(&result);
    bool explained = handover_run_case(which->pool, which->test, true, &job, &result, NULL) == 0 &&
                     result.outcome == OUTCOME_OK && result.trace && result.trace->written &&
                     model_parse(&written, result.trace->written, result.trace->written_size, NULL) == 0 &&
                     is_as_written(written, which->test, &result) &&
                     is_explained(written, which->test, verdict);
    model_free(written);
    result_release(&result);
    return explained;
}
