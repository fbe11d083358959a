/*
 * usage: overhead_bare_torch FOLDER
 * The bare loop over libtorch: define a TorchScript module of the model's text and weights, run it once, copy
 * the result, free it, for every model, one thread. The texts are the adapter's own, written beforehand.
 */
#include "overhead.h"

#include "base/memory.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

struct script {
    char *text;
    size_t n_weights;
    char **names;
    struct tensor *weights;
};

static void fail(const char *message)
{
    fprintf(stderr, "overhead_bare_torch: %s\n", message);
    exit(1);
}

static void keep_script(struct script *script, const struct program *program)
{
    char message[FACE_MESSAGE_SIZE];
    struct str text;
    str_init(&text);
    struct face_buffer *buffers = memory_zeroed(program_values(program) + 1, sizeof *buffers);
    script->n_weights = program_write(program, &text, buffers);
    script->text = memory_strdup(text.data);
    script->names = memory_zeroed(script->n_weights + 1, sizeof *script->names);
    script->weights = memory_zeroed(script->n_weights + 1, sizeof *script->weights);
    for (size_t i = 0; i < script->n_weights; i++) {
        script->names[i] = memory_strdup(buffers[i].name);
        if (face_tensor_read(buffers[i].tensor, &script->weights[i], message) < 0)
            fail(message);
    }
    free(buffers);
    str_release(&text);
}

static void make_script(struct script *script, const struct overhead_case *one, struct cache *cache)
{
    struct error err = {0};
    struct model *model;
    struct model_index index;
    struct program *program;
    struct tensor input = one->input;
    struct value value = {.name = (char[]){"x"}, .kind = VALUE_TENSOR, .count = 1, .tensors = &input};
    if (model_parse(&model, one->model, one->size, &err) < 0 || model_index_init(&index, model, &err) < 0 ||
        program_new(&program, &index, FACE_EAGER, false, cache, &value, 1, 1, (const char *const[]){"y"}, "",
                    NULL, &err) < 0)
        fail(err.message);
    keep_script(script, program);
    program_free(program);
    model_index_release(&index);
    model_free(model);
}

static void script_release(struct script *script)
{
    for (size_t i = 0; i < script->n_weights; i++) {
        free(script->names[i]);
        tensor_release(&script->weights[i]);
    }
    free(script->names);
    free(script->weights);
    free(script->text);
}

struct loop {
    struct overhead_case *cases;
    struct script *scripts;
    struct face_buffer *buffers;
};

static void bare_case(void *context, size_t number)
{
    const struct loop *loop = context;
    const struct script *script = &loop->scripts[number];
    const struct overhead_case *one = &loop->cases[number];
    struct face_buffer *buffers = loop->buffers;
    char message[FACE_MESSAGE_SIZE];
    struct face_tensor *input, *output = NULL, *weight;
    struct face_module *module;
    struct tensor result;
    for (size_t i = 0; i < script->n_weights; i++) {
        if (face_tensor_new(&weight, &script->weights[i], message) < 0)
            fail(message);
        buffers[i] = (struct face_buffer){script->names[i], weight};
    }
    if (face_module_new(&module, script->text, script->n_weights, buffers, FACE_EAGER, false, message) < 0)
        fail(message);
    overhead_loaded();
    if (face_tensor_new(&input, &one->input, message) < 0 ||
        face_module_run(module, 1, (const struct face_tensor *const[]){input}, 1, &output, message) < 0 ||
        face_tensor_read(output, &result, message) < 0)
        fail(message);
    tensor_release(&result);
    face_tensor_free(output);
    face_tensor_free(input);
    overhead_ran();
    face_module_free(module);
    for (size_t i = 0; i < script->n_weights; i++)
        face_tensor_free((struct face_tensor *)(uintptr_t)buffers[i].tensor);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct overhead_case *cases = NULL;
    size_t count = 0, most = 0;
    if (argc != 2 || overhead_read(argv[1], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_bare_torch FOLDER %s\n", err.message);
        return 2;
    }
    face_start(FACE_EAGER, 1);
    struct cache *cache = cache_new();
    struct script *scripts = memory_zeroed(count, sizeof *scripts);
    for (size_t i = 0; i < count; i++) {
        make_script(&scripts[i], &cases[i], cache);
        most = scripts[i].n_weights > most ? scripts[i].n_weights : most;
    }
    struct face_buffer *buffers = memory_zeroed(most + 1, sizeof *buffers);
    struct loop loop = {cases, scripts, buffers};
    overhead_bare(count, bare_case, &loop);
    free(buffers);
    cache_free(cache);
    for (size_t i = 0; i < count; i++)
        script_release(&scripts[i]);
    free(scripts);
    overhead_free(cases, count);
    return 0;
}
