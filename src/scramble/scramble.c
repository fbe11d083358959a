#include "scramble/scramble.h"

#include "base/clock.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "reduce/oracle_of_case.h"
#include "scramble/leak.h"
#include "scramble/names.h"
#include "scramble/parts.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 3, REDRAWS = 4, CONFIRMATIONS = 3 };

struct work {
    const struct scramble_options *options;
    const struct test_case *from;
    struct oracle oracle;
    struct subject original, named, best; /* as given; with other names; with other data as well */
    struct parts from_parts;              /* of the original */
    enum closeness *closeness;            /* of each */
    struct names names;
    struct names_kept kept;
    struct progress progress;
    uint64_t seed;
    bool up; /* time is */
};

static bool may_keep(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->options->n_keep; i++)
        if (glob_fits(work->options->keep[i], strlen(work->options->keep[i]), name))
            return true;
    return false;
}

/* --- Names --- */

/* What stays, the least first. */
static const struct names_kept schemes[] = {
    {0},
    {.public_functions = true},
    {.lengths = true},
    {.lengths = true, .public_functions = true},
    {.functions = true},
    {.functions = true, .lengths = true},
    {.functions = true, .values = true},
};

/* All tensors are written anew, so that nothing of the file that they came from stays, whatever their data
 * become. */
static int write_anew(struct subject *subject, struct error *err)
{
    struct parts parts;
    int status = 0;
    data_parts_list(&parts, subject);
    for (size_t i = 0; i < parts.count && !status; i++) {
        struct tensor tensor;
        if (parts.items[i].kind != PART_TENSOR)
            continue;
        status = part_read(&parts.items[i], &tensor, err);
        if (!status)
            status = part_write(&parts, &parts.items[i], &tensor, err);
        tensor_release(&tensor);
    }
    data_parts_release(&parts);
    return status;
}

static int make_named(void *context, size_t number, struct subject *candidate)
{
    struct work *work = context;
    struct names names;
    names_init(&names);
    int status = subject_copy(candidate, &work->original, NULL) ||
                         names_replace(candidate, &schemes[number], &names, NULL) ||
                         write_anew(candidate, NULL)
                     ? 1
                     : 0;
    names_release(&names);
    return status;
}

/* What the scheme keeps must be allowed. */
static int allow_scheme(const struct work *work, const struct names_kept *kept, struct error *err)
{
    struct str private;
    int status = 0;
    str_init(&private);
    names_private(work->original.model, &private);
    if (kept->functions && private.length && !may_keep(work, private.data))
        status =
            error_set(err, ERROR_NOT_FOUND,
                      "the failure does not stay unless operators keep their names; give --keep '%.300s' to "
                      "keep them",
                      private.data);
    if (!status && kept->values && !may_keep(work, "names"))
        status = error_set(
            err, ERROR_NOT_FOUND,
            "the failure does not stay unless values and nodes keep their names; give --keep names to "
            "keep them");
    str_release(&private);
    return status;
}

static int replace_names(struct work *work, struct error *err)
{
    struct subject tried = {0};
    const char *node = work->oracle.forbidden_node;
    int status = subject_copy(&tried, &work->original, err); /* what cannot be replaced is said, not tried */
    names_init(&work->names);
    if (!status)
        status = names_replace(&tried, &schemes[0], &work->names, err);
    subject_release(&tried);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes && !status; i++) {
        names_release(&work->names);
        names_init(&work->names);
        if (subject_copy(&tried, &work->original, err) ||
            names_replace(&tried, &schemes[i], &work->names, err))
            status = -1;
        subject_release(&tried);
        if (node && !schemes[i].values)
            work->oracle.forbidden_node = names_fresh(&work->names, node);
        long answer = status ? -1 : oracle_search(&work->oracle, i, i + 1, make_named, work, &work->named);
        work->kept = schemes[i];
        if (answer == (long)i)
            return allow_scheme(work, &schemes[i], err);
        work->oracle.n_seen = 0; /* what does not hold under one set of names may under another */
    }
    return status ? -1
                  : error_set(err, ERROR_NOT_FOUND,
                              "the failure does not stay when descriptions and metadata are removed");
}

/* --- Data --- */

/* A set of parts to which stand-ins are given; those of `best` stay in the others. */
struct attempt {
    struct work *work;
    const size_t *set;
    size_t count;
    const enum closeness *levels;
};

/* Whether a stand-in has something of the original left. */
static bool is_too_close(const struct tensor *original, const struct tensor *drawn)
{
    const char *what;
    struct leak_search *search = leak_search_new();
    leak_forbid_tensor(search, original, "");
    bool found = leak_in_tensor(search, drawn, &what);
    leak_search_free(search);
    return found;
}

/* What is to be the same wherever it stands, a text or the stand-in of a number by itself, has one seed for
 * all. */
static uint64_t seed_of(const struct work *work, const struct tensor *tensor, enum closeness closeness,
                        size_t part, size_t draw)
{
    uint64_t seed = hash_combine(work->seed, draw);
    return closeness == CLOSE_NEAR || tensor->type == DTYPE_STRING ? seed : hash_combine(seed, part);
}

static int draw_part(const struct work *work, const struct parts *parts, size_t number,
                     enum closeness closeness, size_t draw)
{
    const struct part *from = &work->from_parts.items[number];
    struct tensor original, drawn;
    bool close = true;
    if (part_read(from, &original, NULL))
        return -1;
    tensor_init(&drawn);
    for (size_t i = 0; i < REDRAWS && close; i++) {
        tensor_release(&drawn);
        if (tensor_copy(&drawn, &original, NULL) ||
            stand_in(&drawn, closeness, seed_of(work, &original, closeness, number, draw + DRAWS * i), NULL))
            break;
        close = is_too_close(&original, &drawn);
    }
    int status = close ? -1 : part_write(parts, &parts->items[number], &drawn, NULL);
    tensor_release(&original);
    tensor_release(&drawn);
    return status;
}

static int make_drawn(void *context, size_t number, struct subject *candidate)
{
    const struct attempt *attempt = context;
    struct work *work = attempt->work;
    struct parts parts;
    int status = 0;
    progress_step(&work->progress, work->oracle.made);
    if (subject_copy(candidate, &work->best, NULL))
        return 1;
    data_parts_list(&parts, candidate);
    for (size_t i = 0; i < attempt->count && !status; i++)
        status = draw_part(work, &parts, attempt->set[i], attempt->levels[number / DRAWS], number % DRAWS);
    data_parts_release(&parts);
    return status ? 1 : 0;
}

/* Whether stand-ins of one of the levels do for the whole set. */
static bool replace_set(struct work *work, const size_t *set, size_t count, const enum closeness *levels,
                        size_t n_levels)
{
    struct subject found = {0};
    struct attempt attempt = {work, set, count, levels};
    size_t candidates = n_levels * DRAWS;
    if (work->up || !count)
        return !count;
    long answer = oracle_search(&work->oracle, 0, candidates, make_drawn, &attempt, &found);
    work->up = answer < 0;
    if (answer < 0 || (size_t)answer >= candidates)
        return false;
    subject_release(&work->best);
    work->best = found;
    for (size_t i = 0; i < count; i++)
        work->closeness[set[i]] = levels[(size_t)answer / DRAWS];
    return true;
}

static const enum closeness all_levels[] = {CLOSE_LIKE, CLOSE_CLASS, CLOSE_ORDER, CLOSE_NEAR};
enum { LEVELS = sizeof all_levels / sizeof *all_levels, DISTANT_LEVELS = 2 };

/* Of settings the closest first: another size that is far from the old one makes a model that may take long.
 */
static const enum closeness setting_levels[] = {CLOSE_NEAR, CLOSE_ORDER, CLOSE_CLASS};
enum { SETTING_LEVELS = sizeof setting_levels / sizeof *setting_levels };

/* All at once, else by halves; the closer stand-ins only for single parts, so that none is closer than it
 * must be. */
static void replace_halves(struct work *work, const size_t *set, size_t count, bool settings)
{
    const enum closeness *levels = settings ? setting_levels : all_levels;
    size_t n_levels = settings ? SETTING_LEVELS : count > 1 ? DISTANT_LEVELS : LEVELS;
    if (replace_set(work, set, count, levels, n_levels) || count < 2)
        return;
    replace_halves(work, set, count / 2, settings);
    replace_halves(work, set + count / 2, count - count / 2, settings);
}

/* Those that still are what they were, together: what must agree between two of them may only do so then. */
static void replace_rest(struct work *work, size_t *set)
{
    size_t count = 0;
    for (size_t i = 0; i < work->from_parts.count; i++)
        if (work->closeness[i] == CLOSE_ORIGINAL)
            set[count++] = i;
    if (count > 1)
        replace_set(work, set, count, all_levels + DISTANT_LEVELS, LEVELS - DISTANT_LEVELS);
}

static int replace_data(struct work *work, struct error *err)
{
    size_t *set = memory_zeroed(work->from_parts.count + 1, sizeof *set);
    subject_release(&work->best);
    int status = subject_copy(&work->best, &work->named, err);
    for (size_t i = 0; i < work->from_parts.count; i++)
        work->closeness[i] = CLOSE_ORIGINAL;
    for (int parameters = 0; parameters < 2 && !status; parameters++) {
        size_t count = 0;
        for (size_t i = 0; i < work->from_parts.count; i++)
            if (work->from_parts.items[i].parameter == (parameters == 1))
                set[count++] = i;
        replace_halves(work, set, count, parameters == 1);
    }
    if (!status)
        replace_rest(work, set);
    free(set);
    return status;
}

/* --- What is still there --- */

static bool is_confidential(const struct tensor *tensor)
{
    size_t texts, runs;
    struct leak_search *search = leak_search_new();
    leak_forbid_tensor(search, tensor, "");
    leak_counts(search, &texts, &runs);
    leak_search_free(search);
    return texts + runs > 0;
}

/* Settings of operators stay where they must; the user decides on anything else. */
static int check_kept(const struct work *work, struct error *err)
{
    for (size_t i = 0; i < work->from_parts.count; i++) {
        const struct part *part = &work->from_parts.items[i];
        struct tensor tensor;
        char shape[SHAPE_TEXT_SIZE];
        if (work->closeness[i] != CLOSE_ORIGINAL || part->parameter || may_keep(work, part->name))
            continue;
        if (part_read(part, &tensor, err))
            return -1;
        int status =
            !is_confidential(&tensor) ? 0
            : work->up
                ? error_set(err, ERROR_LIMIT,
                            "time was up before the values of '%.200s' were replaced; give more with --time",
                            part->name)
                : error_set(err, ERROR_NOT_FOUND,
                            "the failure does not stay without the values of '%.200s' (%s%s); give --keep "
                            "'%.200s' to keep them",
                            part->name, dtype_name(tensor.type), shape_text(&tensor.shape, shape),
                            part->name);
        tensor_release(&tensor);
        if (status)
            return -1;
    }
    return 0;
}

/* What the result may hold: words of ONNX, and what had to stay. */
static int allow_kept(const struct work *work, struct leak_search *search, struct error *err)
{
    names_allow(search, work->best.model, &work->kept);
    for (size_t i = 0; i < work->from_parts.count; i++) {
        struct tensor tensor;
        if (work->closeness[i] != CLOSE_ORIGINAL)
            continue;
        if (part_read(&work->from_parts.items[i], &tensor, err))
            return -1;
        leak_allow_tensor(search, &tensor);
        tensor_release(&tensor);
    }
    return 0;
}

/* All data of the model as it was given, also what inputs take the place of, and the inputs. */
static int forbid_original(const struct work *work, struct leak_search *search, struct error *err)
{
    struct subject given = {.n_inputs = work->original.n_inputs, .inputs = work->original.inputs};
    struct parts parts;
    int status = model_clone(&given.model, test_case_model(work->from, NULL), err);
    if (status)
        return -1;
    names_forbid(search, given.model);
    data_parts_list(&parts, &given);
    for (size_t i = 0; i < parts.count && !status; i++) {
        struct tensor tensor;
        status = part_read(&parts.items[i], &tensor, err);
        if (!status)
            leak_forbid_tensor(search, &tensor, parts.items[i].name);
        tensor_release(&tensor);
    }
    data_parts_release(&parts);
    model_free(given.model);
    return status;
}

static bool found_in(const struct leak_search *search, const struct subject *subject, const uint8_t *bytes,
                     size_t size, const char **what)
{
    bool found = leak_found(search, bytes, size, what);
    for (size_t i = 0; i < subject->n_inputs && !found; i++)
        for (size_t k = 0; k < subject->inputs[i].count && !found; k++)
            found = leak_in_tensor(search, &subject->inputs[i].tensors[k], what);
    return found;
}

/* 0: nothing of the original is there; 1: `what` is; -1: that cannot be told. */
static int look_for_leaks(const struct work *work, struct scramble_report *report, struct str *what,
                          struct error *err)
{
    struct leak_search *search = leak_search_new();
    uint8_t *bytes = NULL;
    size_t size;
    const char *name = NULL;
    int status = allow_kept(work, search, err) || forbid_original(work, search, err) ||
                         model_pack(work->best.model, &bytes, &size, err)
                     ? -1
                     : 0;
    if (!status && found_in(search, &work->best, bytes, size, &name)) {
        str_clear(what);
        str_add(what, name);
        status = 1;
    }
    leak_counts(search, &report->n_texts, &report->n_runs);
    leak_search_free(search);
    free(bytes);
    return status;
}

/* Data is drawn until nothing of the original is left by chance. */
static int replace_and_look(struct work *work, struct scramble_report *report, struct error *err)
{
    struct str what;
    int status = 1;
    str_init(&what);
    for (size_t i = 0; i < REDRAWS && status == 1; i++) {
        work->seed = hash_combine(work->options->seed, i);
        status =
            replace_data(work, err) || check_kept(work, err) ? -1 : look_for_leaks(work, report, &what, err);
    }
    if (status == 1)
        error_set(err, ERROR_NOT_FOUND,
                  "whatever is drawn, '%.200s' of the original stands in the result; another --seed may help",
                  what.data);
    str_release(&what);
    return status ? -1 : 0;
}

/* --- The result --- */

static void describe(struct work *work, struct scramble_report *report)
{
    struct parts fresh;
    data_parts_list(&fresh, &work->best);
    report->n_names = work->names.count;
    report->n_parts = work->from_parts.count;
    report->parts = memory_zeroed(report->n_parts + 1, sizeof *report->parts);
    for (size_t i = 0; i < report->n_parts; i++) {
        const struct part *part = &work->from_parts.items[i];
        struct tensor tensor;
        struct str shown;
        char shape[SHAPE_TEXT_SIZE];
        str_init(&shown);
        if (!part_read(part, &tensor, NULL))
            str_printf(&shown, "%s%s", dtype_name(tensor.type), shape_text(&tensor.shape, shape));
        tensor_release(&tensor);
        report->parts[i] = (struct scrambled_part){.name = memory_strdup(part->name),
                                                   .shown = str_detach(&shown),
                                                   .fresh = memory_strdup(fresh.items[i].name),
                                                   .input = part->kind == PART_INPUT,
                                                   .parameter = part->parameter,
                                                   .closeness = work->closeness[i]};
        str_release(&shown);
    }
    data_parts_release(&fresh);
    struct str private;
    str_init(&private);
    names_private(work->original.model, &private);
    report->operators = work->kept.functions && private.length ? memory_strdup(private.data) : NULL;
    report->names_kept = work->kept.values;
    report->lengths_kept = work->kept.lengths;
    str_release(&private);
}

void scramble_report_release(struct scramble_report *report)
{
    for (size_t i = 0; i < report->n_parts; i++) {
        free(report->parts[i].name);
        free(report->parts[i].shown);
        free(report->parts[i].fresh);
    }
    free(report->parts);
    free(report->operators);
    *report = (struct scramble_report){0};
}

/* A failure that depends on what lies in memory may take several runs to show. */
static bool shows_again(struct work *work)
{
    for (size_t i = 0; i < CONFIRMATIONS; i++)
        if (oracle_confirm(&work->oracle, &work->best))
            return true;
    return false;
}

static int run(struct work *work, struct test_case **scrambled, struct scramble_report *report,
               struct error *err)
{
    double started = clock_seconds();
    if (subject_from_case(&work->original, work->from, err) ||
        oracle_begin(&work->oracle, &work->original, work->options->run, err))
        return -1;
    report->stats.first = work->oracle.keep;
    data_parts_list(&work->from_parts, &work->original);
    work->closeness = memory_zeroed(work->from_parts.count + 1, sizeof *work->closeness);
    if (replace_names(work, err) || replace_and_look(work, report, err))
        return -1;
    if (!shows_again(work))
        return error_set(err, ERROR_NOT_FOUND,
                         "the failure does not show once more on the result; a longer --deadline may help");
    describe(work, report);
    oracle_stats(&work->oracle, &work->best, &report->stats);
    report->stats.seconds = clock_seconds() - started;
    report->stats.complete = !work->up;
    return oracle_case(scrambled, &work->best, work->from, work->oracle.forbidden_node, err);
}

int scramble_case(struct test_case **scrambled, const struct test_case *from,
                  const struct scramble_options *options, struct scramble_report *report, struct error *err)
{
    struct work work = {.options = options, .from = from, .oracle = oracle_of_case(from, options->run)};
    *scrambled = NULL;
    *report = (struct scramble_report){0};
    if (from->equivalence)
        return error_set(
            err, ERROR_UNSUPPORTED,
            "the finding takes two equivalent forms of the model to show; scramble works on one model");
    names_init(&work.names);
    if (options->run->progress)
        progress_begin(&work.progress, "scrambling: candidates", 0);
    struct progress *outer = pool_show(options->run->pool, &work.progress);
    int status = run(&work, scrambled, report, err);
    pool_show(options->run->pool, outer);
    progress_end(&work.progress);
    oracle_release(&work.oracle);
    if (work.from_parts.model)
        data_parts_release(&work.from_parts);
    subject_release(&work.original);
    subject_release(&work.named);
    subject_release(&work.best);
    names_release(&work.names);
    free(work.closeness);
    return status;
}
