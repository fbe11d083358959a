/* assay scramble: makes a failing case that may be given away. */
#include "scramble/scramble.h"

#include "base/json.h"
#include "case/backend_suite.h"
#include "cli/casefile.h"
#include "cli/judge_first.h"
#include "findings/bundle.h"
#include "model/npz_write.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    struct input_settings inputs;
    double seconds;
    struct cli_list keep;
};

/* Where the result goes: a model with its inputs beside it, or a folder. */
struct place {
    const char *path;
    bool is_model;
    char *inputs; /* heap: the file of a model's inputs */
};

static struct place place_of(const char *path)
{
    struct place place = {.path = path, .is_model = path && text_ends(path, ".onnx")};
    if (place.is_model) {
        struct str text;
        str_init(&text);
        str_append(&text, path, strlen(path) - strlen(".onnx"));
        str_add(&text, ".npz");
        place.inputs = str_detach(&text);
        str_release(&text);
    }
    return place;
}

/* What was made, for the texts. */
struct made {
    struct test_case *test;
    const struct scramble_report *report;
    const char *name, *engine;
    struct place place;
};

static size_t count_kept(const struct scramble_report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->n_parts; i++)
        count += report->parts[i].closeness == CLOSE_ORIGINAL;
    return count;
}

static void write_kept(const struct scramble_report *report, struct str *out)
{
    for (size_t i = 0; i < report->n_parts; i++) {
        const struct scrambled_part *part = &report->parts[i];
        if (part->closeness == CLOSE_ORIGINAL)
            str_printf(out, "kept, because the failure needs it: the values of %s (%s)%s\n", part->name,
                       part->shown, part->parameter ? ", a setting of its operator" : "");
    }
    if (report->operators)
        str_printf(out, "kept, because the failure needs it: the name of %s\n", report->operators);
    if (report->names_kept)
        str_add(out, "kept, because the failure needs it: the names of values and nodes\n");
}

/* What somebody can still learn from the result. */
static void write_rest(const struct scramble_report *report, struct str *out)
{
    str_add(out, "What can still be read from it: its operators and how they are connected, the settings "
                 "that are their "
                 "attributes, shapes and element types, where the values of sparse tensors lie");
    str_add(out, report->lengths_kept ? ", the lengths of names" : "");
    str_add(out, "; and of the data:\n");
    for (size_t i = 0; i < report->n_parts; i++) {
        const struct scrambled_part *part = &report->parts[i];
        str_printf(out, "  %s %s, now %s: %s\n", part->name, part->shown,
                   *part->fresh ? part->fresh : "nameless", closeness_text(part->closeness));
    }
}

static void write_text(const struct made *made, struct str *out, bool colour)
{
    const struct scramble_report *report = made->report;
    size_t kept = count_kept(report);
    str_printf(
        out,
        "%s on %s: the failure stays; %zu names and the data of %zu of %zu tensors and texts are replaced\n",
        made->name, made->engine, report->n_names, report->n_parts - kept, report->n_parts);
    str_printf(out, "%zu candidates, %zu of them invalid, %zu engine runs\n\n", report->stats.made,
               report->stats.invalid, report->stats.runs);
    style_print(out, colour, STYLE_BAD, "%s", verdict_name(report->stats.verdict.kind));
    str_add(out, ": ");
    text_print(out, report->stats.text, 0);
    str_add(out, "\n\n");
    write_kept(report, out);
    write_rest(report, out);
    str_printf(out,
               "Nothing else of the original is in it: %zu texts and %zu runs of numbers were looked for, "
               "byte by byte.\n",
               report->n_texts, report->n_runs);
    if (made->place.is_model)
        str_printf(out, "written to %s, with its inputs in %s\n", made->place.path, made->place.inputs);
    else if (made->place.path)
        str_printf(out, "written to %s\n", made->place.path);
}

/* alone: for the folder that is given away, without the name of the case and what its parts were called. */
static void write_json(const struct made *made, const struct engine_settings *settings, bool alone,
                       struct str *out)
{
    const struct scramble_report *report = made->report;
    struct json json;
    output_json(&json, out, true);
    json_string(&json, "case", alone ? "scrambled" : made->name);
    json_string(&json, "engine", made->engine);
    engine_settings_json(settings, &json);
    json_string(&json, "verdict", verdict_name(report->stats.verdict.kind));
    json_string(&json, "text", report->stats.text);
    json_string(&json, "signature", report->stats.last.text);
    json_int(&json, "nodes", (int64_t)report->stats.nodes_after);
    json_int(&json, "elements", (int64_t)report->stats.elements_after);
    if (!alone) {
        json_int(&json, "names", (int64_t)report->n_names);
        json_int(&json, "candidates", (int64_t)report->stats.made);
        json_int(&json, "runs", (int64_t)report->stats.runs);
        json_int(&json, "searched_texts", (int64_t)report->n_texts);
        json_int(&json, "searched_runs", (int64_t)report->n_runs);
        json_string(&json, "kept_operators", report->operators);
        json_bool(&json, "kept_names", report->names_kept);
        json_double(&json, "seconds", report->stats.seconds);
    }
    json_array(&json, "data");
    for (size_t i = 0; i < report->n_parts; i++) {
        const struct scrambled_part *part = &report->parts[i];
        json_object(&json, NULL);
        if (!alone)
            json_string(&json, "name", part->name);
        json_string(&json, "now", part->fresh);
        json_string(&json, "type", part->shown);
        json_bool(&json, "kept", part->closeness == CLOSE_ORIGINAL);
        json_bool(&json, "setting", part->parameter);
        json_string(&json, "stays", closeness_text(part->closeness));
        json_end(&json);
    }
    json_end(&json);
    if (!alone)
        json_string(&json, "folder", made->place.path);
    json_end(&json);
    str_add(out, "\n");
}

static int write_model(const struct made *made, bool force, struct error *err)
{
    const struct test_case *test = made->test;
    const struct model *model = test_case_model(test, err);
    uint8_t *bytes = NULL;
    size_t size;
    struct str inputs;
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind != VALUE_TENSOR || test->inputs[i].tensors[0].type == DTYPE_STRING)
            return error_set(
                err, ERROR_UNSUPPORTED,
                "an input is no tensor of numbers, which a .npz file cannot hold; give -o a folder");
    str_init(&inputs);
    int status = !model || model_pack(model, &bytes, &size, err) ||
                         npz_pack(test->inputs, test->n_inputs, &inputs, err) ||
                         output_file_write(made->place.path, bytes, size, force, err) ||
                         output_file_write(made->place.inputs, inputs.data, inputs.length, force, err)
                     ? -1
                     : 0;
    str_release(&inputs);
    free(bytes);
    return status;
}

/* The case, and reduced.json, by which Assay recognises the folder as its own. */
static int write_folder(const struct made *made, const struct engine_settings *run_with, bool force,
                        struct error *err)
{
    struct output_folder folder;
    struct str json;
    str_init(&json);
    write_json(made, run_with, true, &json);
    int status = output_folder_begin(&folder, USERS_PATH, made->place.path, &bundle_layout, force, err);
    if (!status)
        status = judged_first_add_answers(made->test, err) || suite_write(&folder.part, made->test, err) ||
                         folder_write(&folder.part, "reduced.json", json.data, json.length, err) ||
                         output_folder_put(&folder, err)
                     ? -1
                     : 0;
    output_folder_release(&folder);
    str_release(&json);
    return status;
}

static int report_made(struct made *made, const struct settings *settings, const struct session *session,
                       struct error *err)
{
    struct common screen = settings->common;
    struct str out;
    screen.output = NULL; /* -o is what was made */
    if (made->place.path &&
        (made->place.is_model ? write_model(made, settings->common.force, err)
                              : write_folder(made, &session->settings, settings->common.force, err)))
        return -1;
    str_init(&out);
    if (settings->common.format == FORMAT_JSON)
        write_json(made, &session->settings, false, &out);
    else
        write_text(made, &out, output_colour(&screen));
    int status = output_result(&screen, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : STATUS_FINDINGS;
}

static int scramble_file(const void *raw, const char *path, struct session *session,
                         struct test_case **opened, struct error *err)
{
    const struct settings *settings = raw;
    struct scramble_report report = {0};
    struct judged_first judged = {0};
    struct made made = {.report = &report,
                        .engine = given_text(settings->common.engines.items[0]),
                        .place = place_of(settings->common.output)};
    int status = judge_first(&judged, opened, path, &settings->inputs, session, err);
    int plain = pool_plain(session->panel.pool, 0);
    if (!status && judged.right) {
        status = judged_first_write(&judged, "scramble", path, &settings->common, session, err);
    } else if (!status) {
        struct reduce_options run = {
            .pool = session->panel.pool,
            .engine = 0,
            .companion = plain == 0 ? -1 : plain,
            .label = session->labels[0],
            .registry = session->registry,
            .seconds = settings->seconds,
            .deadline = settings->common.deadline,
            .progress = true,
        };
        struct scramble_options options = {.run = &run,
                                           .seed = settings->inputs.seed,
                                           .n_keep = settings->keep.count,
                                           .keep = settings->keep.items};
        status = casefile_in_one_piece(opened, session->panel.pool, 0, err);
        if (!status)
            status = scramble_case(&made.test, *opened, &options, &report, err);
        made.name = (*opened)->name;
        if (!status)
            status = report_made(&made, settings, session, err);
    }
    free(made.place.inputs);
    test_case_free(made.test);
    scramble_report_release(&report);
    judged_first_release(&judged);
    return status;
}

/* Asked before any work is done. */
static int check_output(const struct settings *settings, const char *path, struct error *err)
{
    const char *const inputs[] = {path, settings->inputs.data};
    struct place place = place_of(settings->common.output);
    int status = 0;
    if (place.is_model && text_equal(place.path, path))
        status = error_set(err, ERROR_USAGE, "%s is the model itself; give -o another name", path);
    else if (place.is_model)
        status = output_file_check(place.path, settings->common.force, err) ||
                         output_file_check(place.inputs, settings->common.force, err)
                     ? -1
                     : 0;
    else
        status = output_check_bundle(&settings->common, inputs, 2, err);
    free(place.inputs);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (judge_first_words(&settings->common, words, err) || check_output(settings, words->items[0], err))
        return -1;
    return judge_first_run(&settings->common, &settings->inputs, words->items[0], scramble_file, settings,
                           err);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_INPUTS(struct settings),
    {0, "keep", OPTION_LIST, "NAME", offsetof(struct settings, keep),
     "let this keep its values where the failure needs them: an input, initialiser or NODE.ATTRIBUTE; an "
     "operator of "
     "your own its name; 'names' all names; a shell pattern; repeatable"},
    {0, "time", OPTION_TIME, "TIME", offsetof(struct settings, seconds),
     "give up after TIME (default: until everything is replaced, or known to be needed)"},
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the result is written"},
    {'o', "output", OPTION_TEXT, "FILE.onnx|DIR", offsetof(struct settings, common.output),
     "write the model to FILE.onnx and its inputs to FILE.npz, or both to DIR, as a folder that conform, "
     "bisect and "
     "reduce read; new or empty"},
    COMMON_FORCE(struct settings,
                 "overwrite the files; replace DIR where it is a bundle or reduced case of Assay's"),
};

static const struct settings defaults = {.inputs = {.seed = 1}};

const struct command command_scramble = {
    .name = "scramble",
    .summary = "replace what is confidential in a failing case while it fails in the same way",
    .usage = "CASE-FOLDER|MODEL -e ENGINE [-o FILE.onnx|DIR] [OPTION...]",
    .about =
        "For models that may not be given away. Names of values, nodes, graphs, dimensions, functions and\n"
        "domains become letters; descriptions, the producer, metadata and whatever does not belong to the\n"
        "computation are removed; inputs, weights, constants and texts become values drawn by --seed, as "
        "far\n"
        "from the original ones as the failure allows: first of the same scale, then in the same range, "
        "then\n"
        "in the same order, then of the same power of two. Each step is run on the engine and judged as\n"
        "'assay reduce' judges a smaller case; the result is searched byte by byte for what was replaced.\n"
        "\n"
        "The structure stays: operators, their attributes, shapes, element types. So 'assay reduce' first, "
        "which\n"
        "leaves a few nodes. What else had to stay is named. Settings that are tensors (a shape, axes, "
        "limits)\n"
        "stay where they must; where the failure needs other values of the original, scramble names them "
        "and\n"
        "writes nothing unless --keep allows it.\n"
        "\n"
        "The exit status is 1 when a case was made, 0 when the engine computes CASE correctly, so that there "
        "is\n"
        "nothing to give away, 2 when that could not be done.\n",
    .examples = "  assay scramble model.onnx -e onnxruntime@1.30.0 -o small.onnx\n"
                "  assay reduce model.onnx -e onnxruntime -o small/ && assay scramble small/ -e onnxruntime "
                "-o public/\n"
                "  assay scramble small/ -e onnxruntime --keep tokens -o public/\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
