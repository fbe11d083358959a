#include "locate/type_limits.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>

/* A model whose evaluation takes longer than this is evaluated only once. */
static const double slow_seconds = 10;

/* Answers are alike when they are nearer than this share of their largest number: half-precision engines are,
 * and what became of an overflow is not. */
static const double alike = 1.0 / 16;

/* Of two that are alike the nearer one is meant if it is so many times nearer. */
static const double clearly = 4;

enum { CANDIDATES = 16 }; /* nodes that are asked about */

/* Nodes of the top graph with such results, in the order of evaluation. */
struct candidate {
    size_t call;
    struct type_limit limit;
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
};

static bool has_values(const struct bounded *b)
{
    return b->type != DTYPE_NONE && b->value;
}

/* Whether the number is not 0 and becomes so in its type. */
static bool vanishes(enum dtype type, long double value)
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
    for (size_t i = 0; i < out->count; i++) {
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

static void note(struct run *run, const struct op_call *call)
{
    struct type_limit limit = extent_of_call(call);
    size_t node = 0;
    while (node < run->model->graph->n_node && run->model->graph->node[node] != call->node)
        node++;
    if (!limit.kind || node == run->model->graph->n_node)
        return;
    limit.node = node;
    if (run->n_found < CANDIDATES)
        run->found[run->n_found] = (struct candidate){run->calls, limit};
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

/* Evaluates the node; one of the top graph on what was kept of its inputs. */
static int evaluate_kept(struct run *run, struct op_call *call)
{
    const struct bounded *const *before = call->inputs;
    const struct bounded **inputs = memory_zeroed(call->n_inputs + 1, sizeof *inputs);
    for (size_t i = 0; i < call->n_inputs; i++) {
        size_t number;
        bool kept =
            !run->depth && i < call->node->n_input && map_get(&run->names, call->node->input[i], &number);
        inputs[i] = kept ? run->kept[number] : before[i];
    }
    call->inputs = inputs;
    call->unbounded = true;
    run->depth++;
    int result = call->op->eval(call);
    run->depth--;
    call->inputs = before;
    free(inputs);
    return result;
}

static int watch(void *context, struct op_call *call)
{
    struct run *run = context;
    bool top = run->depth == 0;
    int result = evaluate_kept(run, call);
    if (result || call->shapes_only)
        return result;
    if (run->list && top)
        note(run, call);
    enum limit_handling handling = top && run->calls == run->typed ? HANDLED_BY_TYPE : run->handling;
    for (size_t o = 0; o < call->n_outputs; o++) {
        if (!has_values(&call->outputs[o]))
            continue;
        settle(&call->outputs[o], handling);
        if (top && o < call->node->n_output)
            keep(run, call->node->output[o], &call->outputs[o]);
    }
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

static int evaluate(struct run *run, const struct test_case *test, struct answer *answer, struct error *err)
{
    struct evaluate_options options = {.hook = watch, .context = run};
    struct evaluator *evaluator;
    *answer = (struct answer){0};
    run->model = test_case_model(test, err);
    if (!run->model || evaluator_new(&evaluator, run->model, &options, err))
        return -1;
    int status =
        evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &answer->values, &answer->count, err);
    evaluator_free(evaluator);
    forget_kept(run);
    return status;
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

/* Whether the answer is another one where the results of one call are limited by their type. */
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
    double start = clock_seconds();
    int status = evaluate(&run, test, &wide, err);
    bool slow = clock_seconds() - start > slow_seconds;
    size_t count = run.n_found < CANDIDATES ? run.n_found : CANDIDATES;
    for (size_t i = 0; i < count && status == 0 && !slow && !limit->kind; i++)
        if (matters(test, &wide, run.found[i].call))
            *limit = run.found[i].limit;
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
