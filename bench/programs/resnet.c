/*
 * How long the reference takes for the convolutions of ResNet-50 (224x224, batch 1), with both bounds: each
 * layer's shape with random data, once with exact inputs and once with bounds on them, as in a graph.
 *
 *     bench_resnet
 */
#include "base/arena.h"
#include "base/random.h"
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct layer {
    int64_t channels, size, outputs, kernel, stride;
    int times;
};

static const struct layer layers[] = {
    {3, 224, 64, 7, 2, 1},     {64, 56, 64, 1, 1, 1},    {64, 56, 64, 3, 1, 3},    {64, 56, 256, 1, 1, 4},
    {256, 56, 64, 1, 1, 2},    {256, 56, 128, 1, 1, 1},  {128, 56, 128, 3, 2, 1},  {128, 28, 512, 1, 1, 4},
    {256, 56, 512, 1, 2, 1},   {512, 28, 128, 1, 1, 3},  {128, 28, 128, 3, 1, 3},  {512, 28, 256, 1, 1, 1},
    {256, 28, 256, 3, 2, 1},   {256, 14, 1024, 1, 1, 6}, {512, 28, 1024, 1, 2, 1}, {1024, 14, 256, 1, 1, 5},
    {256, 14, 256, 3, 1, 5},   {1024, 14, 512, 1, 1, 1}, {512, 14, 512, 3, 2, 1},  {512, 7, 2048, 1, 1, 3},
    {1024, 14, 2048, 1, 2, 1}, {2048, 7, 512, 1, 1, 2},  {512, 7, 512, 3, 1, 2},
};

static int fill(struct bounded *b, const struct shape *shape, bool bounds, struct rng *rng, struct error *err)
{
    if (bounded_alloc(b, DTYPE_FLOAT, shape, false, err))
        return -1;
    for (size_t i = 0; i < b->count; i++) {
        float value = (float)rng_normal(rng);
        bounded_put(b, i, value, bounds ? 1e-6L : 0, bounds ? 1e-7L : 0);
    }
    return 0;
}

/* Of this process: the machine may be busy with other things. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static int run(const struct layer *l, bool bounds, struct rng *rng, double *seconds, struct error *err)
{
    struct bounded x, w, out;
    struct arena arena;
    int64_t pad = l->kernel / 2;
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    const struct bounded *inputs[] = {&x, &w};
    const struct shape image = {.rank = 4, .dims = {1, l->channels, l->size, l->size}};
    const struct shape kernel = {.rank = 4, .dims = {l->outputs, l->channels, l->kernel, l->kernel}};
    bounded_init(&x);
    bounded_init(&w);
    bounded_init(&out);
    arena_init(&arena);
    node.op_type = "Conv";
    node_set_ints(&arena, &node, "strides", (const int64_t[]){l->stride, l->stride}, 2);
    node_set_ints(&arena, &node, "pads", (const int64_t[]){pad, pad, pad, pad}, 4);
    int result = fill(&x, &image, bounds, rng, err) || fill(&w, &kernel, false, rng, err) ? -1 : 0;
    if (result == 0) {
        struct op_call call = {.op = op_find("Conv"),
                               .node = &node,
                               .opset = 17,
                               .n_inputs = 2,
                               .inputs = inputs,
                               .n_outputs = 1,
                               .outputs = &out,
                               .err = err};
        double start = cpu_seconds();
        result = call.op->eval(&call);
        *seconds = cpu_seconds() - start;
    }
    bounded_release(&x);
    bounded_release(&w);
    bounded_release(&out);
    arena_release(&arena);
    return result;
}

int main(void)
{
    struct rng rng = rng_seed(1);
    struct error err;
    double total[2] = {0, 0};
    int count = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const struct layer *l = &layers[i];
        double seconds[2];
        if (run(l, false, &rng, &seconds[0], &err) || run(l, true, &rng, &seconds[1], &err)) {
            fprintf(stderr, "%s\n", err.message);
            return EXIT_FAILURE;
        }
        printf("%4lld x %3lld^2 -> %4lld, %lldx%lld /%lld, %d times: %6.1f ms exact, %6.1f ms bounded\n",
               (long long)l->channels, (long long)l->size, (long long)l->outputs, (long long)l->kernel,
               (long long)l->kernel, (long long)l->stride, l->times, seconds[0] * 1e3, seconds[1] * 1e3);
        count += l->times;
        for (int k = 0; k < 2; k++)
            total[k] += l->times * seconds[k];
    }
    printf("%d convolutions: %.2f s with exact inputs, %.2f s with bounds on them\n", count, total[0],
           total[1]);
    return EXIT_SUCCESS;
}
