/*
 * Passes: ways to make a subject smaller or simpler.
 *
 * A pass lists the edits it could try on a subject and applies one of them to a copy. An edit may make the
 * model invalid; the oracle finds that out. Every edit makes something smaller (nodes, outputs, elements,
 * bits of a value), so that repeating the passes until nothing holds comes to an end.
 */
#ifndef REDUCE_PASS_H
#define REDUCE_PASS_H

#include "reduce/subject.h"

struct edit {
    int kind;         /* what to do; each pass has its own numbers */
    size_t a, b, c;   /* what to do it to: numbers of graphs, nodes, leaves, axes ... */
    int64_t from, to; /* old and new sizes, positions or the like, as the pass needs them */
};

struct edits {
    size_t count, capacity;
    struct edit *items;
};
void edits_add(struct edits *edits, struct edit edit);

struct pass {
    const char *name;
    void (*list)(const struct subject *subject, const struct record *record, struct edits *edits);
    /* Applies the edit. Returns 0, or 1 when it turns out to change nothing or not to be possible. The caller
     * prunes `copy` afterwards. */
    int (*apply)(struct subject *copy, const struct record *record, const struct edit *edit);
};

/* All passes, in the order they are tried: src/reduce/meson.build has the list, one row for each pass. */
#define PASS(name) extern const struct pass pass_##name;
#include "reduce/passes.inc"
#undef PASS

/* Whether this is one of the operators that pass_plain_operators.c puts in the place of others. */
bool pass_is_plain(const char *type, size_t length);

/*
 * Cuts out the nodes with the given numbers as a subject of their own. Outputs of other nodes become inputs
 * with their recorded values.
 */
int pass_cut(struct subject *part, const struct subject *whole, const struct record *record,
             const size_t *nodes, size_t count);

/* Copies `size` places of a tensor along an axis, from `start` on. */
int pass_slice(struct tensor *part, const struct tensor *from, int axis, int64_t start, int64_t size);

/* All graphs of a model, the top graph first, then bodies. The caller frees the array. */
Onnx__GraphProto **pass_graphs(const struct model *model, size_t *count);

#endif
