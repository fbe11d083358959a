/*
 * What every engine adapter written in C shares. An adapter fills in one struct adapter and calls
 * adapter_main; the SDK does the rest: stdin and stdout belong to the protocol (the library's own stdout
 * chatter goes to stderr), requests are decoded and checked, replies written, a crash prints its stack on
 * stderr before the signal kills the process, and once the engine is up exec and fork are denied.
 *
 * Callbacks return 0, or fail through adapter_fail, whose class and text become the reply.
 * docs/writing-an-engine.md walks through the smallest adapter, engines/identity.
 */
#ifndef SDK_ADAPTER_H
#define SDK_ADAPTER_H

#include "engine/wire.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum adapter_class { ADAPTER_FAILED, ADAPTER_UNSUPPORTED, ADAPTER_REJECTED };

/* What a knob chooses, as in engine.proto. When in doubt it is kernels: an engine is then not blamed for
 * lacking with one value what it has with another. */
enum adapter_knob_kind { KNOB_KERNELS, KNOB_GRAPH, KNOB_SCHEDULE };

struct adapter_knob {
    const char *name;
    const char *values; /* for people: "none|basic|extended|all" */
    const char *value;  /* default; replaced by what hello asks before start is called */
    const char *help;
    enum adapter_knob_kind kind;
    const char *plain; /* KNOB_GRAPH: the value that leaves the graph as it is */
};

/* Passed to every callback. */
struct adapter_call {
    void *engine; /* the adapter's own state */
    const struct adapter *adapter;
    enum adapter_class error_class; /* set by adapter_fail */
    struct str message;
};
/* Records class and text; returns -1. */
int adapter_fail(struct adapter_call *call, enum adapter_class error_class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a library's message holds one of these texts, the last of which is NULL: what it says of things
 * that it lacks. */
bool adapter_says(const char *message, const char *const *texts);

/*
 * Where results go. adapter_output adds a value of that name (copied), to be filled in before the next one is
 * added: value_set_tensor takes a tensor over.
 */
struct adapter_outputs {
    size_t count, capacity;
    struct value *values;
    struct wire_bounds *bounds; /* NULL unless the adapter gives bounds */
};
struct value *adapter_output(struct adapter_outputs *outputs, const char *name);
struct wire_bounds *adapter_output_bounds(struct adapter_outputs *outputs); /* of the value added last */

struct adapter_model { /* valid during the call */
    const void *data;  /* the serialised model, or NULL: path */
    size_t size;
    const char *path;
    size_t n_outputs; /* wanted; 0: all graph outputs in order */
    char **outputs;
};

struct adapter_loaded {                   /* filled in by load where the engine can tell */
    struct str inputs, outputs, borrowed; /* NUL-separated lists; see adapter_list_add */
};
void adapter_list_add(struct str *list, const char *name);

struct adapter {
    const char *name;
    struct adapter_knob *knobs;   /* ends with a NULL name */
    const char *const *operators; /* NULL-terminated, or NULL */
    /* Called once after hello, knobs set: opens the library. Puts the library's version into `version`. */
    int (*start)(struct adapter_call *call, void **engine, struct str *version);
    int (*load)(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded);
    int (*run)(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs);
    int (*gradient)(struct adapter_call *call, const struct value *inputs, size_t n_inputs,
                    const struct value *output_gradients, size_t n_gradients,
                    struct adapter_outputs *outputs);
    void (*unload)(struct adapter_call *call);
    void (*stop)(void *engine);
    bool may_spawn; /* the engine needs fork or exec (a compiler): do not deny them */
};
const char *adapter_knob(const struct adapter *adapter, const char *name); /* its value */

/* Which of the knob's values ("none|basic|all") it has, from 0 on: 0 is "on" of "on|off". Where it has none
 * of them the call fails, saying which there are, and -1 is returned. */
int adapter_choice(struct adapter_call *call, const char *knob);

/* The number that the knob's value is. The call fails where it is none from `least` to `most`, which are not
 * negative; -1 is returned. */
int adapter_number(struct adapter_call *call, const char *knob, int least, int most);

int adapter_main(struct adapter *adapter, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
