/*
 * Ways to make a subject smaller or simpler.
 *
 * A pass lists the edits it could try on a subject and applies one of them to a copy. An edit may break the
 * model: whoever asked finds out. It never loops: each makes something less (nodes, outputs, elements, bits
 * of a value), so trying until none holds comes to an end.
 */
#ifndef REDUCE_PASS_H
#define REDUCE_PASS_H

#include "reduce/subject.h"

struct edit {
    int kind;         /* the pass's own */
    size_t a, b, c;   /* its objects: numbers of graphs, nodes, leaves, axes ... */
    int64_t from, to; /* numbers in them */
};

struct edits {
    size_t count, capacity;
    struct edit *items;
};
void edits_add(struct edits *edits, struct edit edit);

struct pass {
    const char *name;
    void (*list)(const struct subject *subject, const struct record *record, struct edits *edits);
    /* 0, or 1 when the edit turns out to be none. `copy` is pruned afterwards. */
    int (*apply)(struct subject *copy, const struct record *record, const struct edit *edit);
};

/* All passes, in the order they are tried: src/reduce/meson.build has the list, one row a pass. */
#define PASS(name) extern const struct pass pass_##name;
#include "reduce/passes.inc"
#undef PASS

/* Operators that pass_plain puts in the place of others. */
bool pass_is_plain(const char *type, size_t length);

/*
 * The nodes with the given numbers as a subject of their own, with recorded values for what others made.
 */
int pass_cut(struct subject *part, const struct subject *whole, const struct record *record,
             const size_t *nodes, size_t count);

/* Whatever uses a value in the graph, or in bodies of its nodes, uses another. The graph's own outputs stay.
 */
void pass_rename(struct arena *arena, Onnx__GraphProto *graph, const char *from, const char *to);

/* Part of a tensor along an axis: `size` places from `start` on. */
int pass_slice(struct tensor *part, const struct tensor *from, int axis, int64_t start, int64_t size);

/* All graphs of a model, the top one first, then bodies; the array is the caller's. */
Onnx__GraphProto **pass_graphs(const struct model *model, size_t *count);

#endif
