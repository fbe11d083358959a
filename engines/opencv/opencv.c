/* The OpenCV engine: start, load, run. */
#include "opencv.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int read_knobs(struct adapter_call *call, struct face_options *options, int *threads)
{
    int fusion_off, winograd_off, engine;
    if ((*threads = adapter_number(call, "threads", 1, 256)) < 0 ||
        (fusion_off = adapter_choice(call, "fusion")) < 0 ||
        (winograd_off = adapter_choice(call, "winograd")) < 0 ||
        (engine = adapter_choice(call, "engine")) < 0)
        return -1;
    if (winograd_off && !face_has_winograd())
        return adapter_fail(call, ADAPTER_REJECTED, "winograd=off: OpenCV %s has no such switch",
                            face_version());
    if (engine != FACE_ENGINE_DEFAULT && !face_has_engines())
        return adapter_fail(call, ADAPTER_REJECTED, "engine=%s: OpenCV %s has one engine only",
                            adapter_knob(call->adapter, "engine"), face_version());
    *options = (struct face_options){
        .fusion = !fusion_off, .winograd = !winograd_off, .engine = (enum face_engine)engine};
    return 0;
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct opencv *opencv = memory_zeroed(1, sizeof *opencv);
    int threads = 1;
    *engine = opencv;
    str_add(version, face_version());
    if (read_knobs(call, &opencv->options, &threads) < 0)
        return -1;
    opencv->newest_opset = face_newest_opset();
    opencv->all_types = face_has_all_types();
    face_start(threads);
    return 0;
}

static void unload(struct adapter_call *call)
{
    struct opencv *opencv = call->engine;
    face_free(opencv->net);
    model_free(opencv->model);
    free(opencv->outputs);
    free(opencv->names);
    *opencv = (struct opencv){
        .options = opencv->options, .newest_opset = opencv->newest_opset, .all_types = opencv->all_types};
}

static bool is_flat(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto__Tensor *type = info->type ? info->type->tensor_type : NULL;
    return type && type->shape && type->shape->n_dim < 2;
}

static bool has_flat(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (is_flat(graph->input[i]))
            return true;
    for (size_t i = 0; i < graph->n_output; i++)
        if (is_flat(graph->output[i]))
            return true;
    return false;
}

/* Adapters find their declarations in the model; a model that we cannot read, but the library might, has
 * none. */
static int read_model(struct adapter_call *call, const struct adapter_model *model)
{
    struct opencv *opencv = call->engine;
    struct error err = {0};
    int result = model->path ? model_load(&opencv->model, model->path, &err)
                             : model_parse(&opencv->model, model->data, model->size, &err);
    if (result < 0) {
        opencv->model = NULL;
        return adapter_fail(call, ADAPTER_REJECTED, "%s", err.message);
    }
    opencv->flat = has_flat(opencv->model->graph);
    return 0;
}

/* The names asked for, else all of the graph's. */
static void choose_outputs(struct opencv *opencv, const struct adapter_model *model)
{
    const Onnx__GraphProto *graph = opencv->model->graph;
    size_t size = 0;
    opencv->n_outputs = model->n_outputs ? model->n_outputs : graph->n_output;
    opencv->outputs = memory_zeroed(opencv->n_outputs + 1, sizeof *opencv->outputs);
    for (size_t i = 0; i < model->n_outputs; i++)
        size += strlen(model->outputs[i]) + 1;
    char *at = opencv->names = memory_zeroed(size + 1, 1);
    for (size_t i = 0; i < opencv->n_outputs; i++) {
        if (model->n_outputs == 0) {
            opencv->outputs[i] = graph->output[i]->name;
            continue;
        }
        opencv->outputs[i] = strcpy(at, model->outputs[i]);
        at += strlen(at) + 1;
    }
}

/* The library reads no external data: such weights go into the bytes, as far as those hold them. */
static int load_net(struct adapter_call *call, const struct adapter_model *model)
{
    struct opencv *opencv = call->engine;
    char first[FACE_MESSAGE_SIZE], message[FACE_MESSAGE_SIZE];
    struct error err = {0};
    const void *data = model->data;
    size_t size = model->size;
    uint8_t *whole = NULL;
    if (model_is_external(opencv->model)) {
        if (model_pack(opencv->model, &whole, &size, &err))
            return adapter_fail(call, ADAPTER_UNSUPPORTED, "%s, and external data is not read", err.message);
        data = whole;
    }
    int result = face_load(&opencv->net, data, size, model->path, &opencv->options, first, message);
    free(whole);
    return result < 0 ? opencv_refuse(call, first, message) : 0;
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    struct opencv *opencv = call->engine;
    unload(call);
    if (read_model(call, model) < 0)
        return -1;
    if (load_net(call, model) < 0) {
        unload(call);
        return -1;
    }
    choose_outputs(opencv, model);
    const Onnx__GraphProto *graph = opencv->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        adapter_list_add(&loaded->inputs, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_output; i++)
        adapter_list_add(&loaded->outputs, graph->output[i]->name);
    return 0;
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct opencv *opencv = call->engine;
    char message[FACE_MESSAGE_SIZE];
    (void)bounds;
    if (!opencv->net)
        return adapter_fail(call, ADAPTER_FAILED, "run without a loaded model");
    for (size_t i = 0; i < count; i++)
        if (opencv_input(call, &inputs[i]) < 0)
            return -1;
    int result = face_forward(opencv->net, opencv->outputs, opencv->n_outputs, message);
    if (adapter_traces(call))
        opencv_trace(call);
    if (result < 0)
        return opencv_fail(call, OPENCV_STAGE_RUN, message);
    for (size_t i = 0; i < opencv->n_outputs; i++)
        if (opencv_output(call, i, adapter_output(outputs, opencv->outputs[i])) < 0)
            return -1;
    return 0;
}

static void stop(void *engine)
{
    struct adapter_call call = {.engine = engine};
    if (engine)
        unload(&call);
    free(engine);
}

int main(int argc, char **argv)
{
    struct adapter_knob knobs[] = {
        {.name = "fusion",
         .values = "on|off",
         .value = "on",
         .help = "layers fused with their neighbours",
         .kind = KNOB_GRAPH,
         .plain = "off"},
        {.name = "winograd",
         .values = "on|off",
         .value = "on",
         .help = "Winograd convolution; the switch was added in 4.7",
         .kind = KNOB_KERNELS},
        {.name = "engine",
         .values = "default|classic|new",
         .value = "default",
         .help = "which graph engine runs the model; from 5.0 on",
         .kind = KNOB_KERNELS},
        {.name = "threads",
         .values = "1..256",
         .value = "1",
         .help = "threads inside a layer",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct adapter adapter = {
        .name = "opencv",
        .knobs = knobs,
        .start = start,
        .load = load,
        .run = run,
        .unload = unload,
        .stop = stop,
    };
    return adapter_main(&adapter, argc, argv);
}
