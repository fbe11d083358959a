/* The libtorch engine: start, load, run, gradient. */
#include "adapter.h"
#include "base/heap.h"
#include "base/memory.h"
#include "graph.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

struct torch {
    enum face_mode mode;
    bool reload;
    const char *source; /* a file, or "" */
    struct cache *cache;
    struct adapter_graph graph;
    struct program *program; /* for the inputs seen last */
};

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct torch *torch = memory_zeroed(1, sizeof *torch);
    int threads, mode, reload;
    *engine = torch;
    str_add(version, face_version());
    if ((threads = adapter_number(call, "threads", 1, 256)) < 0 ||
        (mode = adapter_choice(call, "mode")) < 0 || (reload = adapter_choice(call, "reload")) < 0)
        return -1;
    torch->mode = (enum face_mode)mode;
    torch->reload = reload == 1;
    if (!face_has_mode(torch->mode))
        return adapter_fail(call, ADAPTER_REJECTED, "mode=%s: libtorch %s does not have this mode",
                            adapter_knob(call->adapter, "mode"), face_version());
    torch->source = adapter_knob(call->adapter, "source");
    face_start(torch->mode, threads);
    torch->cache = cache_new();
    return 0;
}

static void unload(struct adapter_call *call)
{
    struct torch *torch = call->engine;
    program_free(torch->program);
    adapter_graph_unload(&torch->graph);
    *torch = (struct torch){
        .mode = torch->mode, .reload = torch->reload, .source = torch->source, .cache = torch->cache};
}

/* What no row can serve is said before the first run. */
static int check_operators(const struct torch *torch, struct error *err)
{
    const Onnx__GraphProto *graph = torch->graph.model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (node->domain[0] && strcmp(node->domain, "ai.onnx") != 0)
            return error_set(err, ERROR_UNSUPPORTED, "operators of domain %.100s", node->domain);
        if (!emit_find(node->op_type))
            return error_set(err, ERROR_UNSUPPORTED, "operator %.100s", node->op_type);
    }
    return 0;
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    struct torch *torch = call->engine;
    struct error err = {0};
    unload(call);
    if (adapter_graph_load(&torch->graph, model, loaded, &err) < 0)
        return adapter_fail_error(call, &err);
    if (check_operators(torch, &err) < 0) {
        unload(call);
        return adapter_fail_error(call, &err);
    }
    return 0;
}

/* Taken from the cache, or made: the program for these inputs. */
static int prepare(struct adapter_call *call, const struct value *inputs, size_t count, struct error *err)
{
    struct torch *torch = call->engine;
    if (torch->program && program_fits(torch->program, inputs, count))
        return 0;
    program_free(torch->program);
    torch->program = NULL;
    cache_trim(torch->cache);
    return program_new(&torch->program, &torch->graph.index, torch->mode, torch->reload, torch->cache, inputs,
                       count, torch->graph.n_outputs, (const char *const *)torch->graph.outputs,
                       torch->source, call, err);
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct torch *torch = call->engine;
    struct error err = {0};
    (void)bounds;
    if (!torch->graph.model)
        return adapter_fail(call, ADAPTER_FAILED, "run without a loaded model");
    if (prepare(call, inputs, count, &err) < 0)
        return adapter_fail_error(call, &err);
    struct tensor *results = memory_zeroed(torch->graph.n_outputs + 1, sizeof *results);
    int result = program_run(torch->program, inputs, count, results, &err);
    outputs->lent = true;
    for (size_t i = 0; !result && i < torch->graph.n_outputs; i++)
        value_set_tensor(adapter_output(outputs, torch->graph.outputs[i]), &results[i]);
    free(results);
    return result < 0 ? adapter_fail_error(call, &err) : 0;
}

static int gradient(struct adapter_call *call, const struct adapter_gradient *request,
                    struct adapter_outputs *outputs)
{
    struct torch *torch = call->engine;
    struct error err = {0};
    if (!torch->graph.model)
        return adapter_fail(call, ADAPTER_FAILED, "gradient without a loaded model");
    if (prepare(call, request->inputs, request->n_inputs, &err) < 0 ||
        program_gradient(torch->program, request, outputs, &err) < 0)
        return adapter_fail_error(call, &err);
    return 0;
}

static void stop(void *engine)
{
    struct adapter_call call = {.engine = engine};
    struct torch *torch = engine;
    if (torch) {
        unload(&call);
        cache_free(torch->cache);
    }
    free(torch);
}

int main(int argc, char **argv)
{
    heap_keep_freed();
    const char **operators = memory_zeroed(emit_count() + 1, sizeof *operators);
    for (size_t i = 0; i < emit_count(); i++)
        operators[i] = emit_at(i)->name;
    struct adapter_knob knobs[] = {
        {.name = "mode",
         .values = "eager|freeze|optimize|nnc|profile",
         .value = "eager",
         .help = "how the graph is prepared and run; profile: gradients by symbolic differentiation",
         .kind = KNOB_GRAPH,
         .plain = "eager"},
        {.name = "reload",
         .values = "no|own",
         .value = "no",
         .help = "own: save the graph as one module and run what is loaded again",
         .kind = KNOB_GRAPH,
         .plain = "no"},
        {.name = "source",
         .values = "PATH",
         .value = "",
         .help = "a file to write C++ lines to that build the module of the case",
         .kind = KNOB_SCHEDULE},
        {.name = "threads",
         .values = "1..256",
         .value = "1",
         .help = "threads inside an operator",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct adapter adapter = {
        .name = "torch",
        .knobs = knobs,
        .operators = operators,
        .start = start,
        .load = load,
        .run = run,
        .gradient = gradient,
        .unload = unload,
        .stop = stop,
    };
    int status = adapter_main(&adapter, argc, argv);
    free(operators);
    return status;
}
