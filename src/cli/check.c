/* assay check: rewrites a model in ways that may not change its answer, and runs every form. */
#include "check/check.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "campaign/follow_up.h"
#include "cli/check_determinism.h"
#include "cli/common.h"
#include "report/answer.h"
#include "report/fault_map.h"
#include "report/text_table.h"
#include "rules/knob_settings.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *rules, *without, *bundle;
    long long sites, depth, combined;
    double seconds, rtol, atol;
    bool all, kernels, determinism;
    long long threads;
    const char *known;
    bool no_known;
};

/* One model with its result. */
struct checked {
    const char *path;
    struct check check;
    struct determinism determinism; /* what is asked with --determinism, in place of the above */
    char *described;                /* the samples in words */
};

/* --- Running --- */

/* The verdict on an engine that calls the model or its inputs invalid, as the reference does. */
static const struct verdict *find_invalid(const struct checked *entry)
{
    for (size_t i = 0; i < entry->check.n_engines; i++)
        if (entry->check.engines[i].origin.invalid)
            return &entry->check.engines[i].origin;
    for (size_t i = 0; i < entry->determinism.n_engines; i++)
        if (entry->determinism.engines[i].origin.invalid)
            return &entry->determinism.engines[i].origin;
    return NULL;
}

static int check_sample(struct checked *entry, const struct test_case *model, const struct inputs *inputs,
                        size_t sample, const struct check_options *options,
                        const struct determinism_options *determinism, struct error *err)
{
    const struct verdict *invalid = NULL;
    struct test_case *test = test_case_same_model(model);
    test_case_set_name(test, model->name);
    int status = inputs_get(inputs, sample, &test->inputs, err);
    test->n_inputs = status ? 0 : inputs->count;
    if (status == 0)
        status = determinism ? determinism_run(&entry->determinism, test, determinism, err)
                             : check_run(&entry->check, test, options, err);
    if (status == 0 && (invalid = find_invalid(entry)))
        status = inputs_invalid(inputs, sample, invalid->text, err);
    test_case_free(test);
    return status;
}

/* The tolerance that was given, of which a part that was not is EAGLE's. */
static struct metrics_tolerance own_of(const struct settings *settings)
{
    struct metrics_tolerance own = metrics_eagle;
    if (settings->rtol >= 0)
        own.rtol = settings->rtol;
    if (settings->atol >= 0)
        own.atol = settings->atol;
    return own;
}

static int check_model(struct checked *entry, const struct settings *settings, struct session *session,
                       const struct rule_choice *choice, const struct known_issues *known, struct error *err)
{
    struct model *model;
    struct inputs inputs = {0};
    const struct metrics_tolerance own = own_of(settings);
    struct check_options options = {
        .panel = &session->panel,
        .registry = session->registry,
        .choice = *choice,
        .known = known,
        .sites = settings->all ? 0 : (size_t)settings->sites,
        .depth = (size_t)settings->depth,
        .combined = (size_t)settings->combined,
        .tolerance = tolerance_is_given(settings->rtol, settings->atol) ? &own : NULL,
        .seed = settings->inputs.seed,
        .seconds = settings->seconds,
        .progress = true,
    };
    struct determinism_options determinism = {
        .panel = &session->panel,
        .registry = session->registry,
        .choice = *choice,
        .threads = (int)settings->threads,
        .progress = true,
    };
    if (model_open(&model, entry->path, err))
        return -1;
    struct test_case *test = test_case_new(model);
    test_case_set_name(test, file_base(entry->path));
    int status = inputs_from_settings(&inputs, model, entry->path, &settings->inputs, err);
    if (status == 0) {
        struct str text;
        str_init(&text);
        inputs_describe(&inputs, &text);
        entry->described = str_detach(&text);
    }
    for (size_t i = 0; status == 0 && i < inputs.samples; i++)
        status =
            check_sample(entry, test, &inputs, i, &options, settings->determinism ? &determinism : NULL, err);
    inputs_release(&inputs);
    test_case_free(test);
    return status ? error_prefix(err, "%s", entry->path) : 0;
}

/* The inputs and the model are looked at before any engine starts: what is wrong with them is the user's
 * mistake. */
static int look_at_model(const char *path, const struct settings *settings, struct error *err)
{
    struct model *model;
    struct inputs inputs = {0};
    if (model_open(&model, path, err))
        return -1;
    int status = inputs_from_settings(&inputs, model, path, &settings->inputs, err);
    inputs_release(&inputs);
    model_free(model);
    return status ? error_prefix(err, "%s", path) : 0;
}

/* --- What it means for the exit status --- */

static struct determinism_entry determinism_of(const struct checked *entry)
{
    return (struct determinism_entry){entry->path, entry->described, &entry->determinism};
}

static void stand(const struct checked *entry, const char *const *labels, struct standing *standing)
{
    struct determinism_entry determinism = determinism_of(entry);
    if (entry->determinism.engines)
        determinism_stand(&determinism, labels, standing);
    for (size_t i = 0; i < entry->check.n_engines; i++) {
        const struct check_engine *engine = &entry->check.engines[i];
        if (engine->answers[CHECK_CHANGED] || engine->answers[CHECK_WRONG] ||
            verdict_is_finding(engine->origin.kind))
            standing_finding(standing);
        else if (!engine->answers[CHECK_SAME])
            standing_trouble(standing, "%s: no rewriting of %s could be compared%s%s", labels[i],
                             file_base(entry->path), *engine->origin.text ? ": " : "", engine->origin.text);
        else if (engine->answers[CHECK_UNCOMPARED])
            standing_trouble(standing, "%s: %zu of %zu forms of %s could not be compared", labels[i],
                             engine->answers[CHECK_UNCOMPARED],
                             engine->answers[CHECK_UNCOMPARED] + engine->answers[CHECK_SAME],
                             file_base(entry->path));
    }
}

/* --- The answer --- */

/* What is said of an engine: the fault that the reference sees, else whether its answers change. */
static struct answer_part part_of(const struct check *check, size_t i, const char *label)
{
    const struct check_engine *engine = &check->engines[i];
    size_t same = engine->answers[CHECK_SAME], changed = engine->answers[CHECK_CHANGED],
           wrong = engine->answers[CHECK_WRONG];
    bool fault = verdict_is_finding(engine->origin.kind);
    struct answer_part part = {.engine = label};
    part.kind = fault                                           ? engine->origin.kind
                : changed && changed == engine->unanswered      ? check_smallest(check, i)->verdict.kind
                : changed                                       ? VERDICT_INCONSISTENT
                : wrong                                         ? VERDICT_WRONG
                : same                                          ? VERDICT_AGREES
                : verdict_is(engine->origin.kind, CLASS_AGREES) ? VERDICT_UNDECIDED
                                                                : engine->origin.kind;
    if (!fault && (changed || wrong)) {
        part.alike = changed ? changed : wrong;
        part.all = same + changed + wrong;
    }
    return part;
}

static void add_answer(const struct checked *entry, const char *const *labels, const char *between,
                       struct str *out)
{
    const struct check *check = &entry->check;
    struct determinism_entry determinism = determinism_of(entry);
    if (entry->determinism.engines) {
        determinism_answer_add(&determinism, labels, between, out);
        return;
    }
    struct answer_part *parts = memory_zeroed(check->n_engines + 1, sizeof *parts);
    struct standing standing = {0};
    struct str what, evidence;
    size_t apart = 0, changed = 0, unanswered = 0;
    str_init(&what);
    str_init(&evidence);
    for (size_t i = 0; i < check->n_engines; i++) {
        parts[i] = part_of(check, i, labels[i]);
        apart += check->engines[i].answers[CHECK_UNCOMPARED] + check->engines[i].answers[CHECK_LACKING];
        changed += check->engines[i].answers[CHECK_CHANGED] - check->engines[i].unanswered;
        unanswered += check->engines[i].unanswered;
    }
    stand(entry, labels, &standing);
    text_print(&what, entry->path, 0);
    text_print(&evidence, entry->described, 0);
    str_printf(&evidence, ", %zu rewritten form%s", check->rewritings, check->rewritings == 1 ? "" : "s");
    if (apart)
        str_printf(&evidence, ", %zu of whose answers could not be compared", apart);
    if (changed)
        str_printf(&evidence, ", %zu of whose answers differ from that to the model as it is", changed);
    if (unanswered)
        str_printf(&evidence, ", %zu of which get no answer though the model as it is does", unanswered);
    if (check->untried)
        str_printf(&evidence, "; %zu more were not tried", check->untried);
    answer_add(out,
               &(struct answer){
                   .what = what.data,
                   .share = "forms",
                   .agrees = apart || check->untried ? "is answered alike in every form that was compared by"
                                                     : "is answered alike in every form by",
                   .count = check->n_engines,
                   .parts = parts,
                   .evidence = evidence.data,
                   .standing = &standing,
               },
               between);
    str_release(&what);
    str_release(&evidence);
    free(parts);
}

/* --- Text --- */

static const struct check_finding *smallest_of_rule(const struct check *check, size_t engine,
                                                    const struct rule *rule)
{
    const struct check_finding *best = NULL;
    for (size_t i = 0; i < check->n_findings; i++) {
        const struct check_finding *finding = &check->findings[i];
        const char *rewriting = finding->test->equivalence->rewriting;
        if (finding->engine != engine || finding->answer != CHECK_CHANGED ||
            rewriting_rule(rewriting) != rule)
            continue;
        if (!best || rewriting_depth(rewriting) < rewriting_depth(best->test->equivalence->rewriting))
            best = finding;
    }
    return best;
}

static size_t count_of_rule(const struct check *check, size_t engine, const struct rule *rule)
{
    size_t count = 0;
    for (size_t i = 0; i < check->n_findings; i++)
        count += check->findings[i].engine == engine && check->findings[i].answer == CHECK_CHANGED &&
                 rewriting_rule(check->findings[i].test->equivalence->rewriting) == rule;
    return count;
}

static void print_findings(const struct check *check, size_t engine, struct str *out, bool colour)
{
    for (size_t i = 0; i < rules_count; i++) {
        const struct check_finding *finding = smallest_of_rule(check, engine, rules_all[i]);
        if (!finding)
            continue;
        size_t count = count_of_rule(check, engine, rules_all[i]);
        str_add(out, "  ");
        style_print(out, colour, STYLE_HEAD, "%s", finding->test->equivalence->rewriting);
        if (count > 1)
            str_printf(out, " (and %zu more of this rule)", count - 1);
        str_printf(out, "\n      %s\n      ", rules_all[i]->summary);
        style_print(out, colour, verdict_style(finding->verdict.kind), "%s",
                    verdict_name(finding->verdict.kind));
        str_add(out, ": ");
        text_print(out, finding->text, 0);
        if (finding->known)
            str_printf(out, " (known: %s)", finding->known);
        str_add(out, "\n");
    }
}

static void print_doubts(const struct check_engine *engine, struct str *out)
{
    if (engine->answers[CHECK_UNCOMPARED])
        str_printf(out, "  Rewritings of which some output could not be compared: %zu.\n",
                   engine->answers[CHECK_UNCOMPARED]);
    if (engine->answers[CHECK_LACKING] && engine->origin.unanswered) {
        str_add(out, "  It does not answer the model as it is: ");
        text_print(out, engine->origin.text, 0);
        str_add(out, "\n");
    } else if (engine->answers[CHECK_LACKING]) {
        str_printf(out, "  It lacks something of %zu of the rewritten forms; of the first, by %s: ",
                   engine->answers[CHECK_LACKING], engine->lacking_form);
        text_print(out, engine->lacking, 0);
        str_add(out, "\n");
    }
}

/* A fault that the reference sees in the model as it is. */
static void print_wrong(const struct checked *entry, size_t engine, const char *label, struct str *out,
                        bool colour)
{
    const struct check_engine *of = &entry->check.engines[engine];
    const struct check_finding *wrong = NULL;
    for (size_t i = 0; i < entry->check.n_findings && !wrong; i++)
        if (entry->check.findings[i].engine == engine && entry->check.findings[i].answer == CHECK_WRONG)
            wrong = &entry->check.findings[i];
    bool origin = verdict_is_finding(of->origin.kind);
    if (!wrong && !origin)
        return;
    enum verdict_kind kind = origin ? of->origin.kind : wrong->verdict.kind;
    str_printf(out, "%s: %s ", file_base(entry->path), label);
    style_print(out, colour, STYLE_BAD, "%s", verdict_row(kind)->sentence);
    str_printf(out, ", with the model as it is and on %zu rewritings alike: ", of->answers[CHECK_WRONG]);
    text_print(out, wrong ? wrong->text : of->origin.text, 0);
    str_add(out, "\n");
}

static void print_engine(const struct checked *entry, size_t i, const char *label, struct str *out,
                         bool colour)
{
    const struct check_engine *engine = &entry->check.engines[i];
    size_t same = engine->answers[CHECK_SAME] + engine->answers[CHECK_WRONG];
    size_t changed = engine->answers[CHECK_CHANGED];
    print_wrong(entry, i, label, out, colour);
    str_printf(out, "%s: on %zu of %zu rewritings %s gives the same answer", file_base(entry->path), same,
               same + changed + engine->answers[CHECK_UNCOMPARED], label);
    if (changed) {
        str_add(out, engine->unanswered == changed
                         ? "; there is none, though there must be, when rewritten by\n"
                         : "; it changes, which it must not, when rewritten by\n");
        print_findings(&entry->check, i, out, colour);
    } else {
        str_add(out, "\n");
    }
    print_doubts(engine, out);
}

static void print_model(const struct checked *entry, const char *const *labels, struct str *out, bool colour)
{
    const struct check *check = &entry->check;
    struct determinism_entry determinism = determinism_of(entry);
    if (entry->determinism.engines)
        determinism_print(&determinism, labels, out, colour);
    for (size_t i = 0; i < check->n_engines; i++)
        print_engine(entry, i, labels[i], out, colour);
    if (check->untried)
        str_printf(out, "  %zu further rewritings were not tried; --all tries every site of every rule.\n",
                   check->untried);
    if (check->bad)
        str_printf(
            out,
            "  %zu rewritings were left out because the reference finds them unequal, such as %s: a fault "
            "of Assay's.\n",
            check->bad, check->bad_text);
}

/* --- JSON --- */

static void json_engine(const struct check *check, size_t i, const char *label, struct json *json)
{
    const struct check_engine *engine = &check->engines[i];
    json_object(json, NULL);
    json_string(json, "engine", label);
    json_string(json, "original", verdict_name(engine->origin.kind));
    json_int(json, "same", (int64_t)engine->answers[CHECK_SAME]);
    json_int(json, "wrong_alike", (int64_t)engine->answers[CHECK_WRONG]);
    json_int(json, "changed", (int64_t)engine->answers[CHECK_CHANGED]);
    json_int(json, "not_compared", (int64_t)engine->answers[CHECK_UNCOMPARED]);
    json_int(json, "not_run", (int64_t)engine->answers[CHECK_LACKING]);
    json_object(json, "first_not_run");
    json_string(json, "rewriting", engine->lacking_form);
    json_string(json, "text", engine->lacking_form ? engine->lacking : NULL);
    json_end(json);
    json_array(json, "findings");
    for (size_t k = 0; k < check->n_findings; k++) {
        const struct check_finding *finding = &check->findings[k];
        if (finding->engine != i)
            continue;
        const struct rule *rule = rewriting_rule(finding->test->equivalence->rewriting);
        json_object(json, NULL);
        json_string(json, "rewriting", finding->test->equivalence->rewriting);
        json_string(json, "rule", rule ? rule->name : NULL);
        json_int(json, "sample", (int64_t)finding->sample);
        json_string(json, "verdict", verdict_name(finding->verdict.kind));
        json_bool(json, "changed", finding->answer == CHECK_CHANGED);
        json_bool(json, "by_reference", finding->by_reference);
        json_string(json, "known", finding->known);
        json_string(json, "text", finding->text);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void json_rules(const struct check *check, struct json *json)
{
    json_array(json, "rules");
    for (size_t i = 0; i < rules_count; i++) {
        if (!check->by_rule || !check->by_rule[i])
            continue;
        json_object(json, NULL);
        json_string(json, "name", rules_all[i]->name);
        json_int(json, "rewritings", (int64_t)check->by_rule[i]);
        json_int(json, "changed", (int64_t)check->changed_by_rule[i]);
        json_end(json);
    }
    json_end(json);
}

static void json_answers(struct json *json, const struct checked *entries, size_t count,
                         const char *const *labels)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < count; i++) {
        str_add(&text, i ? " " : "");
        add_answer(&entries[i], labels, " ", &text);
    }
    json_string(json, "answer", text.data);
    str_release(&text);
}

static void write_json(const struct checked *entries, size_t count, const struct session *session,
                       const struct standing *standing, struct str *out)
{
    const char *const *labels = session->labels;
    struct json json;
    output_json(&json, out, true);
    json_answers(&json, entries, count, labels);
    standing_json(standing, &json);
    engine_settings_json(&session->settings, &json);
    json_array(&json, "models");
    for (size_t m = 0; m < count; m++) {
        const struct check *check = &entries[m].check;
        struct determinism_entry determinism = determinism_of(&entries[m]);
        json_object(&json, NULL);
        json_string(&json, "model", entries[m].path);
        json_answers(&json, &entries[m], 1, labels);
        if (entries[m].determinism.engines) {
            determinism_json(&determinism, labels, &json);
            json_end(&json);
            continue;
        }
        json_int(&json, "samples", (int64_t)check->samples);
        json_int(&json, "rewritings", (int64_t)check->rewritings);
        json_int(&json, "not_tried", (int64_t)check->untried);
        json_int(&json, "bad_rewritings", (int64_t)check->bad);
        json_array(&json, "engines");
        for (size_t i = 0; i < check->n_engines; i++)
            json_engine(check, i, labels[i], &json);
        json_end(&json);
        json_rules(check, &json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

/* --- The bundle --- */

/* The smallest rewriting on which an engine fails, with both models, reduced. */
static int write_bundle(const struct checked *entries, size_t count, const struct settings *settings,
                        struct session *session, struct str *out, struct error *err)
{
    const struct check_finding *best = NULL;
    for (size_t m = 0; m < count && !best; m++)
        for (size_t i = 0; i < entries[m].check.n_engines && !best; i++)
            best = check_smallest(&entries[m].check, i);
    if (!best)
        return 0;
    struct panel one = session->panel;
    one.count = 1;
    one.engines = &session->panel.engines[best->engine];
    struct follow_up_options options = {
        .registry = session->registry,
        .panel = &one,
        .draw = fault_map_svg,
        .force = settings->common.force,
    };
    struct follow_up_done done;
    struct test_case *test = test_case_share(best->test);
    int status = follow_up_case(&options, test, settings->bundle, &done, err);
    test_case_free(test);
    if (status == 0 && done.end == FOLLOW_UP_GONE)
        str_printf(out, "%s: not written, as the finding did not show again in a new process: %s: %s\n",
                   settings->bundle, verdict_name(done.verdict.kind), done.verdict.text);
    else if (status == 0)
        str_printf(out, "%s: %s\n", settings->bundle, done.signature.name);
    return status;
}

/* --- The command --- */

static int report(const struct checked *entries, size_t count, const struct settings *settings,
                  struct session *session, struct error *err)
{
    struct standing standing = {0};
    struct str out;
    bool colour = output_colour(&settings->common);
    int status = 0;
    str_init(&out);
    for (size_t i = 0; i < count; i++)
        stand(&entries[i], session->labels, &standing);
    if (settings->common.format == FORMAT_JSON) {
        write_json(entries, count, session, &standing, &out);
    } else {
        for (size_t i = 0; i < count; i++) {
            add_answer(&entries[i], session->labels, "\n", &out);
            str_add(&out, "\n\n");
        }
        for (size_t i = 0; i < count; i++)
            print_model(&entries[i], session->labels, &out, colour);
    }
    if (settings->bundle) {
        struct str note;
        str_init(&note);
        status = write_bundle(entries, count, settings, session, &note, err);
        if (settings->common.format == FORMAT_TEXT)
            str_add(&out, note.data);
        str_release(&note);
    }
    if (status == 0)
        status = output_result(&settings->common, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    struct rule_choice choice = {.rules = settings->rules, .without = settings->without};
    struct session session = {0};
    int status = 0;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a model");
    if (tolerance_is_given(settings->rtol, settings->atol) && !settings->common.no_reference)
        return error_set(err, ERROR_USAGE,
                         "the reference's bounds decide how far answers may be apart; give --no-reference "
                         "for --rtol and --atol to do so");
    if (settings->determinism && settings->bundle)
        return error_set(err, ERROR_USAGE,
                         "--determinism writes no bundle; fuzz --determinism keeps one of each finding");
    if (rule_choice_check(&choice, err) || output_check(&settings->common, err))
        return -1;
    struct known_issues known;
    struct known_files files = {.named = settings->known, .none_installed = settings->no_known};
    status = known_open(&known, &files, err);
    for (size_t i = 0; i < words->count && status == 0; i++)
        status = look_at_model(words->items[i], settings, err);
    struct checked *entries = memory_zeroed(words->count, sizeof *entries);
    if (status == 0)
        status = session_open(&session, &settings->common, 1, true, err);
    if (status == 0) {
        panel_add_fresh(&session.panel);
        pool_warm(session.panel.pool);
        choice.n_knobs =
            knob_settings_of_panel(&session.arena, &session.panel, settings->kernels, true, &choice.knobs);
    }
    for (size_t i = 0; i < words->count && status == 0; i++) {
        entries[i].path = words->items[i];
        status = check_model(&entries[i], settings, &session, &choice, &known, err);
    }
    if (status == 0)
        status = report(entries, words->count, settings, &session, err);
    for (size_t i = 0; i < words->count; i++) {
        check_release(&entries[i].check);
        determinism_release(&entries[i].determinism);
        free(entries[i].described);
    }
    session_close(&session);
    known_release(&known);
    free(entries);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_REFERENCE(struct settings),
    COMMON_KNOWN(struct settings),
    COMMON_SECOND_OPINION(struct settings),
    {0, "rules", OPTION_TEXT, "A,B", offsetof(struct settings, rules),
     "apply only these rules ('assay rules' lists them)"},
    {0, "without", OPTION_TEXT, "A,B", offsetof(struct settings, without), "leave these rules out"},
    {0, "sites", OPTION_SEVERAL, "N", offsetof(struct settings, sites),
     "apply each rule at no more than N places, spread over the model (default 10)"},
    {0, "all", OPTION_FLAG, NULL, offsetof(struct settings, all), "apply each rule at every place"},
    {0, "combine", OPTION_COUNT, "N", offsetof(struct settings, combined),
     "also try N rewritings that combine several steps, drawn at random (default 0)"},
    {0, "depth", OPTION_SEVERAL, "N", offsetof(struct settings, depth),
     "how many steps --combine puts together (default 3)"},
    {0, "kernels", OPTION_FLAG, NULL, offsetof(struct settings, kernels),
     "also try settings of the engine that select other kernels, and may round otherwise by intent"},
    {0, "determinism", OPTION_FLAG, NULL, offsetof(struct settings, determinism),
     "compare every byte of runs again in one session and process, after other models, with other memory, "
     "threads and batches"},
    {0, "threads", OPTION_SEVERAL, "N", offsetof(struct settings, threads),
     "--determinism: try 1 to N threads (default 4)"},
    {0, "time", OPTION_TIME, "TIME", offsetof(struct settings, seconds),
     "begin no further rewriting after this time, for each sample"},
    {0, "rtol", OPTION_NUMBER, "X", offsetof(struct settings, rtol),
     "with --no-reference: two answers may be apart by atol + rtol * |b| (EAGLE: 1e-5 and 1e-2)"},
    {0, "atol", OPTION_NUMBER, "X", offsetof(struct settings, atol), "the same: its absolute part"},
    COMMON_INPUTS(struct settings),
    {0, "bundle", OPTION_TEXT, "DIR", offsetof(struct settings, bundle),
     "reduce the smallest rewriting that changes the answer, and write it to DIR with both models"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

static const struct settings defaults = {
    .inputs = {.seed = 1}, .sites = 10, .depth = 3, .threads = 4, .rtol = -1, .atol = -1};

const struct command command_check = {
    .name = "check",
    .summary = "rewrite a model in ways that may not change an engine's answer",
    .usage = "MODEL... -e ENGINE... [OPTION...]",
    .about =
        "Applies equivalence rules to the model: an operator by its formula, another order of nodes, other\n"
        "settings of the engine, and so on. Every engine is held against itself: its answer to each "
        "rewritten\n"
        "form must be the one it gives to the model as it is. No second engine is needed. Where the "
        "reference\n"
        "knows all operators, its error bounds say how far two answers may be apart, and it also judges "
        "each\n"
        "form by itself; elsewhere, and with --no-reference, the published tolerance does, and what exceeds "
        "it\n"
        "is only suspect. docs/rules.md explains the rules.\n"
        "With --determinism every engine is asked whether it computes the same bytes each time, whatever "
        "ran\n"
        "before, lies in memory, or stands beside a sample in the batch; where it does not, the answer says "
        "at\n"
        "which node it begins, whether rounding explains it, and what it hangs on.\n",
    .examples = "  assay check model.onnx -e onnxruntime\n"
                "  assay check model.onnx -e onnxruntime@1.12.0 --no-reference --bundle finding/\n"
                "  assay check model.onnx -e torch --determinism --threads 8\n"
                "  assay check model.onnx -e opencv --rules auto-pad,identity --all\n"
                "  assay check model.onnx -e onnxruntime -e torch --combine 500 --depth 4 --time 10m\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
