#include "report/fuzz_report.h"

#include "base/output.h"
#include "base/seed.h"
#include "report/search_report.h"
#include "report/standing.h"
#include "report/text_table.h"
#include "report/verdict_json.h"

#include <inttypes.h>
#include <string.h>

static void add_time(struct str *out, double seconds)
{
    uint64_t whole = seconds > 0 ? (uint64_t)seconds : 0;
    str_printf(out, "%" PRIu64 ":%02d:%02d", whole / 3600, (int)(whole / 60 % 60), (int)(whole % 60));
}

static double rate(const struct fuzz_status *status)
{
    return status->session > 0 ? (double)status->session_cases / status->session : 0;
}

void fuzz_line(struct str *out, const struct fuzz_status *status)
{
    add_time(out, status->elapsed);
    str_printf(out, "  %" PRIu64 " cases (%.0f/s)  ", status->cases, rate(status));
    if (status->n_searched)
        search_line(out, status);
    else
        str_printf(out, "OLC %.1f %%", 100 * status->coverage.olc);
    str_printf(out, "  %zu finding%s", status->findings, status->findings == 1 ? "" : "s");
    if (status->known)
        str_printf(out, " (%zu known)", status->known);
    if (status->last_new >= 0) {
        str_add(out, ", newest ");
        add_time(out, status->elapsed - status->last_new);
        str_add(out, " ago");
    }
}

static void add_coverage(struct str *out, const struct fuzz_status *status, bool metrics)
{
    const struct coverage_figures *c = &status->coverage;
    str_printf(out, "  coverage  OLC %.1f %%", 100 * c->olc);
    if (metrics)
        str_printf(out, "   OTC %.1f  IDC %.1f  ODC %.1f  SEC %.1f  SPC %.1f", 100 * c->otc, 100 * c->idc,
                   100 * c->odc, 100 * c->sec, 100 * c->spc);
    str_printf(out, "   pairs %.1f %%", 100 * c->pairs);
    if (status->tree)
        str_printf(out, "   tree %zu", status->tree);
    str_add(out, "\n\n");
}

static void add_head(struct str *out, const struct fuzz_status *status, bool colour, bool metrics)
{
    style_print(out, colour, STYLE_HEAD, status->n_searched ? "assay search" : "assay fuzz");
    str_printf(out, "  %s  (", status->folder);
    if (status->n_searched)
        search_words_print(out, status);
    else
        str_add(out, fuzz_strategy_name(status->strategy));
    str_printf(out, ", seed %" PRIu64 ")\n\n", status->seed);
    str_add(out, "  run time  ");
    add_time(out, status->elapsed);
    str_printf(out, "    cases  %" PRIu64 " (%.0f/s)", status->cases, rate(status));
    if (status->probe_finds)
        str_printf(out, " after %zu of the probe", status->probe_finds);
    str_add(out, "    last new finding  ");
    if (status->last_new >= 0) {
        add_time(out, status->elapsed - status->last_new);
        str_add(out, " ago\n");
    } else {
        str_add(out, "none yet\n");
    }
    if (status->n_searched) {
        str_add(out, "\n");
        search_screen(out, status, colour);
    } else {
        add_coverage(out, status, metrics);
    }
}

/* What counts as failing; what is listed apart does not. */
static const unsigned failures = CLASS_WRONG_ANSWER | CLASS_REFUSAL | CLASS_DEATH | CLASS_UNSTABLE;

/* The last engine is the reference that judges the others. */
static bool is_judged(const struct fuzz_status *status, size_t engine)
{
    return !text_equal(status->engines[engine].label, "reference") || engine + 1 < status->n_engines;
}

/* An engine may have more findings than cases that failed, and no case is missing then. */
static void add_probe_note(struct str *out, const struct fuzz_status *status)
{
    for (size_t i = 0; i < status->n_engines; i++)
        if (status->probe_finds && is_judged(status, i) &&
            status->engines[i].findings > verdict_sum(status->engines[i].verdicts, failures)) {
            str_printf(out,
                       "  distinct counts the probe's as well: %zu case%s that failed before the first one\n",
                       status->probe_finds, status->probe_finds == 1 ? "" : "s");
            return;
        }
}

static void add_engines(struct str *out, const struct fuzz_status *status, bool colour, bool metrics)
{
    double busy = 0;
    struct table table;
    for (size_t i = 0; i < status->n_engines; i++)
        busy += status->engines[i].busy;
    table_init(&table, metrics ? "lrrrrrrrrrr" : "lrrrrrr");
    table_head(&table, metrics ? "engine|time|agrees|lacks|unsure|failing|distinct|MCF|IF|DCF|DCP"
                               : "engine|time|agrees|lacks|unsure|failing|distinct");
    for (size_t i = 0; i < status->n_engines; i++) {
        const struct fuzz_engine *e = &status->engines[i];
        table_add(&table, STYLE_PLAIN, "%s", e->label);
        table_add(&table, STYLE_PLAIN, "%.0f %%", busy > 0 ? 100 * e->busy / busy : 0);
        if (!is_judged(status, i))
            continue;
        table_add(&table, STYLE_PLAIN, "%" PRIu64, verdict_sum(e->verdicts, CLASS_AGREES));
        table_add(&table, STYLE_PLAIN, "%" PRIu64, verdict_sum(e->verdicts, CLASS_LACK | CLASS_LIMITED));
        table_add(&table, STYLE_PLAIN, "%" PRIu64,
                  verdict_sum(e->verdicts,
                              CLASS_UNJUDGED | CLASS_DOUBT | CLASS_IMPRECISE | CLASS_LOSSY | CLASS_SUSPECT));
        uint64_t failing = verdict_sum(e->verdicts, failures);
        table_add(&table, failing ? STYLE_BAD : STYLE_PLAIN, "%" PRIu64, failing);
        table_add(&table, e->findings ? STYLE_BAD : STYLE_PLAIN, "%zu", e->findings);
        for (int k = PAPER_MCF; metrics && k < PAPER_COUNT; k++)
            table_add(&table, STYLE_PLAIN, "%" PRIu64, e->paper[k]);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    add_probe_note(out, status);
}

static void add_findings(struct str *out, const struct fuzz_status *status, bool colour, size_t width)
{
    str_printf(out, "\n  findings  ");
    style_print(out, colour, status->findings ? STYLE_BAD : STYLE_GOOD, "%zu", status->findings);
    if (status->known)
        str_printf(out, " (%zu known)", status->known);
    if (status->waiting)
        str_printf(out, ", %zu not reduced yet", status->waiting);
    if (status->apart)
        str_printf(out, ", %zu listed apart", status->apart);
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        if (status->kinds[kind])
            str_printf(out, "  %s %" PRIu64, verdict_name(kind), status->kinds[kind]);
    str_add(out, "\n");
    if (status->findings) {
        str_add(out, "  newest    ");
        text_print(out, status->last, width > 20 ? width - 15 : 0);
        str_add(out, "\n");
    }
}

/* Answers that differ where nothing but the published tolerance can tell: no findings, but worth a look. */
static void add_suspects(struct str *out, const struct fuzz_status *status)
{
    if (!status->suspect_pairs)
        return;
    str_printf(out,
               "  suspect   %zu rewritten case%s answered otherwise than the original, with no reference to "
               "tell whether it may be; 'assay fuzz --no-reference --replay RECIPE' shows one: ",
               status->suspect_pairs, status->suspect_pairs == 1 ? " is" : "s are");
    text_print(out, status->suspect_pair, 0);
    str_add(out, "\n");
}

static void add_engine_answer(struct str *out, const struct fuzz_engine *engine)
{
    if (engine->findings)
        str_printf(out, "%s fails in %zu way%s", engine->label, engine->findings,
                   engine->findings == 1 ? "" : "s");
    else if (verdict_sum(engine->verdicts, CLASS_AGREES | failures))
        str_printf(out, "%s shows no failure", engine->label);
    else
        str_printf(out, "%s was not judged on any case", engine->label);
}

void fuzz_answer(struct str *out, const struct fuzz_status *status)
{
    uint64_t judged = 0, answers = 0, lacks = 0;
    size_t said = 0;
    for (size_t i = 0; i < status->n_engines; i++) {
        const struct fuzz_engine *engine = &status->engines[i];
        if (!is_judged(status, i))
            continue;
        str_add(out, said++ ? "; " : "");
        add_engine_answer(out, engine);
        judged += verdict_sum(engine->verdicts, CLASS_AGREES | failures);
        lacks += verdict_sum(engine->verdicts, CLASS_LACK | CLASS_LIMITED);
        answers += verdict_sum(engine->verdicts, CLASS_ALL);
    }
    str_printf(out,
               ".\nEvidence: %" PRIu64 " case%s, on which %" PRIu64 " of %" PRIu64 " answers were judged",
               status->cases, status->cases == 1 ? "" : "s", judged, answers);
    if (status->probe_finds)
        str_printf(out, ", and %zu on which the probe had seen a failure", status->probe_finds);
    if (lacks)
        str_printf(out, "; %" PRIu64 " times an engine said that it lacks something or does not take a form",
                   lacks);
    str_add(out, ".\n\n");
}

struct abbreviation {
    const char *word, *meaning;
};

static const struct abbreviation of_engines[] = {
    {"time", "the engine's part of the time that all engines and the reference took"},
    {"agrees", "answers within the bounds of the reference"},
    {"lacks", "cases that the engine says it does not support, or whose form it does not take"},
    {"unsure", "answers that cannot be judged, are only imprecise, or have no reference"},
    {"failing", "cases with a wrong answer, a refusal, a crash or a hang, before the same ones are joined"},
    {"distinct", "findings: failing cases with the same signature count once; those of the probe are among "
                 "them, which are "
                 "run before the first case"},
    {"MCF", "model conversion failure, by the graph-fuzzing paper: the case ends at load"},
    {"IF", "inference failure: it ends at run"},
    {"DCF", "data comparison failure: fewer than 99.9 % of the elements are within 0.1 %"},
    {"DCP", "data comparison pass: at least so many are"},
    {"apart",
     "forms that the engine says it does not take and takes nowhere, forbidden models that it answers, "
     "and answers that are right by one reading of the ONNX text: no findings, unless --strict is "
     "given"},
    {"known", "findings that a known issue explains (docs/known-issues.md)"},
};

static const struct abbreviation of_coverage[] = {
    {"mcts", "blocks are chosen by Monte Carlo tree search, towards what is covered least; random, yield: "
             "they are not"},
    {"OTC", "operator type coverage: operators that occurred"},
    {"IDC", "input degree coverage: numbers of inputs that operators had, of those they can have"},
    {"ODC", "output degree coverage: the same of the nodes that use their results"},
    {"SEC", "single edge coverage: pairs of operators of which one feeds the other"},
    {"SPC", "shape and parameter coverage: different shapes and parameters of an operator"},
    {"OLC", "operator-level coverage: the mean of these five"},
    {"pairs", "pairs of parameter values of one operator that occurred together"},
    {"tree", "nodes of the search tree"},
};

static void add_abbreviations(struct table *table, const struct abbreviation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        table_add(table, STYLE_HEAD, "%s", rows[i].word);
        table_add(table, STYLE_PLAIN, "%s", rows[i].meaning);
    }
}

/* What the words of the screen mean, a line each. */
static void add_legend(struct str *out, const struct fuzz_status *status, bool colour)
{
    struct table table;
    table_init(&table, "ll");
    if (!status->n_searched)
        add_abbreviations(&table, of_coverage, sizeof of_coverage / sizeof *of_coverage);
    add_abbreviations(&table, of_engines, sizeof of_engines / sizeof *of_engines);
    table_print(&table, out, colour, 2);
    table_release(&table);
}

void fuzz_screen(struct str *out, const struct fuzz_status *status, bool colour, bool metrics, size_t width)
{
    add_head(out, status, colour, metrics);
    add_engines(out, status, colour, metrics);
    add_findings(out, status, colour, width);
    add_suspects(out, status);
    if (metrics) {
        str_add(out, "\n");
        add_legend(out, status, colour);
    }
}

static void json_coverage(struct json *json, const struct coverage_figures *c)
{
    json_object(json, "coverage");
    json_double(json, "otc", c->otc);
    json_double(json, "idc", c->idc);
    json_double(json, "odc", c->odc);
    json_double(json, "sec", c->sec);
    json_double(json, "spc", c->spc);
    json_double(json, "olc", c->olc);
    json_double(json, "pairs", c->pairs);
    json_end(json);
}

static void json_engine(struct json *json, const struct fuzz_engine *engine)
{
    json_object(json, NULL);
    json_string(json, "engine", engine->label);
    json_double(json, "busy", engine->busy);
    json_int(json, "findings", (int64_t)engine->findings);
    verdict_counts_json(json, "verdicts", engine->verdicts);
    json_object(json, "paper");
    for (int k = PAPER_MCF; k < PAPER_COUNT; k++)
        json_int(json, paper_status_name((enum paper_status)k), (int64_t)engine->paper[k]);
    json_end(json);
    json_end(json);
}

void fuzz_json(struct str *out, const struct fuzz_status *status, const struct standing *standing,
               const struct engine_settings *settings)
{
    struct json json;
    output_json(&json, out, true);
    standing_json(standing, &json);
    engine_settings_json(settings, &json);
    json_string(&json, "folder", status->folder);
    seed_json(&json, "seed", status->seed);
    if (status->n_searched)
        search_json(&json, status, standing);
    else
        json_string(&json, "strategy", fuzz_strategy_name(status->strategy));
    json_int(&json, "cases", (int64_t)status->cases);
    json_double(&json, "seconds", status->elapsed);
    json_int(&json, "findings", (int64_t)status->findings);
    json_int(&json, "known", (int64_t)status->known);
    json_int(&json, "apart", (int64_t)status->apart);
    json_int(&json, "suspect_pairs", (int64_t)status->suspect_pairs);
    json_string(&json, "suspect_pair", status->suspect_pairs ? status->suspect_pair : NULL);
    verdict_counts_json(&json, "kinds", status->kinds);
    if (!status->n_searched)
        json_coverage(&json, &status->coverage);
    json_array(&json, "engines");
    for (size_t i = 0; i < status->n_engines; i++)
        json_engine(&json, &status->engines[i]);
    json_end(&json);
    json_end(&json);
    str_add(out, "\n");
}
