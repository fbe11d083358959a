#include "locate/type_limits.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>

/* A model whose evaluation takes longer than this is evaluated only once, and no other answer is followed. */
static const double slow_seconds = 10;

/* Answers are alike when they are nearer than this share of their largest number: half-precision engines are,
 * and what became of an overflow is not. */
static const double alike = 1.0 / 16;

/* Of two that are alike the nearer one is meant if it is so many times nearer. */
static const double clearly = 4;

enum { CANDIDATES = 16 }; /* nodes that are asked about */

/*
 * A node of the top graph with such results, in the order of evaluation, and what else changes where its type
 * limits them: evaluated beside the whole, node by node, as far as values differ. Most differ in a few nodes
 * only, as a probability of 1e-50 that becomes 0 does.
 */
struct candidate {
    size_t call;
    struct type_limit limit;
    struct bounded **other; /* by value of the index: where it differs; NULL: it is as in the whole */
    bool unclear;           /* it was not followed to the end */
    double apart;           /* else how far the answers are apart then */
};

/* One evaluation without rounding, in which numbers beyond their type are handled in one way; those of one
 * node become what the type makes of them. */
struct run {
    const struct model *model;
    enum limit_handling handling;
    size_t typed; /* this call; SIZE_MAX: none */
    size_t calls; /* of the top graph, so far */
    int depth;    /* of bodies */
    bool list;    /* candidates are collected */
    /* Results that are not finite, as the next nodes read them here. The evaluator takes them for numbers
     * that an engine may have kept wide, of which nothing is known. */
    struct map names; /* of values -> their numbers in `kept` */
    size_t n_kept, kept_capacity;
    struct bounded **kept;
    size_t n_found; /* candidates, of which as many as there is room for are kept */
    struct candidate found[CANDIDATES];
    const struct model_index *index;
    size_t *uses_left; /* by value; only with `list` */
    double until;      /* when candidates are no longer followed */
};

static size_t candidates_of(const struct run *run)
{
    return run->n_found < CANDIDATES ? run->n_found : CANDIDATES;
}

static bool has_values(const struct bounded *b)
{
    return b->type != DTYPE_NONE && b->value;
}

/* Whether the number is not 0 and becomes so in its type. */
static inline bool vanishes(enum dtype type, long double value)
{
    return value != 0 && dtype_is_float(type) && fabsl(value) < dtype_precision(type).tiny &&
           dtype_round(type, value) == 0;
}

/* What there is of an output beyond its type. */
static struct type_limit extent_of(const struct bounded *out)
{
    struct type_limit over = {.kind = LIMIT_OVERFLOW, .type = out->type, .total = out->count}, under = over;
    under.kind = LIMIT_UNDERFLOW;
    over.limit = (double)dtype_highest(out->type);
    under.limit = dtype_precision(out->type).smallest;
    long double tiny = dtype_precision(out->type).tiny;
    for (size_t i = 0; i < out->count; i++) {
        if (!out->beyond && (fabsl(out->value[i]) >= tiny || out->value[i] == 0))
            continue;
        if (out->beyond && !isnan(out->beyond[i])) {
            over.elements++;
            over.farthest = fmax(over.farthest, (double)fabsl(out->beyond[i]));
        } else if (vanishes(out->type, out->value[i])) {
            under.elements++;
            under.farthest = fmax(under.farthest, (double)fabsl(out->value[i]));
        }
    }
    return over.elements ? over : under.elements ? under : (struct type_limit){0};
}

static struct type_limit extent_of_call(const struct op_call *call)
{
    struct type_limit found = {0};
    for (size_t o = 0; o < call->n_outputs && !found.kind; o++)
        if (has_values(&call->outputs[o]))
            found = extent_of(&call->outputs[o]);
    return found;
}

bool type_limit_touched(const struct bounded *outputs, size_t count)
{
    bool touched = false;
    for (size_t o = 0; o < count && !touched; o++)
        touched = has_values(&outputs[o]) && extent_of(&outputs[o]).kind != LIMIT_NONE;
    return touched;
}

bool type_limit_drowns(const struct bounded *output)
{
    const long double large = 0x1p-20L;
    int last = output->shape.rank - 1;
    size_t wide = last < 0 ? 1 : (size_t)output->shape.dims[last];
    bool drowns = has_values(output) && !output->beyond && dtype_is_float(output->type);
    for (size_t row = 0; drowns && row < output->count; row += wide) {
        long double most = 0;
        bool any = false;
        for (size_t i = row; i < row + wide; i++) {
            most = fmaxl(most, fabsl(output->value[i]));
            any = any || vanishes(output->type, output->value[i]);
        }
        drowns = !any || (most >= large && isfinite(most));
    }
    return drowns;
}

static long double handle(enum limit_handling handling, enum dtype type, long double value)
{
    if (handling == HANDLED_WIDE)
        return value;
    if (vanishes(type, value))
        return 0;
    long double low = dtype_lowest(type), high = dtype_highest(type), most = value < 0 ? low : high;
    if (handling == HANDLED_WRAPPED && !dtype_is_float(type))
        return value - floorl((value - low) / (high - low + 1)) * (high - low + 1);
    return handling == HANDLED_SATURATED || !dtype_is_float(type) ? most : copysignl(INFINITY, value);
}

/* Bounds have no part in it: every number is taken as it is. */
static void settle(struct bounded *out, enum limit_handling handling)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->beyond && !isnan(out->beyond[i]))
            out->value[i] = handle(handling, out->type, out->beyond[i]);
        else if (vanishes(out->type, out->value[i]))
            out->value[i] = handle(handling, out->type, out->value[i]);
    free(out->hard);
    out->hard = out->likely = NULL;
    out->opened = false;
}

static void forget_other(struct run *run, struct bounded **other)
{
    for (size_t i = 0; other && i < run->index->count; i++)
        if (other[i]) {
            bounded_release(other[i]);
            free(other[i]);
        }
    free(other);
}

static void give_up(struct run *run, struct candidate *candidate)
{
    forget_other(run, candidate->other);
    candidate->other = NULL;
    candidate->unclear = true;
}

static bool differ(const struct bounded *a, const struct bounded *b)
{
    if (has_values(a) != has_values(b) || !shape_equal(&a->shape, &b->shape))
        return true;
    for (size_t i = 0; has_values(a) && i < a->count; i++)
        if (!(a->value[i] == b->value[i] || (isnan(a->value[i]) && isnan(b->value[i]))))
            return true;
    return false;
}

/* Takes over what a result is for the candidate, where it differs from that of the whole. */
static void hold_other(struct run *run, struct candidate *candidate, const struct op_call *call,
                       size_t output, struct bounded *other)
{
    size_t value;
    if (output >= call->node->n_output || !map_get(&run->index->names, call->node->output[output], &value) ||
        candidate->other[value] || !differ(other, &call->outputs[output]))
        return;
    candidate->other[value] = memory_zeroed(1, sizeof *other);
    *candidate->other[value] = *other;
    bounded_init(other);
}

/* What the type of the candidate's own results makes of them. Called before these are handled. */
static void limit_results(struct candidate *candidate, const struct op_call *call, struct bounded *limited)
{
    for (size_t o = 0; o < call->n_outputs && !candidate->unclear; o++) {
        const struct bounded *out = &call->outputs[o];
        if (!has_values(out))
            continue;
        candidate->unclear = bounded_copy(&limited[o], out, NULL) != 0;
        for (size_t i = 0; i < out->count && !candidate->unclear; i++) {
            bool beyond = out->beyond && !isnan(out->beyond[i]);
            if (beyond || vanishes(out->type, out->value[i]))
                limited[o].value[i] =
                    handle(HANDLED_BY_TYPE, out->type, beyond ? out->beyond[i] : out->value[i]);
        }
    }
}

static void note(struct run *run, const struct op_call *call)
{
    struct type_limit limit = extent_of_call(call);
    size_t node = run->index->order[run->calls];
    /* A copy without the model's own functions is evaluated in its place, and has other nodes. */
    if (!limit.kind || run->index->model != run->model)
        return;
    limit.node = node;
    if (run->n_found < CANDIDATES)
        run->found[run->n_found] = (struct candidate){.call = run->calls, .limit = limit};
    run->n_found++;
}

/* Keeps a result that is not finite. */
static void keep(struct run *run, const char *name, const struct bounded *out)
{
    bool finite = true;
    for (size_t i = 0; i < out->count && finite; i++)
        finite = isfinite(out->value[i]);
    if (finite || !*name)
        return;
    struct bounded *copy = memory_zeroed(1, sizeof *copy);
    if (bounded_copy(copy, out, NULL)) {
        free(copy);
        return;
    }
    run->kept = memory_grow(run->kept, &run->kept_capacity, run->n_kept + 1, sizeof *run->kept);
    run->kept[run->n_kept] = copy;
    map_set(&run->names, name, run->n_kept++);
}

static void forget_kept(struct run *run)
{
    for (size_t i = 0; i < run->n_kept; i++) {
        bounded_release(run->kept[i]);
        free(run->kept[i]);
    }
    free(run->kept);
    run->kept = NULL;
    run->n_kept = run->kept_capacity = 0;
    map_release(&run->names);
}

/* Input i of a node of the top graph as it was kept, or as it is for a candidate. */
static const struct bounded *input_now(const struct run *run, const struct op_call *call, size_t i,
                                       const struct candidate *candidate)
{
    size_t number;
    if (run->depth || i >= call->node->n_input)
        return call->inputs[i];
    const char *name = call->node->input[i];
    if (candidate && map_get(&run->index->names, name, &number) && candidate->other[number])
        return candidate->other[number];
    return map_get(&run->names, name, &number) ? run->kept[number] : call->inputs[i];
}

/* Evaluates the node; one of the top graph on what was kept of its inputs. */
static int evaluate_kept(struct run *run, struct op_call *call, const struct candidate *candidate)
{
    const struct bounded *const *before = call->inputs;
    const struct bounded **inputs = memory_zeroed(call->n_inputs + 1, sizeof *inputs);
    for (size_t i = 0; i < call->n_inputs; i++)
        inputs[i] = input_now(run, call, i, candidate);
    call->inputs = inputs;
    call->unbounded = true;
    run->depth++;
    int result = call->op->eval(call);
    run->depth--;
    call->inputs = before;
    free(inputs);
    return result;
}

/* Whether the node reads a value that differs for the candidate. What a body reads cannot be replaced. */
static bool reads_other(struct run *run, struct candidate *candidate, const struct op_call *call)
{
    size_t node = run->index->order[run->calls];
    bool reads = false;
    for (size_t i = 0; i < run->index->n_uses[node] && !reads; i++)
        reads = candidate->other[run->index->uses[node][i]] != NULL;
    if (reads && (call->op->work == WORK_BODIES || clock_seconds() > run->until))
        give_up(run, candidate);
    return reads && !candidate->unclear;
}

/* Evaluates the node for a candidate, too, where it reads what differs. */
static void follow(struct run *run, struct candidate *candidate, const struct op_call *call)
{
    struct op_call again = *call;
    struct error err = {0};
    if (candidate->unclear || !candidate->other || !reads_other(run, candidate, call))
        return;
    again.err = &err;
    again.outputs = memory_zeroed(call->n_outputs, sizeof *again.outputs);
    if (evaluate_kept(run, &again, candidate)) {
        give_up(run, candidate);
    } else {
        for (size_t o = 0; o < call->n_outputs; o++) {
            if (has_values(&again.outputs[o]))
                settle(&again.outputs[o], run->handling);
            hold_other(run, candidate, call, o, &again.outputs[o]);
        }
    }
    for (size_t o = 0; o < call->n_outputs; o++)
        bounded_release(&again.outputs[o]);
    free(again.outputs);
}

static void begin(struct run *run, struct candidate *candidate, const struct op_call *call,
                  struct bounded *limited)
{
    candidate->other = memory_zeroed(run->index->count, sizeof *candidate->other);
    for (size_t o = 0; o < call->n_outputs; o++)
        hold_other(run, candidate, call, o, &limited[o]);
}

static void drop_used(struct run *run)
{
    size_t node = run->index->order[run->calls];
    for (size_t i = 0; i < run->index->n_uses[node]; i++) {
        size_t use = run->index->uses[node][i];
        if (--run->uses_left[use] || run->index->values[use].is_output)
            continue;
        for (size_t k = 0; k < candidates_of(run); k++) {
            struct bounded **other = run->found[k].other;
            if (!other || !other[use])
                continue;
            bounded_release(other[use]);
            free(other[use]);
            other[use] = NULL;
        }
    }
}

static void handle_results(struct run *run, struct op_call *call, bool top)
{
    enum limit_handling handling = top && run->calls == run->typed ? HANDLED_BY_TYPE : run->handling;
    for (size_t o = 0; o < call->n_outputs; o++) {
        if (!has_values(&call->outputs[o]))
            continue;
        settle(&call->outputs[o], handling);
        if (top && o < call->node->n_output)
            keep(run, call->node->output[o], &call->outputs[o]);
    }
}

/* A node of the top graph, in the evaluation that lists the candidates. */
static void list_and_follow(struct run *run, struct op_call *call)
{
    size_t known = candidates_of(run);
    note(run, call);
    struct candidate *found = candidates_of(run) > known ? &run->found[known] : NULL;
    struct bounded *limited = memory_zeroed(call->n_outputs, sizeof *limited);
    if (found)
        limit_results(found, call, limited);
    handle_results(run, call, true);
    for (size_t i = 0; i < known; i++)
        follow(run, &run->found[i], call);
    if (found && !found->unclear)
        begin(run, found, call, limited);
    drop_used(run);
    for (size_t o = 0; o < call->n_outputs; o++)
        bounded_release(&limited[o]);
    free(limited);
}

static int watch(void *context, struct op_call *call)
{
    struct run *run = context;
    bool top = run->depth == 0;
    int result = evaluate_kept(run, call, NULL);
    if (result || call->shapes_only)
        return result;
    if (run->list && top)
        list_and_follow(run, call);
    else
        handle_results(run, call, top);
    run->calls += top;
    return 0;
}

/* The outputs of one evaluation. */
struct answer {
    size_t count;
    struct bounded *values;
};

static void answer_release(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        bounded_release(&answer->values[i]);
    free(answer->values);
    *answer = (struct answer){0};
}

static double largest_of(const struct bounded *b)
{
    double largest = 0;
    for (size_t i = 0; i < b->count; i++)
        largest = isfinite(b->value[i]) ? fmax(largest, (double)fabsl(b->value[i])) : largest;
    return largest;
}

static double distance_of(long double a, long double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : (double)fabsl(a - b);
}

/* How far two answers are apart, as a share of their largest number. */
static double distance(const struct answer *a, const struct answer *b)
{
    double most = a->count == b->count ? 0 : INFINITY;
    for (size_t o = 0; o < a->count && isfinite(most); o++) {
        const struct bounded *x = &a->values[o], *y = &b->values[o];
        if (has_values(x) != has_values(y) || x->count != y->count)
            return INFINITY;
        double scale = has_values(x) ? fmax(largest_of(x), largest_of(y)) : 0;
        for (size_t i = 0; has_values(x) && i < x->count; i++) {
            double apart = distance_of(x->value[i], y->value[i]);
            most = fmax(most, apart > 0 ? apart / scale : 0);
        }
    }
    return most;
}

/* How far the answer is apart for each candidate; the values in which they differ are released. */
static void take_others(struct run *run, const struct answer *wide)
{
    for (size_t k = 0; k < candidates_of(run); k++) {
        struct candidate *candidate = &run->found[k];
        struct answer other = {.values = memory_zeroed(wide ? wide->count : 0, sizeof *other.values)};
        for (; wide && candidate->other && other.count < wide->count; other.count++) {
            size_t value;
            bool known = map_get(&run->index->names, run->model->graph->output[other.count]->name, &value);
            other.values[other.count] =
                known && candidate->other[value] ? *candidate->other[value] : wide->values[other.count];
        }
        if (wide && candidate->other)
            candidate->apart = distance(wide, &other);
        free(other.values); /* the elements are of the others */
        forget_other(run, candidate->other);
        candidate->other = NULL;
    }
}

static int evaluate(struct run *run, const struct test_case *test, struct answer *answer, struct error *err)
{
    struct evaluate_options options = {.hook = watch, .context = run, .results_only = true};
    struct evaluator *evaluator;
    *answer = (struct answer){0};
    run->model = test_case_model(test, err);
    if (!run->model || evaluator_new(&evaluator, run->model, &options, err))
        return -1;
    run->index = evaluator_index(evaluator);
    if (run->list) {
        run->uses_left = memory_zeroed(run->index->count, sizeof *run->uses_left);
        for (size_t i = 0; i < run->index->count; i++)
            run->uses_left[i] = run->index->values[i].consumers;
    }
    int status =
        evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &answer->values, &answer->count, err);
    if (run->list)
        take_others(run, status ? NULL : answer);
    free(run->uses_left);
    run->uses_left = NULL;
    run->index = NULL;
    evaluator_free(evaluator);
    forget_kept(run);
    return status;
}

/* The same for a candidate that was not followed to the end, by an evaluation of its own. */
static bool matters(const struct test_case *test, const struct answer *wide, size_t call)
{
    struct run run = {.handling = HANDLED_WIDE, .typed = call};
    struct answer other;
    bool changes = evaluate(&run, test, &other, NULL) == 0 && !(distance(wide, &other) <= alike);
    answer_release(&other);
    return changes;
}

int type_limit_find(struct type_limit *limit, const struct test_case *test, struct error *err)
{
    struct run run = {.handling = HANDLED_WIDE, .typed = SIZE_MAX, .list = true};
    struct answer wide;
    *limit = (struct type_limit){0};
    run.until = clock_seconds() + slow_seconds;
    int status = evaluate(&run, test, &wide, err);
    bool slow = clock_seconds() > run.until;
    for (size_t i = 0; i < candidates_of(&run) && status == 0 && !limit->kind; i++) {
        const struct candidate *candidate = &run.found[i];
        if (candidate->unclear ? !slow && matters(test, &wide, candidate->call)
                               : !(candidate->apart <= alike))
            *limit = candidate->limit;
    }
    answer_release(&wide);
    return status;
}

/* The engine's outputs as an answer. */
static int take_outputs(struct answer *answer, const struct value *outputs, size_t count)
{
    *answer = (struct answer){.values = memory_zeroed(count + 1, sizeof *answer->values)};
    for (; answer->count < count; answer->count++)
        if (bounded_from_value(&answer->values[answer->count], &outputs[answer->count], NULL))
            return -1;
    return 0;
}

/* Whether the engine may have handled such numbers so: what amounts to the same is asked about once. */
static bool is_possible(const struct type_limit *limit, enum limit_handling handling)
{
    bool whole = !dtype_is_float(limit->type);
    if (handling == HANDLED_SATURATED)
        return !whole && limit->kind == LIMIT_OVERFLOW;
    return handling != HANDLED_WRAPPED || whole;
}

enum limit_handling type_limit_handling(const struct type_limit *limit, const struct test_case *test,
                                        const struct value *outputs, size_t count)
{
    enum limit_handling handled = HANDLED_UNKNOWN;
    double nearest = INFINITY, next = INFINITY;
    struct answer own;
    int status = take_outputs(&own, outputs, count);
    for (enum limit_handling i = HANDLED_BY_TYPE; i <= HANDLED_WIDE && status == 0; i++) {
        struct run run = {.handling = i, .typed = SIZE_MAX};
        struct answer answer;
        if (!is_possible(limit, i))
            continue;
        status = evaluate(&run, test, &answer, NULL);
        double apart = status == 0 ? distance(&own, &answer) : INFINITY;
        if (apart < nearest)
            handled = i;
        next = apart < nearest ? nearest : fmin(next, apart);
        nearest = fmin(nearest, apart);
        answer_release(&answer);
    }
    answer_release(&own);
    return status == 0 && nearest <= alike && nearest <= next / clearly ? handled : HANDLED_UNKNOWN;
}

void type_limit_text(struct str *out, const struct type_limit *limit, const struct model *model)
{
    const Onnx__NodeProto *node = model->graph->node[limit->node];
    bool over = limit->kind == LIMIT_OVERFLOW;
    str_printf(out, "%.60s (node %.80s) %s %s: %zu of %zu elements, ", op_title(node), model_node_name(node),
               over ? "overflows" : "underflows", dtype_name(limit->type), limit->elements, limit->total);
    if (over)
        str_printf(out, "up to %.6g where the type ends at %.6g", limit->farthest, limit->limit);
    else
        str_printf(out, "the largest of them %.3g, become 0 where the type begins at %.3g", limit->farthest,
                   limit->limit);
}

const char *type_limit_word(const struct type_limit *limit, enum limit_handling handling)
{
    bool over = limit->kind == LIMIT_OVERFLOW;
    switch (handling) {
    case HANDLED_BY_TYPE:
        return !over ? "gives 0" : dtype_is_float(limit->type) ? "gives infinity" : "saturates them";
    case HANDLED_SATURATED:
        return "saturates them";
    case HANDLED_WRAPPED:
        return "wraps them";
    case HANDLED_WIDE:
        return "keeps them wide";
    case HANDLED_UNKNOWN:
        break;
    }
    return NULL;
}
