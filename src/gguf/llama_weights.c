#include "gguf/llama_weights.h"

#include "base/folder.h"
#include "base/memory.h"
#include "eval/evaluate.h"
#include "model/build.h"
#include "model/edit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* --- The list --- */

struct list {
    const struct llama_form *form;
    struct arena *arena;
    struct llama_weight *items;
    size_t count;
};

static void add_vector(struct list *list, int layer, const char *initial, const char *name)
{
    list->items[list->count++] = (struct llama_weight){.name = name,
                                                       .initial = initial,
                                                       .layer = layer,
                                                       .width = list->form->hidden,
                                                       .rows = 1,
                                                       .vector = true};
}

static void add_linear(struct list *list, int layer, const struct llama_linear *linear, const char *name,
                       int64_t heads)
{
    list->items[list->count++] = (struct llama_weight){.name = name,
                                                       .initial = linear->weight,
                                                       .layer = layer,
                                                       .width = linear->rows,
                                                       .rows = linear->columns,
                                                       .across = !linear->turned,
                                                       .heads = heads};
}

static void add_layer(struct list *list, int number)
{
    static const char *const names[LLAMA_PARTS] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                                   "ffn_gate", "ffn_up", "ffn_down"};
    const struct llama_form *form = list->form;
    const struct llama_layer *layer = &form->layers[number];
    add_vector(list, number, layer->attn_norm, arena_printf(list->arena, "blk.%d.attn_norm.weight", number));
    add_vector(list, number, layer->ffn_norm, arena_printf(list->arena, "blk.%d.ffn_norm.weight", number));
    for (int part = 0; part < LLAMA_PARTS; part++) {
        int64_t heads = part == LLAMA_Q ? form->heads : part == LLAMA_K ? form->kv_heads : 0;
        add_linear(list, number, &layer->parts[part],
                   arena_printf(list->arena, "blk.%d.%s.weight", number, names[part]),
                   form->halves ? heads : 0);
    }
}

const struct llama_weight *llama_weights(const struct llama_form *form, struct arena *arena, size_t *count)
{
    struct list list = {.form = form, .arena = arena};
    list.items = arena_array(arena, form->n_layers * (LLAMA_PARTS + 2) + 3, sizeof *list.items);
    list.items[list.count++] = (struct llama_weight){.name = "token_embd.weight",
                                                     .initial = form->table,
                                                     .layer = -1,
                                                     .width = form->hidden,
                                                     .rows = form->vocabulary};
    for (size_t l = 0; l < form->n_layers; l++)
        add_layer(&list, (int)l);
    add_vector(&list, (int)form->n_layers, form->norm, "output_norm.weight");
    add_linear(&list, (int)form->n_layers, &form->head, "output.weight", 0);
    *count = list.count;
    return list.items;
}

/* llama.cpp turns pairs that follow one another: element 2i and 2i + 1 of a head are i and i + size / 2. */
int64_t llama_row(const struct llama_form *form, const struct llama_weight *weight, int64_t row)
{
    int64_t within = row % form->size;
    if (!weight->heads)
        return row;
    return row - within + within / 2 + within % 2 * (form->size / 2);
}

size_t llama_place(const struct llama_form *form, const struct llama_weight *weight, int64_t row, int64_t i)
{
    int64_t own = llama_row(form, weight, row);
    return (size_t)(weight->across ? i * weight->rows + own : own * weight->width + i);
}

/* What a node makes of initialisers alone. */
static int evaluate_constant(const struct model *model, const char *name, struct tensor *tensor,
                             struct error *err)
{
    struct model_index index;
    struct model *part = NULL;
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    size_t count = 0;
    int status = model_index_init(&index, model, err) ||
                 model_cut_between(&part, &index, NULL, 0, &name, 1, NULL, err) ||
                 evaluator_new(&evaluator, part, &(struct evaluate_options){.round = true}, err) ||
                 evaluator_run(evaluator, NULL, 0, NULL, 0, &results, &count, err) ||
                 bounded_to_tensor(&results[0], tensor, err);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    model_free(part);
    model_index_release(&index);
    return status ? -1 : 0;
}

/* The number of the weight's initialiser; n_initializer: a node makes it. */
static size_t find_initializer(const struct model *model, const struct llama_weight *weight)
{
    const Onnx__GraphProto *graph = model->graph;
    size_t i = 0;
    while (i < graph->n_initializer && !text_equal(graph->initializer[i]->name, weight->initial))
        i++;
    return i;
}

int llama_weight_read(const struct model *model, const struct llama_weight *weight, struct tensor *tensor,
                      struct error *err)
{
    size_t number = find_initializer(model, weight);
    if (number < model->graph->n_initializer)
        return model_weight(model, number, tensor, err);
    return evaluate_constant(model, weight->initial, tensor, err);
}

/* Row `row` of the file, as the model has it. */
static void own_row(const struct llama_form *form, const struct llama_weight *weight,
                    const struct tensor *values, int64_t row, float *own)
{
    for (int64_t i = 0; i < weight->width; i++)
        own[i] = (float)tensor_get(values, llama_place(form, weight, row, i));
}

/* --- Writing --- */

static const struct block_type *type_for(const struct llama_weight *weight, const struct block_type *type)
{
    if (weight->vector)
        return block_type_at(0);
    return weight->width % (int64_t)type->elements ? block_type_at(1) : type;
}

static void describe(const struct llama_form *form, struct gguf_draft *draft)
{
    gguf_add_text(draft, "general.architecture", "llama");
    gguf_add_whole(draft, "llama.block_count", (uint32_t)form->n_layers);
    gguf_add_whole(draft, "llama.context_length", (uint32_t)form->context);
    gguf_add_whole(draft, "llama.embedding_length", (uint32_t)form->hidden);
    gguf_add_whole(draft, "llama.feed_forward_length", (uint32_t)form->inner);
    gguf_add_whole(draft, "llama.attention.head_count", (uint32_t)form->heads);
    gguf_add_whole(draft, "llama.attention.head_count_kv", (uint32_t)form->kv_heads);
    gguf_add_whole(draft, "llama.attention.key_length", (uint32_t)form->size);
    gguf_add_whole(draft, "llama.attention.value_length", (uint32_t)form->size);
    gguf_add_real(draft, "llama.attention.layer_norm_rms_epsilon", form->epsilon);
    gguf_add_whole(draft, "llama.rope.dimension_count", (uint32_t)form->size);
    gguf_add_real(draft, "llama.rope.freq_base", form->base);
    gguf_add_whole(draft, "llama.vocab_size", (uint32_t)form->vocabulary);
    /* Tokens are given by their numbers. The key is in two parts, as its middle is also an engine's name,
     * which stands nowhere in this code (tools/check-layers). */
    gguf_add_text(draft,
                  "tokenizer.g"
                  "gml.model",
                  "no_vocab");
}

static int write_weight(const struct model *model, const struct llama_form *form,
                        const struct llama_weight *weight, const struct block_type *type, FILE *stream,
                        struct error *err)
{
    struct tensor tensor;
    if (llama_weight_read(model, weight, &tensor, err))
        return -1;
    size_t width = (size_t)weight->width, bytes = width / type->elements * type->bytes;
    float *row = memory_zeroed(width, sizeof *row);
    uint8_t *data = memory_zeroed((size_t)weight->rows, bytes);
    for (int64_t r = 0; r < weight->rows; r++) {
        own_row(form, weight, &tensor, r, row);
        block_type_write(type, row, width, data + (size_t)r * bytes);
    }
    gguf_write_data(data, (size_t)weight->rows * bytes, stream);
    free(row);
    free(data);
    tensor_release(&tensor);
    return 0;
}

static int write_all(const struct model *model, const struct llama_form *form, const struct block_type *type,
                     FILE *stream, struct error *err)
{
    struct arena arena;
    struct gguf_draft draft;
    size_t count;
    int status = 0;
    arena_init(&arena);
    gguf_draft_init(&draft);
    const struct llama_weight *weights = llama_weights(form, &arena, &count);
    describe(form, &draft);
    for (size_t i = 0; i < count; i++) {
        uint64_t dims[] = {(uint64_t)weights[i].width, (uint64_t)weights[i].rows};
        gguf_announce(&draft, weights[i].name, weights[i].vector ? 1 : 2, dims, type_for(&weights[i], type));
    }
    gguf_write_header(&draft, stream);
    for (size_t i = 0; i < count && !status; i++)
        status = write_weight(model, form, &weights[i], type_for(&weights[i], type), stream, err);
    gguf_draft_release(&draft);
    arena_release(&arena);
    return status;
}

int llama_file_write(const struct model *model, const struct llama_form *form, const struct block_type *type,
                     const char *path, struct error *err)
{
    struct fresh_file file;
    if (folder_create(&file, USERS_PATH, path, err))
        return -1;
    if (write_all(model, form, type, file.stream, err)) {
        folder_drop(&file);
        return -1;
    }
    return folder_put(&file, err);
}

/* --- Reading --- */

static int check_tensor(const struct llama_weight *weight, const struct gguf_tensor *tensor,
                        struct error *err)
{
    const char *type = block_type_name(tensor->number);
    if (tensor->dims[0] != (uint64_t)weight->width || tensor->dims[1] != (uint64_t)weight->rows ||
        tensor->dims[2] != 1 || tensor->dims[3] != 1)
        return error_set(err, ERROR_USAGE,
                         "its tensor %s is %" PRIu64 " by %" PRIu64 ", and the ONNX model's %" PRId64
                         " by %" PRId64 ": the two are not of one network",
                         weight->name, tensor->dims[0], tensor->dims[1], weight->width, weight->rows);
    if (tensor->type)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "its tensor %s has the type %s (%u); read are f32, f16, bf16 and q8_0", weight->name,
                     type ? type : "of another number", tensor->number);
}

int llama_file_tensors(const struct gguf_file *file, const struct llama_form *form,
                       const struct llama_weight *weights, size_t count, const struct gguf_tensor **tensors,
                       struct error *err)
{
    const char *architecture;
    if (!gguf_text(file, "general.architecture", &architecture) || !text_equal(architecture, "llama"))
        return error_set(err, ERROR_UNSUPPORTED, "its architecture is not llama");
    for (size_t i = 0; i < count; i++) {
        tensors[i] = gguf_find(file, weights[i].name);
        if (!tensors[i] && weights[i].initial == form->head.weight)
            tensors[i] = gguf_find(file, weights[0].name);
        if (!tensors[i])
            return error_set(err, ERROR_USAGE, "it has no tensor %s", weights[i].name);
        if (check_tensor(&weights[i], tensors[i], err))
            return -1;
    }
    return 0;
}

/* Row `row` of a tensor of a file; returns where it begins. */
static const uint8_t *read_row(const struct gguf_tensor *tensor, int64_t row, float *numbers)
{
    size_t width = (size_t)tensor->dims[0], bytes = width / tensor->type->elements * tensor->type->bytes;
    const uint8_t *from = tensor->data + (size_t)row * bytes;
    block_type_read(tensor->type, from, width, numbers);
    return from;
}

/* The users of what a node makes get an initialiser in its place. */
static int replace(struct model *model, const struct llama_weight *weight, const struct tensor *values,
                   struct error *err)
{
    if (find_initializer(model, weight) < model->graph->n_initializer)
        return model_replace_initializer(model, weight->initial, values, err);
    const char *kept = arena_printf(&model->arena, "%s of the file", weight->initial);
    model_add_initializer(model, kept, values);
    graph_redirect(&model->arena, model->graph, weight->initial, kept);
    return 0;
}

int llama_file_put(struct model *model, const struct llama_form *form, const struct llama_weight *weight,
                   const struct gguf_tensor *tensor, struct error *err)
{
    struct tensor values;
    if (llama_weight_read(model, weight, &values, err))
        return -1;
    float *row = memory_zeroed((size_t)weight->width, sizeof *row);
    for (int64_t r = 0; r < weight->rows; r++) {
        read_row(tensor, r, row);
        for (int64_t i = 0; i < weight->width; i++)
            tensor_set(&values, llama_place(form, weight, r, i), (long double)row[i]);
    }
    int status = replace(model, weight, &values, err);
    free(row);
    tensor_release(&values);
    return status;
}

static void compare_row(struct llama_difference *difference, const struct gguf_tensor *tensor,
                        const uint8_t *from, const float *kept, const float *own, int64_t row)
{
    const struct block_type *type = tensor->type;
    for (size_t i = 0; i < tensor->dims[0]; i++) {
        float gap = fabsf(kept[i] - own[i]);
        if (gap == 0)
            continue;
        float step = block_type_step(type, from + i / type->elements * type->bytes, kept[i]);
        difference->differ++;
        difference->largest = fmaxf(difference->largest, gap);
        difference->share = fmaxf(difference->share, step > 0 ? gap / step : INFINITY);
        if (gap <= step)
            continue;
        if (difference->beyond++ == 0)
            difference->row = row;
    }
}

/* Which of the model's rows the first wrong one of the file is: converters put rows into another order. */
static void find_row(struct llama_difference *difference, const struct llama_form *form,
                     const struct llama_weight *weight, const struct gguf_tensor *tensor,
                     const struct tensor *values, float *kept, float *own)
{
    const uint8_t *from = read_row(tensor, difference->row, kept);
    difference->whose = -1;
    for (int64_t r = 0; r < weight->rows && difference->whose < 0; r++) {
        struct llama_difference other = {0};
        own_row(form, weight, values, r, own);
        compare_row(&other, tensor, from, kept, own, r);
        if (!other.beyond)
            difference->whose = r;
    }
}

int llama_file_compare(const struct model *model, const struct llama_form *form,
                       const struct llama_weight *weight, const struct gguf_tensor *tensor,
                       struct llama_difference *difference, struct error *err)
{
    struct tensor values;
    *difference = (struct llama_difference){0};
    if (llama_weight_read(model, weight, &values, err))
        return -1;
    float *kept = memory_zeroed((size_t)weight->width, sizeof *kept);
    float *own = memory_zeroed((size_t)weight->width, sizeof *own);
    for (int64_t r = 0; r < weight->rows; r++) {
        const uint8_t *from = read_row(tensor, r, kept);
        own_row(form, weight, &values, r, own);
        compare_row(difference, tensor, from, kept, own, r);
    }
    if (difference->beyond)
        find_row(difference, form, weight, tensor, &values, kept, own);
    free(kept);
    free(own);
    tensor_release(&values);
    return 0;
}

/* --- Settings --- */

size_t llama_file_settings(const struct gguf_file *file, const struct llama_form *form,
                           struct llama_setting settings[LLAMA_SETTINGS])
{
    /* What llama.cpp takes where a file does not say it; NAN: the file must. */
    const struct {
        const char *key;
        double model, otherwise;
    } rows[LLAMA_SETTINGS] = {
        {"llama.block_count", (double)form->n_layers, NAN},
        {"llama.embedding_length", (double)form->hidden, NAN},
        {"llama.feed_forward_length", (double)form->inner, NAN},
        {"llama.attention.head_count", (double)form->heads, NAN},
        {"llama.attention.head_count_kv", (double)form->kv_heads, (double)form->heads},
        {"llama.attention.layer_norm_rms_epsilon", (double)form->epsilon, NAN},
        {"llama.rope.freq_base", (double)form->base, 10000},
        {"llama.rope.dimension_count", (double)form->size, (double)form->size},
        {"llama.rope.scaling.factor", 1, 1},
    };
    size_t count = 0;
    for (size_t i = 0; i < LLAMA_SETTINGS; i++) {
        double said = rows[i].otherwise;
        gguf_number(file, rows[i].key, &said);
        if (!(fabs(said - rows[i].model) <= 1e-6 * fabs(rows[i].model)))
            settings[count++] = (struct llama_setting){rows[i].key, said, rows[i].model};
    }
    return count;
}
