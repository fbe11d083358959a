#include "locate/under_test.h"

#include "base/memory.h"
#include "engine/handover.h"
#include "engine/settings.h"
#include "model/inferred.h"

#include <stdlib.h>

int under_test_init(struct under_test *test, const struct settle_case *which, struct error *err)
{
    *test = (struct under_test){.which = which, .whole = which->test, .err = err};
    test->model = test_case_model(which->test, err);
    if (!test->model || model_index_init(&test->index, test->model, err))
        return -1;
    arena_init(&test->arena);
    const struct engine_info *engine = which->pool ? pool_engine(which->pool, which->engine) : NULL;
    const struct lowering *lowering = engine ? settings_lowering(engine) : NULL;
    test->alone.direct = engine && engine->profile && engine->profile->convolves_directly;
    test->fusing = (struct arithmetic){
        .fuses = true, .direct = test->alone.direct, .lowered = lowering ? &lowering->products : NULL};
    test->lowering = lowering ? lowering->words : NULL;
    return 0;
}

void under_test_release(struct under_test *test)
{
    model_free(test->inferred);
    model_index_release(&test->index);
    arena_release(&test->arena);
}

int under_test_run(struct under_test *test, const struct model *model, const struct value *inputs,
                   size_t n_inputs, size_t answers, struct result *result)
{
    struct handover handover;
    if (model == test->model ? handover_open_case(&handover, test->which->pool, test->whole, test->err)
                             : handover_open(&handover, test->which->pool, model, test->err)) {
        handover_close(&handover);
        return -1;
    }
    const char **names = memory_zeroed(answers, sizeof *names);
    for (size_t i = 0; i < answers; i++)
        names[i] = model->graph->output[i]->name;
    struct job job = {.engine = test->which->engine,
                      .n_outputs = answers,
                      .outputs = names,
                      .n_inputs = n_inputs,
                      .inputs = inputs};
    handover_give(&handover, &job);
    int status = pool_run_one(test->which->pool, &job, result, test->err);
    test->runs++;
    free(names);
    handover_close(&handover);
    return status;
}

void under_test_infer(struct under_test *test)
{
    if (test->inferred || !(test->inferred = model_inferred(test->model)))
        return;
    const Onnx__GraphProto *graph = test->inferred->graph;
    for (size_t i = 0; i < graph->n_value_info; i++) {
        size_t number;
        if (map_get(&test->index.names, graph->value_info[i]->name, &number) &&
            !test->index.values[number].info)
            test->index.values[number].info = graph->value_info[i];
    }
}
