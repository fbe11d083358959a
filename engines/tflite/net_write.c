/* The model of a net as the FlatBuffer that the library reads, by the tables of its schema.fbs. */
#include "net.h"

#include <stdio.h>

int net_type(enum dtype type)
{
    switch (type) {
    case DTYPE_FLOAT:
        return 0;
    case DTYPE_FLOAT16:
        return 1;
    case DTYPE_INT32:
        return 2;
    case DTYPE_UINT8:
        return 3;
    case DTYPE_INT64:
        return 4;
    case DTYPE_BOOL:
        return 6;
    case DTYPE_INT16:
        return 7;
    case DTYPE_INT8:
        return 9;
    case DTYPE_DOUBLE:
        return 10;
    case DTYPE_UINT64:
        return 12;
    case DTYPE_UINT32:
        return 15;
    case DTYPE_UINT16:
        return 16;
    default:
        return -1;
    }
}

enum { FILE_VERSION = 3, LAST_SHORT_CODE = 127 };

/* A code of more than 127 has its number in a field of its own, and 127 in the older one. */
static void write_codes(const struct net *net, struct flat *file, size_t place)
{
    size_t codes = flat_vector(file, place, 4, net->n_ops, NULL, 4);
    for (size_t i = 0; i < net->n_ops; i++) {
        uint64_t code = (uint64_t)net->ops[i].code;
        const struct flat_field fields[] = {{0, 1, code < LAST_SHORT_CODE ? code : LAST_SHORT_CODE},
                                            {2, 4, (uint64_t)net->ops[i].version},
                                            {3, 4, code}};
        flat_table(file, codes + 4 * i, 3, fields);
    }
}

static void write_scale(const struct net_scale *scale, struct flat *file, size_t place)
{
    const struct flat_field fields[] = {
        {2, FLAT_REFERENCE, 0}, {3, FLAT_REFERENCE, 0}, {6, 4, (uint64_t)scale->axis}};
    size_t table = flat_table(file, place, 3, fields);
    flat_vector(file, flat_place(file, table, 2), sizeof(float), scale->count, scale->scales, 4);
    flat_vector(file, flat_place(file, table, 3), sizeof(int64_t), scale->count, scale->zeros, 8);
}

/* Some releases tell inputs and outputs apart by their names, and sort them so. */
static void write_name(struct flat *file, size_t place, size_t number)
{
    char name[24];
    snprintf(name, sizeof name, "t%02zu", number);
    flat_string(file, place, name);
}

/* Buffer 0 is empty; a constant's is the one after its own number. */
static void write_tensors(const struct net *net, struct flat *file, size_t place)
{
    size_t tensors = flat_vector(file, place, 4, net->n_tensors, NULL, 4);
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        bool constant = t->data && !t->runtime;
        int32_t dims[NET_MAX_RANK];
        for (int d = 0; d < t->rank; d++)
            dims[d] = (int32_t)t->dims[d];
        const struct flat_field fields[] = {{0, FLAT_REFERENCE, 0},
                                            {1, 1, (uint64_t)net_type(t->type)},
                                            {2, 4, constant ? i + 1 : 0},
                                            {3, FLAT_REFERENCE, 0},
                                            {8, 1, 1},
                                            {4, FLAT_REFERENCE, 0}};
        size_t table = flat_table(file, tensors + 4 * i, t->scale.count ? 6 : 5, fields);
        flat_vector(file, flat_place(file, table, 0), 4, (size_t)t->rank, dims, 4);
        write_name(file, flat_place(file, table, 3), i);
        if (t->scale.count)
            write_scale(&t->scale, file, flat_place(file, table, 4));
    }
}

static void write_numbers(struct flat *file, size_t place, size_t count, const int *numbers)
{
    flat_vector(file, place, 4, count, numbers, 4);
}

static void write_ops(const struct net *net, struct flat *file, size_t place)
{
    size_t ops = flat_vector(file, place, 4, net->n_ops, NULL, 4);
    for (size_t i = 0; i < net->n_ops; i++) {
        const struct net_op *op = &net->ops[i];
        const struct flat_field fields[] = {{0, 4, i},
                                            {1, FLAT_REFERENCE, 0},
                                            {2, FLAT_REFERENCE, 0},
                                            {3, 1, (uint64_t)op->options.type},
                                            {4, FLAT_REFERENCE, 0}};
        size_t table = flat_table(file, ops + 4 * i, op->options.type ? 5 : 3, fields);
        write_numbers(file, flat_place(file, table, 1), op->n_inputs, op->inputs);
        write_numbers(file, flat_place(file, table, 2), op->n_outputs, op->outputs);
        if (op->options.type)
            flat_table(file, flat_place(file, table, 4), op->options.count, op->options.fields);
    }
}

static void write_ends(const struct net *net, struct flat *file, size_t place, bool inputs)
{
    int numbers[NET_TENSORS];
    size_t count = 0;
    for (size_t i = 0; i < net->n_tensors; i++)
        if (inputs ? net->tensors[i].runtime : net->tensors[i].target != NULL)
            numbers[count++] = (int)i;
    write_numbers(file, place, count, numbers);
}

/* The library expects the elements of constants at multiples of 16. */
static void write_buffers(const struct net *net, struct flat *file, size_t place)
{
    static const struct flat_field data = {0, FLAT_REFERENCE, 0};
    size_t buffers = flat_vector(file, place, 4, net->n_tensors + 1, NULL, 4);
    flat_table(file, buffers, 0, NULL);
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        bool constant = t->data && !t->runtime;
        size_t table = flat_table(file, buffers + 4 * (i + 1), constant ? 1 : 0, &data);
        if (constant)
            flat_vector(file, flat_place(file, table, 0), 1, t->size, t->data, 16);
    }
}

void net_write(const struct net *net, struct flat *file)
{
    static const struct flat_field model_fields[] = {
        {0, 4, FILE_VERSION}, {1, FLAT_REFERENCE, 0}, {2, FLAT_REFERENCE, 0}, {4, FLAT_REFERENCE, 0}};
    static const struct flat_field graph_fields[] = {
        {0, FLAT_REFERENCE, 0}, {1, FLAT_REFERENCE, 0}, {2, FLAT_REFERENCE, 0}, {3, FLAT_REFERENCE, 0}};
    size_t model = flat_table(file, flat_start(file, "TFL3"), 4, model_fields);
    write_codes(net, file, flat_place(file, model, 1));
    size_t graphs = flat_vector(file, flat_place(file, model, 2), 4, 1, NULL, 4);
    size_t graph = flat_table(file, graphs, 4, graph_fields);
    write_tensors(net, file, flat_place(file, graph, 0));
    write_ends(net, file, flat_place(file, graph, 1), true);
    write_ends(net, file, flat_place(file, graph, 2), false);
    write_ops(net, file, flat_place(file, graph, 3));
    write_buffers(net, file, flat_place(file, model, 4));
}
