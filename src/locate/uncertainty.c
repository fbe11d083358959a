#include "locate/uncertainty.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/wide.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A result is uncertain when its relative bound is so many times that of the inputs; or when few of its
 * digits are left, which in a half-precision type needs less. */
static const double large_growth = 1000, some_growth = 16, few_digits = 1.0 / 16;

/* A model whose evaluation takes longer than this is evaluated only once. */
static const double slow_seconds = 10;

/* One evaluation, watched. Nodes of the top graph are counted in the order in which they are evaluated. */
struct watch {
    const struct model *model;
    size_t calls;
    size_t certain; /* of so many first nodes, uncertain results are taken as certain */
    int depth;      /* of bodies: only nodes of the top graph are looked at */
    /* The element that is asked about, and how many the output has: a node with as many elements is described
     * by the one at the same place, if that is uncertain. */
    size_t element, count;
    struct uncertainty last; /* what was uncertain at the last of those nodes */
    struct uncertainty open; /* the first node whose result is open */
    bool limits;             /* some node has results beyond its type */
};

static bool is_open(const struct bounded *b, size_t i)
{
    return isinf(bounded_hard(b, i)) && isinf(bounded_likely(b, i));
}

static bool has_values(const struct bounded *b)
{
    return b && b->type != DTYPE_NONE && b->value;
}

/* The bound of a tensor relative to its largest element. */
static double relative_of(const struct bounded *b)
{
    double hard = 0, largest = 0;
    for (size_t i = 0; has_values(b) && i < b->count; i++) {
        double magnitude = fabs((double)b->value[i]), bound = bounded_hard(b, i);
        hard = isfinite(bound) && bound > hard ? bound : hard;
        largest = isfinite(magnitude) && magnitude > largest ? magnitude : largest;
    }
    return largest > 0 ? hard / largest : 0;
}

/* How uncertain the inputs of a node are; never less than one rounding. */
static double relative_of_inputs(const struct op_call *call, const struct bounded *out)
{
    double most = unit_of(out->type);
    for (size_t i = 0; i < call->n_inputs; i++) {
        double relative = relative_of(call->inputs[i]);
        most = relative > most ? relative : most;
    }
    return most;
}

/* How many times larger the relative bound of an element is than those of the inputs, 0 when not much. */
static double growth_of(const struct bounded *out, size_t i, double before)
{
    double hard = bounded_hard(out, i), magnitude = fabs((double)out->value[i]);
    if (isinf(hard))
        return INFINITY;
    double relative = hard < magnitude ? hard / magnitude : hard > 0 ? 1 : 0, growth = relative / before;
    bool grown = growth >= large_growth || (relative >= few_digits && growth >= some_growth);
    return grown ? growth : 0;
}

static void name_node(struct uncertainty *found, const struct watch *watch, const struct op_call *call)
{
    found->node = SIZE_MAX;
    for (size_t i = 0; i < watch->model->graph->n_node; i++)
        if (watch->model->graph->node[i] == call->node)
            found->node = i;
    snprintf(found->text, sizeof found->text, "%.60s (node %.80s)", op_title(call->node),
             model_node_name(call->node));
}

static void say(struct uncertainty *found, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct uncertainty *found, const char *format, ...)
{
    size_t used = strlen(found->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->text + used, sizeof found->text - used, format, arguments);
    va_end(arguments);
}

/* Two values of which rounding decides which one is larger. */
static bool say_near(struct uncertainty *found, const char *which, const struct bounded *a, size_t i,
                     const struct bounded *b, size_t j)
{
    double gap = fabs((double)(a->value[i] - b->value[j])), bound = bounded_hard(a, i) + bounded_hard(b, j);
    if (!(gap <= bound) || !isfinite(bound))
        return false;
    /* A gap of a few last bits is the reference's own rounding, which differs from processor to processor. */
    if (gap > 16 * (double)WIDE_UNIT * fabs((double)a->value[i]))
        say(found, ": %s differ by %.3g, less than their error bound %.3g", which, gap, bound);
    else
        say(found, ": %s are equal, and rounding (error bound %.3g) decides between them", which, bound);
    return true;
}

/* The places of the largest (or smallest) and the next element of a row. */
static void ends_of(const struct bounded *b, size_t start, size_t step, size_t count, bool largest,
                    size_t ends[2])
{
    ends[0] = ends[1] = SIZE_MAX;
    for (size_t k = 0; k < count; k++) {
        size_t at = start + k * step;
        for (int place = 0; place < 2; place++) {
            size_t held = ends[place];
            bool before =
                held == SIZE_MAX || (largest ? b->value[at] > b->value[held] : b->value[at] < b->value[held]);
            if (!before)
                continue;
            ends[place] = at;
            if (held == SIZE_MAX)
                break;
            at = held;
        }
    }
}

/* Of an operator that takes one element of each row along its axis (ArgMax): the row of output element i. */
static bool say_near_in_row(struct uncertainty *found, const struct op_call *call, size_t i)
{
    const struct bounded *in = call->inputs[0];
    int64_t axis = call_int(call, "axis", 0), rank = in->shape.rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return false;
    size_t inner = 1, count = (size_t)in->shape.dims[axis], ends[2];
    for (int64_t k = axis + 1; k < rank; k++)
        inner *= (size_t)in->shape.dims[k];
    if (count < 2 || call->outputs[0].count * count != in->count)
        return false;
    for (int largest = 1; largest >= 0; largest--) {
        ends_of(in, i / inner * count * inner + i % inner, inner, count, largest, ends);
        if (ends[1] != SIZE_MAX &&
            say_near(found, largest ? "the two largest elements" : "the two smallest elements", in, ends[0],
                     in, ends[1]))
            return true;
    }
    return false;
}

/* How many nodes lie on the longest way from an input to the node, itself not counted; 0: not known. */
static size_t layers_before(const struct model *model, const Onnx__NodeProto *node)
{
    struct model_index index;
    size_t found = 0;
    if (model_index_init(&index, model, NULL))
        return 0;
    size_t *depths = memory_zeroed(model->graph->n_node + 1, sizeof *depths);
    for (size_t i = 0; i < model->graph->n_node; i++) {
        size_t number = index.order[i];
        for (size_t k = 0; k < index.n_uses[number]; k++) {
            const struct index_value *value = &index.values[index.uses[number][k]];
            if (value->source == SOURCE_NODE && depths[value->number] >= depths[number])
                depths[number] = depths[value->number] + 1;
        }
        found = model->graph->node[number] == node ? depths[number] : found;
    }
    free(depths);
    model_index_release(&index);
    return found;
}

/* Where a result is not defined within the bound of the input: the bound has outgrown the input itself, or
 * the input is by its nature near such a place. */
static void say_undefined(struct uncertainty *found, const struct watch *watch, const struct op_call *call,
                          size_t at)
{
    const struct bounded *a = call->inputs[0];
    size_t layers = layers_before(watch->model, call->node);
    if (relative_of(a) < few_digits || layers < 2) {
        say(found, ": its input %.9Lg may be off by %.3g, which reaches to where the result is not defined",
            a->value[at], bounded_hard(a, at));
        return;
    }
    snprintf(found->text, sizeof found->text,
             "worst-case rounding through %zu layers is too large to bound: what %.60s (node %.80s) reads as "
             "%.3Lg may be off by %.3g",
             layers, op_title(call->node), model_node_name(call->node), a->value[at], bounded_hard(a, at));
}

/* What lies so near the jump that output element i depends on rounding. */
static void say_jump(struct uncertainty *found, const struct watch *watch, const struct op_call *call,
                     size_t i)
{
    const struct bounded *a = call->n_inputs > 0 ? call->inputs[0] : NULL;
    const struct bounded *b = call->n_inputs > 1 ? call->inputs[1] : NULL;
    const struct bounded *out = &call->outputs[0];
    bool smooth = call->op->slope == SLOPE_EVERYWHERE; /* it compares nothing */
    bool fits = has_values(a) && i < out->count && (a->count == out->count || a->count == 1);
    bool pair =
        !smooth && fits && has_values(b) && b->type == a->type && (b->count == out->count || b->count == 1);
    size_t at = fits && a->count > 1 ? i : 0;
    if (pair && say_near(found, "the two values that it compares", a, at, b, b->count > 1 ? i : 0))
        return;
    if (!smooth && has_values(a) && i < out->count && a->count != out->count &&
        say_near_in_row(found, call, i))
        return;
    bool blurred = fits && isfinite(bounded_hard(a, at)) && bounded_hard(a, at) > 0;
    if (blurred && smooth)
        say_undefined(found, watch, call, at);
    else if (blurred)
        say(found, ": its input %.9Lg may be off by %.3g, which reaches across a jump", a->value[at],
            bounded_hard(a, at));
    else
        say(found, ": its input is so near a jump that rounding decides");
}

static bool inputs_are_judged(const struct op_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        for (size_t k = 0; has_values(call->inputs[i]) && k < call->inputs[i]->count; k++)
            if (isinf(bounded_hard(call->inputs[i], k)))
                return false;
    return true;
}

/*
 * Whether it is ONNX that leaves an open element of the node's result unspecified. Bounds that became
 * infinite on the way, as the root of a number that may be negative, look the same: an operator whose row
 * says nothing of what ONNX leaves open, or whose inputs are not judged themselves, has no part in it.
 */
static bool opens_by_itself(const struct op_call *call, const struct bounded *out)
{
    return (call->op->open || dtype_is_integer(out->type)) && inputs_are_judged(call);
}

static void say_open(struct uncertainty *found, const struct op_call *call, const struct bounded *out)
{
    found->kind = UNCERTAIN_OPEN;
    say(found, ": ONNX leaves this result unspecified");
    if (call->op->open)
        say(found, ": %s", call->op->open);
    else if (out && dtype_is_integer(out->type))
        say(found, ": it may be that an integer overflows");
}

static bool adds(const struct op *op)
{
    enum op_range_rule rule = op->range.rule;
    return rule == RANGE_ADD || rule == RANGE_REDUCE || rule == RANGE_DOT;
}

/* Whether a sum is small beside its terms: they cancelled each other. */
static bool is_small(const struct op_call *call, long double sum)
{
    long double largest = 0;
    for (size_t i = 0; i < call->n_inputs; i++)
        for (size_t k = 0; has_values(call->inputs[i]) && k < call->inputs[i]->count; k++) {
            long double magnitude = fabsl(call->inputs[i]->value[k]);
            largest = isfinite(magnitude) && magnitude > largest ? magnitude : largest;
        }
    return fabsl(sum) < largest;
}

/* Writes what happens at a node, from the most uncertain element of its outputs. */
static void describe(struct watch *watch, const struct op_call *call, size_t output, size_t element,
                     double growth)
{
    struct uncertainty *found = &watch->last;
    const struct bounded *out = &call->outputs[output];
    *found = (struct uncertainty){.factor = isfinite(growth) ? growth : 0};
    name_node(found, watch, call);
    if (is_open(out, element) && opens_by_itself(call, out)) {
        say_open(found, call, out);
    } else if (isinf(growth) || call->op->slope == SLOPE_NOWHERE) {
        found->kind = UNCERTAIN_JUMP;
        say_jump(found, watch, call, element);
    } else if (adds(call->op) && !is_small(call, out->value[element])) {
        found->kind = UNCERTAIN_ENLARGEMENT;
        say(found, " adds up so many numbers that rounding may take %d digits", (int)floor(log10(growth)));
    } else if (adds(call->op)) {
        found->kind = UNCERTAIN_CANCELLATION;
        say(found, " cancels %d digits: its terms nearly add up to 0", (int)floor(log10(growth)));
    } else {
        found->kind = UNCERTAIN_ENLARGEMENT;
        say(found, " makes relative errors %.2g times larger", growth);
    }
}

/* An uncertain element of a node's results. */
struct doubt {
    size_t output, element;
    double growth; /* 0: there is none */
};

/* Calls `visit` for each uncertain element. */
static void each_doubt(const struct op_call *call, void (*visit)(void *context, const struct doubt *doubt),
                       void *context)
{
    for (size_t o = 0; o < call->n_outputs; o++) {
        const struct bounded *out = &call->outputs[o];
        if (!has_values(out) || !out->hard)
            continue;
        double before = relative_of_inputs(call, out);
        for (size_t i = 0; i < out->count; i++) {
            struct doubt doubt = {.output = o, .element = i, .growth = growth_of(out, i, before)};
            if (doubt.growth > 0)
                visit(context, &doubt);
        }
    }
}

struct choice {
    const struct watch *watch;
    struct op_call *call;
    struct doubt chosen;
    bool at_place; /* the one chosen is at the place that is asked about */
};

static void choose(void *context, const struct doubt *doubt)
{
    struct choice *choice = context;
    const struct watch *watch = choice->watch;
    bool at_place =
        doubt->element == watch->element && choice->call->outputs[doubt->output].count == watch->count;
    if (choice->at_place || (!at_place && doubt->growth <= choice->chosen.growth))
        return;
    choice->chosen = *doubt;
    choice->at_place = at_place;
}

static void take_as_certain(void *context, const struct doubt *doubt)
{
    struct op_call *call = context;
    struct bounded *out = &call->outputs[doubt->output];
    long double value = out->value[doubt->element];
    bounded_set(out, doubt->element, isfinite(value) ? value : 0, 0, 0);
}

/* Describes the node by the most telling of its uncertain results, and takes them all as certain. */
static void make_certain(struct watch *watch, struct op_call *call)
{
    struct choice choice = {.watch = watch, .call = call};
    each_doubt(call, choose, &choice);
    if (!(choice.chosen.growth > 0))
        return;
    describe(watch, call, choice.chosen.output, choice.chosen.element, choice.chosen.growth);
    each_doubt(call, take_as_certain, call);
}

static void note_open(struct watch *watch, const struct op_call *call)
{
    const struct bounded *found = NULL;
    for (size_t o = 0; o < call->n_outputs && !found; o++)
        for (size_t i = 0; has_values(&call->outputs[o]) && i < call->outputs[o].count && !found; i++)
            found = is_open(&call->outputs[o], i) ? &call->outputs[o] : NULL;
    if (found && !opens_by_itself(call, found))
        found = NULL;
    if (watch->open.kind || (!found && !call->open))
        return;
    name_node(&watch->open, watch, call);
    say_open(&watch->open, call, found);
}

static int watch_call(void *context, struct op_call *call)
{
    struct watch *watch = context;
    watch->depth++;
    int result = call->op->eval(call);
    watch->depth--;
    if (watch->depth || result || call->shapes_only)
        return result;
    note_open(watch, call);
    watch->limits = watch->limits || type_limit_touched(call->outputs, call->n_outputs);
    if (watch->calls++ < watch->certain)
        make_certain(watch, call);
    return 0;
}

/* The output of an evaluation in which uncertain results of the first `certain` nodes are certain. */
static int evaluate(struct watch *watch, const struct test_case *test, size_t certain, size_t output,
                    struct bounded *value, struct error *err)
{
    struct evaluate_options options = {.hook = watch_call, .context = watch};
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t count = 0;
    bounded_init(value);
    watch->model = test_case_model(test, err);
    watch->calls = 0;
    watch->certain = certain;
    watch->last = (struct uncertainty){.node = SIZE_MAX};
    watch->open = (struct uncertainty){.node = SIZE_MAX};
    if (!watch->model || evaluator_new(&evaluator, watch->model, &options, err))
        return -1;
    int status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &results, &count, err);
    if (!status && output >= count)
        status = error_set(err, ERROR_USAGE, "the model has no output %zu", output);
    for (size_t i = 0; i < count; i++)
        if (status == 0 && i == output)
            *value = results[i];
        else
            bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return status;
}

static double relative_bound(const struct bounded *b, size_t i)
{
    double hard = bounded_hard(b, i), magnitude = fabs((double)b->value[i]);
    return isinf(hard) ? INFINITY : hard < magnitude ? hard / magnitude : hard > 0 ? 1 : 0;
}

static size_t most_uncertain(const struct bounded *b)
{
    size_t most = 0;
    for (size_t i = 1; i < b->count; i++)
        if (relative_bound(b, i) > relative_bound(b, most))
            most = i;
    return most;
}

/* One question to the search: how large is the bound of the element now? */
struct search_for {
    struct watch watch;
    const struct test_case *test;
    size_t output, element;
    double bound; /* as the reference computes it */
};

/* Whether the bound is at most half when the first `certain` nodes are taken as certain. */
static int matters(struct search_for *search, size_t certain, bool *yes, struct error *err)
{
    struct bounded value;
    if (evaluate(&search->watch, search->test, certain, search->output, &value, err))
        return -1;
    bool there = search->element < value.count;
    double bound = there ? bounded_hard(&value, search->element) : search->bound;
    *yes = isinf(search->bound) ? isfinite(bound) : bound <= search->bound / 2;
    bounded_release(&value);
    return 0;
}

/* The smallest number of nodes that must be certain; of these the last is the one that is looked for. */
static int bisect(struct search_for *search, size_t nodes, struct uncertainty *found, struct error *err)
{
    size_t low = 0, high = nodes; /* low does not suffice, high does */
    bool yes = false;
    if (matters(search, nodes, &yes, err))
        return -1;
    while (yes && high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool enough;
        if (matters(search, middle, &enough, err))
            return -1;
        if (enough)
            high = middle;
        else
            low = middle;
    }
    if (!yes) {
        snprintf(found->text, sizeof found->text,
                 nodes == 1
                     ? "the rounding of its one node explains it"
                     : "the rounding errors of its %zu nodes add up, and no node alone loses many digits",
                 nodes);
        return 0;
    }
    if (matters(search, high, &yes, err))
        return -1;
    *found = search->watch.last;
    return 0;
}

/* Whether numbers that their type cannot hold decide the answer. */
static bool find_limit(struct uncertainty *found, const struct test_case *test)
{
    struct type_limit limit;
    struct str text;
    if (type_limit_find(&limit, test, NULL) || !limit.kind)
        return false;
    *found = (struct uncertainty){.kind = UNCERTAIN_LIMIT, .node = limit.node, .limit = limit};
    str_init(&text);
    type_limit_text(&text, &limit, test_case_model(test, NULL));
    snprintf(found->text, sizeof found->text, "%s", text.data);
    str_release(&text);
    return true;
}

int uncertainty_find(struct uncertainty *uncertainty, const struct test_case *test, size_t output,
                     size_t element, struct error *err)
{
    struct search_for search = {.test = test, .output = output};
    struct bounded value;
    *uncertainty = (struct uncertainty){.node = SIZE_MAX};
    double start = clock_seconds();
    if (evaluate(&search.watch, test, 0, output, &value, err))
        return -1;
    search.element = element < value.count ? element : most_uncertain(&value);
    search.bound = value.count ? bounded_hard(&value, search.element) : 0;
    search.watch.element = search.element;
    search.watch.count = value.count;
    bounded_release(&value);
    if (!(search.bound > 0)) {
        snprintf(uncertainty->text, sizeof uncertainty->text, "the reference's result is exact");
        return 0;
    }
    if (clock_seconds() - start > slow_seconds) {
        snprintf(uncertainty->text, sizeof uncertainty->text,
                 "the model is too large to search for the node at which digits are lost");
        return 0;
    }
    if (search.watch.limits && find_limit(uncertainty, test))
        return 0;
    return bisect(&search, search.watch.calls, uncertainty, err);
}

int uncertainty_tie(struct uncertainty *uncertainty, const struct test_case *test, size_t output,
                    struct error *err)
{
    struct watch watch = {0};
    struct bounded value;
    size_t ends[2];
    *uncertainty = (struct uncertainty){.node = SIZE_MAX};
    if (evaluate(&watch, test, 0, output, &value, err))
        return -1;
    ends_of(&value, 0, 1, value.count, true, ends);
    struct uncertainty found = {.kind = UNCERTAIN_TIE, .node = SIZE_MAX};
    const char *name = watch.model->graph->output[output]->name;
    for (size_t i = 0; i < watch.model->graph->n_node; i++) {
        const Onnx__NodeProto *node = watch.model->graph->node[i];
        for (size_t k = 0; k < node->n_output; k++)
            if (strcmp(node->output[k], name) == 0) {
                found.node = i;
                snprintf(found.text, sizeof found.text, "%.60s (node %.80s)", op_title(node),
                         model_node_name(node));
            }
    }
    if (ends[1] != SIZE_MAX &&
        say_near(&found, "the two largest elements of its result", &value, ends[0], &value, ends[1]))
        *uncertainty = found;
    bounded_release(&value);
    return 0;
}

int uncertainty_open(struct uncertainty *uncertainty, const struct test_case *test, struct error *err)
{
    struct watch watch = {0};
    struct bounded value;
    *uncertainty = (struct uncertainty){.node = SIZE_MAX};
    if (evaluate(&watch, test, 0, 0, &value, err))
        return -1;
    *uncertainty = watch.open;
    bounded_release(&value);
    return 0;
}
