#include "cli/common.h"

#include "base/file.h"
#include "base/wrap.h"
#include "config.h"
#include "engine/label.h"
#include "engine/paths.h"
#include "engine/sandbox.h"
#include "findings/bundle.h"
#include "model/valid.h"
#include "report/junit.h"
#include "report/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a label name@all[:knob=value,...] is replaced by. */
struct expansion {
    struct arena *arena;
    struct given_labels *list;
    const struct given_label *label;
};

static int add_version(void *context, const char *name, const char *version, const char *path)
{
    const struct expansion *expansion = context;
    (void)path;
    if (version && label_names(given_text(expansion->label), name))
        given_add(expansion->arena, expansion->list, given_at(expansion->arena, expansion->label, version));
    return 0;
}

struct everything {
    struct session *session;
    struct given_labels *out;
};

/* Engines whose section declares no knobs are examples, or the user's own; the reference judges the others.
 */
static int add_engine(void *context, const char *name, const char *version, const char *path)
{
    const struct everything *all = context;
    struct session *session = all->session;
    const struct given_label *label = given_typed(&session->arena, name);
    const struct engine_spec *spec;
    (void)path;
    if (version)
        label = given_at(&session->arena, label, version);
    if (!text_equal(name, "reference") && registry_find(session->registry, label, &spec, NULL) == 0 &&
        spec->profile && spec->profile->knobs && !spec->profile->no_onnx)
        given_add(&session->arena, all->out, label);
    return 0;
}

/* Every engine, in every version; unless there is an engine of that name. */
static bool is_everything(const struct session *session, const struct label *label)
{
    return label_part_is(label->name, "all") && !label->version.text && !label->knobs.text &&
           !registry_file(session->registry, "all");
}

/* The engines as they were named, with name@all replaced by every installed version, and `all` by every
 * version of every engine. */
static int expand(struct session *session, const struct given_labels *names, struct given_labels *out,
                  struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        struct label label = label_parse(given_text(names->items[i]));
        if (is_everything(session, &label)) {
            session->everything = true;
            registry_each(session->registry, add_engine, &(struct everything){session, out});
            continue;
        }
        if (!label_part_is(label.version, "all")) {
            given_add(&session->arena, out, names->items[i]);
            continue;
        }
        size_t before = out->count;
        struct expansion expansion = {&session->arena, out, names->items[i]};
        if (registry_each(session->registry, add_version, &expansion))
            return -1;
        if (out->count == before)
            return error_set(err, ERROR_NOT_FOUND,
                             "no version of %.*s is installed; 'assay engines' lists what is",
                             (int)label.name.length, label.name.text);
    }
    return 0;
}

static int too_few(size_t least, struct error *err)
{
    return error_set(err, ERROR_USAGE, "name at least %zu engine%s with -e; 'assay engines' lists them",
                     least, least == 1 ? "" : "s");
}

/* Once a command, and only to a person: a file of results is no place for it. */
static void tell_missing_walls(void)
{
    struct str text;
    char *libexec = paths_libexec();
    str_init(&text);
    sandbox_warn(libexec, &text);
    if (text.length)
        wrap_printf(stderr, "assay: %s\n", text.data);
    str_release(&text);
    free(libexec);
}

void session_leave_out_absent(struct session *session)
{
    if (!session->everything)
        return;

    struct panel *panel = &session->panel;
    size_t count = 0;
    const char **labels = arena_array(&session->arena, panel->count, sizeof *labels);
    const char **absent = arena_array(&session->arena, panel->count + 1, sizeof *absent);
    for (size_t i = 0; i < panel->count; i++) {
        if (panel_engine(panel, i)->problem) {
            absent[session->n_absent++] = session->labels[i];
            continue;
        }
        labels[count] = session->labels[i];
        panel->engines[count++] = panel->engines[i];
    }
    panel->count = count;
    session->labels = labels;
    session->absent = absent;
}

int session_open_idle(struct session *session, const struct common *common, size_t least, bool arbiter,
                      struct error *err)
{
    *session = (struct session){.panel.reference = -1, .referee = -1};
    arena_init(&session->arena);
    engine_settings_init(&session->settings);
    struct given_labels engines = {0};
    if (common->engines.count == 0 && least > 0)
        return too_few(least, err);
    if (registry_open(&session->registry, common->registries.items, common->registries.count, err) ||
        expand(session, &common->engines, &engines, err))
        return -1;
    if (engines.count < least)
        return too_few(least, err);
    struct pool_options limits = {
        .deadline = common->deadline,
        .memory = (size_t)common->memory,
        .workers = (int)(common->workers < 64 ? common->workers : 64),
        .fresh = common->fresh,
        .sandbox = (enum sandbox_mode)common->sandbox,
    };
    if (limits.sandbox == SANDBOX_DEFAULT && isatty(STDERR_FILENO))
        tell_missing_walls();
    const char **labels = arena_array(&session->arena, engines.count, sizeof *labels);
    for (size_t i = 0; i < engines.count; i++)
        labels[i] = given_text(engines.items[i]);
    session->labels = labels;
    if (panel_open(&session->panel, session->registry, &engines, &limits, err))
        return -1;
    if (arbiter && !common->no_reference && panel_add_reference(&session->panel, session->registry, err))
        return error_prefix(
            err,
            "the reference engine does not start, so nobody can judge (use --no-reference to do without it)");
    if (common->second_opinion && panel_add_second_opinion(&session->panel, session->registry, err))
        return error_prefix(
            err, "there is nobody to give a second opinion (tools/fetch-root trixie onnx-reference "
                 "brings one, then build again)");
    session->referee = session->panel.reference;
    return 0;
}

int session_open(struct session *session, const struct common *common, size_t least, bool arbiter,
                 struct error *err)
{
    if (session_open_idle(session, common, least, arbiter, err))
        return -1;
    pool_warm(session->panel.pool);
    session_leave_out_absent(session);
    engine_settings_take(&session->settings, &session->panel);
    return 0;
}

/* On stderr, so that it does not disturb any format of the result. */
static void tell_broken(const struct session *session)
{
    for (size_t i = 0; i < session->panel.count; i++) {
        const struct engine_info *info = panel_engine(&session->panel, i);
        if (!info->problem)
            continue;
        wrap_printf(stderr,
                    "assay: %s does not start: %s\n'assay engines %s' shows its versions and knobs.\n",
                    info->label, info->problem, info->name);
    }
}

void session_close(struct session *session)
{
    tell_broken(session);
    panel_close(&session->panel);
    if (session->registry)
        registry_free(session->registry);
    engine_settings_release(&session->settings);
    arena_release(&session->arena);
}

int model_open(struct model **model, const char *path, struct error *err)
{
    char *inside = file_join(path, "model.onnx");
    int status = model_load(model, file_exists(inside) ? inside : path, err);
    free(inside);
    if (status)
        return -1;
    if (model_valid(*model, err) == 0)
        return 0;
    model_free(*model);
    *model = NULL;
    return error_prefix(err, "%s", path);
}

int session_valid(struct session *session, const struct job *job, const struct inputs *inputs, size_t sample,
                  struct error *err)
{
    const struct engine_spec *spec;
    struct job asked = *job;
    struct result result;
    if (session->referee < 0) {
        if (registry_find(session->registry, given_typed(&session->arena, "reference"), &spec, NULL))
            return 0;
        session->referee = pool_add(session->panel.pool, spec);
    }
    result_init(&result);
    asked.engine = session->referee;
    int status = pool_run_one(session->panel.pool, &asked, &result, err);
    if (status == 0 && result.outcome == OUTCOME_REJECTED)
        status = inputs_invalid(inputs, sample, result.message ? result.message : "", err);
    result_release(&result);
    return status;
}

void trouble_junit(const struct common *common, const char *command, const struct error *err)
{
    if (common->format != FORMAT_JUNIT || err->code == ERROR_USAGE)
        return;
    struct junit junit;
    struct str out;
    junit_init(&junit);
    str_init(&out);
    junit_trouble(&junit, command, err->message);
    junit_write(&junit, &out);
    output_write(common, &out, NULL);
    str_release(&out);
    junit_release(&junit);
}

bool output_colour(const struct common *common)
{
    const char *objection = getenv("NO_COLOR");
    return !common->output && isatty(STDOUT_FILENO) && !(objection && *objection);
}

int output_check(const struct common *common, struct error *err)
{
    return common->output ? output_file_check(common->output, common->force, err) : 0;
}

int output_check_bundle(const struct common *common, const char *const *inputs, size_t count,
                        struct error *err)
{
    if (!common->output)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] && output_is_within(inputs[i], common->output))
            return error_set(err, ERROR_IO, "%s holds %s, which this command reads; name another folder",
                             common->output, inputs[i]);
    return output_folder_check(common->output, &bundle_layout, common->force, err);
}

int output_result(const struct common *common, const struct engine_settings *settings, struct str *text,
                  struct error *err)
{
    if (common->format == FORMAT_TEXT)
        engine_settings_print(settings, text);
    return output_write(common, text, err);
}

int output_write(const struct common *common, const struct str *text, struct error *err)
{
    if (common->format != FORMAT_TEXT)
        return output_write_plain(common, text, err);
    if (!common->output)
        return wrap_print(stdout, text->data) ? 0 : error_errno(err, "cannot write the result");
    struct str headed;
    str_init(&headed);
    str_printf(&headed, OUTPUT_TEXT_MARK ASSAY_VERSION "\n\n%s", text->data);
    int status = output_write_plain(common, &headed, err);
    str_release(&headed);
    return status;
}

int output_write_plain(const struct common *common, const struct str *text, struct error *err)
{
    if (common->output)
        return output_file_write(common->output, text->data, text->length, common->force, err);
    return wrap_plain(stdout, text->data) ? 0 : error_errno(err, "cannot write the result");
}

int inputs_from_settings(struct inputs *inputs, const struct model *model, const char *path,
                         const struct input_settings *settings, struct error *err)
{
    bool own = !settings->data && settings->random <= 0 && !settings->dims.count && file_is_folder(path);
    const char *data = own ? path : settings->data;
    if (settings->data && settings->random > 0)
        return error_set(err, ERROR_USAGE, "give --data or --random, not both");
    if (settings->data && settings->dims.count)
        return error_set(err, ERROR_USAGE,
                         "--dim is only for random inputs: leave it out, as --data has its own sizes");
    if (data)
        return inputs_read(inputs, model, data, err) || inputs_check(inputs, err) ? -1 : 0;
    size_t samples = settings->random > 0 ? (size_t)settings->random : 1;
    if (inputs_random(inputs, model, samples, settings->seed, settings->dims.items, settings->dims.count,
                      err))
        return -1;
    inputs_draw_sizes(inputs, settings->alike);
    return 0;
}

void output_answer(struct json *json, const char *answer, const struct standing *standing,
                   const struct engine_settings *settings, const char *path, struct str *out)
{
    output_json(json, out, true);
    json_string(json, "answer", answer);
    standing_json(standing, json);
    engine_settings_json(settings, json);
    json_string(json, "model", path);
}

int check_one_model(const struct common *common, const struct cli_list *words, struct error *err)
{
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one model");
    return output_check(common, err);
}

bool tolerance_is_given(double rtol, double atol)
{
    return rtol >= 0 || atol >= 0;
}
