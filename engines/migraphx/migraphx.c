/* The MIGraphX engine: start, load, run, on the library's target "ref", its kernels for the processor. */
#include "ref.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The library does not tell its version: it is that of its package, in whose folder the program lies. */
static void add_version(struct str *version)
{
    const char *path = getenv("ASSAY_LIBRARY"), *end = path ? strrchr(path, '/') : NULL, *begin = end;
    while (begin && begin > path && begin[-1] != '/')
        begin--;
    str_printf(version, "%.*s", begin ? (int)(end - begin) : 7, begin ? begin : "unknown");
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct migraphx *migraphx = memory_zeroed(1, sizeof *migraphx);
    *engine = call->engine = migraphx;
    migraphx->messages = messages_open();
    add_version(version);
    if (migraphx_target_create(&migraphx->target, "ref") != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    return 0;
}

static void drop_program(struct migraphx *migraphx)
{
    if (migraphx->program)
        migraphx_program_destroy(migraphx->program);
    migraphx->program = NULL;
    free(migraphx->shapes);
    migraphx->shapes = NULL;
    migraphx->n_shapes = 0;
}

static void unload(struct adapter_call *call)
{
    struct migraphx *migraphx = call->engine;
    drop_program(migraphx);
    model_free(migraphx->model);
    free(migraphx->bytes);
    free(migraphx->outputs);
    *migraphx = (struct migraphx){.messages = migraphx->messages, .target = migraphx->target};
}

static int read_model(struct adapter_call *call, const struct adapter_model *given)
{
    struct migraphx *migraphx = call->engine;
    struct error err = {0};
    if (given->path)
        return adapter_fail(call, ADAPTER_UNSUPPORTED,
                            "the library is given models as bytes, and this one is a file");
    if (model_parse(&migraphx->model, given->data, given->size, &err) < 0) {
        migraphx->model = NULL;
        return adapter_fail(call, ADAPTER_REJECTED, "%s", err.message);
    }
    migraphx->size = given->size;
    migraphx->bytes = memory_zeroed(given->size + 1, 1);
    memcpy(migraphx->bytes, given->data, given->size);
    return 0;
}

static int output_place(struct adapter_call *call, const char *name, size_t *place)
{
    const Onnx__GraphProto *graph = ((struct migraphx *)call->engine)->model->graph;
    for (*place = 0; *place < graph->n_output; ++*place)
        if (strcmp(graph->output[*place]->name, name) == 0)
            return 0;
    return adapter_fail(call, ADAPTER_FAILED, "the model has no output '%s'", name);
}

/* The library gives results by their number in the graph. */
static int choose_outputs(struct adapter_call *call, const struct adapter_model *given)
{
    struct migraphx *migraphx = call->engine;
    migraphx->n_outputs = given->n_outputs ? given->n_outputs : migraphx->model->graph->n_output;
    migraphx->outputs = memory_zeroed(migraphx->n_outputs + 1, sizeof *migraphx->outputs);
    for (size_t i = 0; i < migraphx->n_outputs; i++) {
        if (given->n_outputs == 0)
            migraphx->outputs[i] = i;
        else if (output_place(call, given->outputs[i], &migraphx->outputs[i]) < 0)
            return -1;
    }
    return 0;
}

/* Whether the model says each dim of the input; the library takes those that it does not say for 1. */
static bool is_static(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto__Tensor *type = info->type ? info->type->tensor_type : NULL;
    if (!type || !type->shape)
        return false;
    for (size_t i = 0; i < type->shape->n_dim; i++)
        if (type->shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            return false;
    return true;
}

static bool all_static(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (!is_static(graph->input[i]))
            return false;
    return true;
}

static int compile_program(struct adapter_call *call, migraphx_onnx_options_t options)
{
    struct migraphx *migraphx = call->engine;
    migraphx_compile_options_t how;
    if (migraphx_parse_onnx_buffer(&migraphx->program, migraphx->bytes, migraphx->size, options) !=
        migraphx_status_success) {
        migraphx->program = NULL;
        return migraphx_refuse(call, ADAPTER_REJECTED);
    }
    if (migraphx_compile_options_create(&how) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    migraphx_status status = migraphx_program_compile(migraphx->program, migraphx->target, how);
    migraphx_compile_options_destroy(how);
    if (status == migraphx_status_success)
        return 0;
    drop_program(migraphx);
    return migraphx_refuse(call, ADAPTER_REJECTED);
}

/* Reads and compiles the model; `inputs` give the shapes of a model that leaves dims open, else it is NULL.
 */
static int open_program(struct adapter_call *call, const struct value *inputs, size_t count)
{
    struct migraphx *migraphx = call->engine;
    migraphx_onnx_options_t options;
    if (migraphx_onnx_options_create(&options) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    migraphx->shapes = inputs ? memory_zeroed(count + 1, sizeof *migraphx->shapes) : NULL;
    migraphx->n_shapes = inputs ? count : 0;
    migraphx_status status = migraphx_status_success;
    for (size_t i = 0; inputs && i < count && status == migraphx_status_success; i++) {
        size_t dims[TENSOR_MAX_RANK] = {0};
        const struct shape *shape = &migraphx->shapes[i];
        if (inputs[i].kind != VALUE_TENSOR)
            continue;
        migraphx->shapes[i] = inputs[i].tensors[0].shape;
        for (int axis = 0; axis < shape->rank; axis++)
            dims[axis] = (size_t)shape->dims[axis];
        status = migraphx_onnx_options_set_input_parameter_shape(options, inputs[i].name, dims,
                                                                 (size_t)shape->rank);
    }
    int result = status == migraphx_status_success ? compile_program(call, options)
                                                   : migraphx_refuse(call, ADAPTER_FAILED);
    migraphx_onnx_options_destroy(options);
    return result;
}

static int load_model(struct adapter_call *call, const struct adapter_model *given,
                      struct adapter_loaded *loaded)
{
    struct migraphx *migraphx = call->engine;
    unload(call);
    messages_clear(migraphx->messages);
    if (read_model(call, given) < 0 || choose_outputs(call, given) < 0 ||
        (all_static(migraphx->model->graph) && open_program(call, NULL, 0) < 0)) {
        unload(call);
        return -1;
    }
    const Onnx__GraphProto *graph = migraphx->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        adapter_list_add(&loaded->inputs, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_output; i++)
        adapter_list_add(&loaded->outputs, graph->output[i]->name);
    return 0;
}

/* Whether the program is one for these shapes. */
static bool is_ready(const struct migraphx *migraphx, const struct value *inputs, size_t count)
{
    if (!migraphx->program || !migraphx->shapes)
        return migraphx->program;
    for (size_t i = 0; i < count; i++)
        if (i >= migraphx->n_shapes || inputs[i].kind != VALUE_TENSOR ||
            !shape_equal(&migraphx->shapes[i], &inputs[i].tensors[0].shape))
            return false;
    return true;
}

static int add_input(struct adapter_call *call, const struct value *value,
                     migraphx_program_parameters_t parameters)
{
    migraphx_argument_t argument;
    if (migraphx_input(call, value, &argument) < 0)
        return -1;
    migraphx_status status = migraphx_program_parameters_add(parameters, value->name, argument);
    migraphx_argument_destroy(argument);
    return status == migraphx_status_success ? 0 : migraphx_refuse(call, ADAPTER_FAILED);
}

static int take_outputs(struct adapter_call *call, migraphx_arguments_t results,
                        struct adapter_outputs *outputs)
{
    struct migraphx *migraphx = call->engine;
    size_t count = 0;
    if (migraphx_arguments_size(&count, results) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    for (size_t i = 0; i < migraphx->n_outputs; i++) {
        const_migraphx_argument_t result;
        const Onnx__ValueInfoProto *declared = migraphx->model->graph->output[migraphx->outputs[i]];
        if (migraphx->outputs[i] >= count)
            return adapter_fail(call, ADAPTER_UNSUPPORTED, "%zu outputs, where the model has %zu", count,
                                migraphx->model->graph->n_output);
        if (migraphx_arguments_get(&result, results, migraphx->outputs[i]) != migraphx_status_success)
            return migraphx_refuse(call, ADAPTER_FAILED);
        if (migraphx_output(call, result, declared, adapter_output(outputs, declared->name)) < 0)
            return -1;
    }
    return 0;
}

static int run_program(struct adapter_call *call, migraphx_program_parameters_t parameters,
                       struct adapter_outputs *outputs)
{
    struct migraphx *migraphx = call->engine;
    migraphx_arguments_t results;
    if (migraphx_program_run(&results, migraphx->program, parameters) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    int result = take_outputs(call, results, outputs);
    migraphx_arguments_destroy(results);
    return result;
}

static int run_model(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
                     struct adapter_outputs *outputs)
{
    struct migraphx *migraphx = call->engine;
    migraphx_program_parameters_t parameters;
    (void)bounds;
    if (!migraphx->model)
        return adapter_fail(call, ADAPTER_FAILED, "run without a loaded model");
    messages_clear(migraphx->messages);
    if (!is_ready(migraphx, inputs, count)) {
        drop_program(migraphx);
        if (open_program(call, inputs, count) < 0)
            return -1;
    }
    if (migraphx_program_parameters_create(&parameters) != migraphx_status_success)
        return migraphx_refuse(call, ADAPTER_FAILED);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_input(call, &inputs[i], parameters);
    if (result == 0)
        result = run_program(call, parameters, outputs);
    migraphx_program_parameters_destroy(parameters);
    return result;
}

static void stop(void *engine)
{
    struct migraphx *migraphx = engine;
    struct adapter_call call = {.engine = engine};
    if (!migraphx)
        return;
    unload(&call);
    if (migraphx->target)
        migraphx_target_destroy(migraphx->target);
    messages_close(migraphx->messages);
    free(migraphx);
}

int main(int argc, char **argv)
{
    struct adapter adapter = {
        .name = "migraphx",
        .start = start,
        .load = load_model,
        .run = run_model,
        .unload = unload,
        .stop = stop,
    };
    return adapter_main(&adapter, argc, argv);
}
