/*
 * What an engine did with a model, in its library's own words: the kernels that computed values and the
 * passes that changed the graph before, in the order in which the engine tells them. Engines tell it only
 * when they are asked (job.trace).
 *
 * A trace is text from outside. trace_add makes it safe to show and keeps it small: names in one line of at
 * most TRACE_NAME bytes, at most TRACE_STEPS steps, and TRACE_OUTPUTS names of values in all of them.
 */
#ifndef ENGINE_TRACE_H
#define ENGINE_TRACE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TRACE_NAME = 200, TRACE_STEPS = 10000, TRACE_OUTPUTS = 50000 };

enum trace_kind {
    TRACE_KERNEL, /* code that computed values: a kernel, an implementation, a fused operator */
    TRACE_PASS,   /* a pass that changed the graph */
    TRACE_KINDS
};

/* One thing that the engine did. Texts may be NULL in what is given to trace_add and are never NULL in a
 * trace. */
struct trace_step {
    enum trace_kind kind;
    const char *name; /* "FusedConv", "convolution jit:avx2", "ConvActivationFusion" */
    const char
        *device;      /* the provider, backend or device of a kernel, where the engine has several; else "" */
    const char *pass; /* the pass or fusion that put the kernel there, where known; else "" */
    size_t n_outputs; /* values of the loaded model that the kernel computed, where known */
    const char *const *outputs;
};

struct trace {
    struct arena arena; /* all texts */
    size_t count, capacity;
    struct trace_step *steps;
    size_t n_outputs; /* in all steps */
    size_t left_out;  /* steps beyond TRACE_STEPS, and those without a name */
    /* The model, serialised, that a tool in front of the engine made of the one that was loaded; on the heap;
     * NULL: there is no such tool. */
    uint8_t *written;
    size_t written_size;
};
struct trace *trace_new(void);
void trace_free(struct trace *trace); /* accepts NULL */

void trace_add(struct trace *trace, const struct trace_step *step); /* copies it */

/* Gives the steps from number `from` on the values that they computed. */
void trace_set_outputs(struct trace *trace, size_t from, const char *const *outputs, size_t count);

/* The last kernel that computed this value; NULL: the trace does not say. */
const struct trace_step *trace_find(const struct trace *trace, const char *value);

/*
 * The names in a trace, each once, in alphabetical order: "kernel FusedConv", "pass ConvActivationFusion".
 * Two cases with the same list were computed by the same code, as far as the engine tells; devices and values
 * are no part of it. The texts live in the arena. A NULL trace has none.
 */
const char *const *trace_names(const struct trace *trace, struct arena *arena, size_t *count);

/*
 * Appends what computed a value, or, with NULL or a value that the trace does not know, the whole model:
 * "computed by FusedConv, CPUExecutionProvider, after ConvActivationFusion". A trace without kernels, of an
 * engine that ended before it ran any, has the passes alone. Nothing for a NULL trace.
 */
void trace_words(const struct trace *trace, const char *value, struct str *out);

/* A member of the object that is being written: an array of steps, each with "kind", "name" and, where known,
 * "device", "pass" and "outputs". null for a NULL trace. */
void trace_json(const struct trace *trace, struct json *json, const char *member);

const char *trace_kind_name(enum trace_kind kind); /* "kernel", "pass" */

#ifdef __cplusplus
}
#endif
#endif
