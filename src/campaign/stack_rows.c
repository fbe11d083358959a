#include "campaign/stack_rows.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"

#include <stdlib.h>

static int decode(struct stack_rows *rows)
{
    const struct result *reference = &rows->whole->reference;
    if (!rows->whole->asked || reference->outcome != OUTCOME_OK || !reference->bounds)
        return 0;
    rows->expected = memory_zeroed(reference->count + 1, sizeof *rows->expected);
    for (size_t i = 0; i < reference->count; i++, rows->n_expected++) {
        bounded_init(&rows->expected[i]);
        if (reference->outputs[i].kind != VALUE_TENSOR ||
            bounds_from_wire(&rows->expected[i], &reference->outputs[i].tensors[0], &reference->bounds[i],
                             NULL))
            return -1;
    }
    return 0;
}

int stack_rows_open(struct stack_rows *rows, const struct trial_done *whole, size_t count)
{
    size_t engines = whole->n_engines;
    *rows = (struct stack_rows){.whole = whole, .count = count, .done = *whole};
    rows->batch = (struct batch){.count = count, .engines = engines + 1};
    rows->batch.answers = memory_zeroed(engines + 1, sizeof *rows->batch.answers);
    for (size_t i = 0; i <= engines; i++)
        rows->batch.answers[i].results =
            i < engines ? &whole->results[i] : (struct result *)&whole->reference;
    batch_row_init(&rows->row, engines + 1);
    rows->done.results = rows->row.results;
    rows->done.judgement.verdicts = memory_zeroed(engines + 1, sizeof *rows->done.judgement.verdicts);
    for (size_t i = 0; i <= engines; i++)
        if ((i < engines || whole->asked) &&
            !batch_answer_usable(&rows->batch, rows->batch.answers[i].results))
            return -1;
    return decode(rows);
}

void stack_rows_close(struct stack_rows *rows)
{
    for (size_t i = 0; i < rows->n_expected; i++)
        bounded_release(&rows->expected[i]);
    free(rows->expected);
    batch_row_release(&rows->row);
    free(rows->batch.answers);
    free(rows->done.judgement.verdicts);
}

static struct bounded part_of(const struct bounded *whole, size_t count, size_t k)
{
    struct bounded part = *whole;
    part.count /= count;
    part.shape.dims[0] /= (int64_t)count;
    part.value = whole->value ? whole->value + k * part.count : NULL;
    part.hard = whole->hard ? whole->hard + k * part.count : NULL;
    part.likely = whole->likely ? whole->likely + k * part.count : NULL;
    return part;
}

/* Without the reference: suspects the engine when it differs from the first that answered by more than the
 * tolerance for ONNX's own test cases. That does not tell which of the two is wrong. */
static void compare(struct stack_rows *rows, size_t engine, struct verdict *verdict)
{
    const struct result *own = &rows->row.results[engine], *first = rows->row.results;
    *verdict = (struct verdict){.kind = VERDICT_UNDECIDED};
    while (first->outcome != OUTCOME_OK)
        first++; /* ends at `own` at the latest, which did answer */
    for (size_t i = 0; i < own->count && i < first->count; i++) {
        const struct tensor *a = &first->outputs[i].tensors[0], *b = &own->outputs[i].tensors[0];
        struct metrics_difference difference = {.close = false};
        if (a->type == b->type && shape_equal(&a->shape, &b->shape))
            metrics_compare(a, b, &metrics_conformance, &difference);
        if (!difference.close)
            verdict->kind = VERDICT_SUSPECT;
    }
}

/* An engine that gave no answer has the verdict of the whole stack on every sample. */
static void judge(struct stack_rows *rows, size_t engine, size_t sample)
{
    struct verdict *verdict = &rows->done.judgement.verdicts[engine];
    const struct result *result = &rows->row.results[engine];
    *verdict = rows->whole->judgement.verdicts[engine];
    if (result->outcome != OUTCOME_OK)
        return;
    if (!rows->expected) {
        compare(rows, engine, verdict);
        return;
    }
    *verdict = verdict_begin(false);
    bool same = !verdict_count(verdict, rows->n_expected, result->count);
    for (size_t i = 0; same && i < rows->n_expected; i++) {
        struct bounded expected = part_of(&rows->expected[i], rows->count, sample);
        verdict_output(verdict, i, &expected, &result->outputs[i]);
    }
    verdict_finish(verdict, NULL);
}

const struct trial_done *stack_rows_at(struct stack_rows *rows, size_t sample)
{
    size_t engines = rows->whole->n_engines;
    batch_row_fill(&rows->row, &rows->batch, sample);
    rows->done.reference = rows->row.results[engines];
    for (size_t i = 0; i < engines; i++)
        judge(rows, i, sample);
    return &rows->done;
}
