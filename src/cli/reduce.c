/* assay reduce: makes a failing case small while it fails in the same way. */
#include "reduce/reduce.h"

#include "base/json.h"
#include "case/backend_suite.h"
#include "cli/casefile.h"
#include "cli/judge_first.h"
#include "findings/bundle.h"
#include "model/onnx.h"
#include "ops/op.h"
#include "report/text_table.h"
#include "rules/rewriting.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    struct input_settings inputs;
    double seconds;
};

/* Reads the reduced case back. */
struct small {
    struct test_case *test;      /* of two equivalent forms, the original */
    struct test_case *rewritten; /* and the other; else NULL */
    const struct model *model;
    const uint8_t *bytes;
    size_t size;
    struct reduce_stats stats;
};

static void write_text(const struct small *small, const char *name, const char *engine, const char *folder,
                       struct str *out, bool colour)
{
    const struct reduce_stats *stats = &small->stats;
    char *text = NULL;
    str_printf(out, "%s on %s: %zu nodes to %zu, %zu elements to %zu%s\n", name, engine, stats->nodes_before,
               stats->nodes_after, stats->elements_before, stats->elements_after,
               stats->complete ? "" : " (stopped by --time)");
    str_printf(out, "%zu candidates, %zu of them invalid, %zu engine runs, %zu steps taken\n\n", stats->made,
               stats->invalid, stats->runs, stats->held);
    style_print(out, colour, STYLE_BAD, "%s", verdict_name(stats->verdict.kind));
    str_add(out, ": ");
    text_print(out, stats->text, 0);
    str_add(out, "\n\n");
    if (!onnx_print_text(small->bytes, small->size, &text, NULL))
        str_printf(out, "%s\n", text);
    for (size_t i = 0; i < small->model->graph->n_node && !text; i++)
        str_printf(out, "  %s\n", op_title(small->model->graph->node[i]));
    if (small->rewritten) {
        str_add(out, "It takes both forms to show; the other one is made by\n");
        rewriting_describe(out, small->rewritten->equivalence->rewriting);
    }
    if (folder)
        str_printf(out, "written to %s\n", folder);
    free(text);
}

static void write_json(const struct small *small, const char *name, const char *engine, const char *folder,
                       const struct engine_settings *settings, struct str *out)
{
    const struct reduce_stats *stats = &small->stats;
    struct json json;
    output_json(&json, out, true);
    json_string(&json, "case", name);
    json_string(&json, "engine", engine);
    engine_settings_json(settings, &json);
    json_string(&json, "verdict", verdict_name(stats->verdict.kind));
    json_string(&json, "text", stats->text);
    if (small->rewritten)
        json_string(&json, "rewriting", small->rewritten->equivalence->rewriting);
    json_string(&json, "signature_before", stats->first.text);
    json_string(&json, "signature", stats->last.text);
    json_int(&json, "nodes_before", (int64_t)stats->nodes_before);
    json_int(&json, "nodes", (int64_t)stats->nodes_after);
    json_int(&json, "elements_before", (int64_t)stats->elements_before);
    json_int(&json, "elements", (int64_t)stats->elements_after);
    json_int(&json, "candidates", (int64_t)stats->made);
    json_int(&json, "invalid", (int64_t)stats->invalid);
    json_int(&json, "runs", (int64_t)stats->runs);
    json_int(&json, "taken", (int64_t)stats->held);
    json_bool(&json, "complete", stats->complete);
    json_double(&json, "seconds", stats->seconds);
    json_array(&json, "operators");
    for (size_t i = 0; i < small->model->graph->n_node; i++)
        json_string(&json, NULL, op_title(small->model->graph->node[i]));
    json_end(&json);
    json_string(&json, "folder", folder);
    json_end(&json);
    str_add(out, "\n");
}

static int write_rewritten(const struct small *small, const struct folder *folder, struct error *err)
{
    const struct model *model = test_case_model(small->rewritten, err);
    return model ? model_save(model, folder, "rewritten.onnx", err) : -1;
}

/* Writes the case, and reduced.json with its description, by which Assay recognises the folder as its own. */
static int write_folder(const struct settings *settings, struct small *small,
                        const struct engine_settings *run_with, const char *name, struct error *err)
{
    struct output_folder folder;
    struct str json;
    str_init(&json);
    write_json(small, name, given_text(settings->common.engines.items[0]), NULL, run_with, &json);
    int status = output_folder_begin(&folder, USERS_PATH, settings->common.output, &bundle_layout,
                                     settings->common.force, err);
    if (!status)
        status = judged_first_add_answers(small->test, err) || suite_write(&folder.part, small->test, err) ||
                         (small->rewritten && write_rewritten(small, &folder.part, err))
                     ? -1
                     : 0;
    if (!status)
        status = folder_write(&folder.part, "reduced.json", json.data, json.length, err);
    if (!status)
        status = output_folder_put(&folder, err);
    output_folder_release(&folder);
    str_release(&json);
    return status;
}

static int report(struct small *small, const struct settings *settings, const struct session *session,
                  struct error *err)
{
    const char *engine = given_text(settings->common.engines.items[0]), *folder = settings->common.output;
    struct common screen = settings->common;
    struct str out;
    screen.output = NULL; /* -o is the folder */
    if (folder && write_folder(settings, small, &session->settings, small->test->name, err))
        return -1;
    str_init(&out);
    if (settings->common.format == FORMAT_JSON)
        write_json(small, small->test->name, engine, folder, &session->settings, &out);
    else
        write_text(small, small->test->name, engine, folder, &out, output_colour(&screen));
    int status = output_result(&screen, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : STATUS_FINDINGS;
}

/* The number in the pool of the engine's plain setting ("opt=none"); -1 when that is the engine itself. */
static int add_companion(struct session *session)
{
    int plain = pool_plain(session->panel.pool, 0);
    return plain == 0 ? -1 : plain;
}

/* What was made small, read back: of a pair its original, which the rewriting makes the other form from. */
static int read_back(struct small *small, struct test_case *smaller, struct error *err)
{
    small->test = smaller;
    if (smaller->equivalence) {
        small->rewritten = smaller;
        small->test = test_case_share(smaller->equivalence->origin);
    }
    small->model = test_case_model(small->test, err);
    return small->model ? test_case_bytes(small->test, &small->bytes, &small->size, err) : -1;
}

/*
 * Two equivalent forms are reduced together. They are judged by the reference's bounds of both; what shows
 * nothing by these, as it was found without a reference, is judged by the published tolerance.
 */
static int reduce_pair(struct test_case **smaller, const struct test_case *from, struct session *session,
                       struct reduce_options *options, struct reduce_stats *stats, struct error *err)
{
    struct error why = {0};
    options->panel = &session->panel;
    if (session->panel.reference >= 0 && !reduce_case(smaller, from, options, stats, &why))
        return 0;
    session->panel.reference = -1;
    if (!why.code || why.code == ERROR_NOT_FOUND || why.code == ERROR_UNSUPPORTED)
        return reduce_case(smaller, from, options, stats, err);
    return error_set(err, why.code, "%s", why.message);
}

static int reduce_file(const void *raw, const char *path, struct session *session, struct test_case **opened,
                       struct error *err)
{
    const struct settings *settings = raw;
    struct small small = {0};
    struct judged_first judged = {0};
    int status = judge_first(&judged, opened, path, &settings->inputs, session, err);
    if (!status && judged.right) {
        status = judged_first_write(&judged, "reduce", path, &settings->common, session, err);
    } else if (!status) {
        struct reduce_options options = {
            .pool = session->panel.pool,
            .engine = 0,
            .companion = add_companion(session),
            .label = session->labels[0],
            .registry = session->registry,
            .seconds = settings->seconds,
            .deadline = settings->common.deadline,
            .progress = true,
        };
        struct test_case *smaller;
        status = casefile_in_one_piece(opened, session->panel.pool, 0, err);
        const struct test_case *from = *opened;
        if (!status)
            status = from->equivalence ? reduce_pair(&smaller, from, session, &options, &small.stats, err)
                                       : reduce_case(&smaller, from, &options, &small.stats, err);
        if (!status)
            status = read_back(&small, smaller, err) ? -1 : report(&small, settings, session, err);
    }
    test_case_free(small.test);
    test_case_free(small.rewritten);
    judged_first_release(&judged);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (judge_first_words(&settings->common, words, err))
        return -1;
    const char *const inputs[] = {words->items[0], settings->inputs.data};
    if (output_check_bundle(&settings->common, inputs, 2, err))
        return -1;
    return judge_first_run(&settings->common, &settings->inputs, words->items[0], reduce_file, settings, err);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_INPUTS(struct settings),
    {0, "time", OPTION_TIME, "TIME", offsetof(struct settings, seconds),
     "stop after TIME with the smallest case so far (default: until nothing more can be removed)"},
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the result is written"},
    {'o', "output", OPTION_TEXT, "DIR", offsetof(struct settings, common.output),
     "write the small case to DIR, as a folder that conform, bisect and reduce read; new or empty"},
    COMMON_FORCE(struct settings, "replace DIR where it is a bundle or reduced case of Assay's"),
};

static const struct settings defaults = {.inputs = {.seed = 1}};

const struct command command_reduce = {
    .name = "reduce",
    .summary = "make a failing case small while it fails in the same way",
    .usage = "CASE-FOLDER|MODEL -e ENGINE [-o DIR] [OPTION...]",
    .about =
        "Delta debugging: nodes are dropped, bypassed and replaced by the values they had; outputs, inputs,\n"
        "dimensions, ranks, kernels, element types, attributes, values and the opset are made smaller and\n"
        "simpler, also inside the bodies of If and Loop, as long as the engine fails with the same\n"
        "signature: the same symptom, the same message, the same operators to blame. The reference computes\n"
        "the expected outputs of every candidate, so that the final case is a true failure: its error is\n"
        "larger than rounding can explain, or the engine refuses it although it is valid. A model over 2 GB\n"
        "does not fit into one file; then the nodes that localize finds at fault are reduced.\n"
        "\n"
        "The engine is judged first, as compare does it, on all samples; of several the one on which it "
        "fails\n"
        "is reduced. The exit status is 1 when a small failing case was found, 0 when the engine computes "
        "CASE\n"
        "correctly, so that there is nothing to reduce, 2 when that could not be judged.\n",
    .examples = "  assay reduce findings/1f3a -e onnxruntime@1.30.0 -o small/\n"
                "  assay reduce model.onnx --data data/ -e onnxruntime@1.30.0:opt=all --time 60s\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
