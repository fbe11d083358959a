/*
 * The SDK for engine adapters in C. An adapter fills in one struct adapter and calls adapter_main; the SDK
 * does the rest. It speaks the protocol on stdin and stdout (what the library itself prints to stdout goes to
 * stderr), decodes and checks requests, and writes replies. When the process crashes, it prints the stack to
 * stderr before the signal ends the process. Once the engine has started, exec and fork are denied.
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

/* ADAPTER_AT_FAULT is for what the adapter itself cannot do, such as a call that this release of the library
 * does not have although it should: nobody blames the engine then. */
enum adapter_class { ADAPTER_FAILED, ADAPTER_UNSUPPORTED, ADAPTER_REJECTED, ADAPTER_AT_FAULT };

/* What a knob chooses, as in engine.proto. When in doubt use KNOB_KERNELS: the engine is then not blamed when
 * one value supports less than another. */
enum adapter_knob_kind { KNOB_KERNELS, KNOB_GRAPH, KNOB_SCHEDULE };

struct adapter_knob {
    const char *name;
    const char *values; /* for people: "none|basic|extended|all" */
    const char *value;  /* default; replaced by what hello asks before start is called */
    const char *help;   /* one line for people */
    enum adapter_knob_kind kind;
    const char *plain; /* KNOB_GRAPH: the value that leaves the graph as it is */
};

/* Passed to every callback. */
struct adapter_call {
    void *engine; /* the adapter's own state */
    const struct adapter *adapter;
    enum adapter_class error_class; /* set by adapter_fail */
    struct str message;
    struct trace *trace; /* not NULL: Assay asks what the library does, see adapter_trace */
    bool narrow;         /* for the reference, with bounds: those of convolutions as sums of products */
    bool only_judged;    /* and: what is not judged may have any number */
};
/* Records the class and the text of the failure. Returns -1, for the callback to return. */
int adapter_fail(struct adapter_call *call, enum adapter_class error_class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Whether Assay asks what the library does with this model, from its load on until it is unloaded. What an
 * adapter must prepare for it (a profile that is switched on) it prepares in load.
 */
static inline bool adapter_traces(const struct adapter_call *call)
{
    return call && call->trace;
}
/*
 * Tells one thing that the library did in this load or run: a kernel that computed values or a pass that
 * changed the graph, by the name that the library itself uses. The name must be the same whenever the same
 * code is used, so it has no sizes, addresses and numbers of nodes. Texts are copied. Without effect when
 * nobody asks.
 */
void adapter_trace(struct adapter_call *call, const struct trace_step *step);
/* The same for a kernel that computed one value of the model; device and output may be NULL. */
void adapter_trace_kernel(struct adapter_call *call, const char *name, const char *device,
                          const char *output);

/* Whether the message contains one of these texts (NULL-terminated). Used to recognise a library's messages
 * about things that it lacks. */
bool adapter_says(const char *message, const char *const *texts);

/*
 * The outputs of a run. adapter_output adds a value with that name (which is copied); fill it in before
 * adding the next one, for example by value_set_tensor, which takes a tensor over.
 */
struct adapter_outputs {
    size_t count, capacity;
    struct value *values;
    struct wire_bounds *bounds; /* NULL unless the adapter gives bounds */
    bool lent; /* the elements stay the adapter's, who keeps them as they are until the next callback */
};
struct value *adapter_output(struct adapter_outputs *outputs, const char *name);
/* The bounds of the value added last. */
struct wire_bounds *adapter_output_bounds(struct adapter_outputs *outputs);
void adapter_outputs_release(struct adapter_outputs *outputs);

struct adapter_model { /* valid during the call */
    const void *data;  /* the serialised model, or NULL when `path` is set */
    size_t size;
    const char *path;
    size_t n_outputs; /* wanted outputs; 0: all graph outputs in order */
    char **outputs;
};

struct adapter_loaded { /* filled in by load where the engine can tell */
    /* Lists of names, see adapter_list_add; borrowed: operators that the reference computes. */
    struct str inputs, outputs, borrowed;
};
void adapter_list_add(struct str *list, const char *name);

/*
 * What is asked of `gradient`: the derivatives, by the wanted graph inputs and initialisers of floating-point
 * type, of the sum of all outputs' elements, each times its element in `upstream`. Outputs that are not in
 * `upstream` count as 0. Each gradient is an output with the name, the type and the shape of its input or
 * initialiser, exact zeros where nothing depends on it. What the engine cannot differentiate is
 * ADAPTER_UNSUPPORTED.
 */
struct adapter_gradient { /* valid during the call */
    const struct value *inputs;
    size_t n_inputs;
    const struct value *upstream; /* named by the outputs */
    size_t n_upstream;
    char **wanted; /* names; n_wanted 0: all inputs and initialisers of floating-point type */
    size_t n_wanted;
    bool bounds; /* for the reference: add the error bounds */
};
/* Whether the gradient by this input or initialiser is asked for. */
bool adapter_wants(const struct adapter_gradient *request, const char *name);

struct adapter {
    const char *name;
    struct adapter_knob *knobs;   /* ends with a NULL name */
    const char *const *operators; /* the operators it supports, NULL-terminated, "Softmax@13" for one
                                     that it has from opset 13 on; NULL: not known beforehand */
    const int32_t
        *types; /* ONNX's numbers of the element types it computes with, ending with 0; NULL: not known */
    /* Called once, after hello has set the knobs: opens the library and puts its version into `version`. */
    int (*start)(struct adapter_call *call, void **engine, struct str *version);
    int (*load)(struct adapter_call *call, const struct adapter_model *model, struct adapter_loaded *loaded);
    int (*run)(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
               struct adapter_outputs *outputs);
    /* NULL: the engine has no gradients. */
    int (*gradient)(struct adapter_call *call, const struct adapter_gradient *request,
                    struct adapter_outputs *outputs);
    void (*unload)(struct adapter_call *call);
    void (*stop)(void *engine);
    bool may_spawn; /* the engine needs fork or exec (to run a compiler), so they are not denied */
};
const char *adapter_knob(const struct adapter *adapter, const char *name); /* its value */

/* The number of the knob's value in its list of values, from 0 on: 0 for "on" of "on|off". When the value is
 * not in the list, the call fails with a message that lists the values, and -1 is returned. */
int adapter_choice(struct adapter_call *call, const char *knob);

/* The knob's value as a number. When it is not a number from `least` to `most` (which must not be negative),
 * the call fails and -1 is returned. */
int adapter_number(struct adapter_call *call, const char *knob, int least, int most);

int adapter_main(struct adapter *adapter, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
