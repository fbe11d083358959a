/*
 * What the reference takes, operator by operator: bench_reference [--times N] [--nodes N] [OPERATOR]. The
 * same nodes on every processor, each evaluated N times with all its bounds. Prints the processor time of an
 * element; bench/aarch64 counts instructions by the difference between two values of --times.
 */
#include "drawn_node.h"

#include "base/arena.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPSET = 21, OUTPUTS_MAX = 64, INPUTS_MAX = 64 };

struct work {
    size_t times, elements;
    double seconds;
};

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Evaluates the node, with fresh outputs each time. */
static void evaluate(const struct draw *d, const struct bounded *const *inputs, struct work *work)
{
    double start = processor_time();
    for (size_t n = 0; n < work->times; n++) {
        struct bounded outputs[OUTPUTS_MAX];
        struct error err = {0};
        for (size_t o = 0; o < OUTPUTS_MAX; o++)
            bounded_init(&outputs[o]);
        struct op_call call = drawn_call(d, inputs, outputs, &err);
        if (call.op->eval(&call) == 0)
            for (size_t o = 0; o < call.n_outputs; o++)
                work->elements += outputs[o].count;
        for (size_t o = 0; o < OUTPUTS_MAX; o++)
            bounded_release(&outputs[o]);
    }
    work->seconds += processor_time() - start;
}

static void evaluate_drawn(const struct draw *d, struct work *work)
{
    struct bounded values[INPUTS_MAX];
    const struct bounded *inputs[INPUTS_MAX] = {0};
    struct error err = {0};
    if (d->n_inputs > INPUTS_MAX || d->n_outputs > OUTPUTS_MAX)
        return;
    for (size_t i = 0; i < d->n_inputs; i++) {
        bounded_init(&values[i]);
        if (d->inputs[i].source != DRAWN_OMITTED &&
            bounded_from_tensor(&values[i], &d->inputs[i].data, &err) == 0)
            inputs[i] = &values[i];
    }
    evaluate(d, inputs, work);
    for (size_t i = 0; i < d->n_inputs; i++)
        bounded_release(&values[i]);
}

/* float32 where the operator has it: what most models are made of. */
static void draw_nodes(const struct op *op, size_t nodes, struct work *work)
{
    struct rng root = rng_seed(7);
    int opset = op_drawn_since(op) > OPSET ? op_drawn_since(op) : OPSET;
    dtype_set set = op_types_at(op, opset);
    for (size_t n = 0; n < nodes && set; n++) {
        struct rng rng = rng_split(&root, n);
        struct arena arena;
        struct draw d;
        arena_init(&arena);
        enum dtype type = dtype_in(DTYPE_FLOAT, set) ? DTYPE_FLOAT : drawn_type(&rng, set);
        draw_init(&d, &arena, op, opset, type, FILL_NORMAL, rng);
        if (draw_node(&d) == 0)
            evaluate_drawn(&d, work);
        draw_release(&d);
        arena_release(&arena);
    }
}

int main(int argc, char **argv)
{
    size_t times = 1, nodes = 5;
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--times") == 0 && i + 1 < argc)
            times = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc)
            nodes = strtoul(argv[++i], NULL, 10);
        else
            only = argv[i];
    }
    struct work all = {.times = times};
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        /* Bodies need the evaluator. */
        if (!op->sample || op->work == WORK_BODIES || (*only && strcmp(op->name, only) != 0))
            continue;
        struct work work = {.times = times};
        draw_nodes(op, nodes, &work);
        printf("%-28s %9zu elements %8.1f ns each\n", op->name, work.elements,
               work.elements ? 1e9 * work.seconds / (double)work.elements : 0);
        all.elements += work.elements;
        all.seconds += work.seconds;
    }
    printf("%zu elements, %.3f s\n", all.elements, all.seconds);
    return all.elements > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
