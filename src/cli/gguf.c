/* assay gguf: writes a language model as a GGUF file, as llama.cpp reads them. */
#include "gguf/llama_weights.h"

#include "cli/common.h"

#include <inttypes.h>

struct settings {
    struct common common;
    int type;
};

static void describe(const struct llama_form *form, const struct block_type *type, const char *path,
                     struct str *out)
{
    str_printf(out,
               "%s: llama with %zu layers, %" PRId64 " heads, %" PRId64 " of keys, of %" PRId64
               " numbers each, states of %" PRId64 ", %" PRId64 " within, %" PRId64 " tokens; epsilon %g, "
               "angles by powers of %g, %s; matrices as %s\n",
               path, form->n_layers, form->heads, form->kv_heads, form->size, form->hidden, form->inner,
               form->vocabulary, (double)form->epsilon, (double)form->base,
               form->halves ? "halves of a head turned" : "neighbours turned", type->name);
}

static int write(const struct settings *settings, const char *path, struct str *out, struct error *err)
{
    const struct block_type *type = block_type_at((size_t)settings->type);
    struct model *model;
    struct model_index index;
    struct llama_form form = {0};
    if (model_open(&model, path, err))
        return -1;
    int status = model_index_init(&index, model, err);
    if (!status) {
        status = llama_form_find(&form, &index, err)
                     ? error_prefix(err, "%s", path)
                     : llama_file_write(model, &form, type, settings->common.output, err);
        if (!status)
            describe(&form, type, settings->common.output, out);
        llama_form_release(&form);
    }
    model_index_release(&index);
    model_free(model);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    struct common told = settings->common;
    struct str out;
    if (words->count != 1 || !settings->common.output)
        return error_set(err, ERROR_USAGE,
                         "gguf takes a model and a file: assay gguf MODEL.onnx -o FILE.gguf");
    if (output_file_check(settings->common.output, settings->common.force, err))
        return -1;
    str_init(&out);
    int status = write(settings, words->items[0], &out, err);
    told.output = NULL; /* the model went there */
    if (!status)
        status = output_write_plain(&told, &out, err);
    str_release(&out);
    return status ? -1 : STATUS_AGREE;
}

static const struct cli_option options[] = {
    {'o', "output", OPTION_TEXT, "FILE", offsetof(struct settings, common.output), "the file to write"},
    {0, "type", OPTION_CHOICE, BLOCK_TYPE_WORDS, offsetof(struct settings, type),
     "the type of matrices; those whose rows are no whole number of blocks become f16"},
    COMMON_FORCE(struct settings, "overwrite FILE whatever it is"),
};

const struct command command_gguf = {
    .name = "gguf",
    .summary = "write a language model as a GGUF file, for llama.cpp",
    .usage = "MODEL -o FILE [OPTION...]",
    .about =
        "Writes the weights of an ONNX model of llama's form as a GGUF file, which llama.cpp reads: RMS "
        "norms,\n"
        "rotary positions, causal attention with grouped heads and a product of SiLU, in whatever operators\n"
        "an exporter wrote them. Heads, epsilon and angles are not read from the graph but found by "
        "evaluating\n"
        "its parts, and what is of another form is refused in words. The file has no vocabulary: tokens are\n"
        "given by their numbers. 'assay decode --gguf' then runs both and says at which layer they part.\n",
    .examples = "  assay gguf llama.onnx -o llama.gguf\n"
                "  assay gguf llama.onnx -o llama-q8.gguf --type q8_0\n"
                "  assay decode llama.onnx --gguf llama-q8.gguf -e onnxruntime -e llama-cpp\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
