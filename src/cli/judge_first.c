#include "cli/judge_first.h"

#include "base/file.h"
#include "base/json.h"
#include "case/case_answers.h"
#include "cli/casefile.h"
#include "cli/compare.h"

#include <stdlib.h>
#include <string.h>

/* Model and samples, as `assay compare` would be given them. */
static int open_compared(struct compare_model *entry, const char *path, const struct input_settings *settings,
                         struct error *err)
{
    struct str text;
    static const struct input_settings own; /* of a folder: it is reported on these alone */
    if (model_open(&entry->model, path, err) ||
        inputs_from_settings(&entry->inputs, entry->model, path, file_is_folder(path) ? &own : settings, err))
        return -1;
    entry->path = path;
    str_init(&text);
    inputs_describe(&entry->inputs, &text);
    entry->described = str_detach(&text);
    return 0;
}

static void close_compared(struct compare_model *entry)
{
    compare_release(&entry->compare);
    inputs_release(&entry->inputs);
    model_free(entry->model);
    free(entry->described);
}

/* An engine that refused, or died, may still be found to be right to do so, which takes more than this. */
static bool is_right(const struct compare_model *entry)
{
    const struct compare *compare = &entry->compare;
    enum verdict_kind kind = compare->verdicts.engine[0].verdict.kind;
    return compare->engine[0].outcomes[OUTCOME_OK] == compare->samples && !verdict_is_finding(kind) &&
           !verdict_is(kind, CLASS_SUSPECT);
}

static void keep_answer(struct judged_first *judged, const struct compare_model *entry,
                        const struct session *session)
{
    struct answer_scene scene;
    struct str text, line;
    str_init(&text);
    str_init(&line);
    compare_answer(entry, session->labels, &scene);
    answer_add(&text, &scene.answer, "\n");
    answer_add(&line, &scene.answer, " ");
    judged->kind = entry->compare.verdicts.engine[0].verdict.kind;
    judged->status = standing_status(&scene.standing);
    answer_scene_release(&scene);
    judged->answer = str_detach(&text);
    judged->line = str_detach(&line);
}

static int run_compare(struct compare_model *entry, const struct session *session, struct error *err)
{
    struct panel one = session->panel;
    struct compare_options options = {
        .thresholds = {.k = 1}, .batch = 1, .progress = true, .no_causes = true};
    one.count = 1;
    int status = compare_run(&entry->compare, entry->path, entry->model, &entry->inputs, &one, &options, err);
    return status && err->code == ERROR_INVALID ? error_prefix(err, "%s", entry->path) : status;
}

/* The sample as a case, which takes the model over. */
static int take_sample(struct test_case **test, struct compare_model *entry, size_t sample, struct error *err)
{
    test_case_free(*test);
    *test = test_case_new(entry->model);
    entry->model = NULL;
    test_case_set_name(*test, entry->path);
    test_case_set_recipe(*test, entry->path);
    if (inputs_get(&entry->inputs, sample, &(*test)->inputs, err))
        return -1;
    (*test)->n_inputs = entry->inputs.count;
    return 0;
}

int judge_first(struct judged_first *judged, struct test_case **test, const char *path,
                const struct input_settings *settings, struct session *session, struct error *err)
{
    struct compare_model entry = {0};
    *judged = (struct judged_first){.samples = 1};
    if ((*test)->equivalence || (*test)->gradient || (*test)->forbidden)
        return 0;
    int status = open_compared(&entry, path, settings, err);
    if (status == 0)
        status = run_compare(&entry, session, err);
    if (status == 0) {
        judged->samples = entry.inputs.samples;
        judged->right = is_right(&entry);
        judged->sample = judged->right ? 0 : entry.compare.verdicts.engine[0].sample;
        keep_answer(judged, &entry, session);
        if (!judged->right && judged->sample)
            status = take_sample(test, &entry, judged->sample, err);
    }
    close_compared(&entry);
    return status;
}

void judged_first_say(const struct judged_first *judged, const char *work, struct str *out)
{
    str_printf(out, "%s\n\n", judged->answer);
    if (judged->status == STATUS_AGREE)
        str_printf(out, "There is nothing to %s.\n", work);
    else
        str_printf(out, "No failure was seen, so that there is nothing to %s.\n", work);
}

int judged_first_write(const struct judged_first *judged, const char *work, const char *path,
                       const struct common *common, const struct session *session, struct error *err)
{
    struct common screen = *common;
    struct str out;
    screen.output = NULL; /* -o is the case that would have been made */
    str_init(&out);
    if (common->format == FORMAT_JSON) {
        struct json json;
        output_json(&json, &out, true);
        json_string(&json, "answer", judged->line);
        engine_settings_json(&session->settings, &json);
        json_string(&json, "case", path);
        json_string(&json, "engine", given_text(common->engines.items[0]));
        json_string(&json, "verdict", verdict_name(judged->kind));
        json_string(&json, "folder", NULL);
        json_end(&json);
        str_add(&out, "\n");
    } else {
        judged_first_say(judged, work, &out);
    }
    int status = output_result(&screen, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : judged->status;
}

int judge_first_words(const struct common *common, const struct cli_list *words, struct error *err)
{
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one case: a folder, or a model");
    if (common->engines.count != 1)
        return error_set(err, ERROR_USAGE, "name one engine with -e; 'assay engines' lists them");
    return 0;
}

int judge_first_run(const struct common *common, const struct input_settings *inputs, const char *path,
                    judge_first_work work, const void *settings, struct error *err)
{
    struct session session = {0};
    struct test_case *test = NULL;
    int status = casefile_open(&test, path, inputs, err);
    if (!status)
        status = casefile_rewrite(&test, path, err);
    if (!status)
        status = session_open(&session, common, 1, true, err);
    if (!status)
        status = work(settings, path, &session, &test, err);
    session_close(&session);
    test_case_free(test);
    return status;
}

void judged_first_release(struct judged_first *judged)
{
    free(judged->answer);
    free(judged->line);
    *judged = (struct judged_first){0};
}

int judged_first_add_answers(struct test_case *made, struct error *err)
{
    struct error why = {0};
    if (made->forbidden || !test_case_add_answers(made, NULL, &why) || why.code == ERROR_UNSUPPORTED)
        return 0;
    return error_set(err, why.code, "%s", why.message);
}
