#include "campaign/follow_up.h"

#include "base/file.h"
#include "base/memory.h"
#include "campaign/engine_source.h"
#include "campaign/float64_answers.h"
#include "campaign/kept_case.h"
#include "campaign/model_forms.h"
#include "diagnose/diagnose.h"
#include "diagnose/known_findings.h"
#include "engine/label.h"
#include "findings/bundle.h"
#include "findings/campaign_view.h"
#include "locate/classify.h"
#include "locate/traced_case.h"
#include "reduce/reduce.h"
#include "reduce/subject.h"
#include "releases/bisect.h"
#include "rules/rewriting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int try_once(const struct panel *panel, struct registry *registry, struct test_case *test,
                    struct trial_done *done, struct error *err)
{
    struct trial_options trial = {
        .panel = panel, .registry = registry, .fresh = true, .repeat = 1, .settle = true, .memcheck = true};
    struct trials *trials = trials_new(&trial);
    int status = trials_submit(trials, test_case_share(test), NULL, err);
    if (!status)
        status = trials_next(trials, done, err);
    trials_free(trials);
    return status == 1   ? 0
           : status == 0 ? error_set(err, ERROR_IO, "the engines gave back no result for the case")
                         : -1;
}

/* Whether all engines ended as in another run of the case. */
static bool same_ends(const struct trial_done *a, const struct trial_done *b)
{
    bool same = a->reference.outcome == b->reference.outcome;
    for (size_t i = 0; i < a->n_engines && same; i++)
        same = a->results[i].outcome == b->results[i].outcome;
    return same;
}

/* A result that came with a mishap (trial/trial.h) counts only when it comes a second time. */
static int try_case(const struct panel *panel, struct registry *registry, struct test_case *test,
                    struct trial_done *done, struct error *err)
{
    enum { TRIES = 3 };
    if (try_once(panel, registry, test, done, err))
        return -1;
    for (int tries = 1; done->mishap && tries < TRIES; tries++) {
        struct trial_done before = *done;
        int status = try_once(panel, registry, test, done, err);
        bool same = !status && same_ends(&before, done);
        trial_done_release(&before);
        if (status || same)
            return status;
    }
    return 0;
}

int follow_up_try(const struct panel *panel, struct test_case *test, struct trial_done *done,
                  struct error *err)
{
    return try_case(panel, NULL, test, done, err);
}

bool follow_up_signature(const struct panel *panel, size_t engine, const struct trial_done *done,
                         struct signature *signature)
{
    const struct engine_info *info = panel_engine(panel, engine);
    return signature_of_trial(signature, info->label, info->profile, done, engine);
}

int follow_up_again(const struct panel *panel, struct registry *registry, const struct folder *folder,
                    const char *recipe, struct trial_done *done, struct error *err)
{
    struct panel fresh = *panel;
    struct test_case *made;
    fresh.pool = panel_fresh(panel); /* parts of a model run on fresh workers as well */
    if (campaign_case(folder, recipe, &made, err))
        return -1;
    int status = try_case(&fresh, registry, made, done, err);
    test_case_free(made);
    return status;
}

static void be_alive(const struct follow_up_options *options)
{
    if (options->alive)
        options->alive(options->context);
}

/* From here on the engine in question is the first of the panel. */
static const struct engine_info *engine_of(const struct follow_up_options *options)
{
    return panel_engine(options->panel, 0);
}

/* The panel with one engine first; its engines are on the heap. */
static struct panel put_first(const struct panel *panel, size_t engine)
{
    struct panel ordered = *panel;
    ordered.engines = memory_zeroed(panel->count, sizeof *ordered.engines);
    ordered.engines[0] = panel->engines[engine];
    for (size_t i = 0, next = 1; i < panel->count; i++)
        if (i != engine)
            ordered.engines[next++] = panel->engines[i];
    return ordered;
}

/* What other releases say, and which pass makes it. Strings live in the arena. */
struct past {
    struct arena arena;
    size_t count;
    struct bundle_history *history;
    char *pass;
};

/* What the system's own release says, in its place among those that were fetched; once. */
static void note_own(struct past *past, const struct engine_info *engine, enum verdict_kind kind)
{
    size_t at = 0;
    if (label_parse(engine->label).version.length || !engine->version || !*engine->version)
        return;
    for (size_t i = 0; i < past->count; i++) {
        struct label_part release = label_parse(past->history[i].engine).version;
        const char *text = arena_printf(&past->arena, "%.*s", (int)release.length, release.text);
        if (text_equal(text, engine->version))
            return;
        if (text_compare(text, engine->version) < 0)
            at = i + 1;
    }
    memmove(&past->history[at + 1], &past->history[at], (past->count - at) * sizeof *past->history);
    past->history[at] = (struct bundle_history){arena_strdup(&past->arena, engine->label), verdict_name(kind),
                                                arena_strdup(&past->arena, engine->version)};
    past->count++;
}

/* Runs the case on the system's own release, where a fetched one is at fault. */
static void try_own(struct past *past, const struct follow_up_options *options, const struct trial_done *done,
                    const struct given_label *label)
{
    struct panel panel;
    struct trial_done own;
    struct given_labels labels = {.items = &label, .count = 1};
    if (panel_open(&panel, options->registry, &labels, &(struct pool_options){0}, NULL) == 0 &&
        panel_add_reference(&panel, options->registry, NULL) == 0 &&
        try_once(&panel, NULL, done->test, &own, NULL) == 0) {
        note_own(past, panel_engine(&panel, 0), own.judgement.verdicts[0].kind);
        trial_done_release(&own);
    }
    panel_close(&panel);
}

static void note_stretches(struct past *past, const struct bisect *bisect, const char *label)
{
    past->history = arena_array(&past->arena, bisect->n_releases + 1, sizeof *past->history);
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        const struct bisect_stretch *stretch = &bisect->stretches[i];
        for (size_t k = stretch->first; k <= stretch->last && k < bisect->n_releases; k++) {
            char *engine = label_at(label, bisect->releases[k]);
            past->history[past->count++] = (struct bundle_history){arena_strdup(&past->arena, engine),
                                                                   verdict_name(stretch->verdict.kind), NULL};
            free(engine);
        }
    }
    struct str pass;
    str_init(&pass);
    for (size_t i = 0; i < bisect->n_blamed; i++)
        str_printf(&pass, "%s%s", i ? ", " : "", bisect->blamed[i]);
    past->pass = pass.length ? arena_strdup(&past->arena, pass.data) : NULL;
    str_release(&pass);
}

/* Without other releases or a registry, or when they cannot be run, there is no history, which is no
 * failure. */
static void look_back(struct past *past, const struct follow_up_options *options,
                      const struct trial_done *done)
{
    const char *label = engine_of(options)->label;
    *past = (struct past){0};
    arena_init(&past->arena);
    if (!options->registry || options->no_bisect)
        return;
    struct bisect bisect;
    struct bisect_options how = {.registry = options->registry,
                                 .engine = given_at(&past->arena, engine_of(options)->spec->given, NULL),
                                 .step = 1,
                                 .alive = options->alive,
                                 .context = options->context};
    if (bisect_run(&bisect, done->test, &how, NULL) == 0) {
        note_stretches(past, &bisect, label);
        note_own(past, engine_of(options), done->judgement.verdicts[0].kind);
        if (label_parse(label).version.length)
            try_own(past, options, done, how.engine);
    }
    bisect_release(&bisect);
}

/* What engines that nobody asked about say of the case, where they can be judged. Returns how many. Reports
 * of an engine without a program, such as the reference, go to nobody. */
static size_t ask_others(const struct follow_up_options *options, const struct trial_done *done,
                         struct trial_done *said, struct bundle_engine *engines)
{
    size_t count = 0;
    const struct engine_profile *profile = engine_of(options)->profile;
    *said = (struct trial_done){0};
    if (!options->others || !profile || !profile->program || !options->others->count ||
        done->test->equivalence || done->test->gradient || done->judgement.invalid ||
        try_once(options->others, NULL, done->test, said, NULL))
        return 0;
    for (size_t i = 0; i < said->n_engines; i++) {
        const struct engine_info *info = panel_engine(options->others, i);
        const struct verdict *verdict = &said->judgement.verdicts[i];
        if (verdict_is(verdict->kind, CLASS_AGREES) || verdict_is_finding(verdict->kind))
            engines[count++] = (struct bundle_engine){.label = info->label,
                                                      .version = info->version,
                                                      .profile = info->profile,
                                                      .verdict = verdict,
                                                      .result = &said->results[i]};
    }
    return count;
}

/* The finding as a bundle has it, on the first `count` engines. */
static void describe(const struct follow_up_options *options, const struct trial_done *done,
                     const struct signature *signature, struct bundle_engine *engines, size_t count,
                     struct bundle_case *which)
{
    bool pair = done->judgement.verdicts[0].of_pair;
    const struct trial_done *subject = pair ? done->original : done;
    for (size_t i = 0; i < count; i++) {
        const struct engine_info *info = panel_engine(options->panel, i);
        engines[i] = (struct bundle_engine){
            .label = info->label,
            .version = info->version,
            .profile = info->profile,
            .verdict = &done->judgement.verdicts[i],
            .result = &subject->results[i],
            .rewritten = pair ? &done->results[i] : NULL,
        };
    }
    bool referenced = options->panel->reference >= 0;
    *which = (struct bundle_case){
        .signature = signature,
        .test = subject->test,
        .reference = referenced ? &subject->reference : NULL,
        .settlement = &done->settlements[0],
        .n_engines = count,
        .engines = engines,
        .rewriting = done->test->equivalence ? done->test->equivalence->rewriting : NULL,
        .rewritten = pair ? done->test : NULL,
        .rewritten_reference = pair && referenced ? &done->reference : NULL,
    };
}

/* What the engine says it did. One that hung is not asked: it would hang again. */
static struct trace *look_inside(const struct follow_up_options *options, const struct test_case *test,
                                 const struct result *result)
{
    if (result && result->outcome == OUTCOME_HANG)
        return NULL;
    return traced_case(panel_fresh(options->panel), options->panel->engines[0], test);
}

/* What experiments showed about the case, from which sentences of the report are made. `evidence` must
 * outlive it. */
static struct bundle_shown shown_by(const struct finding_evidence *evidence)
{
    return (struct bundle_shown){
        .parameter = evidence->shown & EVIDENCE(FAILS_TOGETHER) ? "" : evidence->parameter,
        .constant = evidence->shown & EVIDENCE(CURED_VARIABLE),
        .empty = evidence->shown & EVIDENCE(CURED_FILLED),
        .not_finite = evidence->shown & EVIDENCE(CURED_FINITE),
        .scalar = evidence->shown & EVIDENCE(CURED_RANKED),
    };
}

/* Runs the case on the same release with the setting that runs the graph as it is written. */
static enum bundle_plain try_plain(const struct follow_up_options *options, const struct trial_done *done)
{
    struct panel plain = *options->panel;
    struct trial_done again;
    if (!done->settlements[0].fused || done->test->equivalence)
        return PLAIN_NOT_TRIED;
    int engine = pool_plain(plain.pool, plain.engines[0]);
    plain.count = 1;
    plain.engines = &engine;
    plain.fresh = NULL;
    if (engine < 0 || try_once(&plain, NULL, done->test, &again, NULL))
        return PLAIN_NOT_TRIED;
    enum verdict_kind kind = again.judgement.verdicts[0].kind;
    trial_done_release(&again);
    return verdict_is(kind, CLASS_AGREES) ? PLAIN_RIGHT
           : verdict_is_finding(kind)     ? PLAIN_FAILS
                                          : PLAIN_NOT_TRIED;
}

/* How often models have the first node to blame, for a report that goes to a library's maintainers. */
static char *count_forms(const struct follow_up_options *options, const struct bundle_case *which)
{
    const struct engine_profile *profile = engine_of(options)->profile;
    const struct settlement *settlement = which->settlement;
    const struct model *model = test_case_model(which->test, NULL);
    size_t number = settlement && settlement->count ? settlement->nodes[0] : 0;
    return profile && profile->program && model && number < model->graph->n_node
               ? model_forms_count(model->graph->node[number], which->shown->parameter)
               : NULL;
}

static int write_bundle(const struct follow_up_options *options, const struct trial_done *done,
                        const struct signature *signature, const struct past *past,
                        struct finding_evidence *evidence, const struct folder *in, const char *name,
                        bool force, struct error *err)
{
    size_t others = options->others ? options->others->count : 0;
    struct bundle_engine *engines = memory_zeroed(done->n_engines + others, sizeof *engines);
    struct bundle_case which;
    struct trial_done said;
    describe(options, done, signature, engines, done->n_engines, &which);
    which.n_engines += ask_others(options, done, &said, engines + done->n_engines);
    which.n_history = past->count;
    which.history = past->history;
    which.pass = past->pass;
    which.draw = options->draw;
    char *cause = diagnose(options->panel, options->registry, done, evidence);
    struct bundle_shown shown = shown_by(evidence);
    which.cause = cause;
    which.shown = &shown;
    which.plain = try_plain(options, done);
    char *forms = count_forms(options, &which);
    which.forms = forms;
    char *source = engine_source_of(options->registry, engine_of(options), which.test);
    which.source = source;
    struct trace *trace = look_inside(options, which.test, which.engines[0].result);
    which.trace = trace;
    struct float64_answers wide;
    bool asked = verdict_is(which.engines[0].verdict->kind, CLASS_OTHER_VALUES) &&
                 float64_ask(&wide, options->registry, engine_of(options), which.test);
    which.float64 = asked ? &wide.said : NULL;
    int status = bundle_write(in, name, &which, force, err);
    if (asked)
        float64_release(&wide);
    trace_free(trace);
    free(source);
    free(forms);
    free(cause);
    trial_done_release(&said);
    free(engines);
    return status;
}

/* The path of the bundle within the campaign's folder, on the heap. */
static char *bundle_of(const struct signature *signature)
{
    return file_join("findings", signature->name);
}

static int write_finding(const struct follow_up_options *options, const struct trial_done *done,
                         const struct signature *signature, const struct past *past, struct error *err)
{
    char *bundle = bundle_of(signature);
    struct finding_evidence evidence;
    evidence_init(&evidence);
    int status = folder_make_all(options->folder, "findings", err);
    if (status == 0)
        status = write_bundle(options, done, signature, past, &evidence, options->folder, bundle, true, err);
    if (status == 0)
        status = evidence_store(options->store, signature->text, &evidence, err);
    evidence_release(&evidence);
    free(bundle);
    return status;
}

/* The finding that is already there under this signature, if any. */
struct present {
    bool bundled, known; /* known: written up elsewhere */
    bool counted;        /* it is not listed apart (finding_is_apart) */
    int64_t nodes;
    char name[SIGNATURE_NAME_SIZE], same_as[SIGNATURE_TEXT_SIZE];
};

static int note_present(void *context, const struct stored *stored, struct error *err)
{
    struct present *present = context;
    (void)err;
    present->bundled = *stored->bundle != '\0';
    present->known = stored->state == STATE_KNOWN;
    present->counted = !finding_is_apart(stored->class);
    present->nodes = stored->nodes;
    snprintf(present->name, sizeof present->name, "%s", stored->name);
    snprintf(present->same_as, sizeof present->same_as, "%s", stored->same_as);
    return 0;
}

static int find_present(struct store *store, const char *signature, struct present *present,
                        struct error *err)
{
    struct store_filter filter = {.signature = signature, .merged = true, .gone = true};
    *present = (struct present){0};
    return store_list(store, &filter, note_present, present, err);
}

static void kept_facts(const struct follow_up_options *options, const struct trial_done *done,
                       struct finding_facts *facts)
{
    const struct engine_info *info = engine_of(options);
    facts_of(facts, &(struct facts_source){.engine = info->label,
                                           .version = info->version,
                                           .profile = info->profile,
                                           .verdict = &done->judgement.verdicts[0],
                                           .settlement = &done->settlements[0],
                                           .result = &done->results[0],
                                           .test = trial_done_subject(done, 0)});
}

static const struct known_issues *known_of(const struct follow_up_options *options)
{
    static const struct known_issues none;
    return options->known ? options->known : &none;
}

static int look_up(const struct follow_up_options *options, const struct trial_done *done,
                   const struct signature *signature, struct error *err)
{
    struct finding_facts facts;
    kept_facts(options, done, &facts);
    int status = known_mark(known_of(options), options->store, signature->text, &facts, err);
    facts_release(&facts);
    return status;
}

/*
 * The class of a finding that was followed up. It is listed apart only if the case was so before it was
 * reduced, is so now, and no other release computes it rightly.
 */
static const char *kept_class(const struct follow_up_options *options, const char *from,
                              const struct trial_done *done, const struct past *past)
{
    enum finding_class class = classify_verdict(&done->judgement.verdicts[0]);
    struct present before;
    bool bug = find_present(options->store, from, &before, NULL) || before.counted;
    for (size_t i = 0; i < past->count; i++) {
        enum verdict_kind kind;
        bug |= verdict_parse(past->history[i].verdict, &kind) && verdict_is(kind, CLASS_AGREES);
    }
    return finding_class_row(finding_class_row(class)->apart && bug ? FINDING_BUG : class)->word;
}

/* The smaller case as a finding. The title belongs to the caller, and must outlive the finding. */
static int kept_finding(const struct follow_up_options *options, const struct trial_done *done,
                        const struct signature *signature, size_t nodes, struct str *title,
                        struct finding *finding, struct error *err)
{
    const struct engine_info *info = engine_of(options);
    struct bundle_engine engine;
    struct bundle_case which;
    const struct model *model = test_case_model(trial_done_subject(done, 0), err);
    if (!model)
        return -1;
    describe(options, done, signature, &engine, 1, &which);
    bundle_title(title, &which, model);
    *finding = (struct finding){
        .signature = signature->text,
        .name = signature->name,
        .kind = verdict_name(done->judgement.verdicts[0].kind),
        .engine = info->label,
        .operators = signature->operators,
        .title = title->data,
        .recipe = done->test->recipe,
        .factor = done->judgement.verdicts[0].factor,
        .nodes = (int64_t)nodes,
    };
    return 0;
}

/* The title of its bundle, which knows what experiments showed. */
static void take_title(const struct follow_up_options *options, const char *bundle, struct str *title)
{
    struct arena arena;
    struct folder folder;
    struct bundle read;
    arena_init(&arena);
    if (!folder_open(&folder, options->folder, bundle, NULL) && !bundle_read(&read, &folder, &arena, NULL) &&
        *read.title) {
        str_clear(title);
        str_add(title, read.title);
    }
    folder_close(&folder);
    arena_release(&arena);
}

static int store_kept(const struct follow_up_options *options, const char *from,
                      const struct trial_done *done, const struct follow_up_done *kept, bool known,
                      const struct past *past, struct error *err)
{
    const struct signature *signature = &kept->signature;
    size_t nodes = kept->nodes_after;
    struct finding finding;
    struct str title;
    str_init(&title);
    char *bundle = bundle_of(signature);
    int status = kept_finding(options, done, signature, nodes, &title, &finding, err);
    take_title(options, bundle, &title);
    finding.title = title.data;
    finding.class = kept_class(options, from, done, past);
    struct settled settled = {/* a finding that is written up stays as it is */
                              .state = known ? STATE_UNCHANGED : STATE_BUNDLED,
                              .bundle = bundle,
                              .title = title.data,
                              .nodes = (int64_t)nodes};
    if (status == 0)
        status = strcmp(from, signature->text) == 0 ? 0 : store_add(options->store, &finding, NULL, err);
    if (status == 0)
        status = store_settle(options->store, signature->text, &settled, err);
    if (status == 0)
        status = store_describe(options->store, signature->text, finding.class, NULL, err);
    if (status == 0)
        status = look_up(options, done, signature, err);
    free(bundle);
    str_release(&title);
    return status;
}

static int keep_past(const struct follow_up_options *options, const struct signature *signature,
                     const struct past *past, struct error *err)
{
    for (size_t i = 0; i < past->count; i++)
        if (store_history(options->store, signature->text, past->history[i].engine, past->history[i].verdict,
                          err))
            return -1;
    return 0;
}

/* The nodes of the case or, of a rewritten one, of its original. */
static size_t count_nodes(const struct test_case *test)
{
    const struct model *model = test_case_model(test->equivalence ? test->equivalence->origin : test, NULL);
    return model ? model->graph->n_node : 0;
}

/* In a shared campaign: the finding, and its bundle if that is wanted, go to the database. */
static int hand_in_finding(const struct follow_up_options *options, const char *from,
                           const struct trial_done *trial, const struct follow_up_done *done,
                           const struct finding *finding, struct error *err)
{
    struct past past = {0};
    char *bundle = bundle_of(&done->signature);
    struct folder folder = {0};
    bool wanted;
    int status = work_wants_bundle(options->work, from, finding, &wanted, err);
    arena_init(&past.arena);
    if (status == 0 && wanted) {
        look_back(&past, options, trial);
        status = write_finding(options, trial, &done->signature, &past, err) ||
                         folder_open(&folder, options->folder, bundle, err)
                     ? -1
                     : 0;
    }
    struct work_verdict *history = memory_zeroed(past.count + 1, sizeof *history);
    for (size_t i = 0; i < past.count; i++)
        history[i] = (struct work_verdict){past.history[i].engine, past.history[i].verdict};
    struct finding kept = *finding;
    kept.class = kept_class(options, from, trial, &past);
    struct work_outcome outcome = {.from = from,
                                   .state = STATE_BUNDLED,
                                   .finding = &kept,
                                   .bundle = bundle,
                                   .folder = wanted ? &folder : NULL,
                                   .n_history = past.count,
                                   .history = history};
    if (status == 0)
        status = work_follow_up_done(options->work, &outcome, err);
    folder_close(&folder);
    if (wanted)
        folder_remove(options->folder, bundle, NULL);
    free(history);
    arena_release(&past.arena);
    free(bundle);
    return status;
}

static int hand_in(const struct follow_up_options *options, const char *from, const struct trial_done *trial,
                   struct follow_up_done *done, struct error *err)
{
    struct finding finding;
    struct finding_facts facts;
    struct str title, text;
    str_init(&title);
    str_init(&text);
    kept_facts(options, trial, &facts);
    facts_write(&text, &facts);
    const struct known_issue *issue = known_find(known_of(options), &facts);
    int status = kept_finding(options, trial, &done->signature, done->nodes_after, &title, &finding, err);
    finding.known = issue ? known_document(issue) : NULL;
    finding.facts = text.data;
    if (status == 0)
        status = hand_in_finding(options, from, trial, done, &finding, err);
    if (!text_equal(from, done->signature.text))
        done->end = FOLLOW_UP_MERGED;
    facts_release(&facts);
    str_release(&title);
    str_release(&text);
    return status;
}

/* A finding that turns out to be another one leaves no bundle of its own. */
static int merge(const struct follow_up_options *options, const char *from, const char *into,
                 struct error *err)
{
    struct present before;
    if (find_present(options->store, from, &before, err) || store_merge(options->store, from, into, err))
        return -1;
    if (!text_equal(from, into) && finding_name_is_plain(before.name)) {
        char *bundle = file_join("findings", before.name);
        output_folder_remove(options->folder, bundle, &bundle_layout);
        free(bundle);
    }
    return 0;
}

/* Writes a bundle, unless another finding of the same bug has one that is as small, or is written up: then
 * this finding is merged into that one. A finding's own bundle that is as small is written again only where
 * the options ask for it. */
static int bundle_it(const struct follow_up_options *options, const char *from,
                     const struct trial_done *trial, struct follow_up_done *done, struct error *err)
{
    struct present present;
    if (find_present(options->store, done->signature.text, &present, err))
        return -1;
    if (text_equal(present.same_as, from)) { /* it was merged into this one */
        if (find_present(options->store, from, &present, err))
            return -1;
        if (!signature_parse(&done->signature, from))
            snprintf(done->signature.text, sizeof done->signature.text, "%s", from);
        snprintf(done->signature.name, sizeof done->signature.name, "%s", present.name);
    }
    bool own = text_equal(from, done->signature.text);
    bool as_small = present.bundled && present.nodes <= (int64_t)done->nodes_after;
    if (present.same_as[0] || (!own && present.known) || (as_small && !(own && options->again))) {
        done->end = FOLLOW_UP_MERGED;
        return merge(options, from, present.same_as[0] ? present.same_as : done->signature.text, err);
    }
    struct past past;
    look_back(&past, options, trial);
    int status = write_finding(options, trial, &done->signature, &past, err);
    if (status == 0)
        status = store_kept(options, from, trial, done, present.known, &past, err);
    if (status == 0)
        status = keep_past(options, &done->signature, &past, err);
    if (status == 0)
        status = merge(options, from, done->signature.text, err);
    arena_release(&past.arena);
    return status;
}

/* Another setting of the same release with the same kernels, which shows whether the engine really lacks what
 * it calls unsupported: the setting that leaves graphs alone or, if the engine has that already, any
 * other. */
static int companion_of(const struct panel *panel, struct pool *pool)
{
    int engine = panel->engines[0], plain = pool_plain(pool, engine);
    if (plain != engine)
        return plain;
    for (size_t i = 1; i < panel->count; i++)
        if (pool_same_kernels(pool_engine(pool, engine), pool_engine(pool, panel->engines[i])))
            return panel->engines[i];
    return -1;
}

/* The case made smaller in a pool, when the smaller one shows the failure in a fresh process as well. */
static bool make_smaller(const struct follow_up_options *options, struct pool *pool, const char *signature,
                         const struct test_case *test, struct trial_done *trial, struct follow_up_done *done)
{
    struct reduce_options how = {
        .pool = pool,
        .engine = options->panel->engines[0],
        .companion = companion_of(options->panel, pool),
        .panel = options->panel,
        .registry = options->registry,
        .seconds = options->reduce_seconds > 0 ? options->reduce_seconds : 60,
        .most = options->reduce_most,
        .deadline = signature && text_starts(signature, "hang|") ? 0 : options->reduce_deadline,
        .alive = options->alive,
        .context = options->context,
    };
    struct reduce_stats stats = {0};
    struct test_case *smaller;
    be_alive(options);
    if (reduce_case(&smaller, test, &how, &stats, NULL))
        return false;
    done->reduce_seconds += stats.seconds;
    struct signature whole;
    size_t nodes = count_nodes(smaller);
    int status = try_case(options->panel, options->registry, smaller, trial, NULL);
    test_case_free(smaller);
    if (status)
        return false;
    if (!follow_up_signature(options->panel, 0, trial, &done->signature) ||
        (signature && signature_parse(&whole, signature) &&
         !signature_stands_for(&done->signature, &whole))) {
        trial_done_release(trial);
        return false;
    }
    done->nodes_after = nodes;
    return true;
}

/* The rewritten case by itself, without its original. */
static struct test_case *without_origin(const struct test_case *test, struct error *err)
{
    struct test_case *alone = test_case_same_model(test);
    test_case_set_name(alone, test->name);
    test_case_set_recipe(alone, test->recipe);
    if (!test_case_add_inputs(alone, test->inputs, test->n_inputs, err))
        return alone;
    test_case_free(alone);
    return NULL;
}

/* What a finding of a rewritten case is about: the pair, when only both forms together show it; otherwise the
 * rewritten form alone, with those steps of the rewriting that are about the way of running. The caller frees
 * it. */
static struct test_case *subject_of(const struct follow_up_options *options, struct test_case *test,
                                    struct error *err)
{
    struct trial_done trial;
    if (!test->equivalence)
        return test_case_share(test);
    if (try_case(options->panel, options->registry, test, &trial, err))
        return NULL;
    const struct verdict *verdict = &trial.judgement.verdicts[0];
    bool keep = verdict->of_pair || !verdict_is_finding(verdict->kind);
    trial_done_release(&trial);
    if (keep)
        return test_case_share(test);
    struct test_case *alone = without_origin(test, err), *run = NULL;
    char *ways = rewriting_ways(test->equivalence->rewriting);
    if (alone && *ways && rewriting_apply(alone, ways, &run, err) == 1)
        test_case_set_recipe(run, test->recipe);
    free(ways);
    if (!run)
        return alone;
    test_case_free(alone);
    return run;
}

/* Reduces the case, runs the smaller one (or the case itself) once more, and gives its signature. Returns 1;
 * 0 when the failure is gone; -1. The search may reuse processes, but a case that is kept must fail in a
 * fresh one. If it does not, because the failure depends on memory, the search is repeated in fresh
 * processes. */
static int try_smallest_of(const struct follow_up_options *options, const char *signature,
                           struct test_case *test, struct trial_done *trial, struct follow_up_done *done,
                           struct error *err)
{
    *done = (struct follow_up_done){.end = FOLLOW_UP_BUNDLED};
    done->nodes_before = done->nodes_after = count_nodes(test);
    struct pool *pools[2] = {options->panel->pool, options->panel->fresh};
    for (size_t i = 0; i < 2 && !options->no_reduce; i++)
        if (pools[i] && make_smaller(options, pools[i], signature, test, trial, done))
            return 1;
    if (try_case(options->panel, options->registry, test, trial, err))
        return -1;
    if (follow_up_signature(options->panel, 0, trial, &done->signature))
        return 1;
    done->verdict = trial->judgement.verdicts[0];
    if (trial->judgement.invalid)
        snprintf(done->verdict.text, sizeof done->verdict.text, "%s", trial->judgement.reason);
    trial_done_release(trial);
    done->end = FOLLOW_UP_GONE;
    return 0;
}

static int try_smallest(const struct follow_up_options *options, const char *signature,
                        struct test_case *test, struct trial_done *trial, struct follow_up_done *done,
                        struct error *err)
{
    struct test_case *subject = subject_of(options, test, err);
    int status = subject ? try_smallest_of(options, signature, subject, trial, done, err) : -1;
    test_case_free(subject);
    return status;
}

/* An engine may refuse a model that ONNX's own checker refuses: most engines call the same code. */
static bool refused_rightly(const struct trial_done *trial)
{
    struct checker checker;
    if (!verdict_row(trial->judgement.verdicts[0].kind)->calls_invalid)
        return false;
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(trial->test, &bytes, &size, NULL))
        return false;
    onnx_checker_start_newest(&checker);
    unsigned doubts = model_doubts(&checker, bytes, size, NULL);
    onnx_checker_stop(&checker);
    return doubts & DOUBT_CHECKER;
}

static int follow_up(const struct follow_up_options *options, const char *signature, const char *recipe,
                     struct follow_up_done *done, struct error *err)
{
    struct test_case *made;
    struct trial_done trial;
    if (campaign_case(options->folder, recipe, &made, err))
        return -1;
    int status = try_smallest(options, signature, made, &trial, done, err);
    test_case_free(made);
    if (status == 1 && refused_rightly(&trial)) {
        trial_done_release(&trial);
        done->end = FOLLOW_UP_GONE;
        status = 0;
    }
    if (status == 0)
        return options->work
                   ? work_follow_up_done(options->work,
                                         &(struct work_outcome){.from = signature, .state = STATE_GONE}, err)
                   : store_settle(options->store, signature, &(struct settled){.state = STATE_GONE}, err);
    if (status < 0)
        return -1;
    be_alive(options);
    status = options->work ? hand_in(options, signature, &trial, done, err)
                           : bundle_it(options, signature, &trial, done, err);
    trial_done_release(&trial);
    return status;
}

int follow_up_finding(const struct follow_up_options *options, const char *signature, const char *recipe,
                      const char *label, struct follow_up_done *done, struct error *err)
{
    long engine = panel_find(options->panel, label);
    *done = (struct follow_up_done){0};
    if (engine < 0)
        return error_set(err, ERROR_NOT_FOUND, "%s is no engine of the campaign", label);
    struct panel ordered = put_first(options->panel, (size_t)engine);
    struct follow_up_options own = *options;
    own.panel = &ordered;
    int status = follow_up(&own, signature, recipe, done, err);
    free(ordered.engines);
    return status;
}

int follow_up_case(const struct follow_up_options *options, struct test_case *test, const char *folder,
                   struct follow_up_done *done, struct error *err)
{
    struct trial_done trial;
    struct past past;
    int status = try_smallest(options, NULL, test, &trial, done, err);
    if (status <= 0)
        return status;
    struct finding_evidence evidence;
    evidence_init(&evidence);
    look_back(&past, options, &trial);
    status = write_bundle(options, &trial, &done->signature, &past, &evidence, USERS_PATH, folder,
                          options->force, err);
    evidence_release(&evidence);
    arena_release(&past.arena);
    trial_done_release(&trial);
    return status;
}
