#include "reduce/oracle.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/wire_bounds.h"
#include "eval/gradient.h"
#include "judge/judge.h"
#include "judge/message.h"
#include "locate/refusal.h"
#include "model/edit.h"
#include "model/onnx.h"
#include "reduce/same_failure.h"
#include "rules/rewriting.h"
#include "search/forbidden.h"
#include "trial/trial.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AHEAD = 8 };

static const double least_deadline = 2, hang_deadline = 1, slack = 20;

/* A candidate under way. */
struct flight {
    size_t number;
    struct subject subject;
    uint8_t *bytes;
    size_t size;
    uint64_t hash;
    unsigned doubts;
    char words[WORDS_LIMIT]; /* of libonnx's refusal, or of the proof that it is forbidden */
    enum forbidden_by forbidden;
    struct error forbidden_why;
    struct case_gradient *gradient; /* that are asked for; NULL: outputs are */
    struct job_gradient asked;
    struct result reference, answer, companion;
    /* Of a rewritten case: the rewritten form, and how both forms were judged once `back`. */
    struct test_case *form;
    struct trial_done done;
    bool back;
    struct flight *next;
};

static void flight_init(struct flight *flight, size_t number)
{
    *flight = (struct flight){.number = number};
    result_init(&flight->reference);
    result_init(&flight->answer);
    result_init(&flight->companion);
}

static void flight_release(struct flight *flight)
{
    subject_release(&flight->subject);
    free(flight->bytes);
    result_release(&flight->reference);
    result_release(&flight->answer);
    result_release(&flight->companion);
    if (flight->done.n_engines)
        trial_done_release(&flight->done);
    test_case_free(flight->form);
    case_gradient_free(flight->gradient);
}

/* The candidate as a case, which borrows it. Release it with release_view. */
static struct test_case *view_of(const struct flight *flight)
{
    struct test_case *view =
        test_case_view(flight->subject.model, flight->subject.inputs, flight->subject.n_inputs);
    view->gradient = flight->gradient;
    return view;
}

static void release_view(struct test_case *view)
{
    view->gradient = NULL;
    test_case_free(view);
}

/* The reference's answer in the form the judge takes. */
static int reference_result(struct result *result, const struct bounded *values, size_t count,
                            const Onnx__GraphProto *graph)
{
    result->outcome = OUTCOME_OK;
    result->stage = STAGE_RUN;
    result->outputs = memory_zeroed(count, sizeof *result->outputs);
    result->bounds = memory_zeroed(count, sizeof *result->bounds);
    for (; result->count < count; result->count++) {
        struct tensor tensor;
        size_t i = result->count;
        if (values[i].type == DTYPE_NONE || bounds_to_wire(&values[i], &tensor, &result->bounds[i], NULL))
            return -1;
        value_set_tensor(&result->outputs[i], &tensor);
        value_set_name(&result->outputs[i], graph->output[i]->name);
    }
    return 0;
}

/* The values asked of the reference: outputs, and with TYPES_ALL all others behind them. */
static const char **wanted_names(const struct oracle *oracle, const struct subject *subject, size_t *count)
{
    const Onnx__GraphProto *graph = subject->model->graph;
    size_t n_inner = 0;
    const char **inner = oracle->types == TYPES_ALL ? subject_inner_names(subject, &n_inner) : NULL;
    const char **names = memory_zeroed(graph->n_output + n_inner, sizeof *names);
    for (size_t i = 0; i < graph->n_output; i++)
        names[i] = graph->output[i]->name;
    for (size_t i = 0; i < n_inner; i++)
        names[graph->n_output + i] = inner[i];
    *count = graph->n_output + n_inner;
    free(inner);
    return names;
}

static int evaluate(const struct oracle *oracle, struct flight *flight, struct error *err)
{
    struct subject *subject = &flight->subject;
    struct evaluator *evaluator;
    struct bounded *values = NULL;
    size_t count = 0, wanted;
    bool open = false, idle = false;
    if (evaluator_new(&evaluator, subject->model, &(struct evaluate_options){.open = &open, .idle = &idle},
                      err))
        return -1;
    const char **names = wanted_names(oracle, subject, &wanted);
    int status =
        evaluator_run(evaluator, subject->inputs, subject->n_inputs, names, wanted, &values, &count, err);
    evaluator_free(evaluator);
    flight->doubts = idle ? DOUBT_BRANCH : 0;
    if (!status) {
        subject_settle_types(subject, names, values, count, oracle->types);
        status = reference_result(&flight->reference, values, subject->model->graph->n_output,
                                  subject->model->graph);
    }
    for (size_t i = 0; !status && i < subject->model->graph->n_output; i++)
        flight->reference.bounds[i].open = open; /* a refusal of what is open on the way is no finding */
    for (size_t i = 0; i < count; i++)
        bounded_release(&values[i]);
    free(values);
    free(names);
    return status;
}

/* Replaces the reference's outputs by its gradients. */
static int differentiate(const struct oracle *oracle, struct flight *flight, struct error *err)
{
    const struct subject *subject = &flight->subject;
    struct evaluator *evaluator;
    struct gradient *gradients;
    size_t count;
    bool open = false;
    if (case_gradient_new(&flight->gradient, subject->model, subject->inputs, subject->n_inputs,
                          oracle->gradient_seed, err) ||
        evaluator_new(&evaluator, subject->model, &(struct evaluate_options){.open = &open}, err))
        return -1;
    struct gradient_request request = {.inputs = subject->inputs,
                                       .n_inputs = subject->n_inputs,
                                       .upstream = flight->gradient->upstream,
                                       .n_upstream = flight->gradient->n_upstream,
                                       .wanted = flight->gradient->wanted,
                                       .n_wanted = flight->gradient->n_wanted};
    int status = evaluator_gradient(evaluator, &request, &gradients, &count, err);
    evaluator_free(evaluator);
    if (status)
        return -1;
    struct result *result = &flight->reference;
    result_release(result);
    result_init(result);
    result->outcome = OUTCOME_OK;
    result->stage = STAGE_RUN;
    result->gradients = true;
    result->outputs = memory_zeroed(count, sizeof *result->outputs);
    result->bounds = memory_zeroed(count, sizeof *result->bounds);
    for (; result->count < count && !status; result->count++) {
        struct tensor tensor;
        size_t i = result->count;
        status = bounds_to_wire(&gradients[i].slope, &tensor, &result->bounds[i], err);
        if (status)
            break;
        result->bounds[i].open = open;
        value_set_tensor(&result->outputs[i], &tensor);
        value_set_name(&result->outputs[i], gradients[i].name);
    }
    gradients_free(gradients, count);
    return status;
}

/* libonnx's message without what varies from case to case. */
static void keep_words(struct flight *flight, const struct error *why)
{
    struct str words;
    str_init(&words);
    message_normalise(&words, why->message, flight->subject.model, NULL);
    size_t length = strnlen(words.data, sizeof flight->words - 1);
    memcpy(flight->words, words.data, length);
    flight->words[length] = '\0';
    str_release(&words);
}

/* Whether the candidate is as valid as the case itself, as far as anybody can tell. */
static bool is_valid(const struct oracle *oracle, const struct flight *flight)
{
    if (flight->doubts & ~oracle->doubts)
        return false;
    if ((flight->doubts & DOUBT_CHECKER) && !text_equal(flight->words, oracle->words))
        return false;
    return !(flight->doubts & DOUBT_UNKNOWN) || subject_is_part(&flight->subject, &oracle->origin);
}

/* Writes the candidate's types and packs it, and asks libonnx about it. */
static int pack(struct oracle *oracle, struct flight *flight, struct error *err)
{
    struct error why = {0};
    if (model_pack(flight->subject.model, &flight->bytes, &flight->size, err))
        return -1;
    flight->doubts |= model_doubts(&oracle->checker, flight->bytes, flight->size, &why);
    if (flight->doubts & DOUBT_CHECKER)
        keep_words(flight, &why);
    return 0;
}

/* A rewritten case may have operators that the reference lacks: then it is judged without it. */
static int find_types(const struct oracle *oracle, struct flight *flight, struct error *err)
{
    struct error why = {0};
    if (!oracle->by_companion && !evaluate(oracle, flight, &why))
        return 0;
    if (!oracle->by_companion && !(oracle->rewriting && why.code == ERROR_UNSUPPORTED))
        return error_set(err, why.code, "%s", why.message);
    subject_forget_types(&flight->subject);
    return 0;
}

/* The rewritten form of the candidate, which borrows it. */
static int rewrite(const struct oracle *oracle, struct flight *flight, struct error *err)
{
    const struct subject *subject = &flight->subject;
    struct test_case *view = test_case_view(subject->model, subject->inputs, subject->n_inputs);
    int applied = rewriting_apply(view, oracle->rewriting, &flight->form, err);
    test_case_free(view);
    return applied == 1 ? 0 : -1;
}

/* Packs a candidate of a forbidden case, which must be forbidden for the same reason and as certainly. */
static int prepare_forbidden(const struct oracle *oracle, struct flight *flight, struct error *err)
{
    struct subject *subject = &flight->subject;
    subject_guess_types(subject);
    flight->forbidden =
        forbidden_proof(subject->model, subject->inputs, subject->n_inputs, &flight->forbidden_why);
    keep_words(flight, &flight->forbidden_why);
    if (!flight->forbidden || flight->forbidden > oracle->forbidden ||
        (!oracle->starting && !text_equal(flight->words, oracle->words)))
        return error_set(err, ERROR_NOT_FOUND, "the case is not forbidden for the same reason any more");
    return model_pack(subject->model, &flight->bytes, &flight->size, err);
}

/* Evaluates the candidate, writes its types and packs it. An invalid one fails. */
static int prepare_valid(struct oracle *oracle, struct flight *flight, struct error *err)
{
    if (find_types(oracle, flight, err) || pack(oracle, flight, err) ||
        (oracle->gradient && differentiate(oracle, flight, err)))
        return -1;
    if (!oracle->starting && !is_valid(oracle, flight))
        return error_set(err, ERROR_INVALID, "the candidate breaks a rule that the case itself keeps");
    return 0;
}

static int prepare(struct oracle *oracle, struct flight *flight, struct error *err)
{
    struct subject *subject = &flight->subject;
    if (!subject->model->graph->n_node || !subject->model->graph->n_output)
        return error_set(err, ERROR_INVALID, "the candidate has no node or no output");
    if (oracle->forbidden ? prepare_forbidden(oracle, flight, err) : prepare_valid(oracle, flight, err))
        return -1;
    flight->hash = hash_bytes(0, flight->bytes, flight->size);
    for (size_t i = 0; i < subject->n_inputs; i++)
        for (size_t k = 0; k < subject->inputs[i].count; k++)
            flight->hash = hash_bytes(flight->hash, subject->inputs[i].tensors[k].data,
                                      subject->inputs[i].tensors[k].size);
    return oracle->rewriting ? rewrite(oracle, flight, err) : 0;
}

static bool was_seen(const struct oracle *oracle, uint64_t hash)
{
    for (size_t i = oracle->n_seen; i-- > 0;)
        if (oracle->seen[i] == hash)
            return true;
    return false;
}

static void remember(struct oracle *oracle, uint64_t hash)
{
    oracle->seen =
        memory_grow(oracle->seen, &oracle->seen_capacity, oracle->n_seen + 1, sizeof *oracle->seen);
    oracle->seen[oracle->n_seen++] = hash;
}

/* One that cannot be submitted is back at once, without an answer. */
static void launch_pair(struct oracle *oracle, struct flight *flight)
{
    flight->back = trials_submit(oracle->trials, test_case_share(flight->form), flight, NULL) != 0;
    flight->next = NULL;
    if (oracle->last)
        oracle->last->next = flight;
    else
        oracle->first = flight;
    oracle->last = flight;
    oracle->runs += 2;
}

/* Trials come back in any order. */
static int receive_pair(struct oracle *oracle, struct flight **flight, struct error *err)
{
    *flight = oracle->first;
    if (!*flight)
        return 0;
    while (!(*flight)->back) {
        struct trial_done done;
        if (trials_next(oracle->trials, &done, err) != 1) {
            oracle->first = oracle->last = NULL;
            return -1;
        }
        struct flight *other = done.user;
        other->done = done;
        other->back = true;
    }
    oracle->first = (*flight)->next;
    if (!oracle->first)
        oracle->last = NULL;
    return 1;
}

static bool has_room(const struct oracle *oracle)
{
    return oracle->rewriting ? trials_room(oracle->trials) : runner_room(oracle->runner);
}

static void launch(struct oracle *oracle, struct flight *flight)
{
    if (oracle->rewriting) {
        launch_pair(oracle, flight);
        return;
    }
    const int engines[] = {oracle->engine, oracle->companion};
    size_t count = oracle->companion >= 0 ? 2 : 1;
    struct job job = {
        .model = flight->bytes,
        .model_size = flight->size,
        .n_inputs = flight->subject.n_inputs,
        .inputs = flight->subject.inputs,
        .deadline = oracle->deadline,
        .user = flight,
    };
    if (flight->gradient) {
        flight->asked = (struct job_gradient){.n_upstream = flight->gradient->n_upstream,
                                              .upstream = flight->gradient->upstream,
                                              .n_wanted = flight->gradient->n_wanted,
                                              .wanted = flight->gradient->wanted};
        job.gradient = &flight->asked;
    }
    oracle->runs += count;
    runner_submit_to(oracle->runner, &job, engines, count, ASK_NEVER);
}

/* Waits for the candidate that was launched first: 1, 0 when none is under way, -1 when the pool fails. */
static int receive(struct oracle *oracle, struct flight **flight, struct error *err)
{
    struct run *run;
    if (oracle->rewriting)
        return receive_pair(oracle, flight, err);
    int status = runner_next(oracle->runner, &run, err);
    if (status != 1)
        return status;
    *flight = run->job.user;
    (*flight)->answer = run_take(run, 0, 0);
    if (run->n_engines > 1)
        (*flight)->companion = run_take(run, 0, 1);
    run_free(run);
    return 1;
}

static void judge(struct oracle *oracle, const struct flight *flight, struct verdict *verdict)
{
    struct judge_entry entries[2] = {
        judge_entry_of(pool_engine(oracle->pool, oracle->engine), &flight->answer, false)};
    size_t count = 1;
    if (oracle->companion >= 0)
        entries[count++] =
            judge_entry_of(pool_engine(oracle->pool, oracle->companion), &flight->companion, false);
    struct judgement judgement;
    bool judged = !oracle->by_companion && !oracle->forbidden;
    judge_case(&judgement, judged ? &flight->reference : NULL, entries, count);
    if (oracle->forbidden)
        judge_forbidden(&judgement, entries, flight->forbidden != FORBIDDEN_BY_REFERENCE,
                        flight->forbidden_why.message);
    *verdict = judgement.verdicts[0];
    judgement_release(&judgement);
    if (!oracle->by_companion)
        return;
    bool refused =
        flight->answer.outcome == OUTCOME_REJECTED || flight->answer.outcome == OUTCOME_UNSUPPORTED;
    if (flight->companion.outcome != OUTCOME_OK)
        verdict->kind = verdict_of_outcome(OUTCOME_UNTESTED);
    else if (refused)
        verdict->kind = verdict_of_outcome(OUTCOME_REJECTED);
    else if (flight->answer.outcome == OUTCOME_FAILED)
        verdict->kind = verdict_of_outcome(OUTCOME_FAILED);
}

/* Finds the nodes to blame. A single node needs no settling; when settling fails, no node is blamed. */
static void settle_flight(struct oracle *oracle, const struct flight *flight, const struct verdict *verdict,
                          struct settlement *settlement)
{
    struct error err = {0};
    *settlement = (struct settlement){0};
    const Onnx__GraphProto *graph = flight->subject.model->graph;
    size_t node =
        oracle->forbidden_node && graph->n_node > 1 ? graph_find_node(graph, oracle->forbidden_node) : 0;
    if ((graph->n_node == 1 || oracle->forbidden) && node < graph->n_node &&
        verdict_is_finding(verdict->kind)) {
        settlement_blame(settlement, verdict, &node, 1);
        return;
    }
    if (oracle->forbidden)
        return;
    struct test_case *test = view_of(flight);
    struct settle_case which = {.pool = oracle->pool, .engine = oracle->engine, .test = test};
    int status = flight->answer.outcome == OUTCOME_OK
                     ? settle(settlement, &which, &err)
                     : settle_refusal(settlement, &which, verdict, &flight->answer, &err);
    release_view(test);
    if (status) {
        settlement_release(settlement);
        *settlement = (struct settlement){0};
    }
}

/* How much must be known of a candidate. */
enum holding {
    HOLDS_FIRST,   /* any failure */
    HOLDS_SAME,    /* the one kept */
    HOLDS_SETTLED, /* the one kept, and who is to blame for it */
};

static void keep(struct oracle *oracle, const struct signature *signature, const struct verdict *verdict,
                 struct settlement *settlement)
{
    bool settled = settlement->count && verdict_is_finding(settlement->kind);
    oracle->keep = *signature;
    oracle->verdict = settled ? settlement->verdict : *verdict;
    memset(oracle->text, 0, sizeof oracle->text);
    const char *text = settled && settlement->text[0] ? settlement->text : verdict->text;
    memcpy(oracle->text, text, strnlen(text, sizeof oracle->text - 1));
    free(oracle->blamed);
    oracle->blamed = settlement->nodes;
    oracle->n_blamed = settlement->count;
    settlement->nodes = NULL;
    settlement->count = 0;
}

/* Whether a candidate that is refused is so only for want of an operator (locate/refusal.h). */
static bool only_lacks(struct oracle *oracle, const struct flight *flight, const struct verdict *verdict)
{
    struct verdict asked = *verdict;
    struct test_case *test = view_of(flight);
    struct settle_case which = {.pool = oracle->pool, .engine = oracle->engine, .test = test};
    refusal_decide(oracle->refusals, &which, &flight->answer, &asked);
    release_view(test);
    return verdict_is(asked.kind, CLASS_LACK | CLASS_UNDECIDED);
}

/* A refusal in words: those tell failures apart as well as the nodes to blame, without a run for every part
 * of the model. */
static bool speaks(const struct verdict *verdict, const struct flight *flight)
{
    return verdict_is(verdict->kind, CLASS_REFUSAL) && flight->answer.message && *flight->answer.message;
}

/* Both forms were judged by the trials. Nodes to blame are known where they are the original's. */
static bool pair_holds(struct oracle *oracle, struct flight *flight, enum holding holding)
{
    struct trial_done *done = &flight->done;
    struct settlement none = {0};
    struct signature signature;
    const struct engine_profile *profile = pool_engine(oracle->pool, oracle->engine)->profile;
    if (!done->n_engines || !signature_of_trial(&signature, oracle->label, profile, done, 0))
        return false;
    const struct verdict *verdict = &done->judgement.verdicts[0];
    bool first = holding == HOLDS_FIRST && !*oracle->keep.text;
    if (!first && (holding == HOLDS_FIRST ? signature.symptom != oracle->keep.symptom
                                          : !same_failure(&signature, &oracle->keep)))
        return false;
    keep(oracle, &signature, verdict, verdict->of_pair ? &done->settlements[0] : &none);
    oracle->doubts &= flight->doubts;
    return true;
}

/*
 * Judges an answered candidate; first: whatever failure it shows is the one to keep. Whole graphs may be so
 * far within their bounds that only settling sees the failure, so the first one is settled in any case.
 */
static bool holds(struct oracle *oracle, struct flight *flight, enum holding holding)
{
    struct verdict verdict;
    struct settlement settlement = {0};
    struct signature signature;
    if (oracle->rewriting)
        return pair_holds(oracle, flight, holding);
    judge(oracle, flight, &verdict);
    bool first = holding == HOLDS_FIRST, spoken = speaks(&verdict, flight) && holding != HOLDS_SETTLED;
    bool hidden =
        !oracle->by_companion && !oracle->forbidden &&
        (verdict_is(verdict.kind, CLASS_SUSPECT) || (first && flight->answer.outcome == OUTCOME_OK));
    if (!verdict_is_finding(verdict.kind) && !hidden)
        return false;
    if (!spoken)
        settle_flight(oracle, flight, &verdict, &settlement);
    bool found =
        verdict_is_finding(verdict.kind) || (settlement.count && verdict_is_finding(settlement.kind));
    if (found) {
        signature_of(&signature, oracle->label, pool_engine(oracle->pool, oracle->engine)->profile, &verdict,
                     settlement.count ? &settlement : NULL, flight->subject.model, &flight->answer);
        found = first || (speaks(&verdict, flight) ? same_message(&signature, &oracle->keep)
                                                   : same_failure(&signature, &oracle->keep));
    }
    if (found && !oracle->by_companion) /* what the companion answers shows that nothing is lacking */
        found = !only_lacks(oracle, flight, &verdict);
    if (found) {
        keep(oracle, &signature, &verdict, &settlement);
        oracle->doubts &= flight->doubts; /* what is valid stays so */
    }
    settlement_release(&settlement);
    return found;
}

static void choose_deadline(struct oracle *oracle, const struct result *answer)
{
    double took = (double)(answer->load_ns + answer->run_ns) * 1e-9;
    if (oracle->deadline > 0)
        return;
    oracle->deadline = took * slack > least_deadline ? took * slack : least_deadline;
    if (answer->outcome == OUTCOME_HANG)
        oracle->deadline = hang_deadline;
}

/* One subject, run to the end: 0 when nothing went wrong on the way. */
static int run_alone(struct oracle *oracle, struct flight *flight, const struct subject *subject,
                     struct error *err)
{
    flight_init(flight, 0);
    if (subject_copy(&flight->subject, subject, err) || prepare(oracle, flight, err))
        return -1;
    launch(oracle, flight);
    return receive(oracle, &flight, err) == 1 ? 0 : -1;
}

/* What there is to say against the case itself; candidates are held against it. */
static int keep_doubts(struct oracle *oracle, const struct flight *flight, struct error *err)
{
    oracle->doubts = flight->doubts;
    memcpy(oracle->words, flight->words, sizeof oracle->words);
    subject_release(&oracle->origin);
    return flight->doubts & DOUBT_UNKNOWN ? subject_copy(&oracle->origin, &flight->subject, err) : 0;
}

int oracle_start(struct oracle *oracle, struct subject *subject, struct error *err)
{
    static const enum types ways[] = {TYPES_OUTPUTS, TYPES_ALL, TYPES_RANKS};
    struct flight flight;
    if (!oracle->refusals)
        oracle->refusals = refusals_new(false);
    if (!oracle->runner) {
        oracle->panel = (struct panel){.pool = oracle->pool, .reference = -1};
        oracle->runner = runner_new(
            &oracle->panel, &(struct runner_options){.ahead = oracle->ahead ? oracle->ahead : DEFAULT_AHEAD,
                                                     .in_order = true});
    }
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        oracle->types = ways[way];
        oracle->starting = true;
        int status = run_alone(oracle, &flight, subject, err);
        oracle->starting = false;
        if (!status)
            status = keep_doubts(oracle, &flight, err);
        bool found = !status && holds(oracle, &flight, HOLDS_FIRST);
        if (found) {
            struct subject before = *subject;
            *subject = flight.subject;
            flight.subject = before;
            choose_deadline(oracle, &flight.answer);
        }
        flight_release(&flight);
        if (status || found)
            return status;
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "%s shows no failure on this case; 'assay compare' tells what it does", oracle->label);
}

bool oracle_confirm(struct oracle *oracle, const struct subject *subject)
{
    struct flight flight;
    double deadline = oracle->deadline;
    oracle->deadline = 0;
    bool confirmed = !run_alone(oracle, &flight, subject, NULL) && holds(oracle, &flight, HOLDS_SETTLED);
    oracle->deadline = deadline;
    flight_release(&flight);
    return confirmed;
}

/* The rewriting without its step `number`, as heap text. */
static char *without_step(const char *rewriting, size_t number)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; *rewriting; i++) {
        size_t length = strcspn(rewriting, " ");
        if (i != number) {
            str_add(&text, text.length ? " " : "");
            str_append(&text, rewriting, length);
        }
        rewriting += length;
        rewriting += strspn(rewriting, " ");
    }
    char *shorter = str_detach(&text);
    str_release(&text);
    return shorter;
}

void oracle_shorten(struct oracle *oracle, const struct subject *subject)
{
    for (size_t i = 0; oracle->rewriting && rewriting_depth(oracle->rewriting) > 1;) {
        struct flight flight;
        char *before = oracle->rewriting;
        if (i == rewriting_depth(before))
            return;
        oracle->rewriting = without_step(before, i);
        bool held = !run_alone(oracle, &flight, subject, NULL) && holds(oracle, &flight, HOLDS_FIRST);
        flight_release(&flight);
        free(held ? before : oracle->rewriting);
        if (!held) {
            oracle->rewriting = before;
            i++;
        }
    }
}

void oracle_release(struct oracle *oracle)
{
    trials_free(oracle->trials);
    free(oracle->rewriting);
    oracle->trials = NULL;
    oracle->rewriting = NULL;
    runner_free(oracle->runner);
    refusals_free(oracle->refusals);
    onnx_checker_stop(&oracle->checker);
    subject_release(&oracle->origin);
    free(oracle->blamed);
    free(oracle->seen);
    oracle->runner = NULL;
    oracle->refusals = NULL;
    oracle->blamed = NULL;
    oracle->seen = NULL;
}

/* The next candidate that is worth a run, on the heap; NULL when there is none. */
static struct flight *next_flight(struct oracle *oracle, size_t *next, size_t count, oracle_make make,
                                  void *context)
{
    while (*next < count) {
        struct flight *flight = memory_zeroed(1, sizeof *flight);
        flight_init(flight, (*next)++);
        if (!make(context, flight->number, &flight->subject)) {
            oracle->made++;
            if (prepare(oracle, flight, NULL))
                oracle->invalid++;
            else if (!was_seen(oracle, flight->hash))
                return flight;
        }
        flight_release(flight);
        free(flight);
    }
    return NULL;
}

/* Whether time is up, or enough candidates were made. */
static bool is_enough(const struct oracle *oracle)
{
    return (oracle->end_ns && clock_ns() >= oracle->end_ns) || (oracle->most && oracle->made >= oracle->most);
}

long oracle_search(struct oracle *oracle, size_t from, size_t count, oracle_make make, void *context,
                   struct subject *found)
{
    size_t next = from;
    long answer = (long)count;
    bool stop = false;
    int status = 1;
    while (status == 1) {
        struct flight *flight;
        if (oracle->alive)
            oracle->alive(oracle->context);
        while (!(stop = stop || is_enough(oracle)) && has_room(oracle) &&
               (flight = next_flight(oracle, &next, count, make, context)))
            launch(oracle, flight);
        status = receive(oracle, &flight, NULL);
        if (status != 1)
            break;
        if (answer == (long)count && holds(oracle, flight, HOLDS_SAME)) {
            answer = (long)flight->number;
            *found = flight->subject;
            flight->subject = (struct subject){0};
            oracle->held++;
            next = count; /* the others under way only have to come back */
        } else if (answer == (long)count) {
            remember(oracle, flight->hash);
        }
        flight_release(flight);
        free(flight);
    }
    return status < 0 || (stop && answer == (long)count) ? -1 : answer;
}

void oracle_record(const struct oracle *oracle, int engine, const struct subject *subject,
                   struct record *record)
{
    struct subject exposed = {0};
    struct map numbers; /* of names in `made` */
    uint8_t *bytes = NULL;
    size_t size, count, number;
    const char **made = subject_made_names(subject, &count); /* they live as long as the record must */
    struct result result;
    result_init(&result);
    map_init(&numbers);
    for (size_t i = 0; i < count; i++)
        map_set(&numbers, made[i], i);
    if (subject_copy(&exposed, subject, NULL) || model_expose(exposed.model, made, count, NULL) ||
        model_pack(exposed.model, &bytes, &size, NULL))
        goto out;
    struct job job = {.engine = engine,
                      .model = bytes,
                      .model_size = size,
                      .n_inputs = exposed.n_inputs,
                      .inputs = exposed.inputs,
                      .deadline = oracle->deadline};
    if (pool_run_one(oracle->pool, &job, &result, NULL))
        goto out;
    for (size_t i = 0; i < result.count; i++) {
        struct tensor copy;
        if (result.outputs[i].name && map_get(&numbers, result.outputs[i].name, &number) &&
            result.outputs[i].kind == VALUE_TENSOR &&
            !tensor_copy(&copy, &result.outputs[i].tensors[0], NULL))
            record_add(record, made[number], &copy);
    }
out:
    result_release(&result);
    free(bytes);
    map_release(&numbers);
    free(made);
    subject_release(&exposed);
}
