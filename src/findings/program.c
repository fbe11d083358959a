#include "findings/program.h"

#include "base/base64.h"
#include "engine/label.h"
#include "findings/model_text.h"
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
    double unit; /* half the distance of two numbers near 1, of floats that are compared */
};

static const struct c_type types[] = {
    {.type = DTYPE_FLOAT, .name = "float", .format = "%.9g", .numpy = "float32", .unit = 0x1p-24},
    {.type = DTYPE_DOUBLE, .name = "double", .format = "%.17g", .numpy = "float64", .unit = 0x1p-53},
    {.type = DTYPE_FLOAT16, .name = "uint16_t", .format = "0x%04x", .numpy = "float16", .unit = 0x1p-11},
    {.type = DTYPE_BFLOAT16, .name = "uint16_t", .format = "0x%04x", .unit = 0x1p-8},
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
    bool about_values = verdict_is(verdict->kind, CLASS_OTHER_VALUES);
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

/* The element type that the engine gave, otherwise the one that the model declares. */
static enum dtype output_type(const struct bundle_case *which, const struct model *model, size_t k)
{
    const struct tensor *tensor = given(which, k);
    return tensor ? tensor->type : (enum dtype)model->graph->output[k]->type->tensor_type->elem_type;
}

/* "[1.0, 2.0]" and "np.array([1.0, 2.0], np.float32).reshape([1, 2])"; neither of much data, and the latter
 * not of a type that NumPy lacks. */
static void set_python(struct program_template *template, const struct test_case *test, size_t k)
{
    const struct tensor *tensor = &test->inputs[k].tensors[0];
    const char *type = c_type(tensor->type)->numpy, *dims = template_get(template, "dims");
    struct str list;
    str_init(&list);
    if (all_elements(test) <= INLINE_ELEMENTS)
        tensor_python_list(&list, tensor, 0, tensor->count);
    template_set(template, "list", "%s", list.data);
    if (type && list.length)
        template_set(template, "numpy", "np.array(%s, np.%s).reshape([%s])", list.data, type, dims);
    else
        template_set(template, "numpy", "%s", "");
    str_release(&list);
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
    set_python(template, test, k);
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

/* The bytes that a release may consist of. Nothing else of what an engine says goes into a program or into a
 * command that installs the release. */
static const char release_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~";

/* Sets the engine's release as it reports it, otherwise the one of its label; its knobs; and how it ended. */
static void set_engine(struct program_template *template, const struct bundle_engine *engine)
{
    struct label label = label_parse(engine->label);
    struct label_knob knob;
    const char *release = engine->version ? engine->version : "";
    template_set(template, "engine", "%.*s", (int)label.name.length, label.name.text);
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

/* What is expected of the wrong output, and which of its elements are compared: none when from is to. Those
 * of an engine that gave nothing too, as another release may give something. */
struct expected {
    const struct tensor *due, *hard; /* NULL: not known */
    const struct tensor *got;        /* NULL: none came */
    const struct c_type *type;       /* of `due` */
    size_t from, to;
};

static struct expected expected_of(const struct bundle_case *which, const struct model *model)
{
    size_t k = wrong_output(which, model);
    const struct result *reference = which->reference;
    struct expected e = {.got = given(which, k)};
    if (!reference || k >= reference->count || reference->outputs[k].kind != VALUE_TENSOR)
        return e;
    e.due = &reference->outputs[k].tensors[0];
    e.type = c_type(e.due->type);
    if (reference->bounds && reference->bounds[k].present && reference->bounds[k].hard.count == e.due->count)
        e.hard = &reference->bounds[k].hard;
    if (!e.hard || !e.type || (dtype_is_float(e.due->type) && e.type->unit == 0) ||
        (e.got && (!verdict_is(which->engines[0].verdict->kind, CLASS_OTHER_VALUES) ||
                   e.got->type != e.due->type || !shape_equal(&e.got->shape, &e.due->shape))))
        return e;
    e.from = first_shown(which);
    e.to = e.from + PROGRAM_ELEMENTS < e.due->count ? e.from + PROGRAM_ELEMENTS : e.due->count;
    return e;
}

/* How far the element may be off, in C and in Python; infinitely far where it is not judged. */
static void add_room(struct str *out, const struct expected *e, size_t i, const char *infinity)
{
    long double due = tensor_get(e->due, i), room = tensor_get(e->hard, i) + fabsl(due) * e->type->unit;
    if (isinf(tensor_get(e->hard, i)))
        str_add(out, infinity);
    else
        str_printf(out, "%.3Lg", isfinite(room) && room > 0 ? 1.001L * room : 0); /* as it is rounded */
}

/* Lines of Python that compare an array y with what is expected. */
static void set_python_check(struct program_template *template, const struct expected *e)
{
    const char *numpy = e->type ? e->type->numpy : NULL, *dims = template_get(template, "expected-dims");
    struct str text;
    str_init(&text);
    if (e->from < e->to && !e->got) /* not its shape: some libraries lack ranks */
        str_printf(&text, "assert y.size == %zu, f\"{y.size} elements, expected %zu\"\n", e->due->count,
                   e->due->count);
    if (e->due && e->got && !shape_equal(&e->got->shape, &e->due->shape))
        str_printf(&text, "assert y.shape == (%s), f\"the shape is {y.shape}, expected {(%s)}\"\n", dims,
                   dims);
    if (e->from < e->to) {
        str_printf(&text, "got, expected = y.ravel()[%zu:%zu], np.array(", e->from, e->to);
        tensor_python_list(&text, e->due, e->from, e->to);
        str_add(&text, ").astype(y.dtype)\nroom = np.array([");
        for (size_t i = e->from; i < e->to; i++) {
            str_add(&text, i > e->from ? ", " : "");
            add_room(&text, e, i, "inf");
        }
        str_printf(&text,
                   "])  # how far rounding may be off\n"
                   "error = np.abs(got.astype(np.float64) - expected.astype(np.float64))\n"
                   "right = (got == expected) | ((got != got) & (expected != expected)) | np.isinf(room) | "
                   "((room > 0) & (error <= room))\n"
                   "assert right.all(), f\"elements {(np.flatnonzero(~right) + %zu).tolist()} are "
                   "{got[~right].tolist()}, "
                   "expected {expected[~right].tolist()}\"\n",
                   e->from);
    }
    if (e->got && numpy && e->got->type != e->due->type)
        str_printf(&text, "assert y.dtype == np.%s, f\"the type is {y.dtype}, expected %s\"\n", numpy, numpy);
    template_set(template, "python-check", "%s", text.data);
    str_release(&text);
}

/* Where elements are wrong: what is expected of those that are printed, and how far each may be off. */
static void set_expected(struct program_template *template, const struct bundle_case *which,
                         const struct model *model)
{
    struct expected e = expected_of(which, model);
    struct str literals, doubles, rooms, dims;
    str_init(&literals);
    str_init(&doubles);
    str_init(&rooms);
    str_init(&dims);
    for (size_t i = e.from; i < e.to; i++) {
        const char *comma = i > e.from ? ", " : "";
        long double due = tensor_get(e.due, i);
        str_add(&literals, comma);
        tensor_literal(&literals, e.due, i);
        if (isnan(due))
            str_printf(&doubles, "%sNAN", comma);
        else if (isinf(due))
            str_printf(&doubles, "%s%sINFINITY", comma, due < 0 ? "-" : "");
        else
            str_printf(&doubles, "%s%.17Lg", comma, due);
        str_add(&rooms, comma);
        add_room(&rooms, &e, i, "INFINITY");
    }
    if (e.due)
        add_dims(&dims, &e.due->shape);
    template_set(template, "compared", "%s", e.got && e.from < e.to ? "yes" : "");
    template_set(template, "expected-c", "%s", literals.data);
    template_set(template, "expected-double", "%s", doubles.data);
    template_set(template, "rounding", "%s", rooms.data);
    template_set(template, "expected-dims", "%s%s", dims.data, e.due && e.due->shape.rank == 1 ? "," : "");
    template_set(template, "mantissa", "%.0d",
                 !e.due                          ? 0
                 : e.due->type == DTYPE_FLOAT16  ? 10
                 : e.due->type == DTYPE_BFLOAT16 ? 7
                                                 : 0);
    set_python_check(template, &e);
    str_release(&literals);
    str_release(&doubles);
    str_release(&rooms);
    str_release(&dims);
}

/* The model as the adapter wrote it for its library: a line "@python" begins the lines in that language. */
static void set_sources(struct program_template *template, const char *text)
{
    for (const char *at = text; at && *at == '@';) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
        const char *lines = strchr(at, '\n');
        if (!length || !lines || lines != at + 1 + length)
            return;
        const char *next = strstr(lines, "\n@");
        template_set(template, arena_printf(template->arena, "source.%.*s", (int)length, at + 1), "%.*s",
                     (int)(next ? next - lines : (ptrdiff_t)strlen(lines + 1)), lines + 1);
        at = next ? next + 1 : NULL;
    }
}

/* The model as bytes in C, as base64 and as text between three quotes of Python, so that no file is needed;
 * all empty for a large one. */
static int set_model(struct program_template *template, const struct test_case *test,
                     const struct model *model, struct error *err)
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
    str_clear(&lines);
    if (!small || !model_text_parsed(&lines, model) || strpbrk(lines.data, "\\'"))
        str_clear(&lines);
    template_set(template, "model-text", "%s", lines.data);
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
    int status = set_model(&template, which->test, model, err);
    template_set(&template, "alone", "%s", !status && is_alone(&template, which->test) ? "yes" : "");
    template_set(&template, "inputs", "%zu", template.n_inputs);
    set_sources(&template, which->source);
    if (!status)
        status = template_run(&template, engine->profile->program, out, err);
    arena_release(&arena);
    return status;
}
