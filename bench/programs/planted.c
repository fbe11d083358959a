#include "planted.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/edit.h"
#include "tensor/npy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void planted_die(const char *what, const struct error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(2);
}

static int show_all(struct subject *subject, struct error *err)
{
    if (model_index_init(&subject->index, subject->model, err) ||
        model_clone(&subject->shown, subject->model, err))
        return -1;
    const char **names = memory_zeroed(subject->index.count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < subject->index.count; i++)
        if (subject->index.values[i].source == SOURCE_NODE)
            names[count++] = subject->index.values[i].name;
    int status = model_expose(subject->shown, names, count, err);
    free(names);
    return status;
}

void subject_release(struct subject *subject)
{
    for (size_t i = 0; i < MAX_SETS; i++)
        if (subject->healthy[i].outcome != OUTCOME_UNTESTED)
            result_release(&subject->healthy[i]);
    model_index_release(&subject->index);
    model_free(subject->shown);
    model_free(subject->model);
}

void planted_run(struct planted *planted, int engine, const struct model *model, const struct value *inputs,
                 size_t n_inputs, struct result *result)
{
    struct error err = {0};
    uint8_t *data;
    size_t size;
    if (model_pack(model, &data, &size, &err))
        planted_die("packing", &err);
    struct job job = {
        .engine = engine, .model = data, .model_size = size, .n_inputs = n_inputs, .inputs = inputs};
    result_init(result);
    if (pool_run_one(planted->pool, &job, result, &err))
        planted_die("running", &err);
    free(data);
}

/* Two values of a node: the same, apart by no more than a few roundings of its largest element, or apart. */
enum apart { SAME, ROUNDED, APART };

static enum apart compare_values(const struct tensor *a, const struct tensor *b)
{
    long double largest = 0, farthest = 0;
    if (tensor_identical(a, b))
        return SAME;
    if (a->type != DTYPE_FLOAT || b->type != DTYPE_FLOAT || !shape_equal(&a->shape, &b->shape))
        return APART;
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        if (!isfinite(x) || !isfinite(y))
            return APART;
        largest = fmaxl(largest, fabsl(x));
        farthest = fmaxl(farthest, fabsl(x - y));
    }
    return farthest <= 4 * (long double)FLT_EPSILON * largest ? ROUNDED : APART;
}

/* The first node, in the order of computation, of whose outputs one is not the same. */
static long first_difference(const struct subject *subject, const struct result *a, const struct result *b,
                             enum apart *apart)
{
    size_t first = subject->model->graph->n_node;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const struct index_value *value = model_index_find(&subject->index, a->outputs[i].name);
        if (!value || value->source != SOURCE_NODE || a->outputs[i].kind != VALUE_TENSOR ||
            subject->index.position[value->number] >= first)
            continue;
        enum apart now = compare_values(&a->outputs[i].tensors[0], &b->outputs[i].tensors[0]);
        if (now == SAME)
            continue;
        first = subject->index.position[value->number];
        *apart = now;
    }
    return first < subject->model->graph->n_node ? (long)subject->index.order[first] : NOBODY;
}

/* Whether the operator is one of the fault's, "Conv|MaxPool". */
bool planted_is_among(const char *type, const char *operators)
{
    size_t length = strlen(type);
    for (const char *at = operators; (at = strstr(at, type)) != NULL; at += length)
        if ((at == operators || at[-1] == '|') && (!at[length] || at[length] == '|'))
            return true;
    return false;
}

static bool dies_on_first(struct planted *planted, const struct subject *subject, size_t k,
                          const struct value *input)
{
    struct model *part;
    struct result result;
    if (model_cut(&part, &subject->index, subject->index.order, k, NULL, NULL))
        return false;
    planted_run(planted, FAULTY, part, input, 1, &result);
    bool dead = result.outcome != OUTCOME_OK;
    result_release(&result);
    model_free(part);
    return dead;
}

/* The last node of the fault's operators in the shortest beginning that ends the faulty engine. */
static long first_death(struct planted *planted, const struct subject *subject, const struct value *input)
{
    size_t k = 1, n = subject->model->graph->n_node;
    while (k <= n && !dies_on_first(planted, subject, k, input))
        k++;
    for (size_t p = k > n ? 0 : k; p-- > 0;) {
        size_t number = subject->index.order[p];
        if (planted_is_among(subject->model->graph->node[number]->op_type, planted->operators))
            return (long)number;
    }
    return NOBODY;
}

long planted_truth(struct planted *planted, struct subject *subject, size_t set, struct value *input)
{
    *input = (struct value){.name = subject->model->graph->input[0]->name,
                            .kind = VALUE_TENSOR,
                            .count = 1,
                            .tensors = &planted->sets[set]};
    struct result faulty, *healthy = &subject->healthy[set];
    enum apart apart = APART;
    if (healthy->outcome == OUTCOME_UNTESTED)
        planted_run(planted, HEALTHY, subject->shown, input, 1, healthy);
    planted_run(planted, FAULTY, subject->shown, input, 1, &faulty);
    long truth = NOBODY;
    if (healthy->outcome != OUTCOME_OK)
        fprintf(stderr, "%s: the healthy reference: %s\n", subject->name,
                healthy->message ? healthy->message : outcome_name(healthy->outcome));
    else if (faulty.outcome != OUTCOME_OK)
        truth = first_death(planted, subject, input);
    else
        truth = first_difference(subject, healthy, &faulty, &apart);
    subject->rounded = subject->rounded || apart == ROUNDED;
    result_release(&faulty);
    return apart == ROUNDED ? NOBODY : truth;
}

bool planted_is_faulty(const struct planted *planted, const struct subject *subject, size_t node)
{
    return planted_is_among(subject->model->graph->node[node]->op_type, planted->operators);
}

bool planted_concerns(const struct subject *subject, const char *operators)
{
    for (size_t i = 0; i < subject->model->graph->n_node; i++)
        if (planted_is_among(subject->model->graph->node[i]->op_type, operators))
            return true;
    return false;
}

/* Rows [first, first + count) of the samples as one input of the models. */
static void add_set(struct planted *planted, const struct tensor *samples, size_t first, size_t count)
{
    struct error err = {0};
    size_t row = samples->size / (size_t)samples->shape.dims[0];
    struct shape shape = samples->shape;
    shape.dims[0] = (int64_t)count;
    if (planted->n_sets < MAX_SETS &&
        tensor_from_bytes(&planted->sets[planted->n_sets++], samples->type, &shape,
                          (const char *)samples->data + first * row, count * row, &err))
        planted_die("samples", &err);
}

void planted_samples(struct planted *planted, const char *path)
{
    struct error err = {0};
    struct tensor samples;
    if (npy_read(USERS_PATH, path, &samples, &err))
        planted_die(path, &err);
    size_t count = (size_t)samples.shape.dims[0];
    for (size_t i = 0; i < count && i < 8; i++)
        add_set(planted, &samples, i, 1);
    for (size_t i = 0; i + 1 < count && i < 8; i += 2)
        add_set(planted, &samples, i, 2);
    tensor_release(&samples);
}

void planted_models(struct subject *subjects, char **paths, size_t count)
{
    struct error err = {0};
    for (size_t i = 0; i < count; i++) {
        struct subject *subject = &subjects[i];
        const char *slash = strrchr(paths[i], '/'), *base = slash ? slash + 1 : paths[i];
        if (model_load(&subject->model, paths[i], &err))
            planted_die(paths[i], &err);
        subject->name = arena_strdup(&subject->model->arena, base);
        subject->name[strcspn(base, ".")] = '\0';
        if (show_all(subject, &err))
            planted_die(paths[i], &err);
    }
}

/* Faults as the reference's knob lists them: name, paper, operators, parameter, summary. */
static char *fault_text(struct planted *planted)
{
    struct error err = {0};
    const struct engine_spec *spec;
    if (registry_find(planted->registry, given_typed(registry_arena(planted->registry), "reference"), &spec,
                      &err))
        planted_die("reference", &err);
    struct pool *pool = pool_new(&(struct pool_options){0});
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    const Assay__Welcome *welcome = pool_engine(pool, engine)->welcome;
    char *rows = NULL;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strcmp(welcome->knobs[i]->name, "fault") == 0)
            rows = memory_strdup(welcome->knobs[i]->help);
    pool_free(pool);
    if (!rows)
        planted_die("reference", &(struct error){.message = "tells no faults"});
    return rows;
}

/* The next field of a line, which it ends; NULL behind the last. */
static char *next_field(char **at)
{
    char *field = *at, *tab = field ? strchr(field, '\t') : NULL;
    if (tab)
        *tab = '\0';
    *at = tab ? tab + 1 : NULL;
    return field;
}

static struct planted_row *read_rows(struct planted *planted, size_t *count, bool newer)
{
    struct planted_row *rows = NULL;
    size_t capacity = 0;
    *count = 0;
    for (char *line = strtok(fault_text(planted), "\n"); line; line = strtok(NULL, "\n")) {
        rows = memory_grow(rows, &capacity, *count + 1, sizeof *rows);
        struct planted_row *row = &rows[(*count)++];
        char **const fields[] = {&row->name,      &row->paper, &row->operators,
                                 &row->parameter, &row->tied,  &row->summary};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            *fields[i] = next_field(&line);
        if (!row->summary)
            planted_die("reference", &(struct error){.message = "a fault has too few fields"});
        /* The outputs are right, or bench/faults and test_planted have them. */
        if (strcmp(row->paper, "gradients") == 0 || (!newer && strcmp(row->paper, "newer") == 0))
            (*count)--;
    }
    return rows;
}

struct planted_row *planted_rows(struct planted *planted, size_t *count)
{
    return read_rows(planted, count, false);
}

struct planted_row *planted_all_rows(struct planted *planted, size_t *count)
{
    return read_rows(planted, count, true);
}

void planted_open(struct planted *planted, const struct planted_row *row, const char *other)
{
    struct error err = {0};
    struct str label;
    const struct engine_spec *spec;
    str_init(&label);
    /* Div is computed by a reciprocal only where an optimiser is at work. */
    str_printf(&label, "reference:fault=%s%s", row->name,
               strcmp(row->name, "opt-div-reciprocal") ? "" : ",opt=all");
    const char *labels[] = {"reference:round=on", label.data, "reference", other};
    /* Seconds enough for a machine that others use, too: a run that is only late is no finding. */
    planted->pool = pool_new(&(struct pool_options){.deadline = 120});
    for (int i = 0; i < ENGINES && labels[i]; i++) {
        if (registry_find(planted->registry, given_typed(registry_arena(planted->registry), labels[i]), &spec,
                          &err))
            planted_die(labels[i], &err);
        pool_add(planted->pool, spec);
    }
    planted->operators = row->operators;
    str_release(&label);
}

void planted_close(struct planted *planted)
{
    pool_free(planted->pool);
}
