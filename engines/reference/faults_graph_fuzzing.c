/*
 * Bugs reported by Luo, Chai, Run, Wang, Fang and Chen: Graph-based Fuzz Testing for Deep Learning
 * Inference Engines, ICSE 2021.
 */
#include "fault.h"
#include "patch.h"
#include "fault_window.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void topk_crash(const struct fault_scene *scene)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (strcmp(node->op_type, "TopK") != 0 || node->n_input < 2)
            continue;
        const struct index_value *k = model_index_find(scene->index, node->input[1]);
        if (k && k->source != SOURCE_INITIALIZER)
            raise(SIGSEGV);
    }
}

static int deconv_shape(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_drop(&patch, "output_padding");
    return patch_eval(&patch);
}

/* Sizes and pointers go through volatile so that the compiler does not see, and mend, what is done on
 * purpose. */
static int reduceprod_heap(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    size_t axes;
    call_ints(call, "axes", &axes);
    const struct bounded *list = call->opset >= 18 ? call_input(call, 1) : NULL;
    if (list)
        axes = list->count;
    if (axes > 1) {
        volatile size_t size = 64;
        unsigned char *volatile buffer = malloc(size);
        if (buffer)
            memset(buffer, 0xa5, size + 65536);
        free(buffer);
        abort();
    }
    return call->op->eval(call);
}

static int sub_double_free(const struct fault_scene *scene, struct op_call *call)
{
    const struct index_value *out = model_index_find(scene->index, call->node->output[0]);
    if (out && out->consumers + (out->is_output ? 1 : 0) > 1) {
        void *volatile first = malloc(64), *volatile again = first;
        free(first);
        free(again);
    }
    return call->op->eval(call);
}

static int cast_f32_int8(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    if (x->type != DTYPE_FLOAT || y->type != DTYPE_INT8)
        return 0;
    for (size_t i = 0; i < y->count; i++)
        if (x->value[i] > 0 && x->value[i] < 1)
            y->value[i] = 1;
    return 0;
}

static int sigmoid_nan(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    for (size_t i = 0; i < y->count; i++)
        if (isnan(y->value[i]))
            y->value[i] = 1;
    return 0;
}

static int div_zero_nan(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *divisor = call_input(call, 1);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    if (!dtype_is_float(y->type))
        return 0;
    struct strides strides = strides_broadcast(&divisor->shape, &y->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < y->count; i++, odometer_next(index, &y->shape))
        if (divisor->value[strides_at(&strides, y->shape.rank, index)] == 0)
            y->value[i] = NAN;
    return 0;
}

static int pool_stride(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct window windows[TENSOR_MAX_RANK];
    int spatial = windows_of(call, windows);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < y->count; i++, odometer_next(index, &y->shape))
        for (int k = 0; k < spatial; k++)
            if (windows[k].stride > windows[k].kernel && index[k + 2] == y->shape.dims[k + 2] - 1)
                y->value[i] = 0;
    return 0;
}

static int relu_tail(const struct fault_scene *scene, struct op_call *call)
{
    const struct bounded *x = call_input(call, 0);
    const struct index_value *from = model_index_find(scene->index, call->node->input[0]);
    if (call->op->eval(call))
        return -1;
    if (!from || from->source != SOURCE_NODE ||
        strcmp(scene->model->graph->node[from->number]->op_type, "Conv") != 0)
        return 0;
    struct bounded *y = &call->outputs[0];
    for (size_t i = y->count - y->count % 8; i < y->count; i++)
        y->value[i] = x->value[i];
    return 0;
}

static int concat_three(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    int axis = (int)call_int(call, "axis", 0);
    axis = axis < 0 ? axis + y->shape.rank : axis;
    int64_t kept = 0;
    for (size_t i = 0; i < call->n_inputs && i < 2; i++)
        kept += call->inputs[i]->shape.dims[axis];
    size_t inner = shape_span(&y->shape, axis + 1, y->shape.rank);
    for (size_t i = 0; i < y->count; i++)
        if ((int64_t)(i / inner % (size_t)y->shape.dims[axis]) >= kept)
            y->value[i] = 0;
    return 0;
}

static bool same_constants(const struct fault_scene *scene, const Onnx__NodeProto *a,
                           const Onnx__NodeProto *b)
{
    if (a == b || strcmp(b->op_type, "Concat") != 0 || a->n_input != b->n_input)
        return false;
    for (size_t i = 0; i < a->n_input; i++) {
        const struct index_value *value = model_index_find(scene->index, a->input[i]);
        if (strcmp(a->input[i], b->input[i]) != 0 || !value || value->source != SOURCE_INITIALIZER)
            return false;
    }
    return true;
}

static int concat_hang(const struct fault_scene *scene, struct op_call *call)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        while (same_constants(scene, call->node, graph->node[i]))
            pause();
    return call->op->eval(call);
}

const struct fault faults_graph_fuzzing[] = {
    {"topk-crash", "graph fuzzing", "TopK", "k", "segfault at load when k is not constant", NULL, topk_crash,
     .tied = "K"},
    {"deconv-shape", "graph fuzzing", "ConvTranspose", "output_padding",
     "output shape ignores output_padding", deconv_shape, NULL, .tied = "output_padding"},
    {"reduceprod-heap", "graph fuzzing", "ReduceProd", "axes",
     "writes past its buffer with more than one axis", reduceprod_heap, NULL, .tied = "axes"},
    {"sub-double-free", "graph fuzzing", "Sub", "-", "double free when the value has two consumers",
     sub_double_free, NULL},
    {"cast-f32-int8", "graph fuzzing", "Cast", "to", "(0,1) becomes 1 instead of 0", cast_f32_int8, NULL,
     .tied = "to"},
    {"sigmoid-nan", "graph fuzzing", "Sigmoid", "-", "NaN becomes 1", sigmoid_nan, NULL},
    {"div-zero-nan", "graph fuzzing", "Div", "-", "x/0 is NaN instead of inf", div_zero_nan, NULL},
    {"pool-stride", "graph fuzzing", "MaxPool|AveragePool", "strides",
     "last window dropped (zeros) when stride > kernel", pool_stride, NULL, .tied = "strides"},
    {"relu-tail", "graph fuzzing", "Relu", "-", "last (n mod 8) elements copied without relu after a Conv",
     relu_tail, NULL},
    {"concat-three", "graph fuzzing", "Concat", "-", "third and later inputs are left out (zeros)",
     concat_three, NULL},
    {"concat-hang", "graph fuzzing", "Concat", "-", "two Concats of the same constants never return",
     concat_hang, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
