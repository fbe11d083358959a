#include "findings/bundle.h"

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/memory.h"
#include "case/backend_suite.h"
#include "findings/writeup.h"
#include "model/npz_write.h"
#include "judge/golden.h"
#include "locate/traced_case.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What runners of backend tests allow; data.json tells them. */
static const double relative_tolerance = 1e-3, absolute_tolerance = 1e-7;

char *bundle_engine_folder(const char *label)
{
    char *folder = memory_strdup(*label ? label : "engine");
    for (char *c = folder; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-@=,", *c))
            *c = '_';
    if (folder[0] == '.')
        folder[0] = '_';
    return folder;
}

static bool is_tolerated(long double due, long double got)
{
    if (isnan(due) || isnan(got))
        return isnan(due) && isnan(got);
    return due == got || fabsl(got - due) <= absolute_tolerance + relative_tolerance * fabsl(due);
}

/* False for elements beyond the tolerance that are undecided, or right: a runner that compares them would
 * fail after the bug is fixed. Returns whether there are any. */
static bool fill_mask(struct tensor *mask, const struct tensor *answer, const struct tensor *got,
                      const struct tensor *hard)
{
    bool any = false;
    for (size_t i = 0; i < answer->count; i++) {
        long double due = tensor_get(answer, i), own = tensor_get(got, i), bound = tensor_get(hard, i);
        bool judged = is_tolerated(due, own) ? !isinf(bound) : !(isinf(bound) || fabsl(own - due) <= bound);
        tensor_set(mask, i, judged);
        any |= !judged;
    }
    return any;
}

static int write_values(const struct folder *in, const char *name, const char *stem,
                        const struct value *values, size_t count, struct error *err)
{
    int status = count ? folder_make_all(in, name, err) : 0;
    for (size_t k = 0; k < count && !status; k++)
        if (values[k].kind == VALUE_TENSOR)
            status = suite_write_value(in, name, stem, k, NULL, &values[k], err);
    return status;
}

/* mask_K.pb, where the answer of the engine at fault can be compared element by element. */
static int write_mask(const struct folder *folder, const struct bundle_case *which, size_t k,
                      struct error *err)
{
    const struct result *reference = which->reference, *got = which->engines[0].result;
    const struct value *value = &reference->outputs[k];
    struct tensor mask;
    if (!reference->bounds[k].present || value->kind != VALUE_TENSOR)
        return 0;
    const struct tensor *answer = value->tensors, *hard = &reference->bounds[k].hard, *own = answer;
    if (got && k < got->count && got->outputs[k].kind == VALUE_TENSOR)
        own = got->outputs[k].tensors;
    if (own->type != answer->type || !shape_equal(&own->shape, &answer->shape))
        own = answer;
    if (!dtype_is_real(answer->type) || hard->count != answer->count)
        return 0;
    tensor_init(&mask);
    int status = tensor_alloc(&mask, DTYPE_BOOL, &answer->shape, SIZE_MAX, err);
    if (!status && fill_mask(&mask, answer, own, hard))
        status = suite_write_value(folder, "test_data_set_0", "mask", k, NULL,
                                   &(struct value){.kind = VALUE_TENSOR, .count = 1, .tensors = &mask}, err);
    tensor_release(&mask);
    return status;
}

/* What was written, read again, is the reference's answer: a runner that has the right one passes. */
static int check_answer(const struct folder *folder, const struct bundle_case *which,
                        const struct model *model, struct error *err)
{
    static const struct metrics_tolerance exact = {0};
    struct test_case *test = test_case_view(model, which->test->inputs, which->test->n_inputs);
    struct folder set;
    struct str why;
    int status =
        folder_open(&set, folder, "test_data_set_0", err) || suite_read_outputs(&set, model, test, err);
    str_init(&why);
    struct expected expected = {.count = test->n_outputs, .values = test->outputs, .masks = test->masks};
    size_t count =
        which->reference->count < model->graph->n_output ? which->reference->count : model->graph->n_output;
    if (!status && golden_compare(&expected, which->reference->outputs, count, !which->test->random, &exact,
                                  &why) != GOLDEN_PASS)
        status = error_set(err, ERROR_FORMAT, "what was written as expected is not so: %s", why.data);
    folder_close(&set);
    str_release(&why);
    test_case_free(test);
    return status ? -1 : 0;
}

/* The reference's answer, whatever the engine at fault gave. */
static int write_answer(const struct folder *folder, const struct bundle_case *which,
                        const struct model *model, struct error *err)
{
    const struct result *reference = which->reference;
    if (which->test->gradient)
        return write_values(folder, "gradient", "expected", reference->outputs, reference->count, err);
    int status =
        suite_write_outputs(folder, "test_data_set_0", model, reference->outputs, reference->count, err);
    for (size_t k = 0; reference->bounds && k < reference->count && k < model->graph->n_output && !status;
         k++)
        status = write_mask(folder, which, k, err);
    return status ? -1 : check_answer(folder, which, model, err);
}

static int write_bounds(const struct folder *folder, const struct result *reference,
                        const struct model *model, struct error *err)
{
    if (!reference->bounds)
        return 0;
    if (folder_make_all(folder, "bound", err))
        return -1;
    for (size_t k = 0; k < reference->count && k < model->graph->n_output; k++) {
        if (!reference->bounds[k].present)
            continue;
        struct value value = {.name = model->graph->output[k]->name,
                              .kind = VALUE_TENSOR,
                              .count = 1,
                              .tensors = &reference->bounds[k].hard};
        if (suite_write_value(folder, "bound", "output", k, NULL, &value, err))
            return -1;
    }
    return 0;
}

/* The folder of an engine's answers in the bundle, on the heap. */
static char *actual_of(const struct bundle_engine *engine)
{
    char *name = bundle_engine_folder(engine->label), *folder = file_join("actual", name);
    free(name);
    return folder;
}

/* The rewritten form: model, inputs, the reference's answer and those of the engines. */
static int write_rewritten(const struct folder *folder, const struct bundle_case *which, struct error *err)
{
    const struct test_case *test = which->rewritten;
    const struct result *reference = which->rewritten_reference;
    const struct model *model = test_case_model(test, err);
    int status = !model || model_save(model, folder, "rewritten.onnx", err) ||
                 write_values(folder, "rewritten", "input", test->inputs, test->n_inputs, err);
    if (!status && reference && reference->outcome == OUTCOME_OK)
        status = write_values(folder, "rewritten", "output", reference->outputs, reference->count, err);
    for (size_t i = 0; i < which->n_engines && !status; i++) {
        const struct result *result = which->engines[i].rewritten;
        if (!result || result->outcome != OUTCOME_OK)
            continue;
        char *actual = actual_of(&which->engines[i]);
        status = write_values(folder, actual, "rewritten", result->outputs, result->count, err);
        free(actual);
    }
    return status ? -1 : 0;
}

/* What each engine gave: outputs, or the gradients that the case asks for. */
static int write_actual(const struct folder *folder, const struct bundle_case *which,
                        const struct model *model, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < which->n_engines && !status; i++) {
        const struct result *result = which->engines[i].result;
        if (!result || result->outcome != OUTCOME_OK)
            continue;
        char *actual = actual_of(&which->engines[i]);
        status = which->test->gradient
                     ? write_values(folder, actual, "gradient", result->outputs, result->count, err)
                     : suite_write_outputs(folder, actual, model, result->outputs, result->count, err);
        free(actual);
    }
    return status;
}

/* The inputs and the reference's outputs by the names that they have in the model, for NumPy. */
static int write_npz(const struct folder *folder, const struct bundle_case *which, const struct model *model,
                     struct error *err)
{
    const struct test_case *test = which->test;
    bool answered = which->reference && which->reference->outcome == OUTCOME_OK && !test->gradient;
    size_t outputs = answered ? which->reference->count : 0, count = 0;
    outputs = outputs < model->graph->n_output ? outputs : model->graph->n_output;
    struct value *values = memory_zeroed(test->n_inputs + outputs + 1, sizeof *values);
    for (size_t i = 0; i < test->n_inputs; i++)
        values[count++] = test->inputs[i];
    for (size_t k = 0; k < outputs; k++) {
        values[count] = which->reference->outputs[k];
        values[count++].name = model->graph->output[k]->name;
    }
    int status = npz_write(folder, "io.npz", values, count, err);
    free(values);
    return status;
}

/* The weights of gradients are part of the case. */
static int write_data(const struct folder *folder, const struct bundle_case *which, const struct model *model,
                      struct error *err)
{
    bool answered = which->reference && which->reference->outcome == OUTCOME_OK;
    if (suite_write(folder, which->test, err) || (answered && write_answer(folder, which, model, err)) ||
        (answered && !which->test->gradient && write_bounds(folder, which->reference, model, err)) ||
        write_npz(folder, which, model, err) || write_actual(folder, which, model, err))
        return -1;
    return which->rewritten && !which->test->gradient ? write_rewritten(folder, which, err) : 0;
}

static void add_verdict(struct json *json, const struct verdict *verdict)
{
    json_string(json, "verdict", verdict_name(verdict->kind));
    json_bool(json, "finding", verdict_is_bug(verdict->kind));
    json_string(json, "text", verdict->text);
}

static void add_numbers(struct json *json, const struct verdict *verdict)
{
    json_object(json, "numbers");
    json_int(json, "output", (int64_t)verdict->output);
    json_int(json, "element", (int64_t)verdict->element);
    json_double(json, "expected", (double)verdict->expected);
    json_double(json, "got", (double)verdict->got);
    json_double(json, "bound", verdict->hard);
    json_double(json, "factor", verdict->factor);
    json_double(json, "deviations", verdict->deviations);
    json_int(json, "elements", (int64_t)verdict->total);
    json_int(json, "judged", (int64_t)verdict->judged);
    json_int(json, "wrong", (int64_t)verdict->wrong);
    json_end(json);
}

void bundle_computed(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    traced_words(which->trace, model, settlement ? settlement->nodes : NULL,
                 settlement ? settlement->count : 0, out);
}

static void add_computed(struct json *json, const struct bundle_case *which, const struct model *model)
{
    struct str words;
    str_init(&words);
    bundle_computed(&words, which, model);
    json_string(json, "computed", words.length ? words.data : NULL);
    trace_json(which->trace, json, "trace");
    str_release(&words);
}

static void add_culprits(struct json *json, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    json_array(json, "nodes");
    for (size_t i = 0; settlement && i < settlement->count; i++)
        if (settlement->nodes[i] < model->graph->n_node)
            json_string(json, NULL, model->graph->node[settlement->nodes[i]]->name);
    json_end(json);
    json_bool(json, "fused", settlement && settlement->fused);
    json_string(json, "cause", which->cause);
    add_computed(json, which, model);
}

static void add_engines(struct json *json, const struct bundle_case *which)
{
    json_array(json, "engines");
    for (size_t i = 0; i < which->n_engines; i++) {
        const struct bundle_engine *engine = &which->engines[i];
        json_object(json, NULL);
        json_string(json, "engine", engine->label);
        json_string(json, "version", engine->version);
        add_verdict(json, engine->verdict);
        if (engine->result) {
            json_string(json, "outcome", outcome_name(engine->result->outcome));
            json_string(json, "stage", stage_name(engine->result->stage));
            json_int(json, "signal", engine->result->signal);
            json_string(json, "message", engine->result->message);
        }
        json_end(json);
    }
    json_end(json);
    json_array(json, "history");
    for (size_t i = 0; i < which->n_history; i++) {
        json_object(json, NULL);
        json_string(json, "engine", which->history[i].engine);
        json_string(json, "verdict", which->history[i].verdict);
        json_end(json);
    }
    json_end(json);
}

void bundle_class(struct classification *class, const struct bundle_case *which)
{
    classify(class, which->engines[0].verdict, which->test);
}

static void add_class(struct json *json, const struct bundle_case *which)
{
    struct classification class;
    bundle_class(&class, which);
    json_string(json, "class", finding_class_row(class.class)->word);
    json_string(json, "because", class.because);
}

static void make_json(struct str *out, const struct bundle_case *which, const struct model *model)
{
    struct json json;
    struct str title;
    str_init(&title);
    bundle_title(&title, which, model);
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_int(&json, "format", FORMAT_BUNDLE);
    json_string(&json, "name", which->signature->name);
    json_string(&json, "signature", which->signature->text);
    json_string(&json, "title", title.data);
    json_string(&json, "kind", verdict_name(which->engines[0].verdict->kind));
    add_class(&json, which);
    json_string(&json, "engine", which->engines[0].label);
    json_string(&json, "version", which->engines[0].version);
    json_string(&json, "operators", which->signature->operators);
    json_string(&json, "types", which->signature->types);
    json_string(&json, "parameters", which->signature->attributes);
    add_culprits(&json, which, model);
    json_string(&json, "pass", which->pass);
    json_string(&json, "recipe", (which->rewritten ? which->rewritten : which->test)->recipe);
    if (which->rewriting)
        json_string(&json, "rewriting", which->rewriting);
    json_int(&json, "graph_nodes", (int64_t)model->graph->n_node);
    add_numbers(&json, which->engines[0].verdict);
    add_engines(&json, which);
    json_end(&json);
    str_release(&title);
}

static int write_text(const struct folder *folder, const char *name, const struct str *text,
                      struct error *err)
{
    return folder_write(folder, name, text->data, text->length, err);
}

/* A finding that cannot be drawn is still one: then there is no map, which is no failure. */
static bool write_map(const struct folder *folder, const struct bundle_case *which, const struct model *model)
{
    struct str svg;
    str_init(&svg);
    const struct settlement *settlement = which->settlement;
    bool drawn = which->draw && model->graph->n_node > 1 &&
                 !which->draw(&svg, model, settlement ? settlement->nodes : NULL,
                              settlement ? settlement->count : 0, NULL) &&
                 !write_text(folder, "map.svg", &svg, NULL);
    str_release(&svg);
    return drawn;
}

static int write_texts(const struct folder *folder, const struct bundle_case *which,
                       const struct model *model, struct error *err)
{
    bool drawn = write_map(folder, which, model);
    struct str text;
    str_init(&text);
    make_json(&text, which, model);
    int status = write_text(folder, "finding.json", &text, err);
    str_clear(&text);
    struct json data;
    json_init(&data, &text, false);
    json_object(&data, NULL);
    json_string(&data, "model_name", which->signature->name);
    json_double(&data, "rtol", relative_tolerance);
    json_double(&data, "atol", absolute_tolerance);
    json_end(&data);
    str_add(&text, "\n");
    if (status == 0)
        status = write_text(folder, "data.json", &text, err);
    str_clear(&text);
    if (status == 0)
        status = writeup(&text, which, model, drawn, err);
    if (status == 0)
        status = write_text(folder, "report.md", &text, err);
    str_release(&text);
    return status;
}

/* All that a bundle, or a case of `assay reduce`, may hold. */
const struct output_layout bundle_layout = {
    .what = "bundle or reduced case",
    .marks = (const char *const[]){"finding.json", "reduced.json", NULL},
    .files = (const char *const[]){"model.onnx",
                                   "model.onnx.data",
                                   "data.json",
                                   "io.npz",
                                   "report.md",
                                   "map.svg",
                                   "test_data_set_0/input_*.pb",
                                   "test_data_set_0/output_*.pb",
                                   "test_data_set_0/mask_*.pb",
                                   "bound/output_*.pb",
                                   "actual/*/output_*.pb",
                                   "rewritten.onnx",
                                   "rewritten.onnx.data",
                                   "rewritten/input_*.pb",
                                   "rewritten/output_*.pb",
                                   "actual/*/rewritten_*.pb",
                                   "gradient.txt",
                                   "gradient/weights_*.pb",
                                   "gradient/expected_*.pb",
                                   "actual/*/gradient_*.pb",
                                   NULL},
    .folders = (const char *const[]){"test_data_set_0", "bound", "actual", "actual/*", "rewritten",
                                     "gradient", NULL},
};

int bundle_write(const struct folder *in, const char *name, const struct bundle_case *which, bool force,
                 struct error *err)
{
    const struct model *model = test_case_model(which->test, err);
    struct output_folder output;
    if (!which->n_engines)
        return error_set(err, ERROR_USAGE, "a bundle needs an engine");
    if (!model)
        return -1;
    int status = output_folder_begin(&output, in, name, &bundle_layout, force, err);
    if (status == 0)
        status = write_data(&output.part, which, model, err) ||
                         write_texts(&output.part, which, model, err) || output_folder_put(&output, err)
                     ? -1
                     : 0;
    output_folder_release(&output);
    return status;
}
