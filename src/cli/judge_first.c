#include "cli/judge_first.h"

#include "base/file.h"
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

void judged_first_release(struct judged_first *judged)
{
    free(judged->answer);
    free(judged->line);
    *judged = (struct judged_first){0};
}
