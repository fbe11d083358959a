#include "gguf/course.h"

#include "base/memory.h"
#include "bounds/steps.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 32 };

/* --- Judging --- */

/* The error in shares of the bound: 0 where nothing is wrong or nothing can be told. */
static double share_of(const struct bounded *expected, size_t i, long double got)
{
    long double want = expected->value[i], gap = fabsl(got - want), hard = bounded_hard(expected, i);
    if (isinf(hard) || got == want || (isnan(got) && isnan(want)))
        return 0;
    if (gap <= hard)
        return (double)(gap / hard);
    return hard > 0 && isfinite(gap) ? (double)(gap / hard) : INFINITY;
}

static void blame(struct course *course, size_t point, size_t i, const struct bounded *expected,
                  const struct tensor *got)
{
    size_t width = (size_t)course->points->items[point].width;
    course->fault = (struct course_fault){.found = true,
                                          .point = point,
                                          .step = course->step,
                                          .position = i / width,
                                          .place = i % width,
                                          .got = (double)tensor_get(got, i),
                                          .expected = (double)expected->value[i],
                                          .bound = bounded_hard(expected, i),
                                          .total = got->count};
}

/* Points are judged in the order in which the graph computes them, which may be another than theirs. */
static bool is_first(const struct course *course, size_t point)
{
    const struct course_fault *fault = &course->fault;
    return !fault->found || (fault->step == course->step && point < fault->point);
}

static void judge(struct course *course, size_t point, const struct bounded *expected)
{
    const struct tensor *got = &course->values[point];
    bool first = is_first(course, point), blamed = false;
    for (size_t i = 0; i < got->count; i++) {
        double share = share_of(expected, i, tensor_get(got, i));
        course->open += isinf(bounded_hard(expected, i)) != 0;
        if (!(share <= course->factors[point]))
            course->factors[point] = share;
        if (share <= 1 || !first)
            continue;
        if (!blamed)
            blame(course, point, i, expected, got);
        blamed = true;
        course->fault.wrong++;
    }
}

/* --- What goes on from a point --- */

/* llama.cpp computes the angle of each pair from the one before, in float32, and its sine and cosine. */
static void allow_turning(const struct course *course, const struct point *point, struct bounded *value)
{
    const struct llama_form *form = course->form;
    size_t size = (size_t)form->size, width = (size_t)point->width;
    for (size_t i = 0; i < value->count; i += size)
        for (int64_t pair = 0; pair < form->size / 2; pair++) {
            int64_t e[2];
            llama_pair(form, pair, e);
            size_t a = i + (size_t)e[0], b = i + (size_t)e[1];
            double angle = llama_angle(form, (int64_t)(i / width), pair);
            double off = angle * (double)(3 * pair + 4) * 0x1p-24 + 0x1p-23;
            double hard = off * hypot((double)value->value[a], (double)value->value[b]);
            bounded_set(value, a, value->value[a], hard, hard / 3);
            bounded_set(value, b, value->value[b], hard, hard / 3);
        }
}

/* To one of 255 steps of the largest of `block` numbers. */
static int allow_steps(const struct point *point, struct bounded *value, size_t block, struct error *err)
{
    struct bounded rounded;
    bounded_init(&rounded);
    if (bounded_in_steps(&rounded, value, (size_t)point->width, block, err)) {
        bounded_release(&rounded);
        return -1;
    }
    bounded_release(value);
    *value = rounded;
    return 0;
}

/* What the next operators are allowed to make of the value before they read it. */
static int allow(const struct course *course, const struct point *point, struct bounded *value,
                 struct error *err)
{
    if (course->lowers && point->multiplied)
        return allow_steps(point, value, (size_t)point->width, err);
    if (!course->rounds)
        return 0;
    if (point->heads)
        allow_turning(course, point, value);
    if (point->read == PRECISION_INT8)
        return allow_steps(point, value, BLOCK, err);
    bounded_in_precision(value, point->read);
    return 0;
}

/* The engine's own numbers take the place of the reference's. */
static int give(void *context, const char *name, struct bounded *value, struct error *err)
{
    struct course *course = context;
    size_t number;
    if (!map_get(&course->points->by_value, name, &number))
        return 0;
    const struct tensor *got = &course->values[number];
    if (!value->value || value->count != got->count)
        return error_set(err, ERROR_INVALID, "%s has another shape on the engine", name);
    judge(course, number, value);
    for (size_t i = 0; i < got->count; i++)
        bounded_set(value, i, tensor_get(got, i), 0, 0);
    const struct point *point = &course->points->items[number];
    return allow(course, point, value, err);
}

int course_init(struct course *course, const struct model *model, struct arena *arena, struct error *err)
{
    struct evaluate_options options = {.given = give, .context = course};
    course->factors = arena_array(arena, course->points->count, sizeof *course->factors);
    return evaluator_new(&course->evaluator, model, &options, err);
}

void course_release(struct course *course)
{
    evaluator_free(course->evaluator);
    course->evaluator = NULL;
}

int course_judge(struct course *course, size_t step, size_t rows, const struct value *inputs,
                 const struct tensor *values, struct error *err)
{
    const char *logits = course->points->items[course->points->logits].value;
    struct bounded *results = NULL;
    size_t count = 0;
    course->step = step;
    course->rows = rows;
    course->values = values;
    int status = evaluator_run(course->evaluator, inputs, course->form->decoder.count, &logits, 1, &results,
                               &count, err);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    return status;
}
