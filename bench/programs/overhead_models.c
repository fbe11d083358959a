/*
 * usage: overhead_models FOLDER COUNT
 * Writes COUNT distinct models of 10 nodes, the same ones every time: a convolution first, then operators
 * drawn by the model's number, on a small image of drawn size.
 */
#include "overhead.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/build.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 10 };

static void add_weight(struct model *model, struct rng *rng, const char *name, int rank, const int64_t *dims)
{
    struct shape shape = shape_make(rank, dims);
    struct tensor tensor;
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL) < 0)
        memory_exhausted(0);
    float *values = tensor.data;
    for (size_t i = 0; i < tensor.count; i++)
        values[i] = (float)rng_uniform(rng, -1, 1);
    model_add_initializer(model, name, &tensor);
    tensor_release(&tensor);
}

/* Node `number` of the chain: from value `number` to the next. */
static void add_node(struct model *model, struct rng *rng, int number, int64_t channels)
{
    static const char *const unary[] = {"Relu", "Sigmoid", "Elu", "LeakyRelu", "Neg", "Abs"};
    static const char *const binary[] = {"Add", "Mul", "Sub"};
    char from[16], to[16], weight[16];
    snprintf(from, sizeof from, number == 0 ? "x" : "v%d", number);
    snprintf(to, sizeof to, number == NODES - 1 ? "y" : "v%d", number + 1);
    snprintf(weight, sizeof weight, "w%d", number);
    const char *inputs[] = {from, weight};
    const char *outputs[] = {to};
    uint64_t choice = number == 0 ? 0 : rng_below(rng, 10);
    if (choice == 0) {
        add_weight(model, rng, weight, 4, (int64_t[]){channels, channels, 3, 3});
        Onnx__NodeProto *node = model_add_node(model, "Conv", NULL, 2, inputs, 1, outputs);
        node_set_ints(&model->arena, node, "kernel_shape", (int64_t[]){3, 3}, 2); /* OpenCV asks for it */
        node_set_ints(&model->arena, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    } else if (choice < 4) {
        add_weight(model, rng, weight, 4, (int64_t[]){1, channels, 1, 1});
        model_add_node(model, binary[choice - 1], NULL, 2, inputs, 1, outputs);
    } else {
        model_add_node(model, unary[choice - 4], NULL, 1, inputs, 1, outputs);
    }
}

static int write_model(const char *folder, size_t number, FILE *list, struct error *err)
{
    struct rng seed = rng_seed(2026), rng = rng_split(&seed, number);
    struct shape shape =
        shape_make(4, (int64_t[]){1, rng_range(&rng, 1, 4), rng_range(&rng, 4, 12), rng_range(&rng, 4, 12)});
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    for (int i = 0; i < NODES; i++)
        add_node(model, &rng, i, shape.dims[1]);
    char name[32];
    snprintf(name, sizeof name, "%05zu.onnx", number);
    char *path = file_join(folder, name);
    int result = model_save(model, USERS_PATH, path, err);
    fprintf(list, "%s %lld %lld %lld %lld\n", name, (long long)shape.dims[0], (long long)shape.dims[1],
            (long long)shape.dims[2], (long long)shape.dims[3]);
    free(path);
    model_free(model);
    return result;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc != 3 || file_make_folders(argv[1], &err) < 0) {
        fprintf(stderr, "usage: overhead_models FOLDER COUNT %s\n", err.message);
        return 2;
    }
    char *path = file_join(argv[1], "list");
    FILE *list = fopen(path, "w");
    free(path);
    size_t count = strtoul(argv[2], NULL, 10);
    int result = list ? 0 : error_errno(&err, "%s/list", argv[1]);
    for (size_t i = 0; i < count && result == 0; i++)
        result = write_model(argv[1], i, list, &err);
    if (list && fclose(list) != 0 && result == 0)
        result = error_errno(&err, "%s/list", argv[1]);
    if (result < 0)
        fprintf(stderr, "overhead_models: %s\n", err.message);
    return result < 0 ? 1 : 0;
}
