#include "campaign/float64_answers.h"

#include "base/memory.h"
#include "engine/given_label.h"
#include "engine/knobs.h"
#include "model/retype.h"

#include <stdlib.h>
#include <string.h>

static const Assay__KnobInfo *find_knob(const struct engine_info *engine, const char *name)
{
    const Assay__Welcome *welcome = engine->welcome;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (text_equal(welcome->knobs[i]->name, name) && *welcome->knobs[i]->plain)
            return welcome->knobs[i];
    return NULL;
}

/* Whether the setting ran the case. */
static bool run(struct registry *registry, const struct engine_info *engine, const char *setting,
                const struct job *what, struct result *result)
{
    const struct engine_spec *spec;
    *result = (struct result){0};
    const struct given_label *label =
        given_with(registry_arena(registry), engine->spec->given, setting, engine->spec->label, NULL);
    if (!label || registry_find(registry, label, &spec, NULL))
        return false;
    struct pool *pool = pool_new(&(struct pool_options){0});
    struct job job = *what;
    job.engine = pool_add(pool, spec);
    bool ran = pool_run_one(pool, &job, result, NULL) == 0;
    pool_free(pool);
    return ran;
}

static bool widen_inputs(const struct test_case *test, struct value *wide)
{
    for (size_t i = 0; i < test->n_inputs; i++) {
        struct tensor tensor;
        if (test->inputs[i].kind != VALUE_TENSOR ||
            tensor_retype(&tensor, &test->inputs[i].tensors[0], &retyping_to_float64, NULL))
            return false;
        value_init(&wide[i]);
        value_set_name(&wide[i], test->inputs[i].name);
        value_set_tensor(&wide[i], &tensor);
    }
    return true;
}

/* The answer to the model in float64. */
static bool run_wide(struct float64_answers *answers, struct registry *registry,
                     const struct engine_info *engine, const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct result *result = arena_array(&answers->arena, 1, sizeof *result);
    struct value *inputs = memory_zeroed(test->n_inputs, sizeof *inputs);
    struct model *wide;
    uint8_t *bytes;
    size_t size;
    bool ran = false;
    if (model && widen_inputs(test, inputs) && model_retype(&wide, model, &retyping_to_float64, NULL) == 0) {
        if (model_pack(wide, &bytes, &size, NULL) == 0) {
            ran = run(registry, engine, answers->said.plain,
                      &(struct job){
                          .model = bytes, .model_size = size, .n_inputs = test->n_inputs, .inputs = inputs},
                      result);
            free(bytes);
        }
        model_free(wide);
    }
    values_free(inputs, test->n_inputs);
    answers->said.wide = answers->wide = result;
    return ran && result->outcome == OUTCOME_OK;
}

static void run_settings(struct float64_answers *answers, struct registry *registry,
                         const struct engine_info *engine, const struct test_case *test,
                         const Assay__KnobInfo *knob)
{
    struct job job = {.n_inputs = test->n_inputs, .inputs = test->inputs};
    const uint8_t *bytes;
    if (test_case_bytes(test, &bytes, &job.model_size, NULL))
        return;
    job.model = bytes;
    size_t most = strlen(knob->values) + 1;
    const char **settings = arena_array(&answers->arena, most, sizeof *settings);
    struct result *results = arena_array(&answers->arena, most, sizeof *results);
    answers->said.settings = settings;
    answers->said.answers = answers->answers = results;
    for (const char *at = knob->values; *at;) {
        size_t length = strcspn(at, "|"), k = answers->said.count;
        settings[k] = arena_printf(&answers->arena, "%s=%.*s", knob->name, (int)length, at);
        if (length && run(registry, engine, settings[k], &job, &results[k]))
            answers->said.count++;
        at += length;
        at += *at == '|';
    }
}

bool float64_ask(struct float64_answers *answers, struct registry *registry, const struct engine_info *engine,
                 const struct test_case *test)
{
    const struct engine_profile *profile = engine->profile;
    const Assay__KnobInfo *knob =
        registry && profile && profile->float64_knob ? find_knob(engine, profile->float64_knob) : NULL;
    if (!knob || test->gradient || test->equivalence)
        return false;
    *answers = (struct float64_answers){0};
    arena_init(&answers->arena);
    answers->said.plain = arena_printf(&answers->arena, "%s=%s", knob->name, knob->plain);
    bool ran = run_wide(answers, registry, engine, test);
    if (ran)
        run_settings(answers, registry, engine, test, knob);
    else
        float64_release(answers);
    return ran;
}

void float64_release(struct float64_answers *answers)
{
    for (size_t i = 0; i < answers->said.count; i++)
        result_release(&answers->answers[i]);
    if (answers->wide)
        result_release(answers->wide);
    arena_release(&answers->arena);
}
