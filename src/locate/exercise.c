#include "locate/exercise.h"

#include "locate/record_values.h"
#include "ops/op.h"

/* A result that is as near as this to an end of its range says nothing about its input any more. */
#define MARGIN 1e-6L

/* Whether the elements differ, and whether some are between two limits. */
struct span {
    bool any, varies, between;
    long double first;
};

static void measure(struct span *span, const struct tensor *tensor, const long double limits[2])
{
    long double margin = limits ? (limits[1] - limits[0]) * MARGIN : 0;
    *span = (struct span){0};
    for (size_t i = 0; i < tensor->count && !(span->varies && (span->between || !limits)); i++) {
        long double value = tensor_get(tensor, i);
        if (!span->any)
            span->first = value;
        span->any = true;
        span->varies |= value != span->first;
        span->between |= limits && value > limits[0] + margin && value < limits[1] - margin;
    }
}

static const struct tensor *input_of(struct recording *record, const Onnx__NodeProto *node, size_t i)
{
    return i < node->n_input && *node->input[i] ? held_values_find(&record->values, node->input[i]) : NULL;
}

/* The ends of the range in which the operator levels off; false when they are not known. */
static bool limits_of(struct recording *record, const Onnx__NodeProto *node, const struct op *op,
                      long double limits[2])
{
    if (!(op->flags & OP_LEVELS_OFF))
        return false;
    if (op->range.rule == RANGE_FIXED) {
        limits[0] = op->range.gives.low;
        limits[1] = op->range.gives.high;
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct tensor *limit = input_of(record, node, i + 1);
        if (!limit || limit->count != 1)
            return false;
        limits[i] = tensor_get(limit, 0);
    }
    return true;
}

static void note_choice(struct exercise *exercise, const struct tensor *condition, unsigned yes, unsigned no)
{
    exercise->has |= yes | no;
    for (size_t i = 0; condition && i < condition->count && (exercise->done & (yes | no)) != (yes | no); i++)
        exercise->done |= tensor_get(condition, i) != 0 ? yes : no;
}

static bool some_input_varies(struct recording *record, const Onnx__NodeProto *node)
{
    struct span span;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct tensor *input = input_of(record, node, i);
        if (!input || input->type == DTYPE_STRING || !op_reads_as_data(node, node->input[i]))
            continue;
        measure(&span, input, NULL);
        if (span.varies)
            return true;
    }
    return false;
}

static void note_result(struct exercise *exercise, struct recording *record, const Onnx__NodeProto *node,
                        const struct op *op)
{
    const struct tensor *made =
        node->n_output && *node->output[0] ? held_values_find(&record->values, node->output[0]) : NULL;
    long double limits[2];
    bool levels = limits_of(record, node, op, limits);
    struct span span;
    if (!made || !dtype_is_float(made->type) || made->count < 2)
        return;
    measure(&span, made, levels ? limits : NULL);
    exercise->has |= EXERCISE_VARIES | (levels ? EXERCISE_BETWEEN : 0);
    if (span.varies || !some_input_varies(record, node))
        exercise->done |= EXERCISE_VARIES;
    if (span.between)
        exercise->done |= EXERCISE_BETWEEN;
}

void exercise_note(struct exercise *exercise, struct recording *record, size_t number)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    const struct op *op = op_of(node);
    if (!op)
        return;
    if (op->flags & OP_BRANCHES)
        note_choice(exercise, input_of(record, node, 0), EXERCISE_THEN, EXERCISE_ELSE);
    if (op->flags & OP_CHOOSES)
        note_choice(exercise, input_of(record, node, 0), EXERCISE_TRUE, EXERCISE_FALSE);
    if (op->data != DATA_NONE)
        note_result(exercise, record, node, op);
}

const char *exercise_missing(const struct exercise *exercise)
{
    static const char *const words[EXERCISE_ASPECTS] = {
        "its then branch was not taken",
        "its else branch was not taken",
        "its condition is never true",
        "its condition is always true",
        "its result is nothing but the ends of its range",
        "all elements of its result are the same",
    };
    unsigned missing = exercise->has & ~exercise->done;
    for (int i = 0; i < EXERCISE_ASPECTS; i++)
        if (missing & 1U << i)
            return words[i];
    return NULL;
}
