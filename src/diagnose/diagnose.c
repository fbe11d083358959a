#include "diagnose/diagnose.h"

#include "base/memory.h"
#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "diagnose/mates.h"
#include "diagnose/single_node.h"
#include "diagnose/table.h"
#include "engine/label.h"
#include "engine/trace.h"
#include "locate/localize.h"
#include "locate/traced_case.h"
#include "ops/op.h"
#include "releases/bisect.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAUSE_SECONDS = 60, /* seconds, ample for a machine that is busy */
    LARGE = 16,         /* nodes: a change that cures a larger model may have nothing to do with the cause */
};

static void show(const struct experiment *how, enum evidence_bit bit, bool shown)
{
    if (shown)
        how->evidence->shown |= EVIDENCE(bit);
}

/* The words of a list, such as activations, that the failure needs, with commas between them, and in *count
 * how many there are. "" when the value is no list of words, or when no single word is to blame. */
static const char *words_to_blame(const struct experiment *how, const struct test_case *test,
                                  const struct cause_value *list, size_t *count)
{
    static const char *const plain[] = {"Tanh", "Sigmoid"}; /* recurrent operators alone have such lists */
    struct arena *arena = &how->evidence->arena;
    struct str words;
    char *text = arena_strdup(arena, list->value), *save = NULL;
    size_t index = 0;
    str_init(&words);
    *count = 0;
    for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save), index++)
        if (!strstr(words.data, word) &&
            experiment_ask_right(how, changed_word(test, list->node, list->parameter, index, plain[0])) &&
            experiment_ask_right(how, changed_word(test, list->node, list->parameter, index, plain[1])))
            str_printf(&words, "%s%s", (*count)++ ? "," : "", word);
    const char *blamed = arena_strdup(arena, words.data);
    str_release(&words);
    return blamed;
}

/* The parameters that are conditions of the cause: each of them cures alone, too. */
static void note_conditions(struct finding_evidence *evidence, const struct cause *cause)
{
    struct str names;
    str_init(&names);
    for (size_t i = 0; i < cause->n_conditions; i++)
        str_printf(&names, "%s%s", i ? " " : "", cause->conditions[i].parameter);
    evidence->needed = arena_strdup(&evidence->arena, names.data);
    str_release(&names);
}

/* A parameter is not certain where other data does not show the failure. A single word of a list is: with
 * other words in its place the failure is gone, and the other words do not matter. */
static void note_parameter(const struct experiment *how, const struct test_case *test,
                           const struct cause *cause)
{
    struct finding_evidence *evidence = how->evidence;
    const struct model *model = test_case_model(test, NULL);
    const struct cause_value *first = cause->parameters;
    size_t count;
    if (!cause->n_parameters || first->node >= model->graph->n_node)
        return;
    const char *words = words_to_blame(how, test, first, &count);
    if (!cause->certain && count != 1)
        return;
    show(how, FAILS_TOGETHER, cause->n_parameters > 1);
    evidence->parameter = arena_strdup(&evidence->arena, first->parameter);
    evidence->value = *words ? words : arena_strdup(&evidence->arena, first->value);
    evidence->owner = arena_strdup(&evidence->arena, op_title(model->graph->node[first->node]));
    note_conditions(evidence, cause);
}

/* The parameter that makes the case fail, as one line; NULL: none does for certain. */
static char *vary_parameters(const struct experiment *how)
{
    const struct test_case *test = trial_done_subject(how->done, 0);
    struct localization found = {0};
    struct localize_case where = {.pool = how->panel->pool,
                                  .engine = how->panel->engines[0],
                                  .test = test,
                                  .method = LOCALIZE_LOCAL | LOCALIZE_CAUSE,
                                  .cause_seconds = CAUSE_SECONDS};
    char *text = NULL;
    if (!localize(&found, &where, NULL)) {
        const struct cause *cause = &found.cause;
        show(how, FAILS_ALWAYS, cause->certain && cause->kind == CAUSE_OPERATOR);
        show(how, CURED_SIZE, cause->of_sizes);
        note_parameter(how, test, cause);
        if (cause->certain && cause->n_parameters)
            text = memory_strdup(cause->text);
    }
    localization_release(&found);
    return text;
}

/* The names of the passes that the engine can leave out, "A+B"; NULL when it has none. */
static const char *passes_of(const struct experiment *how)
{
    const Assay__Welcome *welcome = panel_engine(how->panel, 0)->welcome;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strchr(welcome->knobs[i]->values, '+')) /* releases/bisect.h */
            return welcome->knobs[i]->values;
    return NULL;
}

/* The pass in which the engine says that it failed, as in "FuseReluClip::Apply"; NULL when it names none.
 * Another pass without which the failure is gone may only have brought the nodes together. */
static const char *named_pass(const struct experiment *how, const char *message, struct arena *arena)
{
    char *names = arena_strdup(arena, passes_of(how)), *save = NULL;
    for (char *name = strtok_r(names, "+|", &save); name; name = strtok_r(NULL, "+|", &save))
        if (message && strstr(message, arena_printf(arena, "::%s::", name)))
            return name;
    return NULL;
}

/* Which optimiser passes must be switched off, on the release of the campaign. */
static void leave_out_passes(const struct experiment *how)
{
    struct finding_evidence *evidence = how->evidence;
    struct bisect bisect;
    struct bisect_options options = {
        .registry = how->registry, .engine = panel_engine(how->panel, 0)->spec->given, .passes_only = true};
    if (!how->registry || !label_parse(given_text(options.engine)).version.text || !passes_of(how))
        return;
    if (bisect_run(&bisect, how->done->test, &options, NULL) == 0 && bisect.n_blamed) {
        const char *named = named_pass(how, how->done->results[0].message, &evidence->arena);
        evidence->passes = arena_array(&evidence->arena, bisect.n_blamed, sizeof *evidence->passes);
        evidence->n_passes = named ? 1 : bisect.n_blamed;
        for (size_t i = 0; i < evidence->n_passes; i++)
            evidence->passes[i] = named ? named : arena_strdup(&evidence->arena, bisect.blamed[i]);
    }
    bisect_release(&bisect);
}

/* What the engine says computed the nodes at fault. An engine that gave no answer is not asked: it would give
 * none again. */
static void note_kernel(const struct experiment *how)
{
    struct finding_evidence *evidence = how->evidence;
    const struct test_case *subject = trial_done_subject(how->done, 0);
    const struct settlement *settlement = &how->done->settlements[0];
    if (!experiment_answered(how->done))
        return;
    struct trace *trace = traced_case(panel_fresh(how->panel), how->panel->engines[0], subject);
    struct str kernels;
    str_init(&kernels);
    const char *pass =
        traced_kernels(trace, test_case_model(subject, NULL), settlement->nodes, settlement->count, &kernels);
    evidence->kernel = arena_strdup(&evidence->arena, kernels.data);
    evidence->made_by = arena_strdup(&evidence->arena, pass);
    str_release(&kernels);
    trace_free(trace);
}

/* The first output of a wrong element type: which was wanted, and which came. */
static void note_types(const struct trial_done *done, struct finding_evidence *evidence)
{
    const struct result *result = &done->results[0], *reference = &done->reference;
    for (size_t i = 0; i < result->count && i < reference->count; i++) {
        const struct value *got = &result->outputs[i], *right = &reference->outputs[i];
        if (got->kind != VALUE_TENSOR || right->kind != VALUE_TENSOR ||
            got->tensors[0].type == right->tensors[0].type)
            continue;
        evidence->wanted = dtype_name(right->tensors[0].type);
        evidence->made = dtype_name(got->tensors[0].type);
        return;
    }
}

static int work_of(const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    return op ? (int)op->work : WORK_ELEMENTS;
}

/* The operator that does most of the work, if one does. Which others a pass fuses with it, or moves across
 * it, differs from finding to finding. */
static void note_main(const struct model *model, struct finding_evidence *evidence)
{
    const char *main = "";
    int most = 0;
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        if (constants_is_added(node) || work_of(node) < most)
            continue;
        main = work_of(node) > most || text_equal(main, op_title(node)) ? op_title(node) : "";
        most = work_of(node);
    }
    evidence->main = arena_strdup(&evidence->arena, main);
}

/* Notes when right results are empty or scalars. An empty input alone is not noted, as it need not matter. */
static void note_results(const struct experiment *how)
{
    const struct trial_done *done = how->done;
    for (size_t i = 0; i < done->reference.count; i++) {
        const struct value *value = &done->reference.outputs[i];
        show(how, GIVES_EMPTY, value->kind == VALUE_TENSOR && !value->tensors[0].count);
    }
    show(how, GIVES_SCALAR, experiment_gives_scalar(done));
    show(how, GIVES_CONSTANTS, constants_alone(trial_done_subject(done, 0)));
}

static bool is_cured(const struct experiment *how, const struct cause_row *row)
{
    if (row->ask)
        return row->ask(how);
    bool failure =
        ((row->cured & CURED_BY_FAILURE) && how->message) || ((row->cured & CURED_BY_LIFE) && how->deadly);
    struct experiment own = *how;
    own.of_numbers &= !(row->cured & CURED_BY_FORM);
    if (experiment_ask(&own, row->make(how->base)) < (failure ? ANSWER_FAILURE : ANSWER_RIGHT))
        return false;
    struct test_case *other = row->also ? row->also(how->base) : NULL;
    return !other || experiment_ask_right(how, other);
}

/* Makes the experiments of the table. Without a case to change, only those about the finding itself are
 * made. */
static void run_table(const struct experiment *how)
{
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < cause_row_count(); i++) {
            const struct cause_row *row = cause_row_at(i);
            bool wanted = (row->make && how->base) || (row->ask && (how->base || !row->of_base));
            if (wanted && row->late == late && !(how->evidence->shown & EVIDENCE(row->shows)))
                show(how, row->shows, is_cured(how, row));
        }
}

/* What the finding is about; the message lives in *signature. */
static struct experiment prepared(const struct experiment *how, const struct trial_done *done,
                                  struct signature *signature)
{
    struct experiment own = *how;
    own.done = done;
    own.deadly = verdict_is(done->judgement.verdicts[0].kind, CLASS_DEATH);
    experiment_message(&own, done, signature);
    own.message = *signature->message ? signature->message : NULL;
    own.of_numbers = verdict_is(done->judgement.verdicts[0].kind, CLASS_NUMBERS);
    own.of_type = verdict_row(done->judgement.verdicts[0].kind)->kin == KIN_TYPE;
    return own;
}

/* Everything but the passes, which concern the whole model. */
static char *run_on(const struct experiment *how, const struct trial_done *done)
{
    struct signature signature;
    struct experiment own = prepared(how, done, &signature);
    show(&own, DIAGNOSED, true);
    note_results(&own);
    note_types(done, own.evidence);
    note_main(test_case_model(trial_done_subject(done, 0), NULL), own.evidence);
    note_kernel(&own);
    struct test_case *base = constants_base(&own, &own.fed);
    own.base = base;
    run_table(&own);
    test_case_free(base);
    mates_find(&own);
    return vary_parameters(&own);
}

/* Where the engine crashed. */
static void note_stack(const struct trial_done *done, struct finding_evidence *evidence)
{
    enum { FRAMES = 3 }; /* further out, all operators come from the same place */
    const struct result *result = &done->results[0];
    struct str stack;
    if (!verdict_is(done->judgement.verdicts[0].kind, CLASS_DEATH) || !result->log)
        return;
    str_init(&stack);
    if (message_heap_damaged(result->log))
        str_add(&stack, EVIDENCE_HEAP);
    else
        message_frames(&stack, result->log, FRAMES, true);
    evidence->stack = arena_strdup(&evidence->arena, stack.data);
    str_release(&stack);
}

/* The same on the node that is at fault by itself. False when there is none. */
static bool run_on_single_node(const struct experiment *how, char **text)
{
    struct trial_done alone;
    struct signature signature;
    const struct engine_info *info = panel_engine(how->panel, 0);
    if (how->evidence->n_passes || !node_at_fault(how, &alone))
        return false;
    bool found = signature_of_trial(&signature, info->label, info->profile, &alone, 0);
    if (found) {
        how->evidence->alone = arena_strdup(&how->evidence->arena, signature.text);
        note_stack(&alone, how->evidence);
        *text = run_on(how, &alone);
    }
    trial_done_release(&alone);
    return found;
}

char *diagnose(const struct panel *panel, struct registry *registry, const struct trial_done *done,
               struct finding_evidence *evidence)
{
    const struct verdict *verdict = &done->judgement.verdicts[0];
    const struct test_case *subject = trial_done_subject(done, 0);
    const struct model *model = test_case_model(subject, NULL);
    struct experiment how = {.panel = panel,
                             .registry = registry,
                             .done = done,
                             .deadly = verdict_is(verdict->kind, CLASS_DEATH),
                             .evidence = evidence};
    char *text = NULL;
    note_stack(done, evidence);
    if (!model || done->test->equivalence || subject->gradient ||
        !verdict_is(verdict->kind, CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) ||
        verdict_row(verdict->kind)->to_deadline)
        return NULL;
    bool large = model->graph->n_node > LARGE;
    if (!large)
        leave_out_passes(&how);
    if (run_on_single_node(&how, &text))
        return text;
    if (!large)
        return run_on(&how, done);
    struct signature signature; /* this tells about the cause of a large model as well */
    struct experiment own = prepared(&how, done, &signature);
    show(&own, CURED_COMPUTED, constants_computed(&own));
    return NULL;
}
