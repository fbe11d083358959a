#include "generate/case_maker.h"

#include "base/hash.h"
#include "base/memory.h"
#include "case/case_gradient.h"
#include "eval/evaluate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void maker_init(struct maker *m, int opset, struct rng rng)
{
    *m = (struct maker){.model = model_new(opset), .opset = opset, .rng = rng};
}

void maker_release(struct maker *m)
{
    for (size_t i = 0; i < m->n_values; i++)
        bounded_release(&m->values[i].value);
    free(m->values);
    free(m->by_number);
    values_free(m->inputs, m->n_inputs);
    model_free(m->model);
    *m = (struct maker){0};
}

/* The number in a name; SIZE_MAX for other names, such as those of values of bodies. */
static size_t number_in(const char *name)
{
    size_t number = 0;
    if (!*name || !strchr("avwx", *name))
        return SIZE_MAX;
    for (const char *at = name + 1; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (size_t)(*at - '0');
    return number;
}

struct maker_value *maker_add(struct maker *m, const char *name)
{
    size_t number = number_in(name), room = m->numbers;
    if (number != SIZE_MAX) {
        m->by_number = memory_grow(m->by_number, &m->numbers, number + 1, sizeof *m->by_number);
        for (; room < m->numbers; room++)
            m->by_number[room] = SIZE_MAX;
        m->by_number[number] = m->n_values;
    }
    m->values = memory_grow(m->values, &m->capacity, m->n_values + 1, sizeof *m->values);
    struct maker_value *value = &m->values[m->n_values++];
    *value = (struct maker_value){.name = name};
    return value;
}

struct maker_value *maker_find(const struct maker *m, const char *name)
{
    size_t number = number_in(name), at = m->n_values;
    if (number == SIZE_MAX)
        while (at-- > 0 && strcmp(m->values[at].name, name) != 0)
            ;
    else if (number < m->numbers)
        at = m->by_number[number];
    /* A value that was rolled back may still be found by its number. */
    return at < m->n_values && strcmp(m->values[at].name, name) == 0 ? &m->values[at] : NULL;
}

/* The longest list of integers whose values are kept: shapes may depend on lists and scalars, not on other
 * data. */
enum { SMALL_LIST = 64 };

static int know(struct bounded *value, const struct tensor *data, enum maker_knowledge knowledge,
                struct error *err)
{
    bool small = data->count == 1 || (!dtype_is_float(data->type) && data->count <= SMALL_LIST);
    if (knowledge == KNOW_ALL || small)
        return bounded_from_tensor(value, data, err);
    return bounded_alloc(value, data->type, &data->shape, true, err);
}

/* Views of the values that a node uses; `own` holds the new ones. */
struct uses {
    size_t count;
    const struct bounded **views;
    struct bounded *own;
};

static int uses_init(struct uses *uses, const struct maker *m, const struct drawn *drawn, size_t count,
                     enum maker_knowledge knowledge, struct error *err)
{
    uses->count = count;
    uses->views = memory_zeroed(count, sizeof(struct bounded *));
    uses->own = memory_zeroed(count, sizeof *uses->own);
    for (size_t i = 0; i < count; i++) {
        if (drawn[i].source == DRAWN_OMITTED)
            continue;
        if (drawn[i].source == DRAWN_EXISTING) {
            uses->views[i] = &maker_find(m, drawn[i].existing)->value;
            continue;
        }
        if (know(&uses->own[i], &drawn[i].data, knowledge, err))
            return -1;
        uses->views[i] = &uses->own[i];
    }
    return 0;
}

static void uses_release(struct uses *uses)
{
    for (size_t i = 0; i < uses->count; i++)
        bounded_release(&uses->own[i]);
    free(uses->own);
    free(uses->views);
}

/* Names the inputs x, initialisers w and results v, with consecutive numbers. */
static void name_node(struct maker *m, struct draw *d)
{
    struct arena *arena = &m->model->arena;
    size_t number = m->names;
    d->node->n_input = d->n_inputs;
    d->node->input = arena_array(arena, d->n_inputs + 1, sizeof *d->node->input);
    for (size_t i = 0; i < d->n_inputs; i++) {
        const struct drawn *input = &d->inputs[i];
        if (input->source == DRAWN_NEW)
            d->node->input[i] = arena_numbered(arena, input->constant ? "w" : "x", "", number++);
        else
            d->node->input[i] = arena_strdup(arena, input->source == DRAWN_EXISTING ? input->existing : "");
    }
    d->node->n_output = d->n_outputs;
    d->node->output = arena_array(arena, d->n_outputs + 1, sizeof *d->node->output);
    for (size_t i = 0; i < d->n_outputs; i++)
        d->node->output[i] = arena_numbered(arena, "v", "", number++);
}

int maker_try(struct maker *m, struct draw *d, enum maker_knowledge knowledge, struct bounded *outputs,
              struct error *err)
{
    struct uses inputs = {0}, captured = {0};
    struct captured *names = memory_zeroed(d->n_captured + 1, sizeof *names);
    name_node(m, d);
    int result = uses_init(&inputs, m, d->inputs, d->n_inputs, knowledge, err);
    if (!result)
        result = uses_init(&captured, m, d->captured, d->n_captured, knowledge, err);
    for (size_t i = 0; !result && i < d->n_captured; i++)
        names[i] = (struct captured){d->captured[i].existing, captured.views[i]};
    if (!result)
        result = infer_node_capturing(m->opset, d->node, inputs.views, inputs.count, names, d->n_captured,
                                      outputs, d->n_outputs, err);
    uses_release(&inputs);
    uses_release(&captured);
    free(names);
    return result;
}

/* A new tensor becomes an initialiser or a graph input; its payload goes with it. */
static void add_new(struct maker *m, struct drawn *drawn, const char *name)
{
    struct maker_value *value = maker_add(m, name);
    value->constant = drawn->constant;
    value->uses = 1;
    if (know(&value->value, &drawn->data, m->sparing ? KNOW_SMALL : KNOW_ALL, NULL))
        memory_exhausted(0);
    if (drawn->constant) {
        model_add_initializer(m->model, name, &drawn->data);
        return;
    }
    model_add_input(m->model, name, drawn->type, &drawn->shape);
    m->inputs = memory_grow(m->inputs, &m->inputs_capacity, m->n_inputs + 1, sizeof *m->inputs);
    struct value *input = &m->inputs[m->n_inputs++];
    value_init(input);
    value_set_name(input, name);
    value_set_tensor(input, &drawn->data);
}

static void add_used(struct maker *m, struct drawn *drawn, const char *name)
{
    if (drawn->source == DRAWN_NEW)
        add_new(m, drawn, name);
    else if (drawn->source == DRAWN_EXISTING)
        maker_find(m, name)->uses++;
}

void maker_keep(struct maker *m, struct draw *d, struct bounded *outputs)
{
    Onnx__NodeProto *drawn = d->node;
    for (size_t i = 0; i < d->n_inputs; i++)
        add_used(m, &d->inputs[i], drawn->input[i]);
    for (size_t i = 0; i < d->n_captured; i++)
        add_used(m, &d->captured[i], d->captured[i].existing);
    Onnx__NodeProto *node =
        model_add_node(m->model, drawn->op_type, NULL, drawn->n_input, (const char *const *)drawn->input,
                       drawn->n_output, (const char *const *)drawn->output);
    node->n_attribute = drawn->n_attribute;
    node->attribute = drawn->attribute;
    if (*d->op->domain)
        model_set_domain(m->model, node, d->op->domain);
    for (size_t i = 0; i < d->n_outputs; i++) {
        struct maker_value *value = maker_add(m, drawn->output[i]);
        value->made = true;
        value->value = outputs[i];
        evaluate_pass_on(&value->value);
        bounded_init(&outputs[i]);
    }
    m->names += d->n_inputs + d->n_outputs;
}

static bool find_shape(const void *maker, const char *name, enum dtype *type, struct shape *shape)
{
    const struct maker_value *value = maker_find(maker, name);
    if (!value)
        return false;
    *type = value->value.type;
    *shape = value->value.shape;
    return true;
}

struct maker_mark maker_mark(const struct maker *m)
{
    const Onnx__GraphProto *graph = m->model->graph;
    return (struct maker_mark){m->n_values,   m->n_inputs,    m->names,
                               graph->n_node, graph->n_input, graph->n_initializer};
}

void maker_rollback(struct maker *m, const struct maker_mark *mark)
{
    Onnx__GraphProto *graph = m->model->graph;
    for (size_t i = mark->nodes; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            struct maker_value *used = maker_find(m, graph->node[i]->input[k]);
            if (used)
                used->uses--;
        }
    while (m->n_values > mark->values)
        bounded_release(&m->values[--m->n_values].value);
    while (m->n_inputs > mark->inputs)
        value_release(&m->inputs[--m->n_inputs]);
    m->names = mark->names;
    graph->n_node = mark->nodes;
    graph->n_input = mark->graph_inputs;
    graph->n_initializer = mark->initializers;
}

static bool is_last(const struct maker *m, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const struct maker_value *made = maker_find(m, node->output[i]);
        if (made && made->uses)
            return false;
    }
    return true;
}

/* A value that one node alone uses, the last one. */
static void show_hidden(struct maker *m)
{
    const Onnx__GraphProto *graph = m->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        const struct op *op = op_of(node);
        for (size_t k = 0; op && op_hides(op) && is_last(m, node) && k < node->n_input; k++) {
            const struct maker_value *value = *node->input[k] ? maker_find(m, node->input[k]) : NULL;
            if (value && value->made && value->uses == 1)
                model_add_output(m->model, value->name, value->value.type, &value->value.shape);
        }
    }
}

struct test_case *maker_finish(struct maker *m, bool shapeless, bool show)
{
    for (size_t i = 0; i < m->n_values; i++) {
        const struct maker_value *value = &m->values[i];
        if (value->made && !value->uses)
            model_add_output(m->model, value->name, value->value.type,
                             shapeless ? NULL : &value->value.shape);
    }
    if (show)
        show_hidden(m);
    if (m->record) {
        struct coverage_shapes shapes = {find_shape, m};
        coverage_record_model(m->record, m->model, &shapes);
    }
    struct test_case *test = test_case_new(m->model);
    test->first = op_of(m->model->graph->node[0]);
    test->inputs = m->inputs;
    test->n_inputs = m->n_inputs;
    m->model = NULL;
    m->inputs = NULL;
    m->n_inputs = 0;
    return test;
}

int maker_ask(struct test_case **test, uint64_t seed, uint64_t index, const struct generate_options *options,
              struct error *err)
{
    if (!options->gradients || !test_case_ask_gradient(*test, hash_combine(seed, index), err))
        return 0;
    test_case_free(*test);
    *test = NULL;
    return -1;
}

/* The newest opset that the options allow for an operator that exists from `since` on. */
static int newest_opset(const struct generate_options *options, int since)
{
    if (options->opset || options->max_opset)
        return options->opset ? options->opset : options->max_opset;
    bool newer = since > OPSET_LAST || (options->types & (dtype_set)DTYPES_NARROW);
    return newer ? OPSET_NEWEST : OPSET_LAST;
}

bool options_allow(const struct generate_options *options, const struct op *op)
{
    int since = op_drawn_since(op), newest = newest_opset(options, OPSET_FIRST);
    if (!op->sample || (options->max_opset && since > options->max_opset))
        return false;
    if (options->gradients && !op->gradient && (op->slope != SLOPE_NOWHERE || op->work == WORK_BODIES))
        return false;
    if (options->ops)
        return op_list_has(options->ops, op) && since <= newest_opset(options, since);
    return !*op->owner && since <= newest && (!(op->flags & OP_ON_REQUEST) || newest > OPSET_LAST);
}

dtype_set options_types(const struct generate_options *options, const struct op *op, int opset)
{
    dtype_set narrow = op->flags & OP_FIRST_NOT_NARROW ? 0 : op_narrow_at(op, opset) & options->types;
    return op_types_at(op, opset) | narrow;
}

int options_check(const struct generate_options *options, struct error *err)
{
    if (op_check_names(options->ops, err))
        return -1;
    if (options->opset && (options->opset < OPSET_FIRST || options->opset > OPSET_NEWEST))
        return error_set(err, ERROR_USAGE, "cases are drawn for opsets %d to %d, not %d", OPSET_FIRST,
                         OPSET_NEWEST, options->opset);
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (options_allow(options, op))
            return 0;
    return error_set(err, ERROR_NOT_FOUND, "opset %d has none of the operators %s", options->opset,
                     options->ops);
}

int draw_opset(struct rng *rng, const struct generate_options *options, int since)
{
    int low = since > OPSET_FIRST ? since : OPSET_FIRST, high = newest_opset(options, since);
    return options->opset ? options->opset : (int)rng_range(rng, low, high);
}

enum dtype draw_primary_type(struct rng *rng, dtype_set set)
{
    if (dtype_in(DTYPE_FLOAT, set) && rng_chance(rng, 0.5))
        return DTYPE_FLOAT;
    uint64_t members = (uint64_t)__builtin_popcount(set), skip = members ? rng_below(rng, members) : 0;
    for (int type = 1; type < DTYPE_COUNT; type++)
        if (dtype_in((enum dtype)type, set) && skip-- == 0)
            return (enum dtype)type;
    return DTYPE_NONE;
}
