/* The ONNX Runtime engine: start, load, run. */
#include "ort.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_API = 10, PASSES_API = 18 /* the first that leaves out passes by name */ };

/*
 * The optimiser passes that releases (1.18 to 1.30) know by name, for those who look for the one at fault;
 * names that a release does not know are ignored by it.
 */
static const char passes[] =
    "EliminateIdentity+EliminateSlice+UnsqueezeElimination+EliminateDropout+ExpandElimination+"
    "CastElimination+CastChainElimination+PreShapeNodeElimination+NoopElimination+DivMulFusion+"
    "FuseReluClip+GemmSumFusion+GemmTransposeFusion+NotWhereFusion+ConvAddFusion+ConvMulFusion+"
    "ConvBNFusion+Pad_Fusion+MatMul_BatchNormalization_Fusion+LabelEncoderFusion+ClipQuantRewrite+"
    "ReluQuantRewrite+DoubleQDQPairsRemover+ConstantSharing+CommonSubexpressionElimination+"
    "ConstantFolding+MatMulAddFusion+ReshapeFusion+FreeDimensionOverrideTransformer+GeluFusion+"
    "GeluFusionL1+GeluFusionL2+LayerNormFusion+LayerNormFusionL1+LayerNormFusionL2+"
    "SimplifiedLayerNormFusion+QDQPropagationTransformer+WeightBiasQuantization+"
    "EnsureUniqueDQForNodeUnit+QDQS8ToU8Transformer+QDQSelectorActionTransformer+"
    "QDQFinalCleanupTransformer+TransposeOptimizer+TransposeOptimizer_CPUExecutionProvider+"
    "GemmActivationFusion+MatMulIntegerToFloatFusion+DynamicQuantizeMatMulFusion+ConvActivationFusion+"
    "ConvAddActivationFusion+AttentionFusion+EmbedLayerNormFusion+GatherSliceToSplitFusion+"
    "GatherToSliceFusion+MatmulTransposeFusion+BiasGeluFusion+SkipLayerNormFusion+"
    "BiasSkipLayerNormFusion+FastGeluFusion+QuickGeluFusion+BiasSoftmaxFusion+BiasDropoutFusion+"
    "MatMulScaleFusion+MatMulActivationFusion+MatMulNBitsFusion+SliceConcatToSpaceToDepthFusion+"
    "NchwcTransformer+NhwcTransformer";

#define STRING_OF(text) #text
#define STRING(name) STRING_OF(name)

/* The registry's choice, or the system's library. */
static void *open_library(struct adapter_call *call)
{
    const char *path = getenv("ASSAY_LIBRARY");
    if (path && path[0] != '\0') {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            adapter_fail(call, ADAPTER_FAILED, "%s", dlerror());
        return library;
    }
    /* As its makers, as headers of Debian, and as Debian's libraries name it: those by the release. */
    static const char *const names[] = {"libonnxruntime.so.1", "libonnxruntime.so",
                                        "libonnxruntime.so.1." STRING(ORT_API_VERSION)};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        adapter_fail(call, ADAPTER_FAILED,
                     "no ONNX Runtime is installed: 'assay fetch onnxruntime' brings one");
    }
    return library;
}

/* The highest API version both sides know: "1.17.0" knows 17. Asking for more makes the library complain. */
static int open_api(struct adapter_call *call, struct ort *ort, struct str *version)
{
    const OrtApiBase *(*get_base)(void) = NULL;
    void *symbol = dlsym(ort->library, "OrtGetApiBase");
    if (!symbol)
        return adapter_fail(call, ADAPTER_FAILED, "the library has no OrtGetApiBase: not ONNX Runtime");
    memcpy(&get_base, &symbol, sizeof symbol);
    const OrtApiBase *base = get_base();
    const char *text = base->GetVersionString();
    const char *dot = strchr(text, '.');
    long minor = dot ? strtol(dot + 1, NULL, 10) : 0;
    if (minor < OLDEST_API) {
        return adapter_fail(call, ADAPTER_FAILED, "ONNX Runtime %s is too old: 1.%d is needed", text,
                            (int)OLDEST_API);
    }
    str_add(version, text);
    ort->minor = minor;
    ort->api = base->GetApi(minor < ORT_API_VERSION ? (uint32_t)minor : ORT_API_VERSION);
    return ort->api ? 0 : adapter_fail(call, ADAPTER_FAILED, "ONNX Runtime %s gives no API", text);
}

static int set_threads(struct adapter_call *call, const struct ort *ort)
{
    int threads = adapter_number(call, "threads", 1, 256);
    if (threads < 0 ||
        ort_check(call, ORT_STAGE_START, ort->api->SetIntraOpNumThreads(ort->options, threads)) < 0)
        return -1;
    return ort_check(call, ORT_STAGE_START, ort->api->SetInterOpNumThreads(ort->options, 1));
}

static int set_memory(struct adapter_call *call, const struct ort *ort)
{
    int arena_off = adapter_choice(call, "arena");
    int pattern_off = arena_off < 0 ? -1 : adapter_choice(call, "pattern");
    if (pattern_off < 0)
        return -1;
    if (arena_off && ort_check(call, ORT_STAGE_START, ort->api->DisableCpuMemArena(ort->options)) < 0)
        return -1;
    return !pattern_off ? 0 : ort_check(call, ORT_STAGE_START, ort->api->DisableMemPattern(ort->options));
}

/* The library wants the names separated by ';', which shells do not leave alone. */
static int set_disabled(struct adapter_call *call, const struct ort *ort, const char *names)
{
    if (ort->minor < PASSES_API)
        return adapter_fail(call, ADAPTER_FAILED, "disable: releases before 1.%d run all passes",
                            (int)PASSES_API);
    char *list = memory_strdup(names);
    for (char *at = list; *at; at++)
        if (*at == '+')
            *at = ';';
    int result = ort_check(
        call, ORT_STAGE_START,
        ort->api->AddSessionConfigEntry(ort->options, "optimization.disable_specified_optimizers", list));
    free(list);
    return result;
}

/* What the library makes of DequantizeLinear and MatMul: at its own default, 4, it rounds the other operand
 * to eight bits, by intent and documented; 1 is float32. */
static int set_accuracy(struct adapter_call *call, const struct ort *ort)
{
    const char *level = adapter_knob(call->adapter, "accuracy");
    int chosen = adapter_choice(call, "accuracy");
    if (chosen <= 0) /* the first one is the library's own */
        return chosen;
    return ort_check(
        call, ORT_STAGE_START,
        ort->api->AddSessionConfigEntry(ort->options, "session.qdq_matmulnbits_accuracy_level", level));
}

static int set_options(struct adapter_call *call, const struct ort *ort)
{
    const char *disable = adapter_knob(call->adapter, "disable");
    const char *save = adapter_knob(call->adapter, "save");
    static const GraphOptimizationLevel levels[] = {ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED,
                                                    ORT_ENABLE_ALL}; /* in the order of the knob's values */
    int level = adapter_choice(call, "opt");
    if (level < 0 ||
        ort_check(call, ORT_STAGE_START,
                  ort->api->SetSessionGraphOptimizationLevel(ort->options, levels[level])) < 0 ||
        ort_check(call, ORT_STAGE_START,
                  ort->api->SetSessionLogSeverityLevel(ort->options, ORT_LOGGING_LEVEL_FATAL)) < 0 ||
        set_threads(call, ort) < 0 || set_memory(call, ort) < 0 || set_accuracy(call, ort) < 0 ||
        ort_provider_start(call) < 0)
        return -1;
    if (disable[0] != '\0' && set_disabled(call, ort, disable) < 0)
        return -1;
    if (ort_reload_start(call, save) < 0)
        return -1;
    return save[0] == '\0' || ort->reload_options
               ? 0
               : ort_check(call, ORT_STAGE_START, ort->api->SetOptimizedModelFilePath(ort->options, save));
}

static int set_binding(struct adapter_call *call, struct ort *ort)
{
    int off = adapter_choice(call, "binding");
    if (off < 0)
        return -1;
    return off ? 0 : ort_check(call, ORT_STAGE_START, ort->api->CreateRunOptions(&ort->bound_run));
}

/* Hello offers no passes where none can be left out. */
static void forget_passes(const struct adapter *adapter)
{
    for (struct adapter_knob *knob = adapter->knobs; knob->name; knob++)
        if (strcmp(knob->name, "disable") == 0)
            knob->values = "";
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct ort *ort = memory_zeroed(1, sizeof *ort);
    *engine = ort;
    call->engine = ort;
    /* From 1.29 on the library reports every session it makes to its maker: a thread and a database in the
     * user's cache folder, shared by all its processes, at a third of a session's cost. */
    setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    ort->library = open_library(call);
    if (!ort->library || open_api(call, ort, version) < 0)
        return -1;
    if (ort_check(call, ORT_STAGE_START,
                  ort->api->CreateEnvWithCustomLogger(ort_log, ort, ORT_LOGGING_LEVEL_FATAL, "assay",
                                                      &ort->env)) < 0 ||
        ort_check(call, ORT_STAGE_START, ort->api->CreateSessionOptions(&ort->options)) < 0 ||
        ort_check(call, ORT_STAGE_START,
                  ort->api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &ort->memory)) < 0 ||
        ort_check(call, ORT_STAGE_START, ort->api->GetAllocatorWithDefaultOptions(&ort->allocator)) < 0)
        return -1;
    if (ort->minor < PASSES_API)
        forget_passes(call->adapter);
    return set_options(call, ort) < 0 ? -1 : set_binding(call, ort);
}

static void unload(struct adapter_call *call)
{
    struct ort *ort = call->engine;
    struct ort_session *loaded = &ort->loaded;
    for (size_t i = 0; i < loaded->n_outputs; i++)
        ort->allocator->Free(ort->allocator, loaded->outputs[i]);
    free(loaded->outputs);
    ort_trace_end(ort);
    if (loaded->session)
        ort->api->ReleaseSession(loaded->session);
    *loaded = (struct ort_session){0};
}

static int list_inputs(struct adapter_call *call, struct adapter_loaded *loaded)
{
    const struct ort *ort = call->engine;
    size_t count = 0;
    if (ort_check(call, ORT_STAGE_LOAD, ort->api->SessionGetInputCount(ort->loaded.session, &count)) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char *name = NULL;
        if (ort_check(call, ORT_STAGE_LOAD,
                      ort->api->SessionGetInputName(ort->loaded.session, i, ort->allocator, &name)) < 0)
            return -1;
        adapter_list_add(&loaded->inputs, name);
        ort->allocator->Free(ort->allocator, name);
    }
    return 0;
}

/* All outputs of the session, kept; loaded->outputs has what the model offers, whatever is wanted. */
static int list_outputs(struct adapter_call *call, struct adapter_loaded *loaded)
{
    struct ort *ort = call->engine;
    struct ort_session *session = &ort->loaded;
    size_t count = 0;
    if (ort_check(call, ORT_STAGE_LOAD, ort->api->SessionGetOutputCount(session->session, &count)) < 0)
        return -1;
    session->outputs = memory_zeroed(count + 1, sizeof *session->outputs);
    for (; session->n_outputs < count; session->n_outputs++) {
        char **name = &session->outputs[session->n_outputs];
        if (ort_check(call, ORT_STAGE_LOAD,
                      ort->api->SessionGetOutputName(session->session, session->n_outputs, ort->allocator,
                                                     name)) < 0)
            return -1;
        adapter_list_add(&loaded->outputs, *name);
    }
    return 0;
}

/* Puts the wanted outputs first, in their order, and drops the others. */
static int choose_outputs(struct adapter_call *call, const struct adapter_model *model)
{
    struct ort *ort = call->engine;
    struct ort_session *session = &ort->loaded;
    if (model->n_outputs == 0)
        return 0;
    for (size_t i = 0; i < model->n_outputs; i++) {
        size_t at = i;
        while (at < session->n_outputs && strcmp(session->outputs[at], model->outputs[i]) != 0)
            at++;
        if (at >= session->n_outputs) {
            return adapter_fail(call, ADAPTER_FAILED, "the model has no output '%s', or it is wanted twice",
                                model->outputs[i]);
        }
        char *name = session->outputs[at];
        session->outputs[at] = session->outputs[i];
        session->outputs[i] = name;
    }
    while (session->n_outputs > model->n_outputs)
        ort->allocator->Free(ort->allocator, session->outputs[--session->n_outputs]);
    return 0;
}

static int make_session(struct adapter_call *call, const struct adapter_model *model)
{
    struct ort *ort = call->engine;
    bool traced = adapter_traces(call), direct = traced && !ort->reload_options;
    if (traced && ort_trace_start(call) < 0)
        return -1;
    const OrtSessionOptions *options = direct ? ort->trace.options : ort->options;
    if (ort_session_create(call, options, model->path, model->data, model->size, &ort->loaded.session) < 0)
        return -1;
    if (ort->reload_options && ort_reload(call, traced ? ort->trace.options : ort->reload_options) < 0)
        return -1;
    if (traced)
        ort_trace_loaded(call, model);
    return 0;
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    unload(call);
    if (make_session(call, model) < 0 || list_inputs(call, loaded) < 0 || list_outputs(call, loaded) < 0 ||
        choose_outputs(call, model) < 0) {
        unload(call);
        return -1;
    }
    return 0;
}

/* Inputs and outputs of one run: small models need no heap. */
enum { FEW = 16 };
struct run_values {
    const char *few_names[FEW];
    OrtValue *few_inputs[FEW], *few_outputs[FEW];
    const char **names;
    OrtValue **inputs, **outputs;
};

static void run_values_init(struct run_values *values, size_t n_inputs, size_t n_outputs)
{
    *values = (struct run_values){0};
    values->names = values->few_names;
    values->inputs = values->few_inputs;
    values->outputs = values->few_outputs;
    if (n_inputs > FEW) {
        values->names = memory_zeroed(n_inputs, sizeof *values->names);
        values->inputs = memory_zeroed(n_inputs, sizeof *values->inputs);
    }
    if (n_outputs > FEW)
        values->outputs = memory_zeroed(n_outputs, sizeof *values->outputs);
}

static void run_values_release(const struct ort *ort, struct run_values *values, size_t n_inputs,
                               size_t n_outputs)
{
    for (size_t i = 0; i < n_inputs; i++)
        ort->api->ReleaseValue(values->inputs[i]);
    for (size_t i = 0; i < n_outputs; i++)
        ort->api->ReleaseValue(values->outputs[i]);
    if (n_inputs > FEW) {
        free(values->names);
        free(values->inputs);
    }
    if (n_outputs > FEW)
        free(values->outputs);
}

static int run_session(struct adapter_call *call, struct run_values *values, size_t count)
{
    const struct ort *ort = call->engine;
    const struct ort_session *session = &ort->loaded;
    if (ort->bound_run)
        return ort_run_bound(call, values->names, values->inputs, count, values->outputs);
    return ort_check(
        call, ORT_STAGE_RUN,
        ort->api->Run(session->session, NULL, values->names, (const OrtValue *const *)values->inputs, count,
                      (const char *const *)session->outputs, session->n_outputs, values->outputs));
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct ort *ort = call->engine;
    const struct ort_session *session = &ort->loaded;
    struct run_values values;
    int result = 0;
    (void)bounds;
    if (!session->session)
        return adapter_fail(call, ADAPTER_FAILED, "run without a loaded model");
    run_values_init(&values, count, session->n_outputs);
    for (size_t i = 0; i < count && result == 0; i++) {
        values.names[i] = inputs[i].name ? inputs[i].name : "";
        result = ort_value_in(call, &inputs[i], &values.inputs[i]);
    }
    if (result == 0)
        result = run_session(call, &values, count);
    if (adapter_traces(call))
        ort_trace_ran(call);
    for (size_t i = 0; i < session->n_outputs && result == 0; i++)
        result = ort_value_out(call, values.outputs[i], adapter_output(outputs, session->outputs[i]));
    run_values_release(ort, &values, count, session->n_outputs);
    return result;
}

static void stop(void *engine)
{
    struct ort *ort = engine;
    if (ort && ort->api) {
        struct adapter_call call = {.engine = ort};
        unload(&call);
        ort->api->ReleaseMemoryInfo(ort->memory);
        ort->api->ReleaseSessionOptions(ort->options);
        ort->api->ReleaseSessionOptions(ort->reload_options);
        ort->api->ReleaseRunOptions(ort->bound_run);
        ort_provider_stop(ort);
        ort->api->ReleaseEnv(ort->env);
    }
    /* The library stays open: its threads and static objects do not take well to dlclose. */
    free(ort ? ort->reload_path : NULL);
    free(ort);
}

int main(int argc, char **argv)
{
    struct adapter_knob knobs[] = {
        {.name = "opt",
         .values = "none|basic|extended|all",
         .value = "all",
         .help = "graph optimisation level",
         .kind = KNOB_GRAPH,
         .plain = "none"},
        {.name = "threads",
         .values = "N",
         .value = "1",
         .help = "threads inside an operator",
         .kind = KNOB_SCHEDULE},
        {.name = "arena",
         .values = "on|off",
         .value = "on",
         .help = "memory arena of the CPU provider",
         .kind = KNOB_SCHEDULE},
        {.name = "pattern",
         .values = "on|off",
         .value = "on",
         .help = "memory pattern: one allocation planned from an earlier run",
         .kind = KNOB_SCHEDULE},
        {.name = "accuracy",
         .values = "library|0|1|2|3|4",
         .value = "library",
         .help = "how products with dequantised weights are computed: 1 in float32, 4 in int8, which is what "
                 "the library does by itself",
         .kind = KNOB_KERNELS},
        {.name = "disable",
         .values = passes,
         .value = "",
         .help = "optimiser passes switched off by name, joined by + or ; (not before 1.18)",
         .kind = KNOB_GRAPH,
         .plain = ""},
        {.name = "save",
         .values = "PATH",
         .value = "",
         .help = "where to write the optimised model at load",
         .kind = KNOB_SCHEDULE},
        {.name = "reload",
         .values = "no|onnx|own",
         .value = "no",
         .help = "save the optimised model, in ONNX's or the library's own format, and run what is loaded "
                 "from the file",
         .kind = KNOB_GRAPH,
         .plain = "no"},
        {.name = "provider",
         .values = "cpu|xnnpack|dnnl|webgpu|plugin",
         .value = ort_provider_default(),
         .help = "the execution provider that gets the nodes it can compute before the CPU's own kernels",
         .kind = KNOB_KERNELS},
        {.name = "fallback",
         .values = "on|off",
         .value = "on",
         .help =
             "whether the CPU's own kernels compute what the provider does not take; off: such models are "
             "refused",
         .kind = KNOB_KERNELS},
        {.name = "binding",
         .values = "on|off",
         .value = "off",
         .help = "feed inputs and outputs through an IoBinding",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct adapter adapter = {
        .name = "onnxruntime",
        .knobs = knobs,
        .start = start,
        .load = load,
        .run = run,
        .unload = unload,
        .stop = stop,
    };
    return adapter_main(&adapter, argc, argv);
}
