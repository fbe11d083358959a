#include "case/inputs_fit.h"

#include "base/map.h"
#include "base/str.h"
#include "model/describe.h"

#include <inttypes.h>
#include <string.h>

/* What a symbol stands for so far, and where that was seen. */
struct symbol {
    int64_t size;
    const char *input;
};

struct fitting {
    const struct model *model;
    struct map initializers; /* their names */
    struct map inputs;       /* names of the graph's inputs */
    struct map given;        /* names of the values, to their numbers; the first of two that are alike */
    struct map names;        /* of symbols, to numbers in `symbols` */
    struct arena arena;
    struct symbol *symbols; /* room for every dimension of every input */
    size_t n_symbols;
    struct error *err;
};

static size_t count_dims(const Onnx__TypeProto *type)
{
    bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type->shape;
    return tensor ? type->tensor_type->shape->n_dim : 0;
}

void inputs_names(struct map *names, const struct model *model)
{
    map_init(names);
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (model->graph->input[i]->name)
            map_set(names, model->graph->input[i]->name, i);
}

static void fitting_init(struct fitting *fitting, const struct model *model, const struct value *values,
                         size_t count, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    size_t dims = 0;
    *fitting = (struct fitting){.model = model, .err = err};
    map_init(&fitting->initializers);
    map_init(&fitting->given);
    map_init(&fitting->names);
    arena_init(&fitting->arena);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&fitting->initializers, graph->initializer[i]->name, i);
    for (size_t i = 0; i < graph->n_input; i++)
        dims += count_dims(graph->input[i]->type);
    inputs_names(&fitting->inputs, model);
    for (size_t i = count; i-- > 0;)
        if (values[i].name)
            map_set(&fitting->given, values[i].name, i);
    fitting->symbols = arena_array(&fitting->arena, dims + 1, sizeof *fitting->symbols);
}

static void fitting_release(struct fitting *fitting)
{
    map_release(&fitting->initializers);
    map_release(&fitting->inputs);
    map_release(&fitting->given);
    map_release(&fitting->names);
    arena_release(&fitting->arena);
}

static void describe_value(struct str *out, const struct value *value)
{
    char shape[SHAPE_TEXT_SIZE];
    if (value->kind == VALUE_SEQUENCE)
        str_printf(out, "a sequence of %zu tensors", value->count);
    else if (value->kind == VALUE_NONE)
        str_add(out, "an empty optional");
    else
        str_printf(out, "%s %s", dtype_name(value->tensors[0].type),
                   shape_text(&value->tensors[0].shape, shape));
}

static int misfit(const struct fitting *fitting, const Onnx__ValueInfoProto *info, const struct value *value)
{
    struct str given, wanted;
    str_init(&given);
    str_init(&wanted);
    describe_value(&given, value);
    describe_type(&wanted, info->type);
    int status = error_set(fitting->err, ERROR_INVALID, "your input %s is %s, the model wants %s", info->name,
                           given.data, wanted.data);
    str_release(&given);
    str_release(&wanted);
    return status;
}

/* False when the symbol has another size in an input before this one, which is then said. */
static bool symbol_fits(struct fitting *fitting, const char *symbol, int64_t size, const char *input)
{
    size_t number;
    if (!symbol || !*symbol)
        return true;
    if (!map_get(&fitting->names, symbol, &number)) {
        fitting->symbols[fitting->n_symbols] = (struct symbol){size, input};
        map_set(&fitting->names, symbol, fitting->n_symbols++);
        return true;
    }
    const struct symbol *before = &fitting->symbols[number];
    if (before->size == size)
        return true;
    error_set(fitting->err, ERROR_INVALID,
              "the model wants one size for its dimension %s: it is %" PRId64 " in your input %s and %" PRId64
              " in your input %s",
              symbol, before->size, before->input, size, input);
    return false;
}

/* 0 when it fits, 1 when it does not, -1 when that has been said. */
static int tensor_fits(struct fitting *fitting, const Onnx__TypeProto__Tensor *type,
                       const struct tensor *tensor, const char *input)
{
    const Onnx__TensorShapeProto *shape = type->shape;
    if (type->elem_type && type->elem_type != (int32_t)tensor->type)
        return 1;
    if (shape && shape->n_dim != (size_t)tensor->shape.rank)
        return 1;
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        /* Some exporters write a negative size for one that is open. */
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0 &&
            dim->dim_value != tensor->shape.dims[i])
            return 1;
    }
    for (size_t i = 0; shape && i < shape->n_dim; i++)
        if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            !symbol_fits(fitting, shape->dim[i]->dim_param, tensor->shape.dims[i], input))
            return -1;
    return 0;
}

/* The elements of a sequence may each have a shape of their own. */
static int sequence_fits(const Onnx__TypeProto__Sequence *type, const struct value *value)
{
    const Onnx__TypeProto *element = type ? type->elem_type : NULL;
    if (!element || element->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return 0;
    for (size_t i = 0; i < value->count; i++)
        if (element->tensor_type->elem_type &&
            element->tensor_type->elem_type != (int32_t)value->tensors[i].type)
            return 1;
    return 0;
}

static int value_fits(struct fitting *fitting, const Onnx__TypeProto *type, const struct value *value,
                      const char *input)
{
    switch (type ? type->value_case : ONNX__TYPE_PROTO__VALUE__NOT_SET) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        return value->kind == VALUE_TENSOR
                   ? tensor_fits(fitting, type->tensor_type, &value->tensors[0], input)
                   : 1;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        return value->kind == VALUE_SEQUENCE ? sequence_fits(type->sequence_type, value) : 1;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        return value->kind == VALUE_NONE
                   ? 0
                   : value_fits(fitting, type->optional_type ? type->optional_type->elem_type : NULL, value,
                                input);
    default:
        return 0;
    }
}

/* An absent optional need not be given. */
static bool may_lack(const struct fitting *fitting, const Onnx__ValueInfoProto *info)
{
    return map_has(&fitting->initializers, info->name) ||
           (info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE);
}

static int input_fits(struct fitting *fitting, const Onnx__ValueInfoProto *info, const struct value *values)
{
    size_t number;
    const struct value *value = map_get(&fitting->given, info->name, &number) ? &values[number] : NULL;
    if (!value && may_lack(fitting, info))
        return 0;
    if (!value) {
        struct str wanted;
        str_init(&wanted);
        describe_type(&wanted, info->type);
        int status = error_set(fitting->err, ERROR_INVALID, "input %s is not given; the model wants %s",
                               info->name, wanted.data);
        str_release(&wanted);
        return status;
    }
    int result = value_fits(fitting, info->type, value, info->name);
    return result > 0 ? misfit(fitting, info, value) : result;
}

static const char *list_inputs(const struct model *model, struct str *out)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        str_printf(out, "%s%s", i ? ", " : "", model->graph->input[i]->name);
    return out->length ? out->data : "none";
}

static int name_known(const struct fitting *fitting, const struct value *value, struct error *err)
{
    if (!value->name || map_has(&fitting->inputs, value->name))
        return 0;
    struct str names;
    str_init(&names);
    int status = error_set(err, ERROR_INVALID, "the model has no input %s; its inputs are %s", value->name,
                           list_inputs(fitting->model, &names));
    str_release(&names);
    return status;
}

int inputs_fit(const struct model *model, const struct value *values, size_t count, struct error *err)
{
    struct fitting fitting;
    int status = 0;
    fitting_init(&fitting, model, values, count, err);
    for (size_t i = 0; i < count && status == 0; i++)
        status = name_known(&fitting, &values[i], err);
    for (size_t i = 0; i < model->graph->n_input && status == 0; i++)
        status = input_fits(&fitting, model->graph->input[i], values);
    fitting_release(&fitting);
    return status;
}

int inputs_name_fits(const struct map *names, const char *path, const char *said, const char *wanted,
                     struct error *err)
{
    if (!said || !*said || strcmp(said, wanted) == 0 || !map_has(names, said))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "%s holds a tensor called %s, but by its number it is input %s: number the files in the "
                     "order of the model's inputs",
                     path, said, wanted);
}
