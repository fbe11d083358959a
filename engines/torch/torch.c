/* The libtorch engine: start, load, run. */
#include "adapter.h"
#include "base/memory.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

struct torch {
    enum face_mode mode;
    struct cache *cache;
    struct model *model;
    struct model_index index;
    struct program *program; /* for the inputs seen last */
    size_t n_outputs;
    const char **outputs; /* wanted, in order */
};

static int fail(struct adapter_call *call, const struct error *err)
{
    enum adapter_class class = err->code == ERROR_UNSUPPORTED || err->code == ERROR_LIMIT
                                   ? ADAPTER_UNSUPPORTED
                               : err->code == ERROR_INVALID || err->code == ERROR_FORMAT ? ADAPTER_REJECTED
                                                                                         : ADAPTER_FAILED;
    return adapter_fail(call, class, "%s", err->message);
}

static int mode_of(struct adapter_call *call, enum face_mode *mode)
{
    static const char *const names[] = {"eager", "freeze", "optimize", "nnc"};
    const char *value = adapter_knob(call->adapter, "mode");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *mode = (enum face_mode)i;
        if (strcmp(value, names[i]) != 0)
            continue;
        return face_has_mode(*mode) ? 0
                                    : adapter_fail(call, ADAPTER_REJECTED, "mode=%s: libtorch %s has it not",
                                                   value, face_version());
    }
    return adapter_fail(call, ADAPTER_REJECTED, "mode=%s: say eager, freeze, optimize or nnc", value);
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct torch *torch = memory_zeroed(1, sizeof *torch);
    const char *text = adapter_knob(call->adapter, "threads");
    long long threads = 0;
    *engine = torch;
    str_add(version, face_version());
    if (!text_int64(text, &threads) || threads < 1 || threads > 256)
        return adapter_fail(call, ADAPTER_REJECTED, "threads=%s: say a number from 1 to 256", text);
    if (mode_of(call, &torch->mode) < 0)
        return -1;
    face_start(torch->mode, (int)threads);
    torch->cache = cache_new();
    return 0;
}

static void unload(struct adapter_call *call)
{
    struct torch *torch = call->engine;
    program_free(torch->program);
    if (torch->model)
        model_index_release(&torch->index);
    model_free(torch->model);
    for (size_t i = 0; i < torch->n_outputs; i++)
        free((char *)torch->outputs[i]);
    free(torch->outputs);
    *torch = (struct torch){.mode = torch->mode, .cache = torch->cache};
}

static int read_model(struct torch *torch, const struct adapter_model *model, struct error *err)
{
    int result = model->path ? model_load(&torch->model, model->path, err)
                             : model_parse(&torch->model, model->data, model->size, err);
    if (result < 0) {
        torch->model = NULL;
        return -1;
    }
    if (model_index_init(&torch->index, torch->model, err) < 0) {
        model_free(torch->model);
        torch->model = NULL;
        return -1;
    }
    return 0;
}

/* What no row can serve is said before the first run. */
static int check_operators(const struct torch *torch, struct error *err)
{
    const Onnx__GraphProto *graph = torch->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (node->domain[0] && strcmp(node->domain, "ai.onnx") != 0)
            return error_set(err, ERROR_UNSUPPORTED, "operators of domain %.100s", node->domain);
        if (!emit_find(node->op_type))
            return error_set(err, ERROR_UNSUPPORTED, "operator %.100s", node->op_type);
    }
    return 0;
}

static void keep_outputs(struct torch *torch, const struct adapter_model *model,
                         struct adapter_loaded *loaded)
{
    const Onnx__GraphProto *graph = torch->model->graph;
    size_t count = model->n_outputs ? model->n_outputs : graph->n_output;
    torch->outputs = memory_zeroed(count + 1, sizeof *torch->outputs);
    for (size_t i = 0; i < count; i++) {
        const char *name = model->n_outputs ? model->outputs[i] : graph->output[i]->name;
        torch->outputs[torch->n_outputs++] = memory_strdup(name);
        adapter_list_add(&loaded->outputs, name);
    }
    for (size_t i = 0; i < graph->n_input; i++)
        adapter_list_add(&loaded->inputs, graph->input[i]->name);
}

static int load(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded)
{
    struct torch *torch = call->engine;
    struct error err = {0};
    unload(call);
    if (read_model(torch, model, &err) < 0)
        return fail(call, &err);
    if (check_operators(torch, &err) < 0) {
        unload(call);
        return fail(call, &err);
    }
    keep_outputs(torch, model, loaded);
    return 0;
}

/* Taken from the cache, or made: the program for these inputs. */
static int prepare(struct torch *torch, const struct value *inputs, size_t count, struct error *err)
{
    if (torch->program && program_fits(torch->program, inputs, count))
        return 0;
    program_free(torch->program);
    torch->program = NULL;
    cache_trim(torch->cache);
    return program_new(&torch->program, &torch->index, torch->mode, torch->cache, inputs, count,
                       torch->n_outputs, torch->outputs, err);
}

static int run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs)
{
    struct torch *torch = call->engine;
    struct error err = {0};
    (void)bounds;
    if (!torch->model)
        return adapter_fail(call, ADAPTER_FAILED, "run without a loaded model");
    if (prepare(torch, inputs, count, &err) < 0)
        return fail(call, &err);
    struct tensor *results = memory_zeroed(torch->n_outputs + 1, sizeof *results);
    int result = program_run(torch->program, inputs, count, results, &err);
    for (size_t i = 0; !result && i < torch->n_outputs; i++)
        value_set_tensor(adapter_output(outputs, torch->outputs[i]), &results[i]);
    free(results);
    return result < 0 ? fail(call, &err) : 0;
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
    const char **operators = memory_zeroed(emit_count() + 1, sizeof *operators);
    for (size_t i = 0; i < emit_count(); i++)
        operators[i] = emit_at(i)->name;
    struct adapter_knob knobs[] = {
        {"mode", "eager|freeze|optimize|nnc", "eager", "how the graph is prepared and run"},
        {"threads", "1..256", "1", "threads inside an operator"},
        {NULL, NULL, NULL, NULL},
    };
    struct adapter adapter = {
        .name = "torch",
        .knobs = knobs,
        .operators = operators,
        .start = start,
        .load = load,
        .run = run,
        .unload = unload,
        .stop = stop,
    };
    int status = adapter_main(&adapter, argc, argv);
    free(operators);
    return status;
}
