#include "generate/planner.h"

#include "base/memory.h"

static const char *new_name(struct planner *g, const char *letter)
{
    return arena_numbered(&g->m.model->arena, letter, "", g->m.names++);
}

/* Keeps the numbers of lists of integers and of scalars, which may determine shapes; other numbers are not
 * needed. */
static void know(struct bounded *value, const struct tensor *data)
{
    bool small = data->count == 1 || (!dtype_is_float(data->type) && data->count <= 64);
    if (small ? bounded_from_tensor(value, data, NULL)
              : bounded_alloc(value, data->type, &data->shape, true, NULL))
        memory_exhausted(0);
}

size_t planner_tensor(struct planner *g, const struct tensor *data, bool constant)
{
    struct maker *m = &g->m;
    const char *name = new_name(g, constant ? "w" : "x");
    struct maker_value *value = maker_add(&g->m, name);
    value->constant = constant;
    know(&value->value, data);
    range_of_data(value, data);
    if (constant) {
        model_add_initializer(m->model, name, data);
        return m->n_values - 1;
    }
    struct tensor copy;
    if (tensor_copy(&copy, data, NULL))
        memory_exhausted(data->size);
    model_add_input(m->model, name, data->type, &data->shape);
    m->inputs = memory_grow(m->inputs, &m->inputs_capacity, m->n_inputs + 1, sizeof *m->inputs);
    struct value *input = &m->inputs[m->n_inputs++];
    value_init(input);
    value_set_name(input, name);
    value_set_tensor(input, &copy);
    return m->n_values - 1;
}

static const char *add_constant(struct planner *g, struct tensor *data)
{
    size_t number = planner_tensor(g, data, true);
    tensor_release(data);
    return planner_value(g, number)->name;
}

const char *planner_ints(struct planner *g, const int64_t *values, size_t count)
{
    struct tensor data;
    struct shape shape = {1, {(int64_t)count}};
    if (tensor_from_bytes(&data, DTYPE_INT64, &shape, values, count * sizeof *values, NULL))
        memory_exhausted(0);
    return add_constant(g, &data);
}

const char *planner_scalar(struct planner *g, enum dtype type, double value)
{
    struct tensor data;
    struct shape shape = {.rank = 0};
    if (tensor_alloc(&data, type, &shape, 0, NULL))
        memory_exhausted(0);
    tensor_set(&data, 0, value);
    return add_constant(g, &data);
}

static void count_uses(struct planner *g, size_t count, const char *const *names)
{
    for (size_t i = 0; i < count; i++) {
        struct maker_value *used = *names[i] ? maker_find(&g->m, names[i]) : NULL;
        if (used)
            used->uses++;
    }
}

Onnx__NodeProto *planner_node(struct planner *g, const char *op_type, size_t inputs, const char *const *input,
                              enum dtype type, const struct shape *shape, double low, double high,
                              size_t *out)
{
    const char *name = new_name(g, "a");
    count_uses(g, inputs, input);
    Onnx__NodeProto *node = model_add_node(g->m.model, op_type, NULL, inputs, input, 1, &name);
    *out = g->m.n_values;
    struct maker_value *value = maker_add(&g->m, name);
    value->made = true;
    value->low = low;
    value->high = high;
    if (bounded_alloc(&value->value, type, shape, true, NULL))
        memory_exhausted(0);
    return node;
}

void planner_keep(struct planner *g, const Onnx__NodeProto *node, const struct op *op,
                  const char *const *inputs, struct bounded *outputs, const size_t *places, size_t *numbers)
{
    const char *names[PLAN_OUTPUTS];
    for (size_t i = 0; i < node->n_output; i++)
        names[i] = places[i] == (size_t)-1 ? "" : new_name(g, "v");
    count_uses(g, node->n_input, inputs);
    Onnx__NodeProto *made =
        model_add_node(g->m.model, node->op_type, NULL, node->n_input, inputs, node->n_output, names);
    made->n_attribute = node->n_attribute;
    made->attribute = node->attribute;
    if (op && *op->domain)
        model_set_domain(g->m.model, made, op->domain);
    for (size_t i = 0; i < node->n_output; i++) {
        if (places[i] == (size_t)-1)
            continue;
        numbers[places[i]] = g->m.n_values;
        struct maker_value *value = maker_add(&g->m, names[i]);
        value->made = true;
        value->value = outputs[i];
        bounded_init(&outputs[i]);
        range_of_output(g, op, made, value);
    }
}
