#include "findings/writeup.h"

#include "base/markup.h"
#include "base/memory.h"
#include "base/sentences.h"
#include "case/case_gradient.h"
#include "engine/label.h"
#include "judge/message.h"
#include "findings/float64_errors.h"
#include "findings/model_text.h"
#include "findings/program.h"
#include "judge/verdict.h"
#include "model/function.h"
#include "model/onnx.h"
#include "ops/op.h"
#include "rules/rewriting.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_LIMIT = 6000, SHOWN_ELEMENTS = 24, MESSAGE_SHOWN = 600, STACK_LINES = 12 };

#define PROJECT "Assay"

static const struct verdict *final_verdict(const struct bundle_case *which)
{
    return which->engines[0].verdict;
}

static void add_value(struct str *out, const char *what, const struct value *value, const struct tensor *hard,
                      size_t around)
{
    char shape[SHAPE_TEXT_SIZE];
    if (value->kind != VALUE_TENSOR) {
        str_printf(out, "%s: not a tensor\n", what);
        return;
    }
    const struct tensor *tensor = &value->tensors[0];
    shape_text(&tensor->shape, shape);
    str_printf(out, "%-9s %s%s ", what, model_text_type((int)tensor->type), tensor->shape.rank ? shape : "");
    if (around < SHOWN_ELEMENTS || around >= tensor->count) {
        str_add(out, "{");
        model_text_elements(out, tensor, hard, SHOWN_ELEMENTS);
        str_add(out, "}\n");
        return;
    }
    str_printf(out, "element %zu: %.9Lg\n", around, tensor_get(tensor, around));
}

/* Appends the lines as a block of code. */
static void end_block(struct str *out, struct str *block)
{
    markdown_block(out, "", block->data);
    str_release(block);
}

static const struct tensor *bounds_of(const struct result *reference, size_t k)
{
    return reference->bounds && reference->bounds[k].present ? &reference->bounds[k].hard : NULL;
}

static bool some_unjudged(const struct tensor *hard)
{
    for (size_t i = 0; hard && i < hard->count; i++)
        if (isinf(tensor_get(hard, i)))
            return true;
    return false;
}

/* The answer that is expected beside the one that came. */
static void add_answers(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct verdict *verdict = final_verdict(which);
    const struct result *result = which->engines[0].result, *reference = which->reference;
    size_t k = verdict->output;
    bool gradient = which->test->gradient;
    const char *name = gradient ? (reference && k < reference->count ? reference->outputs[k].name : NULL)
                       : k < model->graph->n_output ? model->graph->output[k]->name
                                                    : NULL;
    if (!name)
        return;
    bool known = reference && k < reference->count, came = result && k < result->count;
    if (!known && !came)
        return;
    str_add(out, gradient ? "Gradient by " : "Output ");
    markdown_code(out, name);
    str_add(out, which->rewritten ? " of the original:\n\n" : ":\n\n");
    struct str block;
    str_init(&block);
    if (known)
        add_value(&block, "expected", &reference->outputs[k], bounds_of(reference, k), verdict->element);
    if (came)
        add_value(&block, "actual", &result->outputs[k], NULL, verdict->element);
    end_block(out, &block);
    if (known && some_unjudged(bounds_of(reference, k)))
        str_add(out, "An element `?` is not judged: ONNX leaves it open, or rounding decides it.\n\n");
}

/* The same output of the rewritten form. Where the rewriting chooses among rows, its elements have other
 * places. */
static void add_rewritten_answers(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct verdict *verdict = final_verdict(which);
    const struct model *form = test_case_model(which->rewritten, NULL);
    const struct result *result = which->engines[0].rewritten, *reference = which->rewritten_reference;
    size_t k = 0;
    if (!form || verdict->output >= model->graph->n_output)
        return;
    const char *name = model->graph->output[verdict->output]->name;
    while (k < form->graph->n_output && strcmp(form->graph->output[k]->name, name) != 0)
        k++;
    bool rows = which->rewritten->equivalence->rows != ROWS_ALL;
    struct str block;
    str_init(&block);
    if (reference && k < reference->count)
        add_value(&block, "expected", &reference->outputs[k], bounds_of(reference, k),
                  rows ? 0 : verdict->element);
    if (result && k < result->count)
        add_value(&block, "actual", &result->outputs[k], NULL, rows ? 0 : verdict->element);
    str_add(out, "The same output of the rewritten form:\n\n");
    end_block(out, &block);
}

/* Why both forms must give the same answer. */
static void add_rules(struct str *out, const struct bundle_case *which)
{
    if (!which->rewriting)
        return;
    if (final_verdict(which)->of_pair)
        str_add(out, "Both forms compute the same by ONNX, so their answers may differ by no more than the "
                     "rounding errors of both. The other form is made by\n\n");
    else
        str_add(out, "It shows when the case is run in this way:\n\n");
    rewriting_describe(out, which->rewriting);
    str_add(out, "\n");
}

/* Elements are counted over all outputs, and the report shows one. */
static void add_count(struct str *out, const struct verdict *verdict, size_t outputs)
{
    str_printf(out, " %zu of %zu elements%s are wrong.\n\n", verdict->wrong, verdict->total,
               outputs > 1 ? " of all outputs" : "");
}

static void add_rounding(struct str *out, const struct bundle_case *which)
{
    const struct verdict *verdict = final_verdict(which);
    if (!verdict_is(verdict->kind, CLASS_OTHER_VALUES) || isnan(verdict->got) || isnan(verdict->expected))
        return;
    if (isinf(verdict->factor) && verdict->hard > 0)
        str_add(out, "No rounding explains it.");
    else if (isinf(verdict->factor))
        str_add(out, "No rounding is involved: the right result is exact in this type.");
    else
        str_printf(out,
                   "The error is %.3g times the largest that rounding, in whatever order and with whatever "
                   "instructions, can make here (%.3g).",
                   verdict->factor, verdict->hard);
    const struct result *answer = which->engines[0].result;
    add_count(out, verdict, answer ? answer->count : 0);
}

/* Lines of an engine's text, cut, in a block of their own. */
static void add_block(struct str *out, const char *text, size_t most, size_t lines)
{
    struct str block;
    str_init(&block);
    for (size_t i = 0; text[i] && i < most && lines; i++) {
        str_append(&block, &text[i], 1);
        lines -= text[i] == '\n';
        if (i + 1 == most && text[most])
            str_add(&block, " ...");
    }
    end_block(out, &block);
}

static void add_message(struct str *out, const struct result *result)
{
    if (!result)
        return;
    bool refused = result->outcome == OUTCOME_REJECTED || result->outcome == OUTCOME_FAILED ||
                   result->outcome == OUTCOME_UNSUPPORTED;
    if (refused && result->message && *result->message)
        add_block(out, result->message, MESSAGE_SHOWN, STACK_LINES);
    struct str stack;
    str_init(&stack);
    if (result->outcome == OUTCOME_CRASH && result->log)
        message_stack(&stack, result->log, STACK_LINES);
    if (stack.length) {
        str_add(out, "Stack:\n\n");
        add_block(out, stack.data, 4 * MESSAGE_SHOWN, STACK_LINES);
    }
    str_release(&stack);
}

static void add_inputs(struct str *out, const struct test_case *test)
{
    if (!test->n_inputs)
        return;
    struct str block;
    str_init(&block);
    for (size_t i = 0; i < test->n_inputs; i++)
        add_value(&block, test->inputs[i].name ? test->inputs[i].name : "?", &test->inputs[i], NULL, 0);
    str_add(out, "Inputs:\n\n");
    end_block(out, &block);
}

static void add_names(struct str *out, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        str_add(out, i == 0 ? "" : i + 1 < count ? ", " : " and ");
        markdown_code(out, names[i]);
    }
}

/* Of a case about gradients: what is differentiated, and by what. */
static void add_question(struct str *out, const struct test_case *test)
{
    const struct case_gradient *asked = test->gradient;
    if (!asked)
        return;
    str_add(out, "Asked for is the gradient of one scalar by ");
    add_names(out, asked->wanted, asked->n_wanted);
    str_add(out, ". The scalar is the sum of the outputs' elements, each times its weight (below).\n\n");
}

static void add_weights(struct str *out, const struct case_gradient *asked)
{
    if (!asked)
        return;
    str_add(out, "Weights of the outputs in the scalar that is differentiated, which are the gradients that "
                 "arrive at the outputs:\n\n");
    struct str block;
    str_init(&block);
    for (size_t i = 0; i < asked->n_upstream; i++)
        add_value(&block, asked->upstream[i].name, &asked->upstream[i], NULL, 0);
    end_block(out, &block);
}

static void add_model_text(struct str *out, const struct model *model)
{
    struct str block;
    str_init(&block);
    model_text(&block, model, MODEL_LIMIT);
    end_block(out, &block);
}

static void add_model(struct str *out, const struct bundle_case *which, const struct model *model, bool drawn)
{
    str_add(out, which->rewritten ? "## The original\n\n" : "## Model\n\n");
    add_model_text(out, model);
    if (drawn)
        str_printf(out, "[map.svg](map.svg) is a drawing of it%s.\n\n",
                   which->settlement && which->settlement->count ? ", what is at fault marked" : "");
    add_inputs(out, which->test);
    add_weights(out, which->test->gradient);
    const struct model *form = which->rewritten ? test_case_model(which->rewritten, NULL) : NULL;
    if (!form)
        return;
    str_add(out, "## The rewritten form\n\n");
    add_model_text(out, form);
    add_inputs(out, which->rewritten);
}

/* Text from outside between words of ours. */
static void add_prose(struct str *out, const char *before, const char *text, const char *after)
{
    str_add(out, before);
    markdown_text(out, text);
    str_add(out, after);
}

/* What ONNX says of the operator to blame: of the parameter that makes it fail, else of the operator itself.
 */
static void add_onnx(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    size_t number = settlement && settlement->count ? settlement->nodes[0] : 0;
    const Onnx__NodeProto *node = number < model->graph->n_node ? model->graph->node[number] : NULL;
    const char *parameter = which->shown ? which->shown->parameter : "";
    int opset = node ? (int)model_opset_of(model, node->domain) : 0;
    struct onnx_schema schema;
    char *text = NULL, *whole = NULL;
    if (node && onnx_schema(node->domain, node->op_type, opset, &schema, NULL) == 0 &&
        onnx_schema_text(node->domain, node->op_type, opset, parameter, &text, NULL) == 0 &&
        onnx_schema_text(node->domain, node->op_type, opset, "", &whole, NULL) == 0) {
        bool part = *parameter && *text;
        struct str words;
        str_init(&words);
        sentences_add(&words, part ? text : whole);
        str_add(out, words.length ? "ONNX (Operators.md, section " : "");
        if (words.length) {
            markdown_code(out, node->op_type);
            str_printf(out, ", since opset %d%s", schema.since, part ? ", " : "");
            if (part)
                markdown_code(out, parameter);
            add_prose(out, "): \"", words.data, "\"\n\n");
        }
        str_release(&words);
    }
    free(text);
    free(whole);
}

enum said { SAID_NOTHING, SAID_GOOD, SAID_BAD }; /* nothing: the release lacks an operator, or is not here */

static enum said what_said(const char *verdict)
{
    enum verdict_kind kind;
    if (!verdict_parse(verdict, &kind) || verdict_is(kind, CLASS_NOTHING | CLASS_LACK | CLASS_TROUBLE))
        return SAID_NOTHING;
    return verdict_is_finding(kind) ? SAID_BAD : SAID_GOOD;
}

static void add_part(struct str *out, const char *before, struct label_part part, const char *after)
{
    str_printf(out, "%s%.*s%s", before, (int)part.length, part.text, after);
}

static struct label_part release_of(const struct bundle_history *history)
{
    return history->version ? label_part(history->version) : label_parse(history->engine).version;
}

/* Releases of one setting, in their order; neighbours with the same word are a run. */
static void add_runs(struct str *out, const struct bundle_history *history, size_t count,
                     struct label_part knobs, const char *word, const char *separator)
{
    struct label_part first = {0}, last = {0};
    size_t before = out->length;
    for (size_t i = 0; i <= count; i++) {
        struct label label = label_parse(i < count ? history[i].engine : "");
        if (i < count && !label_part_equal(label.knobs, knobs))
            continue;
        struct label_part release = i < count ? release_of(&history[i]) : (struct label_part){0};
        bool same = release.length && (word ? text_equal(history[i].verdict, word)
                                            : what_said(history[i].verdict) == SAID_GOOD);
        if (same && !first.length)
            first = release;
        if (same)
            last = release;
        if (same || !first.length)
            continue;
        add_part(out, out->length > before ? ", " : separator, first, "");
        if (!label_part_equal(first, last))
            add_part(out, " to ", last, "");
        first.length = 0;
    }
    if (out->length > before && knobs.length)
        add_part(out, " (", knobs, ")");
}

static void add_versions_of(struct str *out, const struct bundle_history *history, size_t count,
                            const char *word)
{
    size_t before = out->length;
    for (size_t i = 0; i < count; i++) {
        struct label_part knobs = label_parse(history[i].engine).knobs;
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= label_part_equal(label_parse(history[k].engine).knobs, knobs);
        if (!seen)
            add_runs(out, history, count, knobs, word, out->length > before ? "; " : "");
    }
}

/* Its name, release and knobs in words: "onnxruntime 1.17.0 (opt=none)". The release is what the engine says,
 * else what its label does. */
static void add_engine(struct str *out, const struct bundle_engine *engine)
{
    struct label label = label_parse(engine->label);
    if (engine->version && *engine->version)
        label.version = label_part(engine->version);
    add_part(out, "", label.name, " ");
    str_append(out, label.version.text, label.version.length);
    if (label.knobs.length)
        add_part(out, " (", label.knobs, ")");
}

/* A line for each kind of fault, as one release may refuse what another computes wrongly. */
static void add_affected(struct str *out, const struct bundle_history *history, size_t count)
{
    const char *first = NULL;
    bool kinds = false; /* several */
    for (size_t i = 0; i < count; i++) {
        if (what_said(history[i].verdict) != SAID_BAD)
            continue;
        kinds |= first && !text_equal(history[i].verdict, first);
        first = history[i].verdict;
    }
    for (size_t i = 0; i < count; i++) {
        const char *word = history[i].verdict;
        struct str versions;
        bool told = what_said(word) != SAID_BAD;
        for (size_t k = 0; k < i; k++)
            told |= text_equal(history[k].verdict, word);
        if (told)
            continue;
        str_init(&versions);
        add_versions_of(&versions, history, count, word);
        str_printf(out, "- Affected%s%s%s", kinds ? " (" : "", kinds ? word : "", kinds ? ")" : "");
        add_prose(out, ": ", versions.data, "\n");
        str_release(&versions);
    }
}

/* What other releases said that ran the case beside the engine, where no search over releases was made. */
static size_t releases_beside(const struct bundle_case *which, struct bundle_history *history)
{
    struct label_part name = label_parse(which->engines[0].label).name;
    size_t count = 0;
    bool others = false;
    for (size_t i = 0; i < which->n_engines; i++) {
        const struct bundle_engine *engine = &which->engines[i];
        if (!label_part_equal(label_parse(engine->label).name, name))
            continue;
        others |= i && !label_same_release(engine->label, which->engines[0].label);
        history[count++] =
            (struct bundle_history){engine->label, verdict_name(engine->verdict->kind), engine->version};
    }
    return others ? count : 0;
}

static void add_versions(struct str *out, const struct bundle_case *which)
{
    struct str good, engine;
    struct bundle_history *beside = memory_zeroed(which->n_engines, sizeof *beside);
    const struct bundle_history *history = which->n_history ? which->history : beside;
    size_t count = which->n_history ? which->n_history : releases_beside(which, beside), others = 0;
    str_init(&good);
    str_init(&engine);
    for (size_t i = 0; i < count; i++)
        others += !label_same_release(history[i].engine, which->engines[0].label);
    add_engine(&engine, &which->engines[0]);
    add_prose(out, "## Versions\n\nSeen with ", engine.data,
              others ? ".\n\n" : "; other releases were not tried.\n\n");
    add_versions_of(&good, history, count, NULL);
    if (others)
        add_affected(out, history, count);
    if (others && good.length)
        add_prose(out, "- Not affected: ", good.data, "\n");
    str_add(out, others ? "\n" : "");
    str_release(&engine);
    str_release(&good);
    free(beside);
}

/* Who gives the expected result: settings of the same release, then other engines; who does not. */
static void add_agreeing(struct str *out, const struct bundle_case *which)
{
    struct str settings, others, wrong;
    size_t count = 0;
    str_init(&settings);
    str_init(&others);
    str_init(&wrong);
    for (size_t i = 1; i < which->n_engines; i++) {
        const struct bundle_engine *engine = &which->engines[i];
        struct label_part knobs = label_parse(engine->label).knobs;
        bool same =
            label_part_equal(label_parse(engine->label).name, label_parse(which->engines[0].label).name);
        if (!same && verdict_is_finding(engine->verdict->kind)) {
            str_add(&wrong, wrong.length ? ", " : "");
            add_engine(&wrong, engine);
            str_printf(&wrong, " (%s)", verdict_name(engine->verdict->kind));
        }
        if (!verdict_is(engine->verdict->kind, CLASS_AGREES))
            continue;
        if (label_same_release(which->engines[0].label, engine->label)) {
            add_part(&settings, settings.length ? " and with " : "",
                     knobs.length ? knobs : label_part("the defaults"), "");
            continue;
        }
        str_add(&others, count++ ? ", " : "");
        add_engine(&others, engine);
    }
    if (settings.length)
        add_prose(out, "The same release with ", settings.data, " gives the expected result.\n\n");
    if (others.length)
        add_prose(out,
                  count > 1 ? "Other engines give the expected result: "
                            : "Another engine gives the expected result: ",
                  others.data, ".\n\n");
    if (wrong.length)
        add_prose(out, "Not the expected result either: ", wrong.data, ".\n\n");
    str_release(&settings);
    str_release(&others);
    str_release(&wrong);
}

static void add_together(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    struct str operators;
    str_init(&operators);
    bundle_operators(&operators, which, model);
    if (!settlement->behind)
        add_prose(out, "It vanishes when the values between ", operators.data,
                  which->plain == PLAIN_RIGHT
                      ? " are made graph outputs, and when the graph is run as it is written: they are wrong "
                        "only where they are fused.\n\n"
                  : which->plain == PLAIN_FAILS
                      ? " are made graph outputs, but not when the graph is run as it is written: it is not "
                        "fusing them that makes it.\n\n"
                      : " are made graph outputs.\n\n");
    else if (settlement->at < model->graph->n_node)
        add_prose(out, "When all values are made graph outputs, only ",
                  op_title(model->graph->node[settlement->at]),
                  " is wrong on the inputs it had; by itself it is right on them.\n\n");
    str_release(&operators);
}

static void add_fault(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    if (which->cause)
        add_prose(out, "Cause: ", which->cause, ".\n\n");
    struct str computed;
    str_init(&computed);
    bundle_computed(&computed, which, model);
    if (computed.length)
        add_prose(out, "By the engine's own account it is ", computed.data, ".\n\n");
    str_release(&computed);
    if (which->pass && *which->pass) {
        str_add(out, "With the optimiser pass ");
        markdown_code(out, which->pass);
        str_add(out, " switched off it is gone.\n\n");
    }
    if (settlement && settlement->count && settlement->fused &&
        verdict_is(settlement->kind, CLASS_WRONG_ANSWER))
        add_together(out, which, model);
    add_agreeing(out, which);
}

static void add_replay(struct str *out, const struct bundle_case *which)
{
    struct str command;
    str_init(&command);
    const struct bundle_engine *engine = &which->engines[0];
    str_add(&command, "assay replay .");
    if (engine->profile && engine->profile->given)
        str_printf(&command, " -E %s", engine->profile->given);
    str_printf(&command, " -e %s", engine->label);
    markdown_code(out, command.data);
    str_add(out, ", in this folder, runs it.\n");
    str_release(&command);
}

static int add_running(struct str *out, const struct bundle_case *which, const struct model *model,
                       struct error *err)
{
    if (which->rewriting) {
        str_add(out, "## How to run it\n\n");
        str_add(out, which->rewritten ? "`model.onnx` with `test_data_set_0/input_K.pb` is the original, "
                                        "`rewritten.onnx` with `rewritten/input_K.pb` the other form. "
                                      : "");
        add_replay(out, which);
        return 0;
    }
    if (which->test->gradient) {
        str_add(out,
                "## How to run it\n\n"
                "`model.onnx` is to be differentiated at the inputs `test_data_set_0/input_K.pb`, with the "
                "weights `gradient/weights_K.pb`; `gradient/expected_K.pb` are the right gradients, each "
                "named by its input or initializer. ");
        add_replay(out, which);
        return 0;
    }
    str_add(out,
            "## How to run it\n\n"
            "The folder is an ONNX backend test: `model.onnx`, `test_data_set_0/input_K.pb` and the expected "
            "`output_K.pb`.\n");
    struct str program;
    str_init(&program);
    int written = program_write(&program, which, model, err);
    if (written)
        str_printf(out, "\n%s", program.data);
    else
        add_replay(out, which);
    str_release(&program);
    return written < 0 ? -1 : 0;
}

/* Whose matter it is, as a sentence: "Engine bug: there is no answer to a valid case." */
static void add_class(struct str *out, const struct bundle_case *which)
{
    struct classification class;
    struct str text;
    str_init(&text);
    bundle_class(&class, which);
    classification_text(&text, &class);
    if (text.length) {
        text.data[0] = (char)toupper((unsigned char)text.data[0]);
        add_prose(out, "", text.data, ".\n\n");
    }
    str_release(&text);
}

int writeup(struct str *out, const struct bundle_case *which, const struct model *model, bool drawn,
            struct error *err)
{
    const struct verdict *verdict = final_verdict(which);
    struct str text;
    str_init(&text);
    bundle_title(&text, which, model);
    add_prose(out, "# ", text.data, "\n\n");
    str_clear(&text);
    /* Of values, refusals and crashes the title says as much. */
    bool told = verdict_is(verdict->kind, CLASS_FORM | CLASS_DEATH | CLASS_UNSTABLE | CLASS_TROUBLE);
    if (verdict->text[0] && (told || verdict->of_pair) && !verdict_row(verdict->kind)->by_signal)
        str_printf(&text, "%c%s", toupper((unsigned char)verdict->text[0]), verdict->text + 1);
    if (text.length)
        add_prose(out, "", text.data, ".\n\n");
    str_release(&text);
    add_class(out, which);
    add_question(out, which->test);
    add_message(out, which->engines[0].result);
    add_answers(out, which, model);
    if (which->rewritten)
        add_rewritten_answers(out, which, model);
    add_rules(out, which);
    add_rounding(out, which);
    float64_errors_add(out, which);
    add_onnx(out, which, model);
    if (which->forms)
        add_prose(out, "", which->forms, ".\n\n");
    add_fault(out, which, model);
    add_model(out, which, model, drawn);
    add_versions(out, which);
    int status = add_running(out, which, model, err);
    str_add(out, "\nFound with " PROJECT ".\n");
    return status;
}
