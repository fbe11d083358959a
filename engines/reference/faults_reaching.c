/*
 * Faults of memory: kernels that read or write where they may not. Each of them really does so, in this
 * process: the node's tensors are put into memory from malloc in their own type, as the kernels of a library
 * get them, and then a few elements are read or written behind the end, in front of the beginning, after the
 * memory was freed, or not at all. What was read goes into the output.
 */
#include "fault.h"

#include "guarded_inputs.h"

#include <stdlib.h>
#include <string.h>

enum reach_how { READS, WRITES, LEAVES };
enum reach_where { BEHIND, BEFORE, FREED };
enum { RESULT = -1, WRITTEN = 0x5C };

struct reach {
    enum reach_how how;
    int of; /* the number of an input, or RESULT, the first output */
    enum reach_where where;
    size_t elements; /* how far beyond the first; that are left unwritten, where 0 is all of them */
};

/* Where the tensor's memory is overstepped. It is volatile: compilers see that it is wrong. */
static volatile unsigned char *place_of(const struct reach *reach, struct tensor *tensor)
{
    size_t size = dtype_size(tensor->type), far = reach->elements * size;
    unsigned char *volatile data = tensor->data;
    if (reach->where == BEHIND)
        return data + tensor->size + far;
    if (reach->where == BEFORE)
        return data - far - size;
    tensor_release(tensor);
    return data;
}

static void reach_beyond(const struct reach *reach, struct tensor *tensor, struct tensor *result)
{
    size_t size = dtype_size(tensor->type), room = dtype_size(result->type);
    unsigned char *last = (unsigned char *)result->data + result->size - room;
    volatile unsigned char *place = place_of(reach, tensor);
    for (size_t i = 0; i < size; i++) {
        if (reach->how == WRITES)
            place[i] = WRITTEN;
        else
            last[i % room] = place[i];
    }
}

/* What is left out has what malloc gives. */
static int leave_unwritten(const struct reach *reach, struct tensor *result)
{
    size_t left = reach->elements * dtype_size(result->type);
    left = left && left < result->size ? left : result->size;
    unsigned char *volatile memory = malloc(result->size);
    if (!memory)
        return -1;
    memcpy(memory, result->data, result->size - left);
    free(result->data);
    result->data = memory;
    return 0;
}

/* A value of the node in memory of its own, named for the report of guards. */
static int take_out(const struct fault_scene *scene, const struct bounded *value, const char *name,
                    struct tensor *tensor)
{
    const struct index_value *known = model_index_find(scene->index, name);
    enum value_source source = known ? known->source : SOURCE_NODE;
    if (bounded_to_tensor(value, tensor, NULL))
        return -1;
    guarded_memory_name(tensor->data,
                        source == SOURCE_INPUT         ? "input"
                        : source == SOURCE_INITIALIZER ? "initialiser"
                                                       : "value",
                        name);
    return 0;
}

static bool has_bytes(const struct bounded *value)
{
    return value && value->kind == BOUNDED_TENSOR && value->value && value->count &&
           value->type != DTYPE_STRING;
}

static int misuse(const struct fault_scene *scene, struct op_call *call, const struct bounded *of,
                  struct tensor *result)
{
    const struct reach *reach = scene->fault->reach;
    struct tensor tensor;
    tensor_init(&tensor);
    if (reach->how == LEAVES)
        return leave_unwritten(reach, result);
    const char *name = reach->of == RESULT ? call->node->output[0] : call->node->input[reach->of];
    if (take_out(scene, of, name, &tensor))
        return -1;
    reach_beyond(reach, &tensor, result);
    tensor_release(&tensor);
    return 0;
}

static int reaching(const struct fault_scene *scene, struct op_call *call)
{
    const struct reach *reach = scene->fault->reach;
    struct bounded *out = &call->outputs[0];
    struct tensor result;
    if (call->op->eval(call))
        return -1;
    const struct bounded *of = reach->of == RESULT ? out : call_input(call, (size_t)reach->of);
    if (!has_bytes(out) || !has_bytes(of) || bounded_to_tensor(out, &result, NULL))
        return 0;
    int status = misuse(scene, call, of, &result);
    if (status == 0) {
        bounded_release(out);
        status = bounded_from_tensor(out, &result, call->err);
    }
    tensor_release(&result);
    return status;
}

#define REACHES(fault_name, at, does, what, beyond, far, says)                                            \
    {                                                                                                     \
        .name = fault_name, .paper = "memory", .operators = at, .parameter = "(memory)", .summary = says, \
        .eval = reaching, .reach = &(const struct reach)                                                  \
        {                                                                                                 \
            does, what, beyond, far                                                                       \
        }                                                                                                 \
    }

const struct fault faults_reaching[] = {
    REACHES("conv-reads-behind-input", "Conv", READS, 0, BEHIND, 0, "reads one element behind its input"),
    REACHES("matmul-reads-behind-second", "MatMul", READS, 1, BEHIND, 3,
            "reads a vector that reaches behind its second factor"),
    REACHES("maxpool-reads-a-vector", "MaxPool", READS, 0, BEHIND, 15,
            "reads a whole vector at the end of its input"),
    REACHES("batchnorm-reads-behind-scale", "BatchNormalization", READS, 1, BEHIND, 0,
            "reads one element more of its scale than there is"),
    REACHES("softmax-reads-behind-output", "Softmax", READS, RESULT, BEHIND, 0,
            "sums one element more of its output than there is"),
    REACHES("relu-writes-a-vector", "Relu", WRITES, RESULT, BEHIND, 7,
            "writes a whole vector at the end of its output"),
    REACHES("gemm-writes-behind-output", "Gemm", WRITES, RESULT, BEHIND, 0,
            "writes one element behind its output"),
    REACHES("transpose-writes-behind-output", "Transpose", WRITES, RESULT, BEHIND, 1,
            "writes a pair of elements where one is left"),
    REACHES("reducesum-writes-before-output", "ReduceSum", WRITES, RESULT, BEFORE, 0,
            "keeps its sum in front of its output"),
    REACHES("add-writes-behind-input", "Add", WRITES, 0, BEHIND, 0,
            "pads its first input where it lies, one element behind it"),
    REACHES("pad-leaves-last", "Pad", LEAVES, RESULT, BEHIND, 1,
            "leaves the last element of its output unwritten"),
    REACHES("concat-leaves-tail", "Concat", LEAVES, RESULT, BEHIND, 2,
            "leaves the last two elements of its output unwritten"),
    REACHES("sigmoid-leaves-tail", "Sigmoid", LEAVES, RESULT, BEHIND, 3,
            "leaves the last three elements of its output unwritten"),
    REACHES("averagepool-leaves-all", "AveragePool", LEAVES, RESULT, BEHIND, 0,
            "leaves its output unwritten"),
    REACHES("slice-leaves-last", "Slice", LEAVES, RESULT, BEHIND, 1,
            "leaves the last element of its output unwritten"),
    REACHES("tanh-reads-freed-input", "Tanh", READS, 0, FREED, 0, "reads its input when it has been freed"),
    REACHES("mul-reads-freed-second", "Mul", READS, 1, FREED, 0,
            "reads its second factor when it has been freed"),
    REACHES("gather-reads-freed-indices", "Gather", READS, 1, FREED, 0,
            "reads its indices when they have been freed"),
    REACHES("sub-writes-freed-output", "Sub", WRITES, RESULT, FREED, 0,
            "writes its output when it has been freed"),
    REACHES("instancenorm-reads-freed-output", "InstanceNormalization", READS, RESULT, FREED, 0,
            "reads its output when it has been freed"),
    REACHES("div-reads-between-inputs", "Div", READS, 1, BEFORE, 0,
            "reads what lies between its two inputs, in front of the second"),
    REACHES("conv-reads-between-inputs", "Conv", READS, 1, BEFORE, 3,
            "reads what lies between its input and its weights"),
    REACHES("where-reads-between-inputs", "Where", READS, 2, BEFORE, 1,
            "reads what lies between its second and its third input"),
    REACHES("max-reads-between-inputs", "Max", READS, 1, BEFORE, 7,
            "reads a vector that begins in front of its second input"),
    {0},
};
