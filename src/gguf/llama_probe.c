#include "gguf/llama_probe.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "model/edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GIVEN = 3, ATTENTION_ROWS = 4 };

/* A part of the graph, evaluated on values that are chosen. */
struct probe {
    const struct llama_form *form;
    const struct model_index *index;
    size_t rows;         /* positions */
    int64_t first, step; /* positions are first, first + step ... */
    size_t n_given;
    const char *names[MOST_GIVEN];
    struct tensor given[MOST_GIVEN];
    size_t count; /* of results */
    struct bounded *results;
};

static struct probe probe_of(const struct llama_form *form, const struct model_index *index, size_t rows)
{
    return (struct probe){.form = form, .index = index, .rows = rows, .step = 1};
}

static void probe_release(struct probe *probe)
{
    for (size_t i = 0; i < probe->n_given; i++)
        tensor_release(&probe->given[i]);
    for (size_t i = 0; i < probe->count; i++)
        bounded_release(&probe->results[i]);
    free(probe->results);
}

/* Another value of the graph that is given, [1, rows, width], all zeros; NULL: there is no memory. */
static struct tensor *give(struct probe *probe, const char *name, int64_t width, struct error *err)
{
    struct shape shape = {3, {1, (int64_t)probe->rows, width}};
    if (tensor_alloc(&probe->given[probe->n_given], probe->form->type, &shape, 0, err))
        return NULL;
    probe->names[probe->n_given] = name;
    return &probe->given[probe->n_given++];
}

/* Numbers without any order, between -1 and 1, which every float type holds. */
static void fill(struct tensor *tensor, unsigned seed)
{
    for (size_t i = 0; i < tensor->count; i++) {
        seed = seed * 1103515245U + 12345U;
        tensor_set(tensor, i, (long double)((int)(seed >> 16 & 127) - 64) / 64);
    }
}

/* The inputs of the part: what is given, and the model's own inputs for so many tokens. */
static int bind(const struct probe *probe, const struct model *part, const struct value *prompt,
                struct value *inputs, struct error *err)
{
    for (size_t i = 0; i < part->graph->n_input; i++) {
        const char *name = part->graph->input[i]->name;
        inputs[i] = value_view(name, NULL);
        for (size_t k = 0; k < probe->n_given; k++)
            if (text_equal(probe->names[k], name))
                inputs[i] = value_view(name, &probe->given[k]);
        for (size_t k = 0; k < probe->form->decoder.count; k++)
            if (text_equal(prompt[k].name, name))
                inputs[i] = value_view(name, &prompt[k].tensors[0]);
        if (!inputs[i].tensors)
            return error_set(err, ERROR_UNSUPPORTED,
                             "a part of the graph that has a form of its own reads %s", name);
    }
    return 0;
}

static void place_rows(const struct probe *probe, struct value *prompt)
{
    for (size_t k = 0; k < probe->form->decoder.count; k++)
        if (probe->form->decoder.inputs[k].role == ROLE_POSITIONS)
            for (size_t i = 0; i < probe->rows; i++)
                tensor_set(&prompt[k].tensors[0], i, (long double)(probe->first + (int64_t)i * probe->step));
}

static int evaluate(struct probe *probe, const struct model *part, struct error *err)
{
    struct evaluate_options options = {0};
    struct evaluator *evaluator = NULL;
    struct value *prompt = NULL;
    struct value *inputs = memory_zeroed(part->graph->n_input + 1, sizeof *inputs);
    int64_t *tokens = memory_zeroed(probe->rows, sizeof *tokens);
    int status = decoder_prompt(&probe->form->decoder, tokens, probe->rows, &prompt, err);
    if (!status) {
        place_rows(probe, prompt);
        status = bind(probe, part, prompt, inputs, err) || evaluator_new(&evaluator, part, &options, err) ||
                 evaluator_run(evaluator, inputs, part->graph->n_input, NULL, 0, &probe->results,
                               &probe->count, err);
    }
    evaluator_free(evaluator);
    if (prompt)
        values_free(prompt, probe->form->decoder.count);
    free(tokens);
    free(inputs);
    return status ? -1 : 0;
}

/* Evaluates the part from what is given to the values named, of which the one with number i has counts[i]
 * elements. *kept, unless NULL, is the part, which the caller frees. */
static int probe_run(struct probe *probe, const char *const *to, const size_t *counts, size_t n_to,
                     struct model **kept, struct error *err)
{
    const struct tensor *tensors[MOST_GIVEN];
    struct edit_types types = {probe->n_given, probe->names, tensors};
    struct model *part = NULL;
    for (size_t i = 0; i < probe->n_given; i++)
        tensors[i] = &probe->given[i];
    int status =
        model_cut_between(&part, probe->index, probe->names, probe->n_given, to, n_to, &types, err) ||
        evaluate(probe, part, err);
    for (size_t i = 0; i < n_to && !status; i++)
        if (probe->results[i].count != counts[i] || !probe->results[i].value)
            status = error_set(err, ERROR_UNSUPPORTED, "%s has another shape", to[i]);
    if (kept && !status)
        *kept = part;
    else
        model_free(part);
    return status ? -1 : 0;
}

/* How far what was evaluated may be off: more than the rounding of constants to float32 explains. */
static const long double tolerance = 1e-5L;

static bool is_near(long double value, long double expected, long double share)
{
    return fabsl(value - expected) <= share;
}

/* The roundest decimal number from which a measured one differs by no more than measuring does. */
static float roundest(long double measured, long double share)
{
    for (int digits = 0; digits < 9; digits++) {
        char text[64];
        snprintf(text, sizeof text, "%.*Le", digits, measured);
        if (fabsl(strtold(text, NULL) - measured) <= share * measured)
            return strtof(text, NULL);
    }
    return (float)measured;
}

/* --- Norms --- */

/* The only initialiser of the part with as many numbers as a state. */
static const char *find_vector(const struct model *part, int64_t width)
{
    const char *found = NULL;
    for (size_t i = 0; i < part->graph->n_initializer; i++) {
        const Onnx__TensorProto *tensor = part->graph->initializer[i];
        if (tensor->n_dims != 1 || tensor->dims[0] != width)
            continue;
        if (found)
            return NULL;
        found = tensor->name;
    }
    return found;
}

static int read_vector(const struct model *model, const char *name, struct tensor *weight, struct error *err)
{
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (text_equal(model->graph->initializer[i]->name, name))
            return model_weight(model, i, weight, err);
    return error_set(err, ERROR_NOT_FOUND, "there is no %s", name);
}

/* Row 0 has small equal numbers, of which the epsilon is seen, row 1 others. */
static int prove_norm(const struct probe *probe, const struct tensor *weight, float *epsilon,
                      struct error *err)
{
    const struct bounded *y = &probe->results[0];
    size_t width = weight->count, largest = 0;
    long double squares = 0, c = tensor_get(&probe->given[0], 0), most = 0, share = tolerance;
    for (size_t i = 0; i < width; i++) {
        long double x = tensor_get(&probe->given[0], width + i);
        largest = fabsl(tensor_get(weight, i)) > fabsl(tensor_get(weight, largest)) ? i : largest;
        squares += x * x / (long double)width;
        most = fmaxl(most, fabsl(y->value[width + i]));
    }
    long double ratio = y->value[largest] / (tensor_get(weight, largest) * c);
    long double measured = 1 / (ratio * ratio) - c * c;
    if (!(measured > 0 && measured < 1))
        return error_set(err, ERROR_UNSUPPORTED, "what lies before a product is no RMS norm");
    *epsilon = roundest(measured, share / 10);
    for (size_t i = 0; i < width; i++) {
        long double x = tensor_get(&probe->given[0], width + i);
        long double expected = tensor_get(weight, i) * x / sqrtl(squares + *epsilon);
        if (!is_near(y->value[width + i], expected, share * most))
            return error_set(err, ERROR_UNSUPPORTED, "what lies before a product is no RMS norm");
    }
    return 0;
}

int llama_probe_norm(const struct llama_form *form, const struct model_index *index, const char *from,
                     const char *to, const char **weight, float *epsilon, struct error *err)
{
    struct probe probe = probe_of(form, index, 2);
    struct model *part = NULL;
    struct tensor values;
    tensor_init(&values);
    struct tensor *x = give(&probe, from, form->hidden, err);
    size_t count = x ? x->count : 0;
    int status = x ? 0 : -1;
    if (!status) {
        fill(x, 1);
        for (size_t i = 0; i < count / 2; i++)
            tensor_set(x, i, 0x1p-9L);
        status = probe_run(&probe, &to, &count, 1, &part, err);
    }
    const char *name = status ? NULL : find_vector(part, form->hidden);
    if (!status && !name)
        status = error_set(err, ERROR_UNSUPPORTED, "what lies before a product has no weight of its own");
    if (!status)
        status = read_vector(index->model, name, &values, err) || prove_norm(&probe, &values, epsilon, err);
    if (!status)
        *weight = model_index_find(index, name)->name;
    tensor_release(&values);
    model_free(part);
    probe_release(&probe);
    return status ? -1 : 0;
}

/* --- Sums and gates --- */

int llama_probe_sum(const struct llama_form *form, const struct model_index *index, const char *x,
                    const char *y, const char *sum, struct error *err)
{
    struct probe probe = probe_of(form, index, 2);
    struct tensor *a = give(&probe, x, form->hidden, err), *b = a ? give(&probe, y, form->hidden, err) : NULL;
    int status = b ? 0 : -1;
    if (!status) {
        fill(a, 1);
        fill(b, 2);
        status = probe_run(&probe, &sum, &a->count, 1, NULL, err);
    }
    for (size_t i = 0; !status && i < a->count; i++)
        if (!is_near(probe.results[0].value[i], tensor_get(a, i) + tensor_get(b, i), tolerance))
            status = error_set(err, ERROR_UNSUPPORTED, "its results are not added to what it read");
    probe_release(&probe);
    return status ? -1 : 0;
}

static bool is_gated(const struct probe *probe, size_t gate)
{
    const struct tensor *g = &probe->given[gate], *u = &probe->given[!gate];
    for (size_t i = 0; i < g->count; i++) {
        long double x = tensor_get(g, i), expected = x / (1 + expl(-x)) * tensor_get(u, i);
        if (!is_near(probe->results[0].value[i], expected, tolerance))
            return false;
    }
    return true;
}

int llama_probe_gate(const struct llama_form *form, const struct model_index *index,
                     struct llama_layer *layer, struct error *err)
{
    struct probe probe = probe_of(form, index, 2);
    struct llama_linear *p = layer->parts;
    struct tensor *a = give(&probe, p[LLAMA_GATE].output, form->inner, err);
    struct tensor *b = a ? give(&probe, p[LLAMA_UP].output, form->inner, err) : NULL;
    const char *to = p[LLAMA_DOWN].input;
    int status = b ? 0 : -1;
    if (!status) {
        fill(a, 1);
        fill(b, 2);
        status = probe_run(&probe, &to, &a->count, 1, NULL, err);
    }
    if (!status && !is_gated(&probe, 0)) {
        struct llama_linear up = p[LLAMA_GATE];
        p[LLAMA_GATE] = p[LLAMA_UP];
        p[LLAMA_UP] = up;
        if (!is_gated(&probe, 1))
            status =
                error_set(err, ERROR_UNSUPPORTED, "its gate is not the SiLU of one product times another");
    }
    probe_release(&probe);
    return status ? -1 : 0;
}

/* --- Heads --- */

static const char *present_of(const struct llama_form *form, size_t layer, const char *what)
{
    for (size_t i = 0; i < form->decoder.count; i++) {
        const struct decoder_input *input = &form->decoder.inputs[i];
        if (input->role == ROLE_CACHE && input->layer == (int)layer && strstr(input->present, what))
            return input->present;
    }
    return NULL;
}

/* Of the three products, ones in the product `which` alone: what comes to keys and values. Row i has its one
 * in element i of head 0. */
static int send_ones(struct probe *probe, const struct llama_form *form, const struct llama_linear *p,
                     size_t which, const char *const *to, struct error *err)
{
    size_t count = (size_t)form->kv_heads * probe->rows * (size_t)form->size, counts[] = {count, count};
    probe->first = 1;
    probe->step = 0;
    for (size_t i = 0; i < 3; i++) {
        struct tensor *tensor = give(probe, p[i].output, p[i].columns, err);
        if (!tensor)
            return -1;
        for (size_t k = 0; i == which && k < probe->rows; k++)
            tensor_set(tensor, k * (size_t)p[i].columns + k, 1);
    }
    return probe_run(probe, to, counts, 2, NULL, err);
}

static bool is_zero(const struct bounded *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->value[i] != 0)
            return false;
    return true;
}

/* How position 1 turns pairs: row i of `keys` is what became of element i. */
static int read_turn(struct llama_form *form, const struct bounded *keys, struct error *err)
{
    size_t n = (size_t)form->size;
    form->halves = n > 2 && fabsl(keys->value[n / 2]) > fabsl(keys->value[1]);
    int64_t last[2];
    llama_pair(form, (int64_t)n / 2 - 1, last);
    size_t a = (size_t)last[0], b = (size_t)last[1];
    long double angle = atan2l(keys->value[a * n + b], keys->value[a * n + a]);
    if (!(angle > 0) || n < 4)
        return error_set(err, ERROR_UNSUPPORTED, "positions do not turn the elements of its keys");
    form->base = roundest(expl(-logl(angle) * (long double)n / (long double)(n - 2)), tolerance / 10);
    for (int64_t pair = 0; pair < form->size / 2; pair++) {
        int64_t e[2];
        llama_pair(form, pair, e);
        const long double *row = keys->value + (size_t)e[0] * n;
        long double turned = llama_angle(form, 1, pair);
        if (!is_near(row[e[0]], cosl(turned), tolerance) || !is_near(row[e[1]], sinl(turned), tolerance))
            return error_set(err, ERROR_UNSUPPORTED,
                             "positions do not turn pair %lld of its keys by a power of %g", (long long)pair,
                             (double)form->base);
    }
    return 0;
}

int llama_probe_heads(struct llama_form *form, const struct model_index *index, size_t layer,
                      struct error *err)
{
    struct llama_linear *p = form->layers[layer].parts, found[3];
    const char *to[] = {present_of(form, layer, "key"), present_of(form, layer, "value")};
    bool seen[3] = {false};
    int status = to[0] && to[1] ? 0 : error_set(err, ERROR_UNSUPPORTED, "its cache has no .key and .value");
    for (size_t i = 0; i < 3 && !status; i++) {
        struct probe probe = probe_of(form, index, (size_t)form->size);
        status = p[i].columns < form->size ? error_set(err, ERROR_UNSUPPORTED, "its heads are cut")
                                           : send_ones(&probe, form, p, i, to, err);
        enum llama_part part = LLAMA_Q;
        if (!status)
            part = !is_zero(&probe.results[0]) ? LLAMA_K : !is_zero(&probe.results[1]) ? LLAMA_V : LLAMA_Q;
        if (!status && part == LLAMA_K && layer == 0)
            status = read_turn(form, &probe.results[0], err);
        found[part] = p[i];
        seen[part] = true;
        probe_release(&probe);
    }
    if (!status && !(seen[0] && seen[1] && seen[2]))
        status = error_set(err, ERROR_UNSUPPORTED, "its products are not queries, keys and values");
    if (!status)
        memcpy(p, found, sizeof found);
    return status ? -1 : 0;
}

/* --- Attention --- */

/* Queries or keys behind the turning: [rows, heads, size]. */
static long double *turn(const struct llama_form *form, const struct tensor *x, int64_t heads)
{
    long double *out = memory_zeroed(x->count, sizeof *out);
    for (size_t i = 0; i < x->count; i += (size_t)form->size) {
        int64_t position = (int64_t)i / (heads * form->size);
        for (int64_t pair = 0; pair < form->size / 2; pair++) {
            int64_t e[2];
            llama_pair(form, pair, e);
            long double a = tensor_get(x, i + (size_t)e[0]), b = tensor_get(x, i + (size_t)e[1]);
            long double angle = llama_angle(form, position, pair);
            out[i + (size_t)e[0]] = a * cosl(angle) - b * sinl(angle);
            out[i + (size_t)e[1]] = a * sinl(angle) + b * cosl(angle);
        }
    }
    return out;
}

/* What one head of queries gives at one position, into out[0 ... size - 1]. */
static void attend(const struct llama_form *form, const long double *q, const long double *k,
                   const struct tensor *v, size_t row, size_t head, long double *out)
{
    size_t size = (size_t)form->size, kv = (size_t)form->kv_heads;
    size_t from = head / ((size_t)form->heads / kv);
    long double weights[ATTENTION_ROWS], sum = 0;
    memset(out, 0, size * sizeof *out);
    for (size_t r = 0; r <= row; r++) {
        long double score = 0;
        for (size_t i = 0; i < size; i++)
            score += q[(row * (size_t)form->heads + head) * size + i] * k[(r * kv + from) * size + i];
        weights[r] = expl(score / sqrtl((long double)size));
        sum += weights[r];
    }
    for (size_t r = 0; r <= row; r++)
        for (size_t i = 0; i < size; i++)
            out[i] += weights[r] / sum * tensor_get(v, (r * kv + from) * size + i);
}

static bool is_attention(const struct probe *probe)
{
    const struct llama_form *form = probe->form;
    long double *q = turn(form, &probe->given[LLAMA_Q], form->heads);
    long double *k = turn(form, &probe->given[LLAMA_K], form->kv_heads);
    long double *out = memory_zeroed((size_t)form->size, sizeof *out);
    size_t size = (size_t)form->size, heads = (size_t)form->heads;
    bool same = true;
    for (size_t at = 0; at < probe->rows * heads; at++) {
        attend(form, q, k, &probe->given[LLAMA_V], at / heads, at % heads, out);
        for (size_t i = 0; i < size; i++)
            same &= is_near(probe->results[0].value[at * size + i], out[i], tolerance);
    }
    free(q);
    free(k);
    free(out);
    return same;
}

int llama_probe_attention(const struct llama_form *form, const struct model_index *index,
                          const struct llama_layer *layer, struct error *err)
{
    struct probe probe = probe_of(form, index, ATTENTION_ROWS);
    const char *to = layer->parts[LLAMA_O].input;
    size_t count = (size_t)(form->heads * form->size) * ATTENTION_ROWS;
    int status = 0;
    for (unsigned i = 0; i < 3 && !status; i++) {
        struct tensor *x = give(&probe, layer->parts[i].output, layer->parts[i].columns, err);
        status = x ? 0 : -1;
        if (x)
            fill(x, i + 1);
    }
    if (!status)
        status = probe_run(&probe, &to, &count, 1, NULL, err);
    if (!status && !is_attention(&probe))
        status = error_set(err, ERROR_UNSUPPORTED,
                           "between its products is no causal attention of %lld heads, of which %lld have "
                           "keys, behind positions that turn pairs by powers of %g",
                           (long long)form->heads, (long long)form->kv_heads, (double)form->base);
    probe_release(&probe);
    return status ? -1 : 0;
}
