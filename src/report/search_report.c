#include "report/search_report.h"

#include "report/answer.h"
#include "report/text_table.h"

#include <inttypes.h>
#include <math.h>

void search_words_print(struct str *out, const struct fuzz_status *status)
{
    const struct search_words *words = &status->search_words;
    str_printf(out, "goal %s, level %s, fitness %s", words->goal, words->level, words->fitness);
}

/* How often something is so over all models. */
struct totals {
    size_t reached, strange, judged, unexpected, inconsistent;
};

static struct totals totals_of(const struct fuzz_status *status)
{
    struct totals totals = {0};
    for (size_t i = 0; i < status->n_searched; i++) {
        const struct search_figures *f = &status->searched[i];
        totals.reached += f->reached;
        totals.strange += f->strange > 0;
        totals.judged += f->strange_judged > 0;
        totals.unexpected += f->strange_judged > f->strange_expected;
        totals.inconsistent += f->inconsistent > 0;
    }
    return totals;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void search_line(struct str *out, const struct fuzz_status *status)
{
    str_printf(out, "reached on %zu of %zu model%s", totals_of(status).reached, status->n_searched,
               plural(status->n_searched));
}

/* What the goal is, after "was made to" or "was not". */
static const char *goal_in_words(const char *goal)
{
    return text_equal(goal, "inconsistency") ? "engines differ in the top class"
           : text_equal(goal, "nan")         ? "an answer has NaN or infinity"
                                             : "an answer is beyond its error bound";
}

/* "18 of them judged by the reference": only these can show a fault. */
static void add_judged(struct str *out, const struct fuzz_status *status)
{
    uint64_t judged = fuzz_judged(status),
             left = status->cases - (judged < status->cases ? judged : status->cases);
    answer_add_count(out, (size_t)judged);
    str_add(out, " of them judged by the reference");
    if (!left)
        return;
    str_add(out, " and ");
    answer_add_count(out, (size_t)left);
    str_add(out, status->judged_engines > 1 ? " only compared between engines or not at all" : " not judged");
}

static void add_clear(struct str *out, const struct fuzz_status *status)
{
    uint64_t judged = fuzz_judged(status);
    if (!judged) {
        str_add(out, "; no answer was judged, so that no fault of an engine could be found");
        return;
    }
    str_add(out, "; no fault of an engine was found in the ");
    answer_add_count(out, (size_t)judged);
    str_add(out, judged == 1 ? " sample that was judged" : " samples that were judged");
}

void search_answer(struct str *out, const struct fuzz_status *status, const struct standing *standing,
                   const char *between)
{
    struct str said, evidence;
    size_t reached = totals_of(status).reached, n = status->n_searched;
    str_init(&said);
    str_init(&evidence);
    if (n == 1)
        str_printf(&said, "%s: %sinputs or weights were found with which %s", status->searched[0].model,
                   reached ? "" : "no ", goal_in_words(status->search_words.goal));
    else
        str_printf(&said, "On %zu of %zu models inputs or weights were found with which %s", reached, n,
                   goal_in_words(status->search_words.goal));
    if (reached < n)
        str_add(&said, n == 1 ? ", which does not show that there are none"
                              : "; of the others this does not show that there are none");
    if (status->findings)
        str_printf(&said, "; %zu finding%s faults of an engine", status->findings,
                   status->findings == 1 ? " shows" : "s show");
    else
        add_clear(&said, status);
    answer_add_count(&evidence, (size_t)status->cases);
    str_printf(&evidence, " changed samples in %.0f s, ", status->elapsed);
    add_judged(&evidence, status);
    str_add(&evidence, ", from ");
    text_print(&evidence, status->search_words.start, 0);
    str_add(&evidence, n > 1 ? " for the first model" : "");
    answer_add(out, &(struct answer){.said = said.data, .evidence = evidence.data, .standing = standing},
               between);
    str_release(&said);
    str_release(&evidence);
}

static void add_table(struct str *out, const struct fuzz_status *status, bool colour)
{
    struct table table;
    table_init(&table, "lrrrrrrrrl");
    table_head(&table, "model|best|generations|genomes|top class differs|NaN or inf|judged|expected|wrong|"
                       "goal first reached");
    for (size_t i = 0; i < status->n_searched; i++) {
        const struct search_figures *f = &status->searched[i];
        table_add(&table, STYLE_PLAIN, "%s", f->model);
        if (isfinite(f->best))
            table_add(&table, STYLE_PLAIN, "%.4g", f->best);
        else
            table_add(&table, STYLE_PLAIN, "%s", f->best > 0 ? "reached" : "none yet");
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->generations);
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->genomes);
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->inconsistent);
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->strange);
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->strange_judged);
        table_add(&table, STYLE_PLAIN, "%" PRIu64, f->strange_expected);
        table_add(&table, f->findings ? STYLE_BAD : STYLE_PLAIN, "%" PRIu64, f->findings);
        if (f->reached)
            table_add(&table, STYLE_PLAIN, "genome %" PRIu64 ", %.1f s, %s", f->first_genome,
                      f->first_seconds, *f->kept ? f->kept : "not kept");
        else
            table_add(&table, STYLE_PLAIN, "not yet");
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

/* What was reached is not yet wrong: the two must not be mistaken for each other. */
static void add_words(struct str *out, const struct fuzz_status *status)
{
    struct totals totals = totals_of(status);
    size_t n = status->n_searched;
    if (totals.inconsistent)
        str_printf(out,
                   "\n  The top class differs between engines on %zu of %zu model%s; it is a finding only "
                   "where rounding does not explain it.\n",
                   totals.inconsistent, n, plural(n));
    if (totals.strange)
        str_printf(out, "\n  An answer has NaN or infinity on %zu of %zu model%s; %s.\n", totals.strange, n,
                   plural(n),
                   totals.unexpected ? "on some, ONNX's own arithmetic gives numbers or leaves it open"
                   : totals.judged   ? "ONNX's own arithmetic gives it there too"
                                     : "the reference was not asked about them");
}

void search_screen(struct str *out, const struct fuzz_status *status, bool colour)
{
    add_table(out, status, colour);
    add_words(out, status);
    str_add(out, "\n");
}

static void json_model(struct json *json, const struct search_figures *f)
{
    json_object(json, NULL);
    json_string(json, "model", f->model);
    json_int(json, "generations", (int64_t)f->generations);
    json_int(json, "restarts", (int64_t)f->restarts);
    json_int(json, "genomes", (int64_t)f->genomes);
    json_double(json, "best", f->best);
    json_int(json, "inconsistent", (int64_t)f->inconsistent);
    json_int(json, "nan", (int64_t)f->strange);
    json_int(json, "nan_judged", (int64_t)f->strange_judged);
    json_int(json, "nan_expected", (int64_t)f->strange_expected);
    json_int(json, "wrong", (int64_t)f->findings);
    json_bool(json, "reached", f->reached);
    if (f->reached) {
        json_int(json, "first_genome", (int64_t)f->first_genome);
        json_double(json, "first_seconds", f->first_seconds);
        json_string(json, "case", f->kept);
    }
    json_end(json);
}

void search_json(struct json *json, const struct fuzz_status *status, const struct standing *standing)
{
    struct str answer;
    str_init(&answer);
    search_answer(&answer, status, standing, " ");
    json_string(json, "answer", answer.data);
    str_release(&answer);
    json_string(json, "goal", status->search_words.goal);
    json_string(json, "level", status->search_words.level);
    json_string(json, "fitness", status->search_words.fitness);
    json_array(json, "models");
    for (size_t i = 0; i < status->n_searched; i++)
        json_model(json, &status->searched[i]);
    json_end(json);
}
