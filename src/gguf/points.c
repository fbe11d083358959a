#include "gguf/points.h"

#include <string.h>

struct maker {
    struct points *points;
    const struct llama_form *form;
    const struct llama_weight *weights;
    const struct gguf_tensor *const *tensors;
    size_t n_weights;
    struct arena *arena;
};

/* How what these weights multiply is rounded: as the file keeps the roughest of them. */
static enum precision rounding_of(const struct maker *maker, const struct llama_linear *linears, size_t count)
{
    enum precision roughest = PRECISION_OWN;
    for (size_t i = 0; i < count; i++)
        for (size_t w = 0; w < maker->n_weights; w++)
            if (maker->weights[w].initial == linears[i].weight && maker->tensors[w]->type->beside > roughest)
                roughest = maker->tensors[w]->type->beside;
    return roughest;
}

static struct point *add(struct maker *maker, int layer, const char *value, const char *name, int64_t width)
{
    struct point *point = &maker->points->items[maker->points->count];
    bool outer = layer < 0 || layer == (int)maker->form->n_layers;
    map_set(&maker->points->by_value, value, maker->points->count++);
    *point = (struct point){.value = value, .layer = layer, .width = width};
    point->name = outer ? name : arena_printf(maker->arena, "%s-%d", name, layer);
    return point;
}

/* What these products read. */
static void add_read(struct maker *maker, int layer, const char *value, const char *name,
                     const struct llama_linear *linears, size_t count)
{
    struct point *point = add(maker, layer, value, name, linears->rows);
    point->multiplied = true;
    point->read = rounding_of(maker, linears, count);
}

static void add_layer(struct maker *maker, int number)
{
    const struct llama_form *form = maker->form;
    const struct llama_layer *layer = &form->layers[number];
    const struct llama_linear *p = layer->parts;
    add_read(maker, number, p[LLAMA_Q].input, "attn_norm", p, 3);
    add(maker, number, p[LLAMA_Q].output, "Qcur", p[LLAMA_Q].columns)->heads = form->heads;
    add(maker, number, p[LLAMA_K].output, "Kcur", p[LLAMA_K].columns)->heads = form->kv_heads;
    add(maker, number, p[LLAMA_V].output, "Vcur", p[LLAMA_V].columns);
    add_read(maker, number, p[LLAMA_O].input, "kqv_out", p + LLAMA_O, 1);
    add(maker, number, p[LLAMA_O].output, "attn_out", form->hidden);
    add(maker, number, layer->attn_sum, "ffn_inp", form->hidden);
    add_read(maker, number, p[LLAMA_GATE].input, "ffn_norm", p + LLAMA_GATE, 2);
    add(maker, number, p[LLAMA_GATE].output, "ffn_gate", form->inner);
    add(maker, number, p[LLAMA_UP].output, "ffn_up", form->inner);
    add_read(maker, number, p[LLAMA_DOWN].input, "ffn_swiglu", p + LLAMA_DOWN, 1);
    add(maker, number, p[LLAMA_DOWN].output, "ffn_out", form->hidden);
    add(maker, number, layer->ffn_sum, "l_out", form->hidden);
}

void points_init(struct points *points, const struct llama_form *form, const struct llama_weight *weights,
                 const struct gguf_tensor *const *tensors, size_t n_weights, struct arena *arena)
{
    struct maker maker = {points, form, weights, tensors, n_weights, arena};
    int behind = (int)form->n_layers;
    *points = (struct points){0};
    points->items = arena_array(arena, form->n_layers * (2 * LLAMA_PARTS) + 3, sizeof *points->items);
    map_init(&points->by_value);
    add(&maker, -1, form->embedded, "embd", form->hidden);
    for (int l = 0; l < behind; l++)
        add_layer(&maker, l);
    add_read(&maker, behind, form->head.input, "result_norm", &form->head, 1);
    points->logits = points->count;
    add(&maker, behind, form->head.output, "result_output", form->vocabulary);
}

void points_release(struct points *points)
{
    map_release(&points->by_value);
    *points = (struct points){0};
}

int point_take(const struct point *point, const struct llama_form *form, const struct result *result,
               size_t rows, struct tensor *tensor, struct error *err)
{
    const struct tensor *given = decoder_output(result, point->name);
    size_t width = (size_t)point->width;
    struct llama_weight order = {.heads = form->halves ? point->heads : 0};
    if (!given || given->type != DTYPE_FLOAT || given->count != rows * width)
        return error_set(err, ERROR_UNSUPPORTED, "llama.cpp's %s is not %zu by %zu numbers", point->name,
                         rows, width);
    if (tensor_copy(tensor, given, err))
        return -1;
    float *to = tensor->data;
    const float *from = given->data;
    for (size_t i = 0; i < rows * width; i++)
        to[i - i % width + (size_t)llama_row(form, &order, (int64_t)(i % width))] = from[i];
    return 0;
}
