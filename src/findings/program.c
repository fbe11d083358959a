#include "findings/program.h"

#include "engine/label.h"
#include "findings/writeup.h"
#include "tensor/literal.h"

#include <stdio.h>
#include <string.h>

enum { INLINE_ELEMENTS = 64 }; /* of all inputs; larger ones are read from their file */

static const struct program_type types[] = {
    {DTYPE_FLOAT, "float", "%.9g", "FLOAT", "CV_32F", false, "kFloat"},
    {DTYPE_DOUBLE, "double", "%.17g", "DOUBLE", "CV_64F", false, "kDouble"},
    {DTYPE_FLOAT16, "uint16_t", "0x%04x", "FLOAT16", "CV_16F", false, "kHalf"},
    {DTYPE_BFLOAT16, "uint16_t", "0x%04x", "BFLOAT16", "CV_16BF", true, "kBFloat16"},
    {DTYPE_INT8, "int8_t", "%d", "INT8", "CV_8S", false, "kChar"},
    {DTYPE_UINT8, "uint8_t", "%d", "UINT8", "CV_8U", false, "kByte"},
    {DTYPE_INT16, "int16_t", "%d", "INT16", "CV_16S", false, "kShort"},
    {DTYPE_UINT16, "uint16_t", "%d", "UINT16", "CV_16U", false, NULL},
    {DTYPE_INT32, "int32_t", "%d", "INT32", "CV_32S", false, "kInt"},
    {DTYPE_UINT32, "uint32_t", "%u", "UINT32", "CV_32U", true, NULL},
    {DTYPE_INT64, "int64_t", "%lld", "INT64", "CV_64S", true, "kLong"},
    {DTYPE_UINT64, "uint64_t", "%llu", "UINT64", "CV_64U", true, NULL},
    {DTYPE_BOOL, "uint8_t", "%d", "BOOL", "CV_Bool", true, "kBool"},
};

const struct program_type *program_type(enum dtype type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

/* Names go into string literals: none that would end one. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            return false;
    return true;
}

static bool can_write(const struct test_case *testcase, const struct model *model)
{
    for (size_t i = 0; i < testcase->n_inputs; i++) {
        const struct value *input = &testcase->inputs[i];
        if (input->kind != VALUE_TENSOR || !program_type(input->tensors[0].type) || !input->name ||
            !is_plain(input->name))
            return false;
    }
    for (size_t i = 0; i < model->graph->n_output; i++)
        if (!is_plain(model->graph->output[i]->name) || !model->graph->output[i]->type ||
            model->graph->output[i]->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return false;
    return model->graph->n_output > 0;
}

static size_t all_elements(const struct test_case *testcase)
{
    size_t count = 0;
    for (size_t i = 0; i < testcase->n_inputs; i++)
        count += testcase->inputs[i].tensors[0].count;
    return count;
}

void program_dims(struct str *out, const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)shape->dims[i]);
}

/* The payload is the end of its file. */
void program_data(struct str *out, const struct test_case *testcase, size_t k)
{
    const struct tensor *tensor = &testcase->inputs[k].tensors[0];
    const struct program_type *type = program_type(tensor->type);
    bool in_line = all_elements(testcase) <= INLINE_ELEMENTS;
    str_printf(out, "    static %s x%zu[%zu]", type->name, k, tensor->count ? tensor->count : 1);
    if (in_line && tensor->count) {
        str_add(out, " = {");
        for (size_t i = 0; i < tensor->count; i++) {
            str_add(out, i ? ", " : "");
            tensor_literal(out, tensor, i);
        }
        str_add(out, "}");
    }
    str_add(out, ";\n");
    if (in_line || !tensor->count)
        return;
    str_printf(out,
               "    FILE *f%zu = fopen(\"test_data_set_0/input_%zu.pb\", \"rb\");\n"
               "    if (!f%zu || fseek(f%zu, -(long)sizeof x%zu, SEEK_END) || !fread(x%zu, sizeof x%zu, 1, "
               "f%zu)) return 2;\n",
               k, k, k, k, k, k, k, k);
}

size_t program_from(const struct bundle_case *which)
{
    const struct verdict *verdict = which->engines[0].verdict;
    bool about_values = verdict_is(verdict->kind, CLASS_NUMBERS);
    return about_values && verdict->element >= PROGRAM_ELEMENTS ? verdict->element - 2 : 0;
}

size_t program_output(const struct bundle_case *which, const struct model *model)
{
    size_t output = which->engines[0].verdict->output;
    return output < model->graph->n_output ? output : 0;
}

enum dtype program_output_type(const struct bundle_case *which, const struct model *model)
{
    const struct result *result = which->engines[0].result;
    size_t k = program_output(which, model);
    if (result && k < result->count && result->outputs[k].kind == VALUE_TENSOR)
        return result->outputs[k].tensors[0].type;
    return (enum dtype)model->graph->output[k]->type->tensor_type->elem_type;
}

static const struct {
    const char *engine;
    program_writer *write;
} writers[] = {
    {"onnxruntime", program_onnxruntime},
    {"opencv", program_opencv},
    {"torch", program_torch},
};

bool writeup_program(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const char *label = which->engines[0].label;
    if (!can_write(which->testcase, model) || !program_type(program_output_type(which, model)))
        return false;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (label_names(label, writers[i].engine))
            return writers[i].write(out, which, model);
    return false;
}
