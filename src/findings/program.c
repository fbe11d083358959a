#include "findings/program.h"

#include "base/base64.h"
#include "engine/label.h"
#include "findings/program_template.h"
#include "tensor/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INLINE_ELEMENTS = 1024, /* of all inputs; larger ones are read from their file */
    INLINE_MODEL = 4096,    /* bytes; a larger model is read from its file */
    PROGRAM_ELEMENTS = 20   /* of the output that are printed */
};

/* An element type in C, where the short floats travel as their bits, and in NumPy, which lacks some. */
struct c_type {
    enum dtype type;
    const char *name, *format, *cast, *numpy;
    double unit; /* half the distance of two numbers near 1, of those that are compared */
};

static const struct c_type types[] = {
    {.type = DTYPE_FLOAT, .name = "float", .format = "%.9g", .numpy = "float32", .unit = 0x1p-24},
    {.type = DTYPE_DOUBLE, .name = "double", .format = "%.17g", .numpy = "float64", .unit = 0x1p-53},
    {.type = DTYPE_FLOAT16, .name = "uint16_t", .format = "0x%04x", .numpy = "float16", .unit = 0x1p-11},
    {.type = DTYPE_BFLOAT16, .name = "uint16_t", .format = "0x%04x"},
    {.type = DTYPE_FLOAT8E4M3FN, .name = "uint8_t", .format = "0x%02x"},
    {.type = DTYPE_FLOAT8E4M3FNUZ, .name = "uint8_t", .format = "0x%02x"},
    {.type = DTYPE_FLOAT8E5M2, .name = "uint8_t", .format = "0x%02x"},
    {.type = DTYPE_FLOAT8E5M2FNUZ, .name = "uint8_t", .format = "0x%02x"},
    {.type = DTYPE_INT8, .name = "int8_t", .format = "%d", .numpy = "int8"},
    {.type = DTYPE_UINT8, .name = "uint8_t", .format = "%d", .numpy = "uint8"},
    {.type = DTYPE_INT16, .name = "int16_t", .format = "%d", .numpy = "int16"},
    {.type = DTYPE_UINT16, .name = "uint16_t", .format = "%d", .numpy = "uint16"},
    {.type = DTYPE_INT32, .name = "int32_t", .format = "%d", .numpy = "int32"},
    {.type = DTYPE_UINT32, .name = "uint32_t", .format = "%u", .numpy = "uint32"},
    {.type = DTYPE_INT64, .name = "int64_t", .format = "%lld", .cast = "(long long)", .numpy = "int64"},
    {.type = DTYPE_UINT64,
     .name = "uint64_t",
     .format = "%llu",
     .cast = "(unsigned long long)",
     .numpy = "uint64"},
    {.type = DTYPE_BOOL, .name = "uint8_t", .format = "%d", .numpy = "bool_"},
};

static const struct c_type *c_type(enum dtype type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

/* Names go into string literals: none that would end one. Models have none with control characters. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '"' || *c == '\\')
            return false;
    return true;
}

static bool can_write(const struct test_case *test, const struct model *model)
{
    for (size_t i = 0; i < test->n_inputs; i++) {
        const struct value *input = &test->inputs[i];
        if (input->kind != VALUE_TENSOR || !c_type(input->tensors[0].type) || !input->name ||
            !is_plain(input->name))
            return false;
    }
    for (size_t i = 0; i < model->graph->n_output; i++)
        if (!is_plain(model->graph->output[i]->name) || !model->graph->output[i]->type ||
            model->graph->output[i]->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return false;
    return model->graph->n_output > 0;
}

static size_t all_elements(const struct test_case *test)
{
    size_t count = 0;
    for (size_t i = 0; i < test->n_inputs; i++)
        count += test->inputs[i].tensors[0].count;
    return count;
}

/* "3, 1, 4" */
static void add_dims(struct str *out, const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)shape->dims[i]);
}

/* Declares an array xK with the values of input K, which larger cases read from the end of their file. */
static void add_data(struct str *out, const struct test_case *test, size_t k)
{
    const struct tensor *tensor = &test->inputs[k].tensors[0];
    const struct c_type *type = c_type(tensor->type);
    bool in_line = all_elements(test) <= INLINE_ELEMENTS;
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

/* The first element to print, so that the worst is among them. */
static size_t first_shown(const struct bundle_case *which)
{
    const struct verdict *verdict = which->engines[0].verdict;
    bool about_values = verdict_is(verdict->kind, CLASS_NUMBERS);
    return about_values && verdict->element >= PROGRAM_ELEMENTS ? verdict->element - 2 : 0;
}

/* The output that is wrong. */
static size_t wrong_output(const struct bundle_case *which, const struct model *model)
{
    size_t output = which->engines[0].verdict->output;
    return output < model->graph->n_output ? output : 0;
}

/* What the engine gave for output k; NULL when that is no tensor. */
static const struct tensor *given(const struct bundle_case *which, size_t k)
{
    const struct result *result = which->engines[0].result;
    return result && k < result->count && result->outputs[k].kind == VALUE_TENSOR
               ? &result->outputs[k].tensors[0]
               : NULL;
}

/* As the engine gave it, else as the model says. */
static enum dtype output_type(const struct bundle_case *which, const struct model *model, size_t k)
{
    const struct tensor *tensor = given(which, k);
    return tensor ? tensor->type : (enum dtype)model->graph->output[k]->type->tensor_type->elem_type;
}

/* Elements as a list of Python, in which nan and inf are names. */
static void add_python_list(struct str *out, const struct tensor *tensor, size_t from, size_t to)
{
    str_add(out, "[");
    for (size_t i = from; i < to; i++) {
        long double value = tensor_get(tensor, i);
        str_add(out, i > from ? ", " : "");
        if (isnan(value))
            str_add(out, "nan");
        else
            str_printf(out, dtype_is_float(tensor->type) ? "%.17Lg" : "%.0Lf", value);
    }
    str_add(out, "]");
}

/* "np.array([1, 2], np.float32).reshape(1, 2)"; nothing for a type that NumPy lacks, and for much data. */
static void set_numpy(struct program_template *template, const struct test_case *test, size_t k)
{
    const struct tensor *tensor = &test->inputs[k].tensors[0];
    const char *type = c_type(tensor->type)->numpy;
    struct str text;
    str_init(&text);
    if (type && all_elements(test) <= INLINE_ELEMENTS) {
        str_add(&text, "np.array(");
        add_python_list(&text, tensor, 0, tensor->count);
        str_printf(&text, ", np.%s).reshape((", type);
        add_dims(&text, &tensor->shape);
        str_add(&text, tensor->shape.rank == 1 ? ",))" : "))");
    }
    template_set(template, "numpy", "%s", text.data);
    str_release(&text);
}

struct subject {
    const struct bundle_case *which;
    const struct model *model;
};

static void set_input(struct program_template *template, const struct test_case *test, size_t k)
{
    const struct tensor *tensor = &test->inputs[k].tensors[0];
    char type[40];
    struct str text;
    str_init(&text);
    add_data(&text, test, k);
    template_set(template, "data", "%s", text.data);
    str_clear(&text);
    add_dims(&text, &tensor->shape);
    template_set(template, "dims", "%s", text.data);
    str_release(&text);
    set_numpy(template, test, k);
    template_set(template, "name", "%s", test->inputs[k].name);
    template_set(template, "elements", "%zu", tensor->count);
    template_set(template, "rank", "%d", tensor->shape.rank);
    snprintf(type, sizeof type, "type.%s", dtype_name(tensor->type));
    template_set(template, "type", "%s", template_get(template, type));
}

static void enter(struct program_template *template, bool input, size_t number)
{
    const struct subject *subject = template->context;
    template_set(template, "number", "%zu", number);
    template_set(template, "comma", "%s", number ? ", " : "");
    if (input)
        set_input(template, subject->which->test, number);
    else
        template_set(template, "name", "%s", subject->model->graph->output[number]->name);
}

/* What a release is written with; a program, or a command to install it, gets nothing else that an engine
 * says. */
static const char release_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~";

/* Its release as the engine says it, else as its label does; its knobs; how it ended. */
static void set_engine(struct program_template *template, const struct bundle_engine *engine)
{
    struct label label = label_parse(engine->label);
    struct label_knob knob;
    const char *release = engine->version ? engine->version : "";
    if (*release && !release[strspn(release, release_letters)])
        template_set(template, "release", "%s", release);
    else
        template_set(template, "release", "%.*s", (int)label.version.length,
                     label.version.text ? label.version.text : "");
    int major = atoi(template_get(template, "release"));
    template_set(template, "major", "%.0d", major); /* nothing for 0 */
    while (label_next_knob(&label.knobs, &knob) > 0) {
        char *name = arena_printf(template->arena, "knob.%.*s", (int)knob.name.length, knob.name.text);
        template_set(template, name, "%.*s", (int)knob.value.length, knob.value.text);
    }
    template_set(template, "verdict", "%s", verdict_name(engine->verdict->kind));
    template_set(template, "stage", "%s", engine->result ? stage_name(engine->result->stage) : "");
}

/* The output that is wrong, and which elements of it are to be printed. */
static void set_output(struct program_template *template, const struct bundle_case *which,
                       const struct model *model)
{
    size_t k = wrong_output(which, model), from = first_shown(which), to = from + PROGRAM_ELEMENTS;
    const struct tensor *tensor = given(which, k);
    const struct c_type *type = c_type(output_type(which, model, k));
    size_t count = tensor ? tensor->count : 0;
    template_set(template, "output", "%s", model->graph->output[k]->name);
    template_set(template, "output-number", "%zu", k);
    template_set(template, "output-elements", "%zu", count);
    template_set(template, "from", "%zu", from);
    template_set(template, "to", "%zu", to);
    template_set(template, "to-last", "%zu", to < count ? to : count);
    template_set(template, "c-type", "%s", type->name);
    template_set(template, "c-format", "%s", type->format);
    template_set(template, "c-cast", "%s", type->cast ? type->cast : "");
    template_set(template, "double-format", "%s", dtype_size(type->type) > 4 ? "%.17g" : "%.9g");
}

/* Where elements are wrong: what is expected of those that are printed, and how far each may be off;
 * infinitely far where it is not judged. */
static void set_expected(struct program_template *template, const struct bundle_case *which,
                         const struct model *model)
{
    size_t k = wrong_output(which, model), from = first_shown(which), to = from + PROGRAM_ELEMENTS;
    const struct result *reference = which->reference;
    const struct tensor *got = given(which, k), *due = NULL, *hard = NULL;
    if (reference && k < reference->count && reference->outputs[k].kind == VALUE_TENSOR)
        due = &reference->outputs[k].tensors[0];
    if (due && reference->bounds && reference->bounds[k].present)
        hard = &reference->bounds[k].hard;
    bool compared = due && got && hard && verdict_is(which->engines[0].verdict->kind, CLASS_NUMBERS) &&
                    got->type == due->type && shape_equal(&got->shape, &due->shape) &&
                    c_type(due->type)->numpy && hard->count == due->count;
    struct str values, literals, rooms, dims;
    str_init(&values);
    str_init(&literals);
    str_init(&rooms);
    str_init(&dims);
    to = due && to > due->count ? due->count : to;
    if (compared)
        add_python_list(&values, due, from, to);
    for (size_t i = from; compared && i < to; i++) {
        long double room = tensor_get(hard, i) + fabsl(tensor_get(due, i)) * c_type(due->type)->unit;
        str_add(&literals, i > from ? ", " : "");
        tensor_literal(&literals, due, i);
        if (isnan(tensor_get(due, i)) || room < 0)
            room = 0;
        if (isinf(room))
            str_printf(&rooms, "%sINFINITY", i > from ? ", " : "");
        else
            str_printf(&rooms, "%s%.17Lg", i > from ? ", " : "", room);
    }
    if (due)
        add_dims(&dims, &due->shape);
    template_set(template, "compared", "%s", compared ? "yes" : "");
    template_set(template, "expected-numpy", "%s", values.data);
    template_set(template, "expected-c", "%s", literals.data);
    template_set(template, "rounding", "%s", rooms.data);
    template_set(template, "expected-dims", "%s%s", dims.data, due && due->shape.rank == 1 ? "," : "");
    template_set(template, "expected-type", "%s",
                 due && c_type(due->type) && c_type(due->type)->numpy ? c_type(due->type)->numpy : "");
    template_set(template, "short", "%s",
                 due && dtype_is_float(due->type) && dtype_size(due->type) < 4 ? "yes" : "");
    str_release(&values);
    str_release(&literals);
    str_release(&rooms);
    str_release(&dims);
}

/* The model as bytes in C and as base64, so that no file is needed; both empty for a large one. */
static int set_model(struct program_template *template, const struct test_case *test, struct error *err)
{
    enum { BYTES_A_LINE = 24, LETTERS_A_LINE = 100 };
    const uint8_t *bytes;
    size_t size;
    struct str literal, encoded, lines;
    if (test_case_bytes(test, &bytes, &size, err))
        return -1;
    bool small = size <= INLINE_MODEL;
    str_init(&literal);
    str_init(&encoded);
    str_init(&lines);
    for (size_t i = 0; small && i < size; i++)
        str_printf(&literal, "%s\\x%02x%s", i % BYTES_A_LINE ? "" : "    \"", bytes[i],
                   i + 1 == size || i % BYTES_A_LINE == BYTES_A_LINE - 1 ? "\"\n" : "");
    if (small)
        base64_write(&encoded, bytes, size);
    for (size_t i = 0; i < encoded.length; i += LETTERS_A_LINE)
        str_printf(&lines, "%.*s\n", LETTERS_A_LINE, encoded.data + i);
    template_set(template, "model-c", "%s", literal.data);
    template_set(template, "model-base64", "%s", lines.data);
    str_release(&literal);
    str_release(&encoded);
    str_release(&lines);
    return 0;
}

/* Whether no file beside the program is needed. */
static bool is_alone(const struct program_template *template, const struct test_case *test)
{
    return *template_get(template, "model-c") && all_elements(test) <= INLINE_ELEMENTS;
}

int program_write(struct str *out, const struct bundle_case *which, const struct model *model,
                  struct error *err)
{
    const struct bundle_engine *engine = &which->engines[0];
    if (!engine->profile || !engine->profile->program || !can_write(which->test, model) ||
        !c_type(output_type(which, model, wrong_output(which, model))))
        return 0;
    struct arena arena;
    struct subject subject = {which, model};
    struct program_template template = {
        .arena = &arena,
        .n_inputs = which->test->n_inputs,
        .n_outputs = model->graph->n_output,
        .enter = enter,
        .context = &subject,
    };
    arena_init(&arena);
    set_engine(&template, engine);
    set_output(&template, which, model);
    set_expected(&template, which, model);
    int status = set_model(&template, which->test, err);
    template_set(&template, "alone", "%s", !status && is_alone(&template, which->test) ? "yes" : "");
    template_set(&template, "inputs", "%zu", template.n_inputs);
    template_set(&template, "source", "%s", which->source ? which->source : "");
    if (!status)
        status = template_run(&template, engine->profile->program, out, err);
    arena_release(&arena);
    return status;
}
