/*
 * A case buried in a random graph: its first input comes out of values of the graph, its results go on into
 * further nodes.
 *
 *     bench_bury CASE-FOLDER SEED NODES OUT-FOLDER
 *
 * The graph is drawn for the case's operator set from plain float32 operators. What feeds the case must keep
 * its values to the bit, for many bugs hang on them: the input is joined with a value of the graph, cut out
 * again and given its shape back, which no optimiser sees through. The results are negated, joined with
 * another value of the graph and added to its mean. Names of the case stay, with "bug_" before.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "model/tree.h"
#include "reduce/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char safe_ops[] =
    "Abs,Add,Concat,Cos,Div,Exp,MatMul,Max,Min,Mul,Neg,Relu,Reshape,Sigmoid,Sin,Softmax,Softplus,Sub,"
    "Tanh,Transpose,Unsqueeze,Squeeze,Where,Less,Identity";

struct bury {
    struct subject graph;
    struct record record;
    struct model *bug;
    const struct test_case *test;
    struct model *out;
    size_t n_inputs;
    struct value *inputs;
    int serial;
};

static const char *fresh_name(struct bury *bury)
{
    return arena_printf(&bury->out->arena, "a%d", bury->serial++);
}

static const char *add(struct bury *bury, const char *op, size_t n, const char *const *inputs)
{
    const char *out = fresh_name(bury);
    model_add_node(bury->out, op, out, n, inputs, 1, &out);
    return out;
}

static const char *add_ints(struct bury *bury, int rank, const int64_t *values, size_t count)
{
    struct tensor tensor;
    struct shape shape = shape_make(rank, (int64_t[]){(int64_t)count});
    const char *name = fresh_name(bury);
    if (tensor_from_bytes(&tensor, DTYPE_INT64, &shape, values, count * sizeof *values, NULL))
        abort();
    model_add_initializer(bury->out, name, &tensor);
    tensor_release(&tensor);
    return name;
}

static const char *add_reshape(struct bury *bury, const char *value, const int64_t *dims, size_t count)
{
    return add(bury, "Reshape", 2, (const char *[]){value, add_ints(bury, 1, dims, count)});
}

static const char *add_cast(struct bury *bury, const char *value, enum dtype from, enum dtype to)
{
    const char *out = fresh_name(bury);
    if (from == to)
        return value;
    Onnx__NodeProto *node = model_add_node(bury->out, "Cast", out, 1, &value, 1, &out);
    node_set_int(&bury->out->arena, node, "to", to);
    return out;
}

static const char *add_concat(struct bury *bury, const char *a, const char *b)
{
    const char *out = fresh_name(bury);
    Onnx__NodeProto *node = model_add_node(bury->out, "Concat", out, 2, (const char *[]){a, b}, 1, &out);
    node_set_int(&bury->out->arena, node, "axis", 0);
    return out;
}

static void add_input(struct bury *bury, const char *name, const struct tensor *tensor)
{
    model_add_input(bury->out, name, tensor->type, &tensor->shape);
    struct value *more = realloc(bury->inputs, (bury->n_inputs + 1) * sizeof *more);
    if (!more)
        memory_exhausted(sizeof *more);
    bury->inputs = more;
    struct tensor copy;
    if (tensor_copy(&copy, tensor, NULL))
        abort();
    value_init(&bury->inputs[bury->n_inputs]);
    value_set_name(&bury->inputs[bury->n_inputs], name);
    value_set_tensor(&bury->inputs[bury->n_inputs++], &copy);
}

/* A float value that a node before `end` makes, the last one; NULL when there is none. */
static const char *float_value(const struct bury *bury, size_t start, size_t end)
{
    const Onnx__GraphProto *graph = bury->graph.model->graph;
    for (size_t i = end; i-- > start;) {
        const char *name = graph->node[i]->output[0];
        const struct tensor *tensor = record_find(&bury->record, name);
        if (tensor && tensor->type == DTYPE_FLOAT && tensor->count)
            return name;
    }
    return NULL;
}

static void copy_nodes(struct bury *bury, const Onnx__GraphProto *graph, size_t start, size_t end)
{
    Onnx__GraphProto *to = bury->out->graph;
    for (size_t i = start; i < end; i++) {
        Onnx__NodeProto *copy =
            (Onnx__NodeProto *)tree_copy(&graph->node[i]->base, &bury->out->arena, NULL, NULL);
        Onnx__NodeProto **nodes = arena_array(&bury->out->arena, to->n_node + 1, sizeof *nodes);
        if (to->n_node)
            memcpy(nodes, to->node, to->n_node * sizeof *nodes);
        nodes[to->n_node++] = copy;
        to->node = nodes;
    }
}

static int prefix_node(void *context, Onnx__NodeProto *node)
{
    struct arena *arena = context;
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i])
            node->input[i] = arena_printf(arena, "bug_%s", node->input[i]);
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            node->output[i] = arena_printf(arena, "bug_%s", node->output[i]);
    if (*node->name)
        node->name = arena_printf(arena, "bug_%s", node->name);
    return 0;
}

static void prefix(struct model *bug)
{
    struct arena *arena = &bug->arena;
    Onnx__GraphProto *graph = bug->graph;
    model_each_node(graph, prefix_node, arena);
    for (size_t i = 0; i < graph->n_initializer; i++)
        graph->initializer[i]->name = arena_printf(arena, "bug_%s", graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_input; i++)
        graph->input[i]->name = arena_printf(arena, "bug_%s", graph->input[i]->name);
    for (size_t i = 0; i < graph->n_output; i++)
        graph->output[i]->name = arena_printf(arena, "bug_%s", graph->output[i]->name);
}

/* The case's inputs: the first by way of the graph's value, the others as they are. */
static void feed(struct bury *bury, const char *value)
{
    static const int64_t flat[1] = {-1}, zero[1] = {0};
    for (size_t i = 0; i < bury->test->n_inputs; i++) {
        const struct tensor *tensor = &bury->test->inputs[i].tensors[0];
        const char *name = bury->bug->graph->input[i]->name;
        if (i || !value || tensor->type == DTYPE_STRING || tensor->type == DTYPE_BOOL ||
            !tensor->shape.rank) {
            add_input(bury, name, tensor);
            continue;
        }
        const char *raw = arena_printf(&bury->out->arena, "raw_%s", name);
        add_input(bury, raw, tensor);
        int64_t count[1] = {(int64_t)tensor->count};
        const char *other = add_cast(bury, add_reshape(bury, value, flat, 1), DTYPE_FLOAT, tensor->type);
        /* What is flat already needs no Reshape, which some bugs would not survive beside them. */
        bool is_flat = tensor->shape.rank == 1;
        const char *joined = add_concat(bury, is_flat ? raw : add_reshape(bury, raw, flat, 1), other);
        const char *start = add_ints(bury, 1, zero, 1), *end = add_ints(bury, 1, count, 1);
        const char *slice[3] = {joined, start, end};
        if (is_flat) {
            model_add_node(bury->out, "Slice", name, 3, slice, 1, &name);
            continue;
        }
        const char *cut = add(bury, "Slice", 3, slice);
        const char *in[2] = {cut, add_ints(bury, 1, tensor->shape.dims, (size_t)tensor->shape.rank)};
        model_add_node(bury->out, "Reshape", name, 2, in, 1, &name);
    }
}

static void consume(struct bury *bury, const char *value)
{
    static const int64_t flat[1] = {-1};
    for (size_t i = 0; i < bury->bug->graph->n_output; i++) {
        const Onnx__ValueInfoProto *output = bury->bug->graph->output[i];
        int type =
            output->type && output->type->tensor_type ? output->type->tensor_type->elem_type : DTYPE_FLOAT;
        if (type == DTYPE_STRING || !value) {
            model_add_output(bury->out, output->name, (enum dtype)type, NULL);
            continue;
        }
        const char *plain = add_cast(bury, output->name, (enum dtype)type, DTYPE_FLOAT);
        const char *negated = add_reshape(bury, add(bury, "Neg", 1, &plain), flat, 1);
        const char *all = add_concat(bury, negated, add_reshape(bury, value, flat, 1));
        const char *mean = add(bury, "Mean", 2, (const char *[]){value, value});
        const char *wide = add_concat(bury, all, add_reshape(bury, mean, flat, 1));
        model_add_output(bury->out, wide, DTYPE_FLOAT, NULL);
    }
}

static void assemble(struct bury *bury)
{
    const Onnx__GraphProto *graph = bury->graph.model->graph;
    size_t half = graph->n_node / 2;
    const char *before = float_value(bury, 0, half), *after = float_value(bury, half, graph->n_node);
    for (size_t i = 0; i < bury->graph.n_inputs; i++)
        add_input(bury, bury->graph.inputs[i].name, &bury->graph.inputs[i].tensors[0]);
    for (size_t i = 0; i < graph->n_initializer; i++)
        graph_add_initializer(&bury->out->arena, bury->out->graph, graph->initializer[i]);
    for (size_t i = 0; i < bury->bug->graph->n_initializer; i++)
        graph_add_initializer(&bury->out->arena, bury->out->graph, bury->bug->graph->initializer[i]);
    copy_nodes(bury, graph, 0, half);
    feed(bury, before);
    copy_nodes(bury, bury->bug->graph, 0, bury->bug->graph->n_node);
    copy_nodes(bury, graph, half, graph->n_node);
    consume(bury, after ? after : before);
    for (size_t i = 0; i < graph->n_output; i++)
        graph_add_output(&bury->out->arena, bury->out->graph, graph->output[i]);
    /* What the case says of its results stays said: some optimisers go by it. */
    Onnx__GraphProto *to = bury->out->graph;
    to->value_info = arena_array(&bury->out->arena, bury->bug->graph->n_output, sizeof *to->value_info);
    for (size_t i = 0; i < bury->bug->graph->n_output; i++)
        to->value_info[to->n_value_info++] = bury->bug->graph->output[i];
    bury->out->proto->opset_import = bury->bug->proto->opset_import;
    bury->out->proto->n_opset_import = bury->bug->proto->n_opset_import;
    bury->out->proto->ir_version = bury->bug->proto->ir_version;
}

/* Takes model and inputs over. */
static int write_case(struct bury *bury, const char *folder, struct error *err)
{
    struct test_case *test = test_case_new(bury->out);
    test->inputs = bury->inputs;
    test->n_inputs = bury->n_inputs;
    int status = suite_write_path(folder, test, err);
    if (!status)
        printf("%zu nodes, %zu of them the case's\n", bury->out->graph->n_node, bury->bug->graph->n_node);
    test_case_free(test);
    return status;
}

static int bury_case(const char *folder, uint64_t seed, int nodes, const char *out, struct error *err)
{
    struct suite suite = {0};
    struct suite_loaded loaded = {0};
    struct bury bury = {0};
    struct test_case *random = NULL;
    if (suite_open(&suite, &folder, 1, NULL, err) || suite_load(&suite.cases[0], &loaded, err))
        return -1;
    bury.test = loaded.tests[0];
    if (model_clone(&bury.bug, test_case_model(bury.test, err), err))
        return -1;
    prefix(bury.bug);
    struct generate_options options = {.ops = safe_ops,
                                       .opset = model_opset(bury.bug),
                                       .types = DTYPE_BIT(DTYPE_FLOAT),
                                       .min_nodes = nodes,
                                       .max_nodes = nodes};
    if (generate_graph(seed, 0, &options, &random, err) || subject_from_case(&bury.graph, random, err) ||
        record_reference(&bury.record, &bury.graph, err))
        return -1;
    bury.out = model_new(model_opset(bury.bug));
    assemble(&bury);
    int status = write_case(&bury, out, err);
    record_release(&bury.record);
    subject_release(&bury.graph);
    test_case_free(random);
    model_free(bury.bug);
    suite_unload(&loaded);
    suite_release(&suite);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: bench_bury CASE-FOLDER SEED NODES OUT-FOLDER\n");
        return 2;
    }
    if (bury_case(argv[1], strtoull(argv[2], NULL, 10), atoi(argv[3]), argv[4], &err)) {
        fprintf(stderr, "bench_bury: %s\n", err.message);
        return 2;
    }
    return 0;
}
