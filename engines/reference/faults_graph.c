/*
 * Faults of optimisers and of single operators that show only in a certain form of the graph. For the
 * equivalence rules that rewrite models.
 */
#include "fault.h"
#include "patch.h"

#include "base/str.h"
#include "model/function.h"

#include <stdio.h>
#include <string.h>

/* The node that makes a value of the top graph; NULL when it is none. */
static const Onnx__NodeProto *producer(const struct fault_scene *scene, const char *name)
{
    const struct index_value *value = model_index_find(scene->index, name);
    return value && value->source == SOURCE_NODE ? scene->model->graph->node[value->number] : NULL;
}

static bool is(const Onnx__NodeProto *node, const char *op_type)
{
    return node && text_equal(node->op_type, op_type);
}

/* Lets every `second` whose first input comes from a `first` read that node's input instead. */
static void skip_first(const struct fault_scene *scene, struct model *model, const char *first,
                       const char *second)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        Onnx__NodeProto *node = model->graph->node[i];
        if (!is(node, second) || node->n_input == 0)
            continue;
        const Onnx__NodeProto *before = producer(scene, node->input[0]);
        if (is(before, first) && before->n_input > 0)
            node->input[0] = before->input[0];
    }
}

static void transposes_merged(const struct fault_scene *scene, struct model *model)
{
    skip_first(scene, model, "Transpose", "Transpose");
}

static void pad_slice_merged(const struct fault_scene *scene, struct model *model)
{
    skip_first(scene, model, "Pad", "Slice");
}

/* What is quantised to unsigned bytes saturates where signed ones end. */
static int quant_signed_end(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    for (size_t i = 0; y->type == DTYPE_UINT8 && i < y->count; i++)
        if (y->value[i] > 127)
            y->value[i] = 127;
    return 0;
}

/* Single and half precision go to bool through whole numbers. */
static int cast_bool_cut(const struct fault_scene *scene, struct op_call *call)
{
    const struct bounded *x = call_input(call, 0);
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    if (y->type != DTYPE_BOOL || !dtype_is_float(x->type) || x->type == DTYPE_DOUBLE)
        return 0;
    for (size_t i = 0; i < y->count; i++)
        if (x->value[i] > -1 && x->value[i] < 1)
            y->value[i] = 0;
    return 0;
}

/* A Concat of all that one Split made is taken for a mere renaming, but in the wrong order. */
static void split_concat_reversed(const struct fault_scene *scene, struct model *model)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        Onnx__NodeProto *node = model->graph->node[i];
        bool all = is(node, "Concat") && node->n_input > 1;
        for (size_t k = 0; all && k < node->n_input; k++)
            all = is(producer(scene, node->input[k]), "Split") &&
                  producer(scene, node->input[k]) == producer(scene, node->input[0]);
        for (size_t k = 0; all && k < node->n_input / 2; k++) {
            char *kept = node->input[k];
            node->input[k] = node->input[node->n_input - 1 - k];
            node->input[node->n_input - 1 - k] = kept;
        }
    }
}

/* A call of one of the model's own functions gets its first two arguments exchanged. */
static void call_exchanged(const struct fault_scene *scene, struct model *model)
{
    (void)scene;
    for (size_t i = 0; i < model->graph->n_node; i++) {
        Onnx__NodeProto *node = model->graph->node[i];
        if (node->n_input < 2 || !model_function(model, node))
            continue;
        char *kept = node->input[0];
        node->input[0] = node->input[1];
        node->input[1] = kept;
    }
}

/* A value that is an output is handed to the caller, and who uses it inside reads zeros. */
static int output_moved(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    size_t at = 0;
    for (; at < call->node->n_input; at++) {
        const struct index_value *value = model_index_find(scene->index, call->node->input[at]);
        if (value && value->is_output && value->source == SOURCE_NODE)
            break;
    }
    if (at >= call->node->n_input || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *moved = patch_input(&patch, at);
    if (moved)
        memset(moved->value, 0, moved->count * sizeof *moved->value);
    return patch_eval(&patch);
}

/*
 * The result is written over the input although others read that too. Inputs and weights are left alone: they
 * live longer than a run.
 */
static int shared_overwritten(const struct fault_scene *scene, struct op_call *call)
{
    const struct index_value *value = model_index_find(scene->index, call->node->input[0]);
    if (call->op->eval(call))
        return -1;
    const struct bounded *in = call_input(call, 0), *out = &call->outputs[0];
    if (!value || value->source != SOURCE_NODE || value->consumers < 2 || !in->value || !out->value ||
        in->count != out->count || in->type != out->type)
        return 0;
    memcpy(in->value, out->value, in->count * sizeof *in->value);
    return 0;
}

/* Whether the first shape is stretched to the second, which stays as it is. */
static bool is_stretched(const struct shape *small, const struct shape *large)
{
    int shift = large->rank - small->rank;
    bool differs = shift > 0;
    for (int i = 0; shift >= 0 && i < small->rank; i++) {
        if (small->dims[i] != large->dims[i + shift] && small->dims[i] != 1)
            return false;
        differs |= small->dims[i] != large->dims[i + shift];
    }
    return shift >= 0 && differs;
}

/* A first operand that is stretched is taken for a single number. */
static int broadcast_left(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *a = call_input(call, 0), *b = call_input(call, 1);
    struct patch patch;
    if (!a || !b || !a->value || !a->count || !b->count || !is_stretched(&a->shape, &b->shape) ||
        !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *wide = patch_input(&patch, 0);
    if (wide) {
        bounded_release(wide);
        bounded_init(wide);
        if (bounded_alloc(wide, a->type, &b->shape, false, call->err)) {
            patch_release(&patch);
            return -1;
        }
        for (size_t i = 0; i < wide->count; i++)
            wide->value[i] = a->value[0];
    }
    return patch_eval(&patch);
}

static bool is_constant(const struct fault_scene *scene, const char *name)
{
    const struct index_value *value = model_index_find(scene->index, name);
    return value && (value->source == SOURCE_INITIALIZER || is(producer(scene, name), "Constant"));
}

/* What depends on constants alone is computed beforehand, in half precision. */
static int folded_as_halves(const struct fault_scene *scene, struct op_call *call)
{
    bool constant = call->node->n_input > 0;
    for (size_t i = 0; i < call->node->n_input; i++)
        constant &= !*call->node->input[i] || is_constant(scene, call->node->input[i]);
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (constant && out->value && (out->type == DTYPE_FLOAT || out->type == DTYPE_DOUBLE))
        for (size_t i = 0; i < out->count; i++)
            out->value[i] = dtype_round(DTYPE_FLOAT16, out->value[i]);
    return 0;
}

static void rename_attribute(struct patch *patch, const Onnx__NodeProto *node, const char *from,
                             const char *to)
{
    Onnx__GraphProto *graph = node_graph(node, from);
    if (graph) {
        patch_drop(patch, to);
        node_set_graph(&patch->arena, &patch->node, to, graph);
    }
}

/* An If whose condition is constant is replaced by a branch: always the second. */
static int if_folded_else(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    if (!is_constant(scene, call->node->input[0]) || !patch_init(&patch, call))
        return call->op->eval(call);
    rename_attribute(&patch, call->node, "else_branch", "then_branch");
    return patch_eval(&patch);
}

/* The trip count is taken for the last number of a turn. */
static int loop_once_more(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *trips = patch_input(&patch, 0);
    if (trips && trips->count == 1)
        trips->value[0]++;
    return patch_eval(&patch);
}

static void sort_letters(char *text)
{
    for (char *a = text; *a; a++)
        for (char *b = a + 1; *b; b++)
            if (*b < *a) {
                char kept = *a;
                *a = *b;
                *b = kept;
            }
}

/* The dimensions of the result come in alphabetical order, as they would if none were given. */
static int einsum_order(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    char equation[200];
    struct patch patch;
    snprintf(equation, sizeof equation, "%s", call_string(call, "equation", ""));
    char *arrow = strstr(equation, "->");
    if (!arrow || strchr(equation, '.') || strchr(arrow, ' ') || !patch_init(&patch, call))
        return call->op->eval(call);
    sort_letters(arrow + 2);
    patch_string(&patch, "equation", equation);
    return patch_eval(&patch);
}

/* Rows of a dilated kernel are read from their end. */
static int dilated_flipped(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    size_t count;
    const int64_t *dilations = call_ints(call, "dilations", &count);
    bool dilated = false;
    for (size_t i = 0; i < count; i++)
        dilated |= dilations[i] > 1;
    struct patch patch;
    if (!dilated || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *w = patch_input(&patch, 1);
    size_t row = w && w->shape.rank > 2 ? (size_t)w->shape.dims[w->shape.rank - 1] : 0;
    for (size_t at = 0; row && at < w->count; at += row)
        for (size_t i = 0; i < row / 2; i++) {
            long double kept = w->value[at + i];
            w->value[at + i] = w->value[at + row - 1 - i];
            w->value[at + row - 1 - i] = kept;
        }
    return patch_eval(&patch);
}

/* A kernel of size 1 is a matrix product, in which the bias is forgotten. */
static int pointwise_no_bias(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *w = call_input(call, 1);
    struct patch patch;
    if (!w || w->shape.rank < 3 || shape_span(&w->shape, 2, w->shape.rank) != 1 || call->n_inputs < 3 ||
        !patch_init(&patch, call))
        return call->op->eval(call);
    patch.node.n_input = patch.call.n_inputs = 2;
    return patch_eval(&patch);
}

/* A result is passed on to the next node in the file; another one gets it without its last element. */
static int next_node_only(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    const struct index_value *out = model_index_find(scene->index, call->node->output[0]),
                             *in = call->node->n_input ? model_index_find(scene->index, call->node->input[0])
                                                       : NULL;
    if (!out || !in || out->source != SOURCE_NODE || in->source != SOURCE_NODE ||
        in->number + 1 == out->number || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *passed = patch_input(&patch, 0);
    if (passed && passed->count && dtype_is_float(passed->type))
        passed->value[passed->count - 1] = 0;
    return patch_eval(&patch);
}

/* A name with a slash is taken for that of a variable, which nobody has set. */
static int slash_in_name(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    size_t at = 0;
    while (at < call->node->n_input && !strchr(call->node->input[at], '/'))
        at++;
    if (at >= call->node->n_input || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *unset = patch_input(&patch, at);
    if (unset && dtype_is_float(unset->type))
        memset(unset->value, 0, unset->count * sizeof *unset->value);
    return patch_eval(&patch);
}

static void drop_last(struct bounded *out, bool drop)
{
    if (drop && out->value && out->count)
        out->value[out->count - 1] = 0;
}

/* Computed as one with the product before it, whose value nobody else sees, it loses the last element. */
static int fused_tail(const struct fault_scene *scene, struct op_call *call)
{
    const struct index_value *in = model_index_find(scene->index, call->node->input[0]);
    const Onnx__NodeProto *before = producer(scene, call->node->input[0]);
    bool product = is(before, "Conv") || is(before, "MatMul") || is(before, "Gemm");
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], product && in->consumers == 1 && !in->is_output);
    return 0;
}

/* Memory is planned for values whose shapes are declared, one element too little. */
static int declared_short(const struct fault_scene *scene, struct op_call *call)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    bool declared = false;
    if (call->op->eval(call))
        return -1;
    for (size_t i = 0; i < graph->n_value_info; i++)
        declared |= text_equal(graph->value_info[i]->name, call->node->output[0]);
    drop_last(&call->outputs[0], declared);
    return 0;
}

/* What was once right for the models of some exporter is done to all that name a version of theirs. */
static int producer_workaround(const struct fault_scene *scene, struct op_call *call)
{
    const char *version = scene->model->proto->producer_version;
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], version && *version);
    return 0;
}

/* The last element of what a node makes inside a function or a body is lost. */
static int body_short(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], !model_index_find(scene->index, call->node->output[0]));
    return 0;
}

/* The first operand with fewer dimensions than another one is taken for a single number. */
static int fewer_dimensions(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    int rank = 0;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    for (size_t i = 0; i < call->n_inputs; i++)
        rank = call->inputs[i] && call->inputs[i]->shape.rank > rank ? call->inputs[i]->shape.rank : rank;
    size_t number = 0;
    while (number < call->n_inputs && (!call->inputs[number] || call->inputs[number]->shape.rank == rank))
        number++;
    struct bounded *x = number < call->n_inputs ? patch_input(&patch, number) : NULL;
    for (size_t i = 1; x && i < x->count; i++)
        x->value[i] = x->value[0];
    return patch_eval(&patch);
}

static int older_sum_short(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (call->opset >= 13 || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *x = patch_input(&patch, 0);
    if (x && x->count)
        x->value[0] = 0;
    return patch_eval(&patch);
}

/* The last element of every plane is not read; the first one stands for it. */
static int global_pool_short(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *x = patch_input(&patch, 0);
    size_t plane = x && x->shape.rank > 2 ? shape_span(&x->shape, 2, x->shape.rank) : 0;
    for (size_t at = 0; plane && at < x->count; at += plane)
        x->value[at + plane - 1] = x->value[at];
    return patch_eval(&patch);
}

static int nearest_is_ceil(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!text_equal(call_string(call, "mode", "nearest"), "nearest") || !patch_init(&patch, call))
        return call->op->eval(call);
    patch_string(&patch, "nearest_mode", "ceil");
    return patch_eval(&patch);
}

/* A constant operand of lower rank than the other is missed when weights are laid out. */
static int flat_weight_unread(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    size_t at = 0;
    if (call->n_inputs != 2 || !call->inputs[0] || !call->inputs[1])
        return call->op->eval(call);
    while (at < 2 && (!is_constant(scene, call->node->input[at]) ||
                      call->inputs[at]->shape.rank >= call->inputs[1 - at]->shape.rank))
        at++;
    if (at == 2 || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *unread = patch_input(&patch, at);
    for (size_t i = 0; unread && i < unread->count; i++)
        unread->value[i] = 1;
    return patch_eval(&patch);
}

static int depth_order(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!text_equal(call_string(call, "mode", "DCR"), "DCR") || !patch_init(&patch, call))
        return call->op->eval(call);
    patch_string(&patch, "mode", "CRD");
    return patch_eval(&patch);
}

static int scatter_short(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], true);
    return 0;
}

/* One kernel for all transposed operands. With both transposed neither parameter alone makes the difference.
 */
static int gemm_turned_short(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], call_int(call, "transA", 0) || call_int(call, "transB", 0));
    return 0;
}

static int dequantize_no_zero(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (call->n_inputs < 3 || !patch_init(&patch, call))
        return call->op->eval(call);
    patch.node.n_input = patch.call.n_inputs = 2;
    return patch_eval(&patch);
}

static int state_ignored(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    enum { INITIAL_H = 5 };
    struct patch patch;
    if (call->n_inputs <= INITIAL_H || !call->inputs[INITIAL_H] || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *state = patch_input(&patch, INITIAL_H);
    if (state)
        memset(state->value, 0, state->count * sizeof *state->value);
    return patch_eval(&patch);
}

/* Kernels registered anew for opset 14 have another loop. */
static int newer_opset_short(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    drop_last(&call->outputs[0], model_opset(scene->model) >= 14);
    return 0;
}

const struct fault faults_graph[] = {
    {.name = "transposes-merged",
     .paper = "rules",
     .operators = "Transpose",
     .parameter = "perm",
     .summary = "of two Transposes in a row only the second is done",
     .edit = transposes_merged},
    {.name = "pad-slice-merged",
     .paper = "rules",
     .operators = "Pad|Slice",
     .parameter = "-",
     .summary = "a Slice behind a Pad cuts what has not been padded",
     .edit = pad_slice_merged},
    {.name = "quant-signed-end",
     .paper = "rules",
     .operators = "QuantizeLinear",
     .parameter = "y_zero_point",
     .summary = "unsigned bytes saturate at 127",
     .eval = quant_signed_end},
    {.name = "cast-bool-cut",
     .tied = "to",
     .paper = "rules",
     .operators = "Cast",
     .parameter = "to",
     .summary = "numbers between -1 and 1 become false, except from float64",
     .eval = cast_bool_cut},
    {.name = "split-concat-reversed",
     .paper = "rules",
     .operators = "Split|Concat",
     .parameter = "-",
     .summary = "the parts of a Split are put together again in the reverse order",
     .edit = split_concat_reversed},
    {.name = "call-exchanged",
     .paper = "rules",
     .operators = "Sub|Div|Pow|Less|Greater|Mod",
     .parameter = "-",
     .summary = "a call of a function of the model gets its first two arguments exchanged",
     .edit = call_exchanged},
    {.name = "output-moved",
     .paper = "rules",
     .operators = "any",
     .parameter = "-",
     .summary = "a value that is an output of the graph reads as zeros inside",
     .eval = output_moved},
    {.name = "shared-overwritten",
     .paper = "rules",
     .operators = "Relu|Neg|Abs|Sigmoid|Tanh|Exp",
     .parameter = "-",
     .summary = "writes its result over its input although other nodes read that, too",
     .eval = shared_overwritten},
    {.name = "broadcast-left",
     .paper = "rules",
     .operators = "Add|Sub|Mul|Div|Max|Min",
     .parameter = "-",
     .summary = "a first operand that is stretched is taken for a scalar",
     .eval = broadcast_left},
    {.name = "folded-as-halves",
     .paper = "rules",
     .operators = "any",
     .parameter = "-",
     .summary = "nodes that depend on constants alone are computed in half precision",
     .eval = folded_as_halves},
    {.name = "if-folded-else",
     .paper = "rules",
     .operators = "If",
     .parameter = "cond",
     .summary = "an If with a constant condition takes its else branch",
     .eval = if_folded_else},
    {.name = "loop-once-more",
     .paper = "rules",
     .operators = "Loop",
     .parameter = "M",
     .summary = "makes one turn too many",
     .eval = loop_once_more},
    {.name = "einsum-order",
     .tied = "equation",
     .paper = "rules",
     .operators = "Einsum",
     .parameter = "equation",
     .summary = "the result's dimensions are in alphabetical order, whatever the equation says",
     .eval = einsum_order},
    {.name = "dilated-flipped",
     .tied = "dilations",
     .paper = "rules",
     .operators = "Conv",
     .parameter = "dilations",
     .summary = "rows of a dilated kernel are reversed",
     .eval = dilated_flipped},
    {.name = "pointwise-no-bias",
     .tied = "B",
     .paper = "rules",
     .operators = "Conv",
     .parameter = "B",
     .summary = "a Conv with a kernel of size 1 leaves its bias out",
     .eval = pointwise_no_bias},
    {"fused-tail", "rules", "Add|Relu|Sigmoid|Tanh|Clip", "-",
     "the last element is lost (zero) right behind a product whose value nobody else uses", fused_tail, NULL},
    {.name = "next-node-only",
     .paper = "rules",
     .operators = "any",
     .parameter = "-",
     .summary = "a node that does not directly follow the one that makes its input loses an element",
     .eval = next_node_only},
    {.name = "slash-in-name",
     .paper = "rules",
     .operators = "any",
     .parameter = "names",
     .summary = "values whose name has a slash read as zeros",
     .eval = slash_in_name},
    {.name = "declared-short",
     .paper = "rules",
     .operators = "any",
     .parameter = "value_info",
     .summary = "a value whose shape the model declares loses its last element",
     .eval = declared_short},
    {.name = "producer-workaround",
     .paper = "rules",
     .operators = "any",
     .parameter = "producer_version",
     .summary = "results lose their last element in a model that names its producer's version",
     .eval = producer_workaround},
    {.name = "body-short",
     .paper = "rules",
     .operators = "any",
     .parameter = "-",
     .summary = "what a node makes in a function or in the body of another node loses its last element",
     .eval = body_short},
    {.name = "fewer-dimensions",
     .paper = "rules",
     .operators = "Add|Sub|Mul|Div|Max|Min|Pow|PRelu",
     .parameter = "-",
     .summary = "an operand with fewer dimensions than the result is taken for a scalar",
     .eval = fewer_dimensions},
    {.name = "older-sum-short",
     .paper = "rules",
     .operators = "ReduceSum",
     .parameter = "axes",
     .summary = "leaves out its first element where axes are an attribute, before opset 13",
     .eval = older_sum_short},
    {.name = "global-pool-short",
     .paper = "rules",
     .operators = "GlobalAveragePool|GlobalMaxPool|GlobalLpPool",
     .parameter = "-",
     .summary = "reads the first element of each plane instead of the last",
     .eval = global_pool_short},
    {.name = "nearest-is-ceil",
     .tied = "nearest_mode",
     .paper = "rules",
     .operators = "Resize",
     .parameter = "nearest_mode",
     .summary = "takes the next element instead of the nearest one",
     .eval = nearest_is_ceil},
    {.name = "flat-weight-unread",
     .paper = "rules",
     .operators = "Add|Sub|Mul|Div|Max|Min|Pow",
     .parameter = "-",
     .summary = "a constant operand of lower rank than the other reads as ones",
     .eval = flat_weight_unread},
    {.name = "depth-order",
     .tied = "mode",
     .paper = "rules",
     .operators = "DepthToSpace",
     .parameter = "mode",
     .summary = "orders depth as CRD although DCR is asked for",
     .eval = depth_order},
    {.name = "scatter-short",
     .paper = "rules",
     .operators = "ScatterElements|ScatterND",
     .parameter = "-",
     .summary = "loses the last element of its result",
     .eval = scatter_short},
    {.name = "gemm-turned-short",
     .paper = "rules",
     .operators = "Gemm",
     .parameter = "transA",
     .summary = "loses the last element of its result when an operand is transposed, whichever",
     .eval = gemm_turned_short},
    {.name = "dequantize-no-zero",
     .tied = "x_zero_point",
     .paper = "rules",
     .operators = "DequantizeLinear",
     .parameter = "x_zero_point",
     .summary = "the zero point is ignored",
     .eval = dequantize_no_zero},
    {.name = "state-ignored",
     .tied = "initial_h",
     .paper = "rules",
     .operators = "LSTM|GRU|RNN",
     .parameter = "initial_h",
     .summary = "the initial state is ignored",
     .eval = state_ignored},
    {.name = "newer-opset-short",
     .paper = "rules",
     .operators = "Add|Sub|Mul|Div|Relu|Identity|Reshape",
     .parameter = "opset",
     .summary = "loses the last element from opset 14 on",
     .eval = newer_opset_short},
    {0},
};
