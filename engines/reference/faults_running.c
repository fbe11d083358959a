/*
 * Faults of how models are kept and run: sessions, processes, threads, memory, files. For the equivalence
 * rules about ways of running and about saved models.
 */
#include "fault.h"
#include "fault_memory.h"
#include "patch.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The buffer of sums is not cleared between two runs of a session. */
static int sum_not_cleared(const struct fault_scene *scene, struct op_call *call)
{
    struct bounded *before = fault_memory_value(scene->memory, call->node->output[0]);
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (before->value && before->type == out->type && shape_equal(&before->shape, &out->shape))
        for (size_t i = 0; i < out->count; i++)
            out->value[i] += before->value[i];
    bounded_release(before);
    bounded_init(before);
    return out->value ? bounded_copy(before, out, call->err) : 0;
}

/* A model with halves switches the arithmetic of the process, which nobody switches back. */
static int halves_stay(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    bool *on = fault_memory_mark(scene->memory);
    *on |= out->type == DTYPE_FLOAT16;
    if (*on && out->type == DTYPE_FLOAT && out->value)
        for (size_t i = 0; i < out->count; i++)
            out->value[i] = dtype_round(DTYPE_FLOAT16, out->value[i]);
    return 0;
}

static void last_to_zero(struct bounded *out, size_t how_many)
{
    for (size_t i = 0; out->value && i < how_many && i < out->count; i++)
        out->value[out->count - 1 - i] = 0;
}

/* A kernel is chosen by timing when a model is loaded for the second time, and that one is wrong. */
static int tuned_kernel(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    last_to_zero(&call->outputs[0], scene->loads > 0 ? 1 : 0);
    return 0;
}

/* The bytes of new memory as elements. */
static void fill_from_heap(struct bounded *out)
{
    struct tensor heap;
    size_t size = out->count * dtype_size(out->type);
    void *volatile bytes = malloc(size ? size : 1);
    if (bytes && size && tensor_from_bytes(&heap, out->type, &out->shape, bytes, size, NULL) == 0) {
        for (size_t i = 0; i < out->count; i++)
            out->value[i] = tensor_get(&heap, i);
        tensor_release(&heap);
    }
    free(bytes);
}

static int crop_unwritten(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *pads = call_input(call, 1);
    bool crops = false;
    if (call->op->eval(call))
        return -1;
    for (size_t i = 0; pads && pads->value && i < pads->count; i++)
        crops |= pads->value[i] < 0;
    if (crops && call->outputs[0].value && call->outputs[0].type != DTYPE_STRING)
        fill_from_heap(&call->outputs[0]);
    return 0;
}

static int threads_tail(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    size_t threads = (size_t)scene->threads;
    last_to_zero(&call->outputs[0], threads > 1 ? call->outputs[0].count % threads : 0);
    return 0;
}

static int bound_output_short(const struct fault_scene *scene, struct op_call *call)
{
    const struct index_value *out = model_index_find(scene->index, call->node->output[0]);
    if (call->op->eval(call))
        return -1;
    last_to_zero(&call->outputs[0], scene->bound && out && out->is_output ? 1 : 0);
    return 0;
}

/* The last element of a larger output is what was in its memory before. */
static int tail_unwritten(const struct fault_scene *scene, struct op_call *call)
{
    enum { VECTOR = 8 };
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (!out->value || out->count <= VECTOR || !dtype_is_float(out->type))
        return 0;
    struct bounded heap;
    bounded_init(&heap);
    if (bounded_copy(&heap, out, call->err))
        return -1;
    fill_from_heap(&heap);
    out->value[out->count - 1] = heap.value[out->count - 1];
    bounded_release(&heap);
    return 0;
}

/* Moves an element by so many units in the last place of a float32, as another order of the terms of its sum
 * may. */
static void move_last_bits(struct bounded *out, size_t element, int units)
{
    float value = (float)out->value[element];
    for (int i = 0; i < units && isfinite(value); i++)
        value = nextafterf(value, 0);
    out->value[element] = value;
}

static bool has_sums(const struct bounded *out)
{
    return out->value && out->type == DTYPE_FLOAT;
}

static int threads_by_arrival(const struct fault_scene *scene, struct op_call *call)
{
    struct timespec now;
    struct bounded *out = &call->outputs[0];
    if (call->op->eval(call))
        return -1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    size_t late = out->count ? (size_t)(now.tv_nsec / 100) % out->count : 0;
    if (has_sums(out) && out->count && scene->threads > 1)
        move_last_bits(out, late, 1);
    return 0;
}

/* The bits of an address that the system chooses anew for each process. */
static int addresses(const struct fault_scene *scene, struct op_call *call)
{
    enum { PAGE_BITS = 12, WAYS = 4 };
    struct bounded *out = &call->outputs[0];
    int units = (int)((uintptr_t)scene->memory >> PAGE_BITS & (WAYS - 1));
    if (call->op->eval(call))
        return -1;
    for (size_t i = 0; has_sums(out) && i < out->count; i++)
        move_last_bits(out, i, units);
    return 0;
}

/* Rows that a kernel for blocks of four rows takes are summed in another order than those left over. */
static int rows_in_blocks(const struct fault_scene *scene, struct op_call *call)
{
    enum { BLOCK = 4 };
    struct bounded *out = &call->outputs[0];
    (void)scene;
    if (call->op->eval(call))
        return -1;
    int64_t rows = out->shape.rank ? out->shape.dims[0] : 0;
    for (size_t i = 0; has_sums(out) && rows && i < out->count; i++)
        if ((int64_t)(i / (out->count / (size_t)rows)) < rows / BLOCK * BLOCK)
            move_last_bits(out, i, 1);
    return 0;
}

/* The kernel is chosen by the size of the batch, and all its rows are summed in that kernel's order. */
static int kernel_by_batch(const struct fault_scene *scene, struct op_call *call)
{
    struct bounded *out = &call->outputs[0];
    (void)scene;
    if (call->op->eval(call))
        return -1;
    int64_t rows = out->shape.rank ? out->shape.dims[0] : 0;
    for (size_t i = 0; has_sums(out) && i < out->count; i++)
        move_last_bits(out, i, (int)(rows % 3));
    return 0;
}

/* Halves in int32_data are bits; they are read as numbers. */
static void halves_as_numbers(struct model *model, Onnx__TensorProto **proto)
{
    struct tensor tensor;
    bool half = (*proto)->data_type == DTYPE_FLOAT16 || (*proto)->data_type == DTYPE_BFLOAT16;
    if (!half || model_tensor_is_raw(*proto) || model_tensor_read(*proto, &tensor, NULL))
        return;
    for (size_t i = 0; i < tensor.count; i++) {
        uint16_t bits;
        memcpy(&bits, (const char *)tensor.data + 2 * i, sizeof bits);
        tensor_set(&tensor, i, bits);
    }
    *proto = model_tensor_write(&model->arena, (*proto)->name, &tensor);
    tensor_release(&tensor);
}

static void typed_halves(const struct fault_scene *scene, struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    (void)scene;
    for (size_t i = 0; i < graph->n_initializer; i++)
        halves_as_numbers(model, &graph->initializer[i]);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
            if (graph->node[i]->attribute[k]->t)
                halves_as_numbers(model, &graph->node[i]->attribute[k]->t);
}

/* Weights in a file beside the model are read one element too late, the first one at the end. */
static void file_shifted(const struct fault_scene *scene, struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    bool outside = scene->from_file && model_is_external(model);
    for (size_t i = 0; outside && i < graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_tensor_read(graph->initializer[i], &tensor, NULL))
            continue;
        size_t size = dtype_size(tensor.type);
        if (tensor.type != DTYPE_STRING && tensor.count > 1 && dtype_is_float(tensor.type)) {
            char first[16];
            memcpy(first, tensor.data, size);
            memmove(tensor.data, (char *)tensor.data + size, tensor.size - size);
            memcpy((char *)tensor.data + tensor.size - size, first, size);
            graph->initializer[i] = model_tensor_write(&model->arena, graph->initializer[i]->name, &tensor);
        }
        tensor_release(&tensor);
    }
}

static void saved_without_strings(const struct fault_scene *scene, struct model *model)
{
    for (size_t i = 0; scene->reload == RELOAD_ONNX && i < model->graph->n_node; i++) {
        Onnx__NodeProto *node = model->graph->node[i];
        for (size_t k = node->n_attribute; k-- > 0;)
            if (node->attribute[k]->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
                node_remove_attribute(node, node->attribute[k]->name);
    }
}

static void saved_as_integers(const struct fault_scene *scene, struct model *model)
{
    for (size_t i = 0; scene->reload == RELOAD_OWN && i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        for (size_t k = 0; k < node->n_attribute; k++)
            node->attribute[k]->f = truncf(node->attribute[k]->f);
    }
}

const struct fault faults_running[] = {
    {.name = "sum-not-cleared",
     .paper = "rules",
     .operators = "MatMul|Gemm|Conv|ReduceSum|ReduceMean",
     .parameter = "(past runs)",
     .summary = "adds to what the run before left in its buffer",
     .eval = sum_not_cleared},
    {.name = "halves-stay",
     .paper = "rules",
     .operators = "any",
     .parameter = "(past models)",
     .summary = "float32 is computed as float16 in a process that has seen float16",
     .eval = halves_stay},
    {.name = "tuned-kernel",
     .paper = "rules",
     .operators = "any",
     .parameter = "(past models)",
     .summary = "leaves out the last element when the process loads a model for the second time",
     .eval = tuned_kernel},
    {.name = "crop-unwritten",
     .paper = "rules",
     .operators = "Pad",
     .parameter = "(past contents of memory)",
     .summary = "with negative pads the output is memory that nobody wrote",
     .eval = crop_unwritten},
    {.name = "tail-unwritten",
     .paper = "rules",
     .operators = "any",
     .parameter = "(past contents of memory)",
     .summary = "the last element of an output of more than 8 elements is memory that nobody wrote",
     .eval = tail_unwritten},
    {.name = "threads-by-arrival",
     .paper = "rules",
     .operators = "MatMul|Gemm|Conv|ReduceSum|ReduceMean",
     .parameter = "(threads > 1)",
     .summary = "parts of a sum are added as threads finish: one element differs within rounding, by chance",
     .eval = threads_by_arrival},
    {.name = "addresses",
     .paper = "rules",
     .operators = "MatMul|Gemm|Conv|ReduceSum|ReduceMean",
     .parameter = "(addresses)",
     .summary =
         "the order of a sum hangs on where in memory it lies: within rounding, another in each process",
     .eval = addresses},
    {.name = "rows-in-blocks",
     .paper = "rules",
     .operators = "MatMul|Gemm|Conv",
     .parameter = "(place in the batch)",
     .summary = "rows in blocks of four are summed in another order than those left over: within rounding",
     .eval = rows_in_blocks},
    {.name = "kernel-by-batch",
     .paper = "rules",
     .operators = "MatMul|Gemm|Conv",
     .parameter = "(size of the batch)",
     .summary = "sums are ordered by a kernel that is chosen by the size of the batch: within rounding",
     .eval = kernel_by_batch},
    {.name = "threads-tail",
     .paper = "rules",
     .operators = "any",
     .parameter = "(threads > 1)",
     .summary = "elements left over after equal shares for all threads are not computed",
     .eval = threads_tail},
    {.name = "bound-output-short",
     .paper = "rules",
     .operators = "any",
     .parameter = "(binding=on)",
     .summary = "the last element of a bound output is not written",
     .eval = bound_output_short},
    {.name = "typed-halves",
     .paper = "rules",
     .operators = "any",
     .parameter = "int32_data",
     .summary = "halves that are kept as bits in int32_data are read as numbers",
     .edit = typed_halves},
    {.name = "file-shifted",
     .paper = "rules",
     .operators = "any",
     .parameter = "external data",
     .summary = "weights in a file beside the model are read one element too late",
     .edit = file_shifted},
    {.name = "saved-without-strings",
     .paper = "rules",
     .operators = "any",
     .parameter = "(reload=onnx)",
     .summary = "a saved model has lost its attributes that are strings",
     .edit = saved_without_strings},
    {.name = "saved-as-integers",
     .paper = "rules",
     .operators = "any",
     .parameter = "(reload=own)",
     .summary = "a saved model has its float attributes as whole numbers",
     .edit = saved_as_integers},
    {0},
};
