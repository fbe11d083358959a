#include "direct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span {
    const unsigned char *at, *end;
};

struct field {
    unsigned number, wire;
    uint64_t value;
    struct span span;
};

void direct_fail(const char *text)
{
    fprintf(stderr, "direct: %s\n", text);
    exit(2);
}

static struct span read_file(const char *folder, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    struct span span = {NULL, NULL};
    if (!file)
        return span;
    size_t room = 1 << 22;
    unsigned char *data = malloc(room);
    if (!data)
        direct_fail("no memory");
    size_t size = fread(data, 1, room, file);
    fclose(file);
    if (size == room)
        direct_fail("a file of more than 4 MB");
    return (struct span){data, data + size};
}

static uint64_t varint(struct span *s)
{
    uint64_t value = 0;
    for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
        unsigned char byte = *s->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    direct_fail("a bad varint");
    return 0;
}

static int next(struct span *s, struct field *f)
{
    if (s->at >= s->end)
        return 0;
    uint64_t key = varint(s);
    *f = (struct field){.number = (unsigned)(key >> 3), .wire = key & 7};
    if (f->wire == 0) {
        f->value = varint(s);
        return 1;
    }
    uint64_t size = f->wire == 1 ? 8 : f->wire == 5 ? 4 : varint(s);
    if (size > (uint64_t)(s->end - s->at))
        direct_fail("a field beyond its message");
    f->span = (struct span){s->at, s->at + size};
    s->at += size;
    return 1;
}

static void copy_text(char *to, size_t room, struct span s)
{
    size_t size = (size_t)(s.end - s.at);
    if (size >= room)
        direct_fail("a long name");
    memcpy(to, s.at, size);
    to[size] = '\0';
}

/* Packed or single. */
static void add_ints(struct field *f, int64_t *list, int *count, int room)
{
    if (f->wire == 0 && *count < room)
        list[(*count)++] = (int64_t)f->value;
    while (f->wire == 2 && f->span.at < f->span.end && *count < room)
        list[(*count)++] = (int64_t)varint(&f->span);
}

/* AttributeProto: name 1, f 2, i 3, ints 8. */
static void read_attribute(struct direct_attribute *a, struct span s)
{
    for (struct field f; next(&s, &f);) {
        if (f.number == 1)
            copy_text(a->name, sizeof a->name, f.span);
        else if (f.number == 2)
            memcpy(&a->number, f.span.at, sizeof a->number);
        else if (f.number == 3)
            a->integer = (int64_t)f.value;
        else if (f.number == 8)
            add_ints(&f, a->ints, &a->n_ints, DIRECT_INTS);
    }
}

/* NodeProto: op_type 4, attribute 5. */
static void read_node(struct direct_case *c, struct span s)
{
    if (*c->op)
        direct_fail("more than one node");
    for (struct field f; next(&s, &f);) {
        if (f.number == 4)
            copy_text(c->op, sizeof c->op, f.span);
        else if (f.number == 5 && c->n_attributes < DIRECT_ATTRIBUTES)
            read_attribute(&c->attributes[c->n_attributes++], f.span);
    }
}

/* TensorProto: dims 1, data_type 2, raw_data 9. */
static void read_tensor(struct direct_tensor *t, struct span s)
{
    struct span raw = {NULL, NULL};
    uint64_t type = 0;
    for (struct field f; next(&s, &f);) {
        if (f.number == 1)
            add_ints(&f, t->dims, &t->rank, DIRECT_RANK);
        else if (f.number == 2)
            type = f.value;
        else if (f.number == 9)
            raw = f.span;
    }
    t->count = 1;
    for (int i = 0; i < t->rank; i++)
        t->count *= (size_t)t->dims[i];
    if (type != 1)
        return;
    if (t->count * sizeof(float) != (size_t)(raw.end - raw.at))
        direct_fail("only raw_data");
    t->data = calloc(t->count + 16, sizeof(float));
    if (!t->data)
        direct_fail("no memory");
    if (t->count)
        memcpy(t->data, raw.at, t->count * sizeof(float));
}

void direct_read(struct direct_case *c, const char *folder)
{
    memset(c, 0, sizeof *c);
    struct span model = read_file(folder, "model.onnx"), graph;
    for (struct field f; next(&model, &f);) { /* ModelProto: graph 7; GraphProto: node 1 */
        if (f.number != 7)
            continue;
        graph = f.span;
        for (struct field g; next(&graph, &g);)
            if (g.number == 1)
                read_node(c, g.span);
    }
    char name[60];
    for (; c->n_inputs < DIRECT_INPUTS; c->n_inputs++) {
        snprintf(name, sizeof name, "test_data_set_0/input_%d.pb", c->n_inputs);
        struct span s = read_file(folder, name);
        if (!s.at)
            break;
        read_tensor(&c->inputs[c->n_inputs], s);
    }
    read_tensor(&c->output, read_file(folder, "test_data_set_0/output_0.pb"));
}

void direct_write(const char *folder, const void *data, size_t size)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/output_0.raw", folder);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        direct_fail("cannot write");
}

static const struct direct_attribute *find(const struct direct_case *c, const char *name)
{
    for (int i = 0; i < c->n_attributes; i++)
        if (strcmp(c->attributes[i].name, name) == 0)
            return &c->attributes[i];
    return NULL;
}

float direct_float(const struct direct_case *c, const char *name, float otherwise)
{
    const struct direct_attribute *a = find(c, name);
    return a ? a->number : otherwise;
}

int64_t direct_int(const struct direct_case *c, const char *name, int64_t otherwise)
{
    const struct direct_attribute *a = find(c, name);
    return a ? a->integer : otherwise;
}

int64_t direct_at(const struct direct_case *c, const char *name, int i, int64_t otherwise)
{
    const struct direct_attribute *a = find(c, name);
    return a && i < a->n_ints ? a->ints[i] : otherwise;
}
