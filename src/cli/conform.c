/* assay conform: test cases that have expected outputs. */
#include "base/content_hash.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/wrap.h"
#include "cli/common.h"
#include "conform/conform.h"
#include "engine/paths.h"
#include "findings/known_issues.h"
#include "report/answer.h"
#include "report/junit.h"
#include "report/matrix.h"
#include "report/text_table.h"
#include "report/verdict_json.h"

#include <stdlib.h>

enum { SHOWN_FINDINGS = 20 };
enum { FORMAT_HTML = FORMAT_JUNIT + 1, FORMAT_CSV };

struct settings {
    struct common common;
    const char *match, *known, *expected, *expected_for, *keep;
    long long at_least;
    bool list, no_known, update;
    double rtol, atol, scale;
};

static enum style conform_style(enum conform_verdict verdict)
{
    if (verdict == CONFORM_PASS)
        return STYLE_GOOD;
    return conform_is_finding(verdict) ? STYLE_BAD : STYLE_WARN;
}

static enum verdict_kind kind_of(const struct conform_result *result)
{
    if (conform_is_beyond_rounding(result))
        return result->judged->verdict.kind;
    return conform_is_unjudged(result) ? VERDICT_UNDECIDED : conform_verdict_kind(result->verdict);
}

/* Adds a case to the part, from `first` on, that tells the same of its engine. */
static void add_case(struct answer *answer, struct answer_part *parts, size_t first, const char *engine,
                     const struct conform_result *result)
{
    enum verdict_kind kind = kind_of(result);
    /* Without outputs to expect and without the reference, other engines agree, which is no proof. */
    bool vote = result->bare && result->judged && result->judged->verdict.by_vote;
    size_t i = first;
    while (i < answer->count &&
           !(text_equal(verdict_row(parts[i].kind)->sentence, verdict_row(kind)->sentence) &&
             parts[i].by_vote == vote))
        i++;
    if (i == answer->count)
        parts[answer->count++] = (struct answer_part){.engine = engine, .kind = kind, .by_vote = vote};
    parts[i].alike++;
}

/* What the cases were held against. */
static void add_evidence(const struct conform *conform, struct str *out)
{
    size_t cases = conform->suite->count, bare = 0, judged = 0;
    for (size_t i = 0; i < cases; i++) {
        bool seen = false;
        bare += conform_at(conform, i, 0)->bare;
        for (size_t engine = 0; engine < conform->engines && !seen; engine++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            seen = result->judged && result->judged->judged + result->judged->by_operator > 0 &&
                   !result->judged->verdict.by_vote;
        }
        judged += seen;
    }
    if (cases == 1)
        str_add(out, bare ? "1 case, without the outputs to expect" : "1 case, with the outputs to expect");
    else
        str_printf(out, "%zu cases, %zu of them with the outputs to expect", cases, cases - bare);
    if (judged)
        str_printf(out, "; the reference judged answers to %zu", judged);
}

static void add_answer(const struct conform *conform, const struct session *session,
                       const struct standing *standing, const char *between, struct str *out)
{
    size_t cases = conform->suite->count;
    struct answer_part *parts = memory_zeroed(conform->engines * 2 * VERDICT_COUNT + 1, sizeof *parts);
    struct answer answer = {.plural = cases != 1, .counted = true, .parts = parts, .standing = standing};
    struct str what, evidence;
    str_init(&what);
    str_init(&evidence);
    for (size_t engine = 0; engine < conform->engines; engine++)
        for (size_t i = 0, first = answer.count; i < cases; i++)
            add_case(&answer, parts, first, session->labels[engine], conform_at(conform, i, engine));
    for (size_t i = 0; i < answer.count; i++)
        parts[i].all = cases;
    if (cases == 1)
        text_print(&what, conform->suite->cases[0].name, 0);
    else
        str_printf(&what, "the %zu cases", cases);
    add_evidence(conform, &evidence);
    answer.what = what.data;
    answer.evidence = evidence.data;
    answer_add(out, &answer, between);
    str_release(&what);
    str_release(&evidence);
    free(parts);
}

static void text_summary(const struct conform *conform, const struct session *session, struct str *out,
                         bool colour)
{
    bool shown[CONFORM_COUNT] = {[CONFORM_PASS] = true};
    struct str align, head;
    str_init(&align);
    str_init(&head);
    str_add(&align, "lr");
    str_add(&head, "engine|cases");
    for (int v = 0; v < CONFORM_COUNT; v++) {
        for (size_t engine = 0; engine < conform->engines; engine++)
            shown[v] |= conform->counts[engine][v] > 0;
        str_add(&align, shown[v] ? "r" : "");
        if (shown[v])
            str_printf(&head, "|%s", conform_verdict_name((enum conform_verdict)v));
    }
    struct table table;
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        table_add(&table, STYLE_PLAIN, "%s", session->labels[engine]);
        table_add(&table, STYLE_PLAIN, "%zu", conform->suite->count);
        for (int v = 0; v < CONFORM_COUNT; v++)
            if (shown[v])
                table_add(&table,
                          conform->counts[engine][v] ? conform_style((enum conform_verdict)v) : STYLE_DIM,
                          "%zu", conform->counts[engine][v]);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
    str_release(&align);
    str_release(&head);
}

static void text_row(struct table *table, const char *engine, const char *name,
                     const struct conform_result *result)
{
    struct str message;
    str_init(&message);
    if (result->message)
        text_print(&message, result->message, 0);
    table_add(table, STYLE_PLAIN, "%s", engine);
    table_add(table, STYLE_PLAIN, "%s", name);
    table_add(table, conform_style(result->verdict), "%s", conform_verdict_name(result->verdict));
    table_add(table, STYLE_PLAIN, "%s", stage_name(result->stage));
    table_add(table, STYLE_PLAIN, "%s", message.data);
    str_release(&message);
}

static void text_judged(const char *engine, const char *name, const struct conform_result *result,
                        struct str *out, bool colour)
{
    struct str sentence;
    str_init(&sentence);
    engine_verdict_sentence(result->judged, &sentence);
    str_printf(out, "%s: ", name);
    style_print(out, colour, verdict_style(result->judged->verdict.kind), "%s", engine);
    str_add(out, " ");
    text_print(out, sentence.data, 0);
    str_add(out, "\n");
    str_release(&sentence);
}

static void text_golden(const struct conform *conform, struct str *out, bool colour)
{
    for (size_t i = 0; i < conform->suite->count; i++) {
        if (!conform->golden[i])
            continue;
        style_print(out, colour, STYLE_WARN, "golden outside the reference's bound");
        str_printf(out, ": %s: ", conform->suite->cases[i].name);
        text_print(out, conform->golden[i], 0);
        str_add(out, "\n");
    }
}

static const char *unexpected_words(const struct conform_result *result)
{
    return conform_is_failure(result) ? "fails, and is not listed" : "passes, and is listed as failing";
}

/* How the results compare with the list of expected failures, where there is one. */
static void text_expected(const struct conform *conform, const struct settings *settings,
                          const struct expected_failures *list, struct str *out, bool colour)
{
    size_t expected = 0, passing = 0, unlisted = 0;
    if (!list)
        return;
    for (size_t i = 0; i < conform->suite->count; i++) {
        const struct conform_result *result = conform_at(conform, i, 0);
        bool unexpected = conform_is_unexpected(result), failed = conform_is_failure(result);
        expected += failed && !unexpected;
        passing += unexpected && !failed;
        unlisted += unexpected && failed;
        if (!unexpected)
            continue;
        style_print(out, colour, STYLE_BAD, "%s", unexpected_words(result));
        str_printf(out, ": %s\n", conform->suite->cases[i].name);
    }
    text_print(out, settings->expected, 0);
    str_printf(out, ": fail as listed: %zu; fail and are not listed: %zu; pass and are listed: %zu; ",
               expected, unlisted, passing);
    str_printf(out, "entries that fit no case here: %zu of %zu\n\n", expected_failures_idle(list),
               expected_failures_count(list));
}

static void write_text(const struct conform *conform, const struct session *session,
                       const struct standing *standing, const struct settings *settings,
                       const struct expected_failures *list, struct str *out, bool colour)
{
    bool all = settings->list;
    add_answer(conform, session, standing, "\n", out);
    str_add(out, "\n\n");
    size_t findings = 0;
    struct table table;
    struct str judged;
    str_init(&judged);
    table_init(&table, "lllll");
    table_head(&table, "engine|case|verdict|stage|message");
    for (size_t i = 0; i < conform->suite->count; i++) {
        for (size_t engine = 0; engine < conform->engines; engine++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            bool finding = conform_is_finding(result->verdict) || conform_is_beyond_rounding(result) ||
                           result->verdict == CONFORM_EXPECTATION || result->verdict == CONFORM_UNDECIDED;
            finding = finding && (!conform->listed || conform_is_unexpected(result));
            findings += finding;
            if (!all && !(finding && findings <= SHOWN_FINDINGS))
                continue;
            const char *name = conform->suite->cases[i].name;
            text_row(&table, session->labels[engine], name, result);
            if (conform_judge_says(result) && (!conform->listed || finding))
                text_judged(session->labels[engine], name, result, &judged, colour);
        }
    }
    if (all || findings) {
        table_print(&table, out, colour, 0);
        if (!all && findings > SHOWN_FINDINGS)
            str_printf(out, "... and %zu more; --list shows every case\n", findings - SHOWN_FINDINGS);
        str_add(out, "\n");
    }
    if (judged.length) {
        style_print(out, colour, STYLE_HEAD, "the judge");
        str_printf(out, "\n%s\n", judged.data);
    }
    str_release(&judged);
    table_release(&table);
    text_golden(conform, out, colour);
    text_expected(conform, settings, list, out, colour);
    text_summary(conform, session, out, colour);
}

static void json_engine(struct json *json, const struct conform *conform, const struct session *session,
                        size_t engine)
{
    const struct engine_info *info = panel_engine(&session->panel, engine);
    json_object(json, NULL);
    json_string(json, "engine", session->labels[engine]);
    json_string(json, "name", info->name);
    json_string(json, "version", info->version);
    json_object(json, "counts");
    for (int v = 1; v < CONFORM_COUNT; v++)
        json_int(json, conform_verdict_name((enum conform_verdict)v), (int64_t)conform->counts[engine][v]);
    json_end(json);
    json_end(json);
}

static void json_expected(struct json *json, const struct conform *conform, const struct settings *settings,
                          const struct expected_failures *list)
{
    static const char *const names[] = {"passes", "fails"};
    if (!list)
        return;
    json_object(json, "expected");
    json_string(json, "file", settings->expected);
    json_int(json, "entries", (int64_t)expected_failures_count(list));
    json_int(json, "entries_without_a_case", (int64_t)expected_failures_idle(list));
    for (int failed = 0; failed < 2; failed++) {
        json_array(json, names[failed]);
        for (size_t i = 0; i < conform->suite->count; i++) {
            const struct conform_result *result = conform_at(conform, i, 0);
            if (conform_is_unexpected(result) && conform_is_failure(result) == (failed == 1))
                json_string(json, NULL, conform->suite->cases[i].name);
        }
        json_end(json);
    }
    json_end(json);
}

static void write_json(const struct conform *conform, const struct session *session,
                       const struct standing *standing, const struct settings *settings,
                       const struct expected_failures *list, struct str *out)
{
    struct json json;
    struct str answer;
    str_init(&answer);
    add_answer(conform, session, standing, " ", &answer);
    output_json(&json, out, true);
    json_string(&json, "answer", answer.data);
    str_release(&answer);
    standing_json(standing, &json);
    engine_settings_json(&session->settings, &json);
    json_int(&json, "cases", (int64_t)conform->suite->count);
    json_expected(&json, conform, settings, list);
    json_array(&json, "engines");
    for (size_t engine = 0; engine < conform->engines; engine++)
        json_engine(&json, conform, session, engine);
    json_end(&json);
    json_array(&json, "results");
    for (size_t i = 0; i < conform->suite->count * conform->engines; i++) {
        const struct conform_result *result = &conform->results[i];
        json_object(&json, NULL);
        json_string(&json, "case", conform->suite->cases[i / conform->engines].name);
        json_string(&json, "engine", session->labels[i % conform->engines]);
        json_string(&json, "verdict", conform_verdict_name(result->verdict));
        json_string(&json, "stage", stage_name(result->stage));
        json_string(&json, "message", result->message);
        json_string(&json, "log", result->log);
        json_int(&json, "load_ns", result->load_ns);
        json_int(&json, "run_ns", result->run_ns);
        if (result->judged)
            engine_verdict_json(&json, "judge", result->judged);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "golden_outside_bound");
    for (size_t i = 0; i < conform->suite->count; i++) {
        if (!conform->golden[i])
            continue;
        json_object(&json, NULL);
        json_string(&json, "case", conform->suite->cases[i].name);
        json_string(&json, "text", conform->golden[i]);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

/* A failure that a list expects is a skipped test; any other result that it does not expect is a failure. */
static enum junit_result junit_result(const struct conform *conform, const struct conform_result *result)
{
    if (conform->listed && conform_is_unexpected(result))
        return JUNIT_FAILURE;
    if (conform->listed && conform_is_failure(result))
        return JUNIT_SKIPPED;
    if (conform_is_beyond_rounding(result) || conform_is(result->verdict, CLASS_WRONG_ANSWER))
        return JUNIT_FAILURE;
    if (conform_is(result->verdict, CLASS_OPEN | CLASS_LACK))
        return JUNIT_SKIPPED;
    bool pass = conform_is(result->verdict, CLASS_AGREES) && !conform_is_unjudged(result);
    return pass ? JUNIT_PASS : JUNIT_ERROR;
}

static void write_junit(const struct conform *conform, const struct session *session,
                        const struct standing *standing, struct str *out)
{
    struct junit junit;
    junit_init(&junit);
    struct str details, answer;
    str_init(&details);
    str_init(&answer);
    add_answer(conform, session, standing, " ", &answer);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        junit_suite(&junit, session->labels[engine]);
        junit_answer(&junit, answer.data);
        for (size_t i = 0; i < conform->suite->count; i++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            bool unexpected_pass =
                conform->listed && conform_is_unexpected(result) && !conform_is_failure(result);
            str_clear(&details);
            if (conform_judge_says(result)) {
                str_add(&details, "the judge: ");
                engine_verdict_sentence(result->judged, &details);
                str_add(&details, "\n");
            }
            str_add(&details, result->log ? result->log : "");
            junit_case(&junit, &(struct junit_case){
                                   .name = conform->suite->cases[i].name,
                                   .seconds = (double)(result->load_ns + result->run_ns) * 1e-9,
                                   .result = junit_result(conform, result),
                                   .type = conform_verdict_name(result->verdict),
                                   .message = unexpected_pass ? unexpected_words(result) : result->message,
                                   .details = details.data,
                               });
        }
    }
    engine_settings_junit(&session->settings, &junit);
    if (standing->troubles && !junit_errors(&junit))
        junit_trouble(&junit, "conform", standing->reason);
    junit_write(&junit, out);
    junit_release(&junit);
    str_release(&answer);
    str_release(&details);
}

/* A matrix of all cases on all engines, each judged by itself. */
static bool is_matrix(const struct settings *settings)
{
    return settings->common.format == FORMAT_HTML || settings->common.format == FORMAT_CSV;
}

/* The page and the table leave no room for it. */
static void tell_matrix(const struct conform *conform, const struct session *session,
                        const struct settings *settings, const struct standing *standing)
{
    size_t cells = conform->suite->count * conform->engines;
    if (settings->keep)
        wrap_printf(stderr, "assay: of %zu verdicts %zu were kept and %zu are new (%s).\n", cells,
                    conform->kept, cells - conform->kept, settings->keep);
    if (session->n_absent)
        wrap_printf(stderr,
                    "assay: %zu engines do not start here and are left out; 'assay engines' says why.\n",
                    session->n_absent);
    if (standing->troubles)
        wrap_printf(stderr, "assay: %s.\n", standing->reason);
}

static int report(const struct conform *conform, const struct session *session,
                  const struct settings *settings, const struct expected_failures *list, struct error *err)
{
    struct standing standing = {.strict = settings->common.strict};
    struct str out;
    str_init(&out);
    conform_stands(conform, session->labels, &standing);
    struct matrix matrix = {conform,           &session->panel, session->labels,
                            session->n_absent, session->absent, settings->common.strict};
    if (is_matrix(settings))
        tell_matrix(conform, session, settings, &standing);
    if (settings->common.format == FORMAT_JSON)
        write_json(conform, session, &standing, settings, list, &out);
    else if (settings->common.format == FORMAT_HTML)
        matrix_html(&matrix, &out);
    else if (settings->common.format == FORMAT_CSV)
        matrix_csv(&matrix, &out);
    else if (settings->common.format == FORMAT_JUNIT)
        write_junit(conform, session, &standing, &out);
    else
        write_text(conform, session, &standing, settings, list, &out, output_colour(&settings->common));
    int status = output_result(&settings->common, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

/* Writes the list anew, where anything in it has changed. */
static int update(const struct settings *settings, const struct expected_failures *list, struct error *err)
{
    struct str text;
    str_init(&text);
    int status = expected_failures_text(list, &text, err);
    if (status == 0)
        status = file_write(settings->expected, text.data, text.length, err);
    if (status)
        error_prefix(err, "%.200s", settings->expected);
    str_release(&text);
    return status;
}

static int check_settings(const struct settings *settings, const struct cli_list *words, struct error *err)
{
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a folder of test cases");
    if (settings->expected && settings->common.engines.count > 1)
        return error_set(err, ERROR_USAGE, "--expected is the list of one engine: name one");
    if (!settings->expected && (settings->update || settings->expected_for))
        return error_set(err, ERROR_USAGE, "--update and --expected-for need the file of --expected");
    if (settings->keep && !is_matrix(settings))
        return error_set(err, ERROR_USAGE,
                         "--keep keeps what --format html and --format csv show: name one of these");
    if (settings->expected && is_matrix(settings))
        return error_set(err, ERROR_USAGE, "--expected is not shown by --format html and csv: leave it out");
    return output_check(&settings->common, err);
}

/* What verdicts hang on besides the case, the engine and the judge: limits, and known issues. */
static uint64_t hash_settings(const struct settings *settings)
{
    const struct common *common = &settings->common;
    const uint64_t numbers[] = {
        (uint64_t)(common->deadline * 1000), (uint64_t)common->memory, common->fresh,
        (uint64_t)common->sandbox,           common->no_reference,     settings->no_known};
    uint64_t hash = hash_bytes(0, numbers, sizeof numbers);
    struct folder folder = {0};
    char *known = paths_known();
    if (settings->known)
        hash = content_hash_file(hash, USERS_PATH, settings->known);
    if (!settings->no_known && folder_open(&folder, USERS_PATH, known, NULL) == 0)
        hash = content_hash_folder(hash, &folder, SIZE_MAX);
    folder_close(&folder);
    free(known);
    return hash;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (check_settings(settings, words, err))
        return -1;
    struct expected_failures *list = NULL;
    struct suite suite = {0};
    struct session session = {0};
    struct conform conform = {0};
    struct conform_options options = {
        .tolerance = {.rtol = settings->rtol, .atol = settings->atol, .scale = settings->scale},
        .progress = true,
        .by_itself = is_matrix(settings),
        .keep = settings->keep,
        .judge = settings->keep ? hash_settings(settings) : 0,
    };
    struct known_issues known;
    struct known_files files = {.named = settings->known, .none_installed = settings->no_known};
    int status = known_open(&known, &files, err);
    if (status == 0 && settings->expected)
        status = expected_failures_open(&list, settings->expected, settings->expected_for, err);
    options.look_up = known_look_up;
    options.known = &known;
    if (status == 0)
        status = suite_open(&suite, words->items, words->count, settings->match, err);
    if (status == 0)
        status = (is_matrix(settings) ? session_open_idle : session_open)(&session, &settings->common, 1,
                                                                          true, err);
    if (status == 0)
        status = conform_run(&conform, &suite, &session.panel, &options, err);
    if (status == 0 && is_matrix(settings) && session.everything) {
        conform_leave_out_absent(&conform, &session.panel);
        session_leave_out_absent(&session);
    }
    if (status == 0 && list && session.panel.count != 1)
        status = error_set(err, ERROR_USAGE, "--expected is the list of one engine: name one");
    conform.at_least = (size_t)settings->at_least;
    if (status == 0 && list)
        conform_hold(&conform, list);
    if (status == 0)
        status = report(&conform, &session, settings, list, err);
    if (status >= 0 && settings->update && update(settings, list, err))
        status = -1;
    if (status < 0)
        trouble_junit(&settings->common, "conform", err);
    expected_failures_free(list);
    session_close(&session);
    conform_release(&conform);
    known_release(&known);
    suite_release(&suite);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_REFERENCE(struct settings),
    COMMON_STRICT(struct settings),
    {'m', "match", OPTION_TEXT, "PATTERN", offsetof(struct settings, match),
     "only cases whose name matches, as in a shell"},
    COMMON_KNOWN(struct settings),
    {0, "expected", OPTION_TEXT, "FILE", offsetof(struct settings, expected),
     "a list of the cases that the engine fails: others may not fail, and these may not pass"},
    {0, "expected-for", OPTION_TEXT, "WORD", offsetof(struct settings, expected_for),
     "also the lists of FILE for WORD: current_failing_tests_WORD"},
    {0, "update", OPTION_FLAG, NULL, offsetof(struct settings, update),
     "write FILE anew, so that it lists what fails now; comments stay"},
    {0, "at-least", OPTION_COUNT, "N", offsetof(struct settings, at_least),
     "it is trouble when fewer cases ran on an engine"},
    {0, "keep", OPTION_TEXT, "DIR", offsetof(struct settings, keep),
     "with --format html or csv: keep the verdicts in DIR, and ask engines only what is new: cases, "
     "releases, "
     "adapters and libraries that changed"},
    {'l', "list", OPTION_FLAG, NULL, offsetof(struct settings, list), "print every case, not only findings"},
    {0, "rtol", OPTION_NUMBER, "X", offsetof(struct settings, rtol), "relative tolerance (default 1e-3)"},
    {0, "atol", OPTION_NUMBER, "X", offsetof(struct settings, atol), "absolute tolerance (default 1e-5)"},
    {0, "scale", OPTION_NUMBER, "X", offsetof(struct settings, scale),
     "or this part of an output's largest magnitude, if more (default 1e-5)"},
    COMMON_OUTPUT(struct settings, "text|json|junit|html|csv"),
};

static const struct settings defaults = {.rtol = 1e-3, .atol = 1e-5, .scale = 1e-5};

const struct command command_conform = {
    .name = "conform",
    .summary = "run test cases that have expected outputs",
    .usage = "DIR... -e ENGINE... [OPTION...]",
    .about =
        "DIR is a case in ONNX's backend-test layout (model.onnx, test_data_set_0/input_0.pb,\n"
        "output_0.pb) or a tree of them. Every case gets one verdict on every engine: pass, wrong, nan,\n"
        "shape, dtype, random (not judged), unsupported, rejected, failed, crash, hang, memory, garbage,\n"
        "no engine, not runnable, expectation or undecided. The expected outputs in the case decide, unless\n"
        "the reference engine and its error bounds refute them (expectation): then the engine computes the\n"
        "model as written, and the status is 2. The judge, which compares with the reference, gives a\n"
        "verdict of its own and names the operator.\n"
        "\n"
        "With --format html the cases of all engines are one page that needs nothing but itself: a matrix "
        "to\n"
        "sort and filter, with what changed from release to release, and with each case's first and last "
        "bad\n"
        "release; with --format csv a table of the same. There each engine is judged as if it were the only\n"
        "one, and -e all stands for every version at hand of every engine.\n",
    .examples = "  assay conform cases/ -e onnxruntime -e onnxruntime:opt=none\n"
                "  assay conform cases/ -e onnxruntime --match 'node/test_conv*' --list\n"
                "  assay conform cases/ -e onnxruntime --format junit -o conform.xml\n"
                "  assay conform cases/ -e all --format html -o matrix.html --keep verdicts/\n"
                "  assay conform cases/ -e onnxruntime@all --format csv -o matrix.csv --keep verdicts/\n"
                "  assay conform cases/ -e onnxruntime --expected filters.jsonc --at-least 800\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
