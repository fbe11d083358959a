/*
 * Every operator's sampler and kernel together: what is drawn is valid, evaluates, and has sane bounds.
 *
 *     test_draws [OPERATOR [COUNT]]
 */
#include "drawn_node.h"
#include "base/arena.h"
#include "ops/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET_FIRST = 11, OPSET_LAST = 25, OUTPUTS_MAX = 64, INPUTS_MAX = 64 };

struct tried {
    size_t drawn, given_up, unsupported, elements, unjudged;
};

/* The first output that is not as it should be, or NULL. */
static const char *check_outputs(const struct op_call *full, const struct op_call *shapes, struct tried *t)
{
    for (size_t o = 0; o < full->n_outputs; o++) {
        const struct bounded *b = &full->outputs[o], *s = &shapes->outputs[o];
        bool fixed = full->op->flags & OP_DATA_SHAPE;
        if (!fixed && (b->type != s->type || !shape_equal(&b->shape, &s->shape)))
            return "the shape rule and the kernel disagree";
        for (size_t i = 0; i < b->count; i++) {
            double hard = bounded_hard(b, i), likely = bounded_likely(b, i);
            if (!(hard >= 0) || !(likely >= 0))
                return "a bound is negative or NaN";
            if (isfinite(hard) && dtype_is_float(b->type) && isfinite(b->value[i]) &&
                likely > hard + 2 * dtype_precision(b->type).tiny)
                return "the deviation is above the hard bound";
            t->elements++;
            t->unjudged += isinf(hard) ? 1 : 0;
        }
    }
    return NULL;
}

/* What the row says of the first output. */
static const char *check_result(const struct op_call *call)
{
    const struct bounded *in = call->n_inputs ? call->inputs[0] : NULL, *out = &call->outputs[0];
    bool like = call->op->result == RESULT_LIKE_INPUT, type = call->op->result == RESULT_TYPE;
    if ((like || type) && (!in || in->type != out->type))
        return "the first output has not the type of the first input";
    return like && !shape_equal(&in->shape, &out->shape) ? "the first output has not the input's shape"
                                                         : NULL;
}

static int evaluate_drawn(const struct draw *d, struct tried *t)
{
    struct bounded values[INPUTS_MAX], outputs[OUTPUTS_MAX], shaped[OUTPUTS_MAX];
    const struct bounded *inputs[INPUTS_MAX];
    struct error err = {0};
    int result = 0;
    if (d->n_inputs > INPUTS_MAX || d->n_outputs > OUTPUTS_MAX)
        return 0;
    for (size_t i = 0; i < d->n_inputs; i++) {
        bounded_init(&values[i]);
        inputs[i] = NULL;
        if (d->inputs[i].source == DRAWN_OMITTED)
            continue;
        if (bounded_from_tensor(&values[i], &d->inputs[i].data, &err) == 0)
            inputs[i] = &values[i];
    }
    for (size_t o = 0; o < OUTPUTS_MAX; o++) {
        bounded_init(&outputs[o]);
        bounded_init(&shaped[o]);
    }
    struct op_call full = drawn_call(d, inputs, outputs, &err);
    struct op_call shapes = full;
    shapes.shapes_only = true;
    shapes.outputs = shaped;
    const char *wrong = NULL;
    if (d->op->eval(&full) || (!(d->op->flags & OP_DATA_SHAPE) && d->op->eval(&shapes)))
        wrong = err.message;
    else if (!(wrong = check_outputs(&full, &shapes, t)))
        wrong = check_result(&full);
    if (wrong && err.code == ERROR_UNSUPPORTED) {
        t->unsupported++;
    } else if (wrong) {
        printf("%s: %s\n", d->op->name, wrong);
        drawn_describe(d);
        result = -1;
    }
    for (size_t i = 0; i < d->n_inputs; i++)
        bounded_release(&values[i]);
    for (size_t o = 0; o < OUTPUTS_MAX; o++) {
        bounded_release(&outputs[o]);
        bounded_release(&shaped[o]);
    }
    return result;
}

static int try_operator(const struct op *op, size_t count)
{
    struct tried t = {0};
    struct rng root = rng_seed(7);
    int result = 0;
    for (size_t n = 0; n < count && result == 0; n++) {
        struct rng rng = rng_split(&root, n);
        int opset = (int)rng_range(&rng, op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST,
                                   OPSET_LAST);
        dtype_set set = op_types_at(op, opset);
        struct arena arena;
        arena_init(&arena);
        struct draw d;
        draw_init(&d, &arena, op, opset, drawn_type(&rng, set), (enum fill)rng_below(&rng, FILL_COUNT), rng);
        if (draw_node(&d) == 0) {
            t.drawn++;
            result = evaluate_drawn(&d, &t);
        } else {
            t.given_up++;
        }
        draw_release(&d);
        arena_release(&arena);
    }
    printf("%-22s %6zu drawn %5zu given up %5zu unsupported %8zu elements %5.1f%% not judged\n", op->name,
           t.drawn, t.given_up, t.unsupported, t.elements,
           t.elements ? 100.0 * (double)t.unjudged / (double)t.elements : 0.0);
    if (t.given_up > count / 2 || t.unsupported > count / 10) {
        printf("%s: too few draws are of use\n", op->name);
        return -1;
    }
    return result;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    int failed = 0;
    for (size_t i = 0; i < op_count(); i++)
        /* Bodies need the evaluator: test_generate has them. */
        if (op_at(i)->sample && op_at(i)->work != WORK_BODIES &&
            (!*only || strcmp(op_at(i)->name, only) == 0))
            failed += try_operator(op_at(i), count) != 0;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
