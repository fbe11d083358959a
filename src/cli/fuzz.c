/* assay fuzz: runs a campaign of generated cases on several engines, or makes one case again. */
#include "base/hash.h"
#include "campaign/fuzz_record.h"
#include "campaign/kept_case.h"
#include "campaign/method_options.h"
#include "cli/campaign_run.h"
#include "cli/shared_options.h"
#include "report/text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct command command_fuzz;

struct settings {
    struct common common;
    double time;
    long long count, blocks, opset;
    uint64_t seed;
    int strategy;
    const char *from, *shard, *ops, *types, *only_blocks, *known, *replay, *rules, *junit, *sarif, *method;
    double rules_share, determinism;
    long long rules_depth;
    bool exhaustive, gradients, no_known, no_probe, no_reduce, metrics;
    struct fuzz_shared_options shared;
};

/* What makes the cases and the verdicts: the same for all workers of a shared campaign. */
static const char *const agreed[] = {
    "engine",   "no-reference", "second-opinion", "deadline",    "memory",     "count",
    "seed",     "strategy",     "blocks",         "only-blocks", "ops",        "opset",
    "types",    "rules",        "rules-share",    "rules-depth", "gradients",  "method-options",
    "no-known", "no-probe",     "no-reduce",      "determinism", "exhaustive", NULL};

/* A list of element types as the user writes them; NULL: none. */
static int read_types(const char *list, dtype_set *types, struct error *err)
{
    char word[32];
    for (const char *at = list; at && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        enum dtype type = dtype_from_name(word);
        if (type == DTYPE_NONE || !dtype_is_real(type))
            return error_set(err, ERROR_USAGE, "--types: '%s' is none of float32, float16, int8, int4 ...",
                             word);
        *types |= DTYPE_BIT(type);
        at += length;
    }
    return 0;
}

/* "2/4": every fourth case, beginning with the second. */
static int read_shard(const char *text, struct sweep_options *sweep, struct error *err)
{
    enum { MOST_SHARDS = 10000 };
    char *slash = NULL, *end = NULL;
    if (!text)
        return 0;
    unsigned long shard = *text >= '0' && *text <= '9' ? strtoul(text, &slash, 10) : 0;
    bool divided = slash && *slash == '/' && slash[1] >= '0' && slash[1] <= '9';
    unsigned long of = divided ? strtoul(slash + 1, &end, 10) : 0;
    if (!shard || shard > of || of > MOST_SHARDS || *end)
        return error_set(err, ERROR_USAGE,
                         "--shard takes a part and the number of parts, such as 2/4, not '%s'", text);
    *sweep = (struct sweep_options){shard, of};
    return 0;
}

static int fuzz(const struct settings *settings, const struct fuzz_shared_options *shared,
                struct session *session, struct error *err)
{
    dtype_set types = 0;
    bool bytes = settings->determinism > 0;
    struct sweep_options sweep = {0};
    if (read_types(settings->types, &types, err) || read_shard(settings->shard, &sweep, err))
        return -1;
    char *determinism = rule_choice_determinism();
    struct fuzz_options options = {
        .source = {.seed = settings->seed,
                   .strategy =
                       settings->from || settings->exhaustive
                           ? FUZZ_LISTED
                           : (enum fuzz_strategy[]){FUZZ_MCTS, FUZZ_RANDOM, FUZZ_YIELD}[settings->strategy],
                   .blocks = (size_t)settings->blocks,
                   .only_blocks = settings->only_blocks,
                   .redraw = true,
                   .rules_share = bytes             ? settings->determinism
                                  : settings->rules ? settings->rules_share
                                                    : 0,
                   .rules_depth = (size_t)settings->rules_depth,
                   .rules = {.rules = bytes                                 ? determinism
                                      : settings->rules && *settings->rules ? settings->rules
                                                                            : NULL,
                             .bytes = bytes},
                   .generate = {.ops = settings->ops,
                                .opset = (int)settings->opset,
                                .types = types,
                                .gradients = settings->gradients}},
        .seconds = settings->time,
        .count = (uint64_t)settings->count,
        .known = settings->known,
        .no_known = settings->no_known,
        .probe = !settings->no_probe,
        .reduce = !settings->no_reduce,
        .shared = shared,
        .sweep = settings->exhaustive ? &sweep : NULL,
        .from = settings->from,
    };
    struct campaign_wanted wanted = {settings->junit, settings->sarif, settings->metrics};
    int status = method_options_read(&options.source, settings->method, err);
    if (status == 0)
        status = campaign_run(&options, &settings->common, &wanted, session, err);
    free(determinism);
    return status;
}

/* A row for each engine; `form` says which of two equivalent cases it is about, "" where there is one. */
static void add_verdicts(struct table *table, const struct session *session, const struct trial_done *done,
                         const char *form)
{
    for (size_t i = 0; i < session->panel.count; i++) {
        const struct verdict *verdict = &done->judgement.verdicts[i];
        const struct settlement *settlement = &done->settlements[i];
        bool bad = verdict_is_finding(verdict->kind);
        table_add(table, STYLE_PLAIN, "%s", session->labels[i]);
        if (*form)
            table_add(table, STYLE_PLAIN, "%s", verdict->of_pair ? "both" : form);
        table_add(table, bad ? STYLE_BAD : STYLE_PLAIN, "%s", verdict_name(verdict->kind));
        table_add(table, STYLE_PLAIN, "%s",
                  paper_status_name(paper_status_of(&done->results[i], &done->reference)));
        table_add(table, STYLE_PLAIN, "%s", settlement->count ? settlement->text : verdict->text);
    }
}

static void print_replay(const struct session *session, const struct trial_done *done, struct str *out,
                         bool colour)
{
    struct table table;
    table_init(&table, done->original ? "lllll" : "llll");
    table_head(&table, done->original ? "engine|form|verdict|paper|" : "engine|verdict|paper|");
    if (done->original)
        add_verdicts(&table, session, done->original, "original");
    add_verdicts(&table, session, done, done->original ? "rewritten" : "");
    table_print(&table, out, colour, 0);
    table_release(&table);
}

/* What the verdicts mean for the exit status: of a rewritten case, those on its original count as well. */
static void stand(const struct session *session, const struct trial_done *done, struct standing *standing)
{
    const struct trial_done *both[] = {done, done->original};
    for (size_t i = 0; i < session->panel.count; i++)
        for (int k = 0; k < 2; k++) {
            const struct verdict *verdict = both[k] ? &both[k]->judgement.verdicts[i] : NULL;
            if (verdict && (k == 0 || verdict_is_finding(verdict->kind)))
                standing_heard(standing, session->labels[i], verdict_heard(verdict), 1, 1, verdict->text);
        }
}

static uint64_t case_hash(const struct test_case *test, const uint8_t *bytes, size_t size)
{
    uint64_t hash = hash_bytes(1, bytes, size);
    for (size_t i = 0; i < test->n_inputs; i++)
        for (size_t k = 0; k < test->inputs[i].count; k++)
            hash = hash_bytes(hash, test->inputs[i].tensors[k].data, test->inputs[i].tensors[k].size);
    return hash;
}

/* One case from its recipe, run and judged once. */
static int replay(const struct settings *settings, struct session *session, struct error *err)
{
    struct test_case *made;
    struct trial_done done;
    struct str out;
    const uint8_t *bytes;
    size_t size;
    struct folder folder = {0};
    const char *path = settings->common.output;
    if (path && folder_open(&folder, USERS_PATH, path, err))
        return -1;
    int found = campaign_case(path ? &folder : NULL, settings->replay, &made, err);
    folder_close(&folder);
    if (found || test_case_bytes(made, &bytes, &size, err))
        return -1;
    struct trial_options options = {.panel = &session->panel, .settle = true, .registry = session->registry};
    panel_add_fresh(&session->panel);
    struct trials *trials = trials_new(&options);
    str_init(&out);
    str_printf(&out, "%s\n%zu nodes, %zu bytes, hash %016" PRIx64 "\n\n", made->recipe,
               test_case_model(made, NULL)->graph->n_node, size, case_hash(made, bytes, size));
    int status = trials_submit(trials, made, NULL, err) || trials_next(trials, &done, err) != 1 ? -1 : 0;
    struct standing standing = {0};
    if (!status) {
        struct common to_stdout = {0};
        stand(session, &done, &standing);
        standing_print(&standing, &out, output_colour(&to_stdout));
        print_replay(session, &done, &out, output_colour(&to_stdout));
        status = output_result(&to_stdout, &session->settings, &out, err);
        trial_done_release(&done);
    }
    trials_free(trials);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

static int check(const struct settings *settings, const struct cli_list *words, struct error *err)
{
    const char *database = settings->shared.database;
    if (words->count)
        return error_set(err, ERROR_USAGE, "fuzz takes engines with -e, not '%s'", words->items[0]);
    if (database && settings->replay)
        return error_set(err, ERROR_USAGE, "--db excludes --replay: the campaign lives in the database");
    if ((settings->junit || settings->sarif) && (database || settings->replay))
        return error_set(err, ERROR_USAGE,
                         "--junit and --sarif exclude --db and --replay; 'assay campaign export' and 'assay "
                         "findings' write them for a campaign in a database");
    return settings->replay ? 0 : shared_options_check(&settings->shared, settings->common.output, err);
}

static int check_cases(const struct settings *settings, struct error *err)
{
    if (settings->rules && settings->gradients)
        return error_set(err, ERROR_USAGE, "--gradients and --rules exclude each other");
    if (settings->determinism > 0 && (settings->rules || settings->gradients))
        return error_set(err, ERROR_USAGE, "--determinism excludes --rules and --gradients");
    if (settings->determinism > 1)
        return error_set(err, ERROR_USAGE, "--determinism takes a number from 0 to 1, not %g",
                         settings->determinism);
    if (settings->rules && settings->rules_share > 1)
        return error_set(err, ERROR_USAGE, "--rules-share takes a number from 0 to 1, not %g",
                         settings->rules_share);
    if (settings->exhaustive && (settings->rules || settings->gradients || settings->determinism > 0 ||
                                 settings->only_blocks || settings->method || settings->blocks))
        return error_set(err, ERROR_USAGE,
                         "--exhaustive excludes --rules, --gradients, --determinism, --blocks, --only-blocks "
                         "and --method-options: its cases are single operators with all values");
    if (settings->from &&
        (settings->exhaustive || settings->rules || settings->gradients || settings->determinism > 0 ||
         settings->only_blocks || settings->ops || settings->method || settings->blocks || settings->opset ||
         settings->shared.database))
        return error_set(
            err, ERROR_USAGE,
            "--from excludes --db and what says how cases are drawn: its cases are those of the folder");
    if (settings->shard && !settings->exhaustive)
        return error_set(err, ERROR_USAGE, "--shard divides the cases of --exhaustive, which is missing");
    if (settings->shard && settings->shared.database)
        return error_set(err, ERROR_USAGE,
                         "--shard excludes --db, whose workers share the cases by themselves");
    if (settings->opset && (settings->opset < OPSET_FIRST || settings->opset > OPSET_NEWEST))
        return error_set(err, ERROR_USAGE, "--opset takes %d to %d, not %lld", OPSET_FIRST, OPSET_NEWEST,
                         settings->opset);
    return 0;
}

static int run_campaign(void *raw, const struct fuzz_shared_options *shared, const struct cli_list *words,
                        struct error *err)
{
    const struct settings *settings = raw;
    struct session session = {0};
    (void)words;
    if (check_cases(settings, err))
        return -1;
    int status = session_open(&session, &settings->common, 1, true, err);
    if (status == 0)
        status = settings->replay ? replay(settings, &session, err) : fuzz(settings, shared, &session, err);
    session_close(&session);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct settings *settings = raw;
    if (check(settings, words, err))
        return -1;
    return shared_options_take_part(&command_fuzz, agreed, &settings->shared, settings, words, run_campaign,
                                    err);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_REFERENCE(struct settings),
    COMMON_STRICT(struct settings),
    COMMON_SECOND_OPINION(struct settings),
    {'o', "output", OPTION_TEXT, "DIR", offsetof(struct settings, common.output),
     "the campaign's folder: new or empty; an existing campaign is resumed"},
    SHARED_OPTIONS(struct settings, "campaign", "cases", "2000, or less with --count"),
    {'t', "time", OPTION_TIME, "TIME", offsetof(struct settings, time),
     "stop after this long (a worker ends its range first)"},
    {'n', "count", OPTION_SEVERAL, "N", offsetof(struct settings, count),
     "stop when the campaign has made N cases"},
    {0, "seed", OPTION_SEED, "S", offsetof(struct settings, seed), "seed of all random choices (default 1)"},
    {0, "from", OPTION_TEXT, "FOLDER", offsetof(struct settings, from),
     "the cases of this folder, such as findings, and each in other element types, opsets and ranks, in "
     "place of drawn ones"},
    {0, "exhaustive", OPTION_FLAG, NULL, offsetof(struct settings, exhaustive),
     "sweep over all values of operators that compute element by element, in place of drawn cases"},
    {0, "shard", OPTION_TEXT, "K/N", offsetof(struct settings, shard),
     "with --exhaustive: part K of N of the cases"},
    {0, "strategy", OPTION_CHOICE, "mcts|random|yield", offsetof(struct settings, strategy),
     "how cases are chosen: by tree search towards coverage, at random, or by what kinds of cases found so "
     "far"},
    {0, "blocks", OPTION_SEVERAL, "N", offsetof(struct settings, blocks),
     "blocks in each model (default: 2 to 15, and a third of the cases are single operators)"},
    {0, "method-options", OPTION_TEXT, "A=N,...", offsetof(struct settings, method),
     "what the graph-fuzzing paper varies: candidates, exploration, depth, children, topology, k, p, add, "
     "remove ..."},
    {0, "only-blocks", OPTION_TEXT, "A,B*,...", offsetof(struct settings, only_blocks),
     "use only blocks with these names or patterns ('assay blocks list --operators'), also for probing"},
    {0, "ops", OPTION_TEXT, "A,B,...", offsetof(struct settings, ops),
     "use only these operators, also to connect others and for probing"},
    {0, "opset", OPTION_SEVERAL, "N", offsetof(struct settings, opset),
     "use only this opset, 11 to 25 (default: 11 to 21)"},
    {0, "types", OPTION_TEXT, "A,B,...", offsetof(struct settings, types),
     "give new inputs these element types; float8e4m3fn, int4 and the like are drawn only so"},
    {0, "rules", OPTION_MAYBE, "A,B,...", offsetof(struct settings, rules),
     "rewrite some of the cases by these equivalence rules (default: all)"},
    {0, "rules-share", OPTION_NUMBER, "P", offsetof(struct settings, rules_share),
     "the part of the cases that is rewritten (default 0.3)"},
    {0, "rules-depth", OPTION_SEVERAL, "N", offsetof(struct settings, rules_depth),
     "apply up to N rules in a row (default 1)"},
    {0, "determinism", OPTION_NUMBER, "SHARE", offsetof(struct settings, determinism),
     "ask of this part of the cases whether engines give the same bytes again, with other memory, after "
     "other models ..."},
    {0, "gradients", OPTION_FLAG, NULL, offsetof(struct settings, gradients),
     "judge the gradients of the models by their inputs and parameters, in place of their outputs"},
    COMMON_KNOWN(struct settings),
    {0, "no-probe", OPTION_FLAG, NULL, offsetof(struct settings, no_probe),
     "do not ask the engines beforehand which operators they lack"},
    {0, "no-reduce", OPTION_FLAG, NULL, offsetof(struct settings, no_reduce),
     "keep findings as they were found: do not reduce them, write no bundles"},
    {0, "replay", OPTION_TEXT, "RECIPE", offsetof(struct settings, replay),
     "make this one case again, run it and judge it"},
    CAMPAIGN_METRICS(struct settings),
    COMMON_EXPORT(struct settings),
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the summary is written"},
    COMMON_FORCE(struct settings, "overwrite the files of --junit and --sarif whatever they are"),
};

static const struct settings defaults = {
    .common.deadline = 10, .seed = 1, .rules_share = 0.3, .rules_depth = 1};

const struct command command_fuzz = {
    .name = "fuzz",
    .summary = "run generated models on several engines and keep what is wrong",
    .usage = "-e ENGINE... {-o DIR | --db URL --campaign NAME} [OPTION...]",
    .about =
        "Generates valid models from operators and subgraphs, runs each on all engines and on the reference\n"
        "at the same time, judges the answers, finds the operator or fused group at fault, and keeps every\n"
        "finding in DIR. Operators and combinations that were covered least are chosen next (--strategy\n"
        "mcts), or all at random. An existing campaign is resumed when its folder and the same options are\n"
        "given again, also after a kill; Ctrl-C stops it cleanly. Every case has a recipe, one line of text\n"
        "from which --replay makes the case again on any machine. With --rules, some cases are rewritten "
        "into\n"
        "equivalent ones ('assay rules'), and each engine must answer both forms alike. With --gradients "
        "the\n"
        "models consist of operators that the reference differentiates, and gradients are judged.\n"
        "\n"
        "With --exhaustive nothing is drawn but attributes: the operators that compute each element by\n"
        "itself are given all bit patterns of types of up to 16 bits and all pairs of 8-bit operands,\n"
        "all exponents of wider floats, as one run, as images of both layouts, and in vectors of 1 to 67\n"
        "elements that begin at offsets 0 to 16. The campaign ends when its list of cases does.\n"
        "\n"
        "With --from, the cases are those of a folder in ONNX's backend-test layout, such as findings/ of a\n"
        "campaign on another engine: first as they are, then in each other element type of their kind, then\n"
        "at other opsets, then with an axis more or one fewer, as far as ONNX allows it and the reference\n"
        "can evaluate it. One engine's bug is often another's.\n"
        "\n"
        "With --db, any number of workers on any machines share one campaign, which lives in a PostgreSQL\n"
        "database ('assay campaign'). Each takes the next range of cases, and returns it with what it "
        "found;\n"
        "the range of a worker that dies is taken again. The cases are the same whoever runs them. "
        "Passwords\n"
        "are read as libpq does: from PGPASSWORD, ~/.pgpass or a service file.\n",
    .examples =
        "  assay fuzz -e onnxruntime:opt=none -e onnxruntime:opt=all --time 1h -o campaign\n"
        "  assay fuzz -e opencv -e torch -e onednn --count 100000 --seed 7 -o campaign\n"
        "  assay fuzz -e onnxruntime --ops Resize,Conv,AveragePool --blocks 3 --time 10m -o resize\n"
        "  assay fuzz -e onnxruntime --method-options candidates=16,topology=ws,k=4,p=0.5 --time 1h "
        "-o paper\n"
        "  assay fuzz -e onnxruntime --types float32,float8e4m3fn,int4 --time 10m -o narrow\n"
        "  assay fuzz -e onnxruntime --only-blocks 'Reduce*,attention,conv-*' --time 10m -o some\n"
        "  assay fuzz -e onnxruntime --known ours.ini --time 1h -o night --junit night.xml\n"
        "  assay fuzz -e onnxruntime --rules --rules-share 0.5 --time 1h -o campaign\n"
        "  assay fuzz -e onnxruntime -e torch --determinism 0.5 --time 10m -o bytes\n"
        "  assay fuzz -e onnxruntime:opt=none --exhaustive -o values\n"
        "  assay fuzz -e opencv --exhaustive --ops Exp,Erf,Tanh --types float16 --shard 2/4 -o part2\n"
        "  assay fuzz -e all --from campaign/findings -o elsewhere\n"
        "  assay fuzz -e torch -e onednn -e dlib --gradients --time 30m -o gradients\n"
        "  assay fuzz -e onnxruntime -e torch --db postgresql://host/assay --campaign night\n"
        "  assay fuzz --db postgresql://host/assay --campaign night --time 8h\n"
        "  assay fuzz -e onnxruntime@1.12.0 --replay 'one seed=1 index=12'\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
