#include "corpus.h"
#include "model/build.h"
#include "model/edit.h"
#include "model/index.h"
#include "model/onnx.h"
#include "model/tree.h"
#include "model/retype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

static const struct shape three = {1, {3}};

static struct tensor floats(float value)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &three, 0, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        tensor_set(&tensor, i, (long double)value);
    return tensor;
}

static void describe(struct model *model, const char *name)
{
    Onnx__GraphProto *graph = model->graph;
    Onnx__ValueInfoProto **infos =
        arena_array(&model->arena, graph->n_value_info + 1, sizeof *graph->value_info);
    for (size_t i = 0; i < graph->n_value_info; i++)
        infos[i] = graph->value_info[i];
    infos[graph->n_value_info++] =
        value_info_make(&model->arena, name, type_make(&model->arena, DTYPE_FLOAT, &three));
    graph->value_info = infos;
}

/* x, w -> a = Add(x, w); b = Relu(a); c = Mul(a, b); y = Neg(c), in an order that is not one of computing. */
static struct model *diamond(void)
{
    struct model *model = model_new(13);
    struct tensor w = floats(1);
    model_add_input(model, "x", DTYPE_FLOAT, &three);
    model_add_initializer(model, "w", &w);
    model_add_node(model, "Neg", "neg", 1, NAMES("c"), 1, NAMES("y"));
    model_add_node(model, "Add", "add", 2, NAMES("x", "w"), 1, NAMES("a"));
    model_add_node(model, "Mul", "mul", 3, NAMES("a", "b", ""), 1, NAMES("c"));
    model_add_node(model, "Relu", "relu", 1, NAMES("a"), 1, NAMES("b"));
    model_add_output(model, "y", DTYPE_FLOAT, &three);
    describe(model, "a");
    describe(model, "c");
    tensor_release(&w);
    return model;
}

static void nodes_are_put_in_order(void **state)
{
    (void)state;
    static const char *const order[] = {"add", "relu", "mul", "neg"};
    struct model *model = diamond();
    assert_int_equal(model_sort_nodes(model, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(model->graph->node[i]->name, order[i]);
    model_free(model);
}

static void the_index_knows_producers_consumers_and_order(void **state)
{
    (void)state;
    struct model *model = diamond();
    struct model_index index;
    struct error err = {0};
    assert_int_equal(model_index_init(&index, model, &err), 0);
    const struct index_value *a = model_index_find(&index, "a"), *w = model_index_find(&index, "w");
    assert_int_equal(a->source, SOURCE_NODE);
    assert_int_equal(a->number, 1);
    assert_int_equal(a->consumers, 2);
    assert_int_equal(a->consumer[0], 2);
    assert_int_equal(a->consumer[1], 3);
    assert_int_equal(w->source, SOURCE_INITIALIZER);
    assert_int_equal(model_index_find(&index, "x")->source, SOURCE_INPUT);
    assert_true(model_index_find(&index, "y")->is_output);
    assert_null(model_index_find(&index, "z"));
    assert_int_equal(index.n_uses[2], 2);
    static const size_t order[] = {1, 3, 2, 0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(index.order[i], order[i]);
        assert_int_equal(index.position[order[i]], i);
    }
    model_index_release(&index);
    model_free(model);
}

static void refuse(struct model *model, const char *why)
{
    struct model_index index;
    struct error err = {0};
    assert_int_equal(model_index_init(&index, model, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
    model_free(model);
}

static void bad_graphs_are_not_indexed(void **state)
{
    (void)state;
    struct model *model = diamond();
    model_add_node(model, "Abs", "again", 1, NAMES("x"), 1, NAMES("a"));
    refuse(model, "'a' is defined twice, the second time by node 4 (Abs 'again')");
    model = diamond();
    model_add_node(model, "Abs", "lost", 1, NAMES("nowhere"), 1, NAMES("q"));
    refuse(model, "node 4 (Abs 'lost') uses 'nowhere', which no node produces");
    model = diamond();
    model_add_node(model, "Add", "p", 2, NAMES("q", "x"), 1, NAMES("p"));
    model_add_node(model, "Abs", "q", 1, NAMES("p"), 1, NAMES("q"));
    refuse(model, "the graph has a cycle that node 4");
    model = diamond();
    model_add_output(model, "nothing", DTYPE_FLOAT, NULL);
    refuse(model, "output 'nothing'");
    model = diamond();
    model_add_input(model, "x", DTYPE_FLOAT, NULL);
    refuse(model, "'x' is defined twice");
}

/* y = If(cond) { a + x } else { a - inner } where the else branch nests another If that captures b. */
static struct model *conditional(void)
{
    struct model *model = model_new(13);
    struct arena *arena = &model->arena;
    struct shape scalar = {0, {0}};
    model_add_input(model, "cond", DTYPE_BOOL, &scalar);
    model_add_input(model, "x", DTYPE_FLOAT, &three);
    model_add_node(model, "Abs", "abs", 1, NAMES("x"), 1, NAMES("a"));
    model_add_node(model, "Neg", "neg", 1, NAMES("x"), 1, NAMES("b"));
    Onnx__NodeProto *outer = model_add_node(model, "If", "outer", 1, NAMES("cond"), 1, NAMES("y"));
    Onnx__TypeProto *type = type_make(arena, DTYPE_FLOAT, &three);
    Onnx__GraphProto *yes = graph_new(arena, "yes"), *no = graph_new(arena, "no"),
                     *yes2 = graph_new(arena, "yes2"), *no2 = graph_new(arena, "no2");
    graph_add_node(arena, yes, "Add", "add", 2, NAMES("a", "x"), 1, NAMES("then_out"));
    graph_add_output(arena, yes, value_info_make(arena, "then_out", type));
    graph_add_node(arena, yes2, "Neg", "n", 1, NAMES("b"), 1, NAMES("t2"));
    graph_add_output(arena, yes2, value_info_make(arena, "t2", type));
    graph_add_node(arena, no2, "Neg", "n", 1, NAMES("local"), 1, NAMES("e2"));
    graph_add_output(arena, no2, value_info_make(arena, "e2", type));
    graph_add_node(arena, no, "Abs", "l", 1, NAMES("a"), 1, NAMES("local"));
    Onnx__NodeProto *inner = graph_add_node(arena, no, "If", "inner", 1, NAMES("cond"), 1, NAMES("else_out"));
    node_set_graph(arena, inner, "then_branch", yes2);
    node_set_graph(arena, inner, "else_branch", no2);
    graph_add_output(arena, no, value_info_make(arena, "else_out", type));
    node_set_graph(arena, outer, "then_branch", yes);
    node_set_graph(arena, outer, "else_branch", no);
    model_add_output(model, "y", DTYPE_FLOAT, &three);
    describe(model, "a");
    describe(model, "b");
    return model;
}

static int count_node(void *context, Onnx__NodeProto *node)
{
    int *count = context;
    (void)node;
    ++*count;
    return 0;
}

static void expect_valid(const struct model *model)
{
    uint8_t *data;
    size_t size;
    struct error err = {0};
    assert_int_equal(model_pack(model, &data, &size, &err), 0);
    if (onnx_check(data, size, &err))
        fail_msg("%s", err.message);
    free(data);
}

static void bodies_capture_outer_values(void **state)
{
    (void)state;
    struct model *model = conditional(), *part;
    struct model_index index;
    struct error err = {0};
    expect_valid(model);
    if (model_index_init(&index, model, &err))
        fail_msg("%s", err.message);
    assert_int_equal(index.n_uses[2], 4);
    assert_int_equal(model_index_find(&index, "b")->consumers, 1);
    assert_int_equal(model_index_find(&index, "b")->consumer[0], 2);
    assert_null(model_index_find(&index, "local"));
    int count = 0;
    assert_int_equal(model_each_node(model->graph, count_node, &count), 0);
    assert_int_equal(count, 3 + 3 + 2); /* of the graph, of its bodies and of theirs */
    assert_int_equal(model_cut(&part, &index, (size_t[]){2}, 1, NULL, &err), 0);
    assert_int_equal(part->graph->n_input, 4);
    expect_valid(part);
    model_free(part);
    assert_int_equal(model_cut(&part, &index, (size_t[]){1, 2}, 2, NULL, &err), 0);
    assert_int_equal(part->graph->n_input, 3);
    expect_valid(part);
    model_free(part);
    model_index_release(&index);
    model_free(model);
}

static void values_are_exposed_once(void **state)
{
    (void)state;
    struct model *model = diamond();
    struct error err = {0};
    assert_int_equal(model_expose(model, NAMES("a", "y", "b", "a"), 4, &err), 0);
    assert_int_equal(model->graph->n_output, 3);
    assert_string_equal(model->graph->output[0]->name, "y");
    assert_string_equal(model->graph->output[1]->name, "a");
    assert_int_equal(model->graph->output[1]->type->tensor_type->elem_type, DTYPE_FLOAT);
    assert_string_equal(model->graph->output[2]->name, "b");
    assert_null(model->graph->output[2]->type);
    assert_int_equal(model_expose(model, NAMES("nobody"), 1, &err), -1);
    assert_int_equal(model->graph->n_output, 3);
    assert_int_equal(model_set_outputs(model, NAMES("c", "y"), 2, &err), 0);
    assert_int_equal(model->graph->n_output, 2);
    assert_string_equal(model->graph->output[0]->name, "c");
    assert_int_equal(model_set_outputs(model, NAMES("c", "c"), 2, &err), -1);
    model_free(model);
}

static void parts_have_the_right_borders(void **state)
{
    (void)state;
    struct model *model = diamond(), *part;
    struct model_index index;
    struct error err = {0};
    assert_int_equal(model_index_init(&index, model, &err), 0);
    assert_int_equal(model_cut(&part, &index, (size_t[]){3, 2, 2}, 3, NULL, &err), 0);
    assert_int_equal(part->graph->n_node, 2);
    assert_string_equal(part->graph->node[0]->name, "relu");
    assert_int_equal(part->graph->n_input, 1);
    assert_string_equal(part->graph->input[0]->name, "a");
    assert_int_equal(part->graph->n_output, 1);
    assert_string_equal(part->graph->output[0]->name, "c");
    model_free(part);
    assert_int_equal(model_cut(&part, &index, (size_t[]){1}, 1, NULL, &err), 0);
    assert_int_equal(part->graph->n_input, 1);
    assert_int_equal(part->graph->n_initializer, 1);
    expect_valid(part);
    model_free(part);
    /* b has no value_info: Mul needs it from outside. */
    assert_int_equal(model_cut(&part, &index, (size_t[]){2}, 1, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    struct tensor b = floats(0);
    struct edit_types types = {1, NAMES("b"), (const struct tensor *[]){&b}};
    assert_int_equal(model_cut(&part, &index, (size_t[]){2}, 1, &types, &err), 0);
    model_free(part);
    assert_int_equal(model_cut(&part, &index, (size_t[]){4}, 1, &types, &err), -1);
    assert_int_equal(model_cut(&part, &index, NULL, 0, &types, &err), -1);
    tensor_release(&b);
    model_index_release(&index);
    model_free(model);
}

static void parts_between_values(void **state)
{
    (void)state;
    struct model *model = diamond(), *part;
    struct model_index index;
    struct error err = {0};
    assert_int_equal(model_index_init(&index, model, &err), 0);
    assert_int_equal(model_cut_between(&part, &index, NAMES("a"), 1, NAMES("c", "b"), 2, NULL, &err), 0);
    assert_int_equal(part->graph->n_node, 2);
    assert_int_equal(part->graph->n_input, 1);
    assert_int_equal(part->graph->n_output, 2);
    assert_string_equal(part->graph->output[0]->name, "c");
    model_free(part);
    assert_int_equal(model_cut_between(&part, &index, NAMES("w"), 1, NAMES("a"), 1, NULL, &err), 0);
    assert_int_equal(part->graph->n_input, 2);
    assert_int_equal(part->graph->n_initializer, 0);
    expect_valid(part);
    model_free(part);
    assert_int_equal(model_cut_between(&part, &index, NAMES("a"), 1, NAMES("a"), 1, NULL, &err), -1);
    assert_int_equal(model_cut_between(&part, &index, NAMES("q"), 1, NAMES("a"), 1, NULL, &err), -1);
    model_index_release(&index);
    model_free(model);
}

static void weights_are_replaced_and_inputs_frozen(void **state)
{
    (void)state;
    struct model *model = diamond();
    struct error err = {0};
    struct tensor five = floats(5), got;
    assert_int_equal(model_replace_initializer(model, "w", &five, &err), 0);
    assert_int_equal(model_replace_initializer(model, "x", &five, &err), -1);
    assert_int_equal(model_freeze_input(model, "x", &five, &err), 0);
    assert_int_equal(model_freeze_input(model, "x", &five, &err), -1);
    assert_int_equal(model->graph->n_input, 0);
    assert_int_equal(model->graph->n_initializer, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(model_weight(model, i, &got, &err), 0);
        assert_true(tensor_identical(&got, &five));
        tensor_release(&got);
    }
    tensor_release(&five);
    model_free(model);
}

/* The model with value_info for all, where libonnx can; else a copy. */
static struct model *with_shapes(const struct model *model)
{
    uint8_t *data, *inferred;
    size_t size, inferred_size;
    struct model *result;
    struct error err = {0};
    assert_int_equal(model_pack(model, &data, &size, &err), 0);
    if (onnx_infer_shapes(data, size, 0, &inferred, &inferred_size, &err) == 0) {
        if (model_parse(&result, inferred, inferred_size, &err))
            fail_msg("%s", err.message);
        free(inferred);
    } else {
        assert_int_equal(model_clone(&result, model, &err), 0);
    }
    free(data);
    return result;
}

static int check(const struct model *model, struct error *err)
{
    uint8_t *data;
    size_t size;
    if (model_pack(model, &data, &size, err))
        return -1;
    int result = onnx_check(data, size, err);
    free(data);
    return result;
}

struct tally {
    size_t cuts, untyped, checked;
};

/* The checker wants the type and rank of every input and output, which inference cannot always tell. */
static bool is_described(Onnx__ValueInfoProto *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__TypeProto *type = infos[i]->type;
        if (!type || (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && !type->tensor_type->shape))
            return false;
    }
    return true;
}

/* Some official models do not pass the checker themselves; their parts need not either. */
static void cut_each_node(const char *path, const struct model *model, bool valid, struct tally *tally)
{
    struct model_index index;
    struct error err = {0};
    if (model_index_init(&index, model, &err))
        fail_msg("%s: %s", path, err.message);
    for (size_t i = 0; i < model->graph->n_node; i++) {
        struct model *part;
        int result = model_cut(&part, &index, &i, 1, NULL, &err);
        if (result && err.code == ERROR_NOT_FOUND) {
            tally->untyped++;
            continue;
        }
        if (result)
            fail_msg("%s, node %zu: %s", path, i, err.message);
        assert_int_equal(part->graph->n_node, 1);
        struct model_index inner;
        bool checked = valid && is_described(part->graph->input, part->graph->n_input) &&
                       is_described(part->graph->output, part->graph->n_output);
        tally->checked += checked;
        if (model_index_init(&inner, part, &err) || (checked && check(part, &err) < 0))
            fail_msg("%s, node %zu: %s", path, i, err.message);
        model_index_release(&inner);
        model_free(part);
        tally->cuts++;
    }
    model_index_release(&index);
}

static void every_official_node_can_be_cut_out(void **state)
{
    (void)state;
    struct corpus corpus;
    struct tally tally = {0};
    size_t valid = 0;
    corpus_open(&corpus);
    if (!corpus.count)
        skip();
    for (size_t i = 0; i < corpus.count; i++) {
        struct model *model;
        struct error err = {0};
        if (model_load(&model, corpus.paths[i], &err))
            fail_msg("%s", err.message);
        int before = check(model, &err);
        struct model *described = with_shapes(model);
        int after = check(described, &err);
        if (before == 0 && after)
            fail_msg("%s: valid before, then %s", corpus.paths[i], err.message);
        valid += before == 0;
        cut_each_node(corpus.paths[i], described, after == 0, &tally);
        model_free(described);
        model_free(model);
    }
    print_message(
        "%zu models, %zu valid; %zu nodes cut out, %zu of them valid, %zu not: unknown input type\n",
        corpus.count, valid, tally.cuts, tally.checked, tally.untyped);
    assert_true(tally.untyped * 100 < tally.cuts);
    corpus_close(&corpus);
}

/* Counts the types and tensors that are float32, float16 or bfloat16, and those that are float64. */
static int count_floats(void *context, ProtobufCMessage *message)
{
    size_t *counts = context;
    int64_t type = message->descriptor == &onnx__tensor_proto__descriptor
                       ? ((Onnx__TensorProto *)message)->data_type
                   : message->descriptor == &onnx__type_proto__tensor__descriptor
                       ? ((Onnx__TypeProto__Tensor *)message)->elem_type
                       : DTYPE_NONE;
    counts[0] += type == DTYPE_FLOAT || type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16;
    counts[1] += type == DTYPE_DOUBLE;
    return 0;
}

/* Weights, constants in each form, types that nodes make and the bodies of nodes: the types fit together. */
static void all_floats_become_float64(void **state)
{
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "g (float[3] x, float16[3] h, bool c, int64[1] n) => (float[3] y)\n"
        "<float[3] w = {0.1, 2, 3}, int64[1] k = {3}>\n"
        "{ a = Cast <to = 1> (h) b = Constant <value_float = 0.5> () d = ConstantOfShape (k)\n"
        "  e = Constant <value = float[1] {4}> () f = Constant <value_floats = [1.5]> () i = Cast <to = 7> "
        "(x)\n"
        "  j = Cast <to = 1> (i) p = Sum (x, w, a, b, d, e, f, j)\n"
        "  y = If (c) <then_branch = t () => (float[3] u) { u = Add (p, w) },\n"
        "              else_branch = o () => (float[3] v) { v = Identity (p) }> }";
    struct model *model, *wide;
    struct error err = {0};
    struct tensor w;
    uint8_t *bytes, *inferred;
    size_t size, inferred_size, before[2] = {0}, after[2] = {0};
    (void)state;
    assert_int_equal(onnx_parse_text(text, &bytes, &size, &err), 0);
    assert_int_equal(model_parse(&model, bytes, size, &err), 0);
    free(bytes);
    assert_int_equal(model_retype(&wide, model, &retyping_to_float64, &err), 0);
    tree_each(&model->proto->base, count_floats, before);
    tree_each(&wide->proto->base, count_floats, after);
    assert_true(before[0] > 5);
    assert_int_equal(before[1], 0);
    assert_int_equal(after[0], 0);
    assert_true(after[1] > before[0]); /* constants whose type was not said have one */
    assert_int_equal(model_pack(wide, &bytes, &size, &err), 0);
    assert_int_equal(onnx_check(bytes, size, &err), 0);
    if (onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, &err))
        fail_msg("%s", err.message);
    assert_int_equal(model_tensor_read(wide->graph->initializer[0], &w, &err), 0);
    assert_true(tensor_get(&w, 0) == (long double)0.1F);
    tensor_release(&w);
    free(inferred);
    free(bytes);
    model_free(wide);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_floats_become_float64),
        cmocka_unit_test(the_index_knows_producers_consumers_and_order),
        cmocka_unit_test(bad_graphs_are_not_indexed),
        cmocka_unit_test(bodies_capture_outer_values),
        cmocka_unit_test(values_are_exposed_once),
        cmocka_unit_test(nodes_are_put_in_order),
        cmocka_unit_test(parts_have_the_right_borders),
        cmocka_unit_test(parts_between_values),
        cmocka_unit_test(weights_are_replaced_and_inputs_frozen),
        cmocka_unit_test(every_official_node_can_be_cut_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
