#include "case/inputs_sizes.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "case/inputs_random.h"
#include "case/inputs_ranges.h"
#include "eval/evaluate.h"

#include <inttypes.h>
#include <stdlib.h>

static const int64_t sizes[INPUTS_ROWS] = {1, 2, 3, 7, 16};
/* For models that do not run with size 1, such as those that shrink an image many times. */
static const int64_t larger[] = {2, 3, 7, 16, 32, 64, 224};

/* A larger model is not evaluated in this process: its weights would take several times as much memory. */
enum { MOST_TRIED = 1 << 28 };

/* Elements of one input beyond which sizes are given up, and how long it is tried. */
static const double most_elements = 0x1p24, most_seconds = 20;

static void draw(struct inputs *inputs, struct inputs_size *size)
{
    int64_t order[INPUTS_ROWS];
    struct rng root = rng_seed(inputs->seed), rng = rng_split(&root, hash_text(size->name));
    rng_order(&rng, order, INPUTS_ROWS);
    for (size_t row = 0; row < INPUTS_ROWS; row++)
        size->drawn[row] = size->rows[row] = sizes[order[row]];
}

struct shape inputs_shape(const struct inputs *inputs, const struct inputs_slot *slot, size_t sample)
{
    struct shape shape = slot->shape;
    for (int i = 0; i < shape.rank; i++)
        if (slot->open[i] && inputs->rows)
            shape.dims[i] = inputs->sizes[slot->open[i] - 1].rows[sample % inputs->rows];
    return shape;
}

bool inputs_sizes_vary(const struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_sizes; i++)
        for (size_t row = 1; row < inputs->rows; row++)
            if (inputs->sizes[i].rows[row] != inputs->sizes[i].rows[0])
                return true;
    return false;
}

static bool too_large(const struct inputs *inputs, size_t row)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct shape shape = inputs_shape(inputs, &inputs->slots[i], row);
        double elements = 1;
        for (int k = 0; k < shape.rank; k++)
            elements *= (double)shape.dims[k];
        if (elements > most_elements)
            return true;
    }
    return false;
}

static int draw_row(const struct inputs *inputs, size_t row, struct value *values, struct error *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct tensor tensor;
        tensor_init(&tensor);
        if (inputs_random_tensor(inputs, &inputs->slots[i], row, &tensor, err))
            return -1;
        value_set_tensor(&values[i], &tensor);
        value_set_name(&values[i], inputs->slots[i].name);
        tensor_release(&tensor);
    }
    return 0;
}

/* Whether the model runs with the sizes of a row. What the reference cannot tell, it may. */
static bool runs(struct inputs *inputs, size_t row)
{
    struct evaluate_options options = {.round = true};
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    struct error err = {0};
    size_t count = 0;
    if (too_large(inputs, row))
        return false;
    struct value *values = calloc(inputs->count + 1, sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < inputs->count; i++)
        value_init(&values[i]);
    inputs_find_ranges(inputs, row);
    int status = draw_row(inputs, row, values, &err);
    if (status == 0)
        status = evaluator_new(&evaluator, inputs->model, &options, &err);
    if (status == 0)
        status = evaluator_run(evaluator, values, inputs->count, NULL, 0, &results, &count, &err);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    if (evaluator)
        evaluator_free(evaluator);
    values_free(values, inputs->count);
    return status == 0 || err.code == ERROR_UNSUPPORTED;
}

static void set_all(struct inputs *inputs, size_t row, int64_t value)
{
    for (size_t i = 0; i < inputs->n_sizes; i++)
        inputs->sizes[i].rows[row] = inputs->sizes[i].first ? 1 : value;
}

/* The sizes nearest to those drawn: all at 1, or larger, and then as many as drawn as the model runs with. */
static void fall_back(struct inputs *inputs, size_t row, double until)
{
    size_t tried = 0;
    set_all(inputs, row, 1);
    bool good = runs(inputs, row);
    for (; !good && tried < sizeof larger / sizeof *larger && clock_seconds() < until; tried++) {
        set_all(inputs, row, larger[tried]);
        good = runs(inputs, row);
    }
    if (!good)
        set_all(inputs, row, 1); /* what is wrong with it will be said when it runs */
    for (size_t i = 0; good && i < inputs->n_sizes && clock_seconds() < until; i++) {
        struct inputs_size *size = &inputs->sizes[i];
        int64_t safe = size->rows[row];
        size->rows[row] = size->drawn[row];
        if (!runs(inputs, row))
            size->rows[row] = safe;
    }
}

/* A model that is too large to be tried runs with size 1, as most do. */
static void give_up(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_sizes; i++)
        for (size_t row = 0; row < INPUTS_ROWS; row++)
            inputs->sizes[i].rows[row] = inputs->sizes[i].drawn[row] = 1;
}

static void draw_sizes(struct inputs *inputs, bool alike)
{
    inputs->rows = alike || inputs->samples < 1    ? 1
                   : inputs->samples < INPUTS_ROWS ? inputs->samples
                                                   : INPUTS_ROWS;
    for (size_t i = 0; i < inputs->n_sizes; i++) {
        struct inputs_size *size = &inputs->sizes[i];
        draw(inputs, size);
        for (size_t row = 0; alike && size->first && row < INPUTS_ROWS; row++)
            size->drawn[row] = size->rows[row] = 1;
    }
    if (model_size(inputs->model) > MOST_TRIED) {
        give_up(inputs);
        return;
    }
    double until = clock_seconds() + most_seconds;
    for (size_t row = 0; row < inputs->rows && clock_seconds() < until; row++)
        if (!runs(inputs, row))
            fall_back(inputs, row, until);
}

void inputs_draw_sizes(struct inputs *inputs, bool alike)
{
    if (!inputs->n_sizes)
        return;
    draw_sizes(inputs, alike);
    for (size_t row = 0; row < inputs->rows; row++)
        inputs_find_ranges(inputs, row);
}

static bool has(const int64_t *values, size_t count, int64_t value)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] == value)
            return true;
    return false;
}

/* Appends the numbers of `values` that are not among `others`, in ascending order, each once. */
static size_t add_numbers(struct str *out, const int64_t *values, size_t count, const int64_t *others,
                          size_t n_others, const char *before)
{
    int64_t sorted[INPUTS_ROWS], last = -1;
    size_t found = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (size_t i = 0; i < count; i++)
            next =
                values[i] > last && values[i] < next && !has(others, n_others, values[i]) ? values[i] : next;
        if (next == INT64_MAX)
            break;
        sorted[found++] = last = next;
    }
    for (size_t i = 0; i < found; i++)
        str_printf(out, "%s%" PRId64, !i ? before : i + 1 < found ? ", " : " and ", sorted[i]);
    return found;
}

void inputs_sizes_text(const struct inputs *inputs, struct str *out)
{
    for (size_t i = 0; i < inputs->n_sizes; i++) {
        const struct inputs_size *size = &inputs->sizes[i];
        str_printf(out, "%s%s", i ? ", " : "", size->name);
        add_numbers(out, size->rows, inputs->rows ? inputs->rows : 1, NULL, 0, " = ");
        if (inputs->rows && add_numbers(out, size->drawn, inputs->rows, size->rows, inputs->rows, " ("))
            str_add(out, " did not run)");
    }
}
