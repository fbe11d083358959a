/*
 * libassay: is this answer of a deep-learning engine right?
 *
 * Given an ONNX model and inputs, the library computes what a right engine answers, element by element, with
 * the largest error that rounding can explain: the hard bound. It judges any answers by that, in place of a
 * tolerance that somebody chose. It also runs engines that Assay has adapters for, and gives tolerances at
 * which no right engine can fail.
 *
 *     struct assay *assay;
 *     struct assay_model *model;
 *     const struct assay_verdict *verdict;
 *     struct assay_error error;
 *     int64_t shape[] = {2, 3};
 *     struct assay_tensor x = {"x", ASSAY_FLOAT32, 2, shape, NULL, given};
 *     struct assay_tensor y = {"y", ASSAY_FLOAT32, 2, shape, NULL, computed};
 *
 *     if (assay_open(&assay, NULL, &error) ||
 *         assay_model_load(assay, "model.onnx", &model, &error) ||
 *         assay_judge(assay, model, &x, 1, &y, 1, &verdict, &error))
 *         return fail(error.message);
 *     if (verdict->answer == ASSAY_WRONG)
 *         puts(verdict->sentence);
 *     assay_verdict_free(verdict);
 *     assay_close(assay);
 *
 * To build it: cc program.c $(pkg-config --cflags --libs assay)
 *
 * How it works. Nothing is computed in your process. assay_open starts the program assay-judge, which was
 * installed with the library, and talks with it over a socket; that program runs the reference and every
 * engine in sandboxed processes of their own. So a hostile model cannot harm your process, the libraries of
 * an engine cannot clash with yours, and this library needs none but the C library. It never ends your
 * process, prints nothing, installs no signal handler and changes no setting of the process.
 *
 * Errors. Every function that can fail returns 0 for success, or another enum assay_status, and then says
 * what was wrong in *error, which may be NULL. Results are set only on success. A failure of the program
 * itself (ASSAY_BROKEN) leaves the handle usable: the next call starts it again.
 *
 * Threads. A handle may be used by any number of threads, whose calls take turns. Calls with different
 * handles run side by side; each handle has a program of its own. What a call returned may be read by all
 * threads until it is freed. After a fork the handles are the parent's; the child opens its own.
 *
 * Compatibility. Structs that you fill in start with their size or are fixed for this soname. Structs that
 * the library fills in are allocated by it and may get further members at their end.
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_API __attribute__((visibility("default")))

/* The version of this header; that of the library is what assay_version returns, "0.1.0". */
#define ASSAY_HEADER_VERSION "0.1.0"
ASSAY_API const char *assay_version(void);

enum assay_status {
    ASSAY_OK = 0,
    ASSAY_NO_MEMORY,   /* an allocation failed */
    ASSAY_IO,          /* the system refused: a file, a process */
    ASSAY_FORMAT,      /* data that breaks its own format */
    ASSAY_LIMIT,       /* larger, or slower, than the options allow */
    ASSAY_UNSUPPORTED, /* valid, but Assay cannot do it, such as an operator that the reference lacks */
    ASSAY_INVALID,     /* the model or its inputs break the rules of ONNX */
    ASSAY_NOT_FOUND,   /* no such file, engine, release or value */
    ASSAY_USAGE,       /* an argument that makes no sense */
    ASSAY_CANCELLED,   /* the progress function asked for it */
    ASSAY_BROKEN       /* assay-judge could not be started, or ended */
};

struct assay_error {
    enum assay_status status;
    char message[1024]; /* one line that says what was wrong and, where it can, what to do about it */
};

/* Element types, with the numbers of ONNX's TensorProto.DataType. In memory they are as in NumPy; numbers of
 * less than 8 bits take the bytes that ONNX gives them, several to a byte, the first in the low bits. */
enum assay_type {
    ASSAY_FLOAT32 = 1,
    ASSAY_UINT8 = 2,
    ASSAY_INT8 = 3,
    ASSAY_UINT16 = 4,
    ASSAY_INT16 = 5,
    ASSAY_INT32 = 6,
    ASSAY_INT64 = 7,
    ASSAY_STRING = 8, /* data points to an array of const char *, each terminated by 0 */
    ASSAY_BOOL = 9,
    ASSAY_FLOAT16 = 10,
    ASSAY_FLOAT64 = 11,
    ASSAY_UINT32 = 12,
    ASSAY_UINT64 = 13,
    ASSAY_COMPLEX64 = 14,
    ASSAY_COMPLEX128 = 15,
    ASSAY_BFLOAT16 = 16,
    ASSAY_FLOAT8E4M3FN = 17,
    ASSAY_FLOAT8E4M3FNUZ = 18,
    ASSAY_FLOAT8E5M2 = 19,
    ASSAY_FLOAT8E5M2FNUZ = 20,
    ASSAY_UINT4 = 21,
    ASSAY_INT4 = 22,
    ASSAY_FLOAT4E2M1 = 23,
    ASSAY_FLOAT8E8M0 = 24,
    ASSAY_UINT2 = 25,
    ASSAY_INT2 = 26
};

/*
 * A tensor of yours, which is only read, and only during the call. Unused members are 0. An input that the
 * model can do without is left out; sequences and optionals cannot be given. strides may be 0 or negative,
 * as in NumPy; types of less than 8 bits and strings have none.
 */
struct assay_tensor {
    const char *name; /* of the input or output; NULL: the one at the same place in the model */
    enum assay_type type;
    int rank;               /* at most 16; 0: a single element, without a shape */
    const int64_t *shape;   /* what this tensor has, also where the model leaves it open */
    const int64_t *strides; /* in elements; NULL: dense, the last axis closest */
    const void *data;       /* the element whose index is 0 along every axis */
};

/* ---- The handle ---- */

struct assay;

/* What is 0 has its default. Begin with ASSAY_OPTIONS. */
struct assay_options {
    size_t size; /* sizeof (struct assay_options) */
    double
        deadline; /* seconds for each request to an engine and each evaluation by the reference; default 30 */
    uint64_t memory; /* bytes, for each of them; default 4 GiB */
    int sandbox;     /* 0: as far as the system allows; 1: refuse to run without; 2: limits alone */
    const char *const *engine_files; /* further files of engines, as for `assay -E` */
    size_t n_engine_files;
    /* Called about ten times a second by the thread that waits, with the seconds since its call began.
     * Anything but 0 cancels the call, which returns ASSAY_CANCELLED. It may not use the handle. */
    int (*progress)(void *context, double seconds);
    void *context;
    const char
        *program; /* path of assay-judge; NULL: $ASSAY_JUDGE, else where it was installed with the library */
};
#define ASSAY_OPTIONS                                                    \
    {                                                                    \
        sizeof(struct assay_options), 0, 0, 0, NULL, 0, NULL, NULL, NULL \
    }

/* options: NULL for all defaults; texts and lists are copied. */
ASSAY_API enum assay_status assay_open(struct assay **assay, const struct assay_options *options,
                                       struct assay_error *error);

/* Ends the program behind the handle and frees its models. Values, verdicts and tolerances live on until they
 * are freed. Accepts NULL. */
ASSAY_API void assay_close(struct assay *assay);

/* ---- Models ---- */

struct assay_model;

/* Reads a model, with external data beside it, or from memory, without external data. Fails with
 * ASSAY_INVALID for one that breaks the rules of ONNX. */
ASSAY_API enum assay_status assay_model_load(struct assay *assay, const char *path,
                                             struct assay_model **model, struct assay_error *error);
ASSAY_API enum assay_status assay_model_parse(struct assay *assay, const void *bytes, size_t size,
                                              struct assay_model **model, struct assay_error *error);

/* To be called before assay_close, which frees all models of the handle. Accepts NULL. */
ASSAY_API void assay_model_free(struct assay_model *model);

/* Names of inputs (initialisers are none) and outputs; NULL beyond the last. They live as long as the model.
 * Types and shapes are yours to know: where they are not the model's, the call that is given them fails with
 * ASSAY_INVALID, and the message says what the model wants. */
ASSAY_API const char *assay_model_input(const struct assay_model *model, size_t index);
ASSAY_API const char *assay_model_output(const struct assay_model *model, size_t index);

/* ---- The reference's values ---- */

struct assay_value {
    const char *name;
    enum assay_type type;
    int rank;
    const int64_t *shape;
    size_t count, size; /* elements; bytes of data */
    const void *data;   /* dense; strings as an array of const char * */
    /*
     * Of each element, for answers of the reference: the exact value, the largest error that a right engine
     * can have (infinite: it cannot be judged) and the standard deviation that rounding is likely to have.
     * All NULL where every element is exact, and for engines.
     */
    const double *exact, *hard, *likely;
};

struct assay_values;

/* What a right engine answers, all outputs in the model's order. */
ASSAY_API enum assay_status assay_reference(struct assay *assay, const struct assay_model *model,
                                            const struct assay_tensor *inputs, size_t n_inputs,
                                            struct assay_values **values, struct assay_error *error);

/* What an engine answers, by its label as on the command line: "onnxruntime", "onnxruntime@1.30.0:opt=none".
 * Fails with ASSAY_UNSUPPORTED where the engine refuses, crashes or does not answer in time; the message says
 * which. */
ASSAY_API enum assay_status assay_run(struct assay *assay, const char *engine,
                                      const struct assay_model *model, const struct assay_tensor *inputs,
                                      size_t n_inputs, struct assay_values **values,
                                      struct assay_error *error);

ASSAY_API size_t assay_values_count(const struct assay_values *values);
ASSAY_API const struct assay_value *assay_values_at(const struct assay_values *values,
                                                    size_t index); /* NULL beyond the last */
ASSAY_API void assay_values_free(struct assay_values *values);

/* ---- Verdicts ---- */

enum assay_answer {
    ASSAY_RIGHT = 1, /* every element that can be judged is within its bound, and some of every output can */
    ASSAY_WRONG,     /* no rounding explains it, or a valid model is refused, crashes the engine, and so on */
    ASSAY_UNJUDGED   /* neither can be said: the sentence tells why */
};

struct assay_verdict {
    enum assay_answer answer;
    const char
        *word; /* one of the words that all of Assay uses: "agrees", "wrong", "nan", "shape", "crash" ... */
    const char *sentence;        /* for people: "output y[7] is 3, expected 2.5 ..."; may be "" if right */
    const char *output;          /* the output or inner value that it is about, or "" */
    uint64_t element;            /* the worst element of it, in the order of a dense array */
    double expected, got, bound; /* of that element, bound being what rounding can explain; all NaN: it is
                                    about no element, as after a crash */
    double factor;               /* the largest error over its bound; infinite where the bound is 0 */
    uint64_t elements, judged, wrong; /* over all outputs */
    const char *node; /* the node at fault, where it could be found: "Conv (conv_3)"; else "" */
};

/*
 * Judges outputs that you have. All outputs of the model are expected, by name or in its order. What only
 * asking an engine can settle (an answer that is far off, but not beyond every bound) is unjudged. Outputs of
 * another shape or type than the model's are wrong, which is a verdict; the status is for what cannot be
 * asked. Right means that these outputs are: an operator whose error the operators behind it hide (a class
 * that an ArgMax still gives) is wrong for assay_judge_engine and assay_judge_values alone.
 */
ASSAY_API enum assay_status assay_judge(struct assay *assay, const struct assay_model *model,
                                        const struct assay_tensor *inputs, size_t n_inputs,
                                        const struct assay_tensor *outputs, size_t n_outputs,
                                        const struct assay_verdict **verdict, struct assay_error *error);

/*
 * Judges outputs and any inner values of the model that you have, each by the name that it has in the model:
 * the values are also computed from those given before them, and the first node that is wrong by itself is
 * named. Inputs that were prepared otherwise and values in another layout are recognised; the sentence says
 * so.
 */
ASSAY_API enum assay_status assay_judge_values(struct assay *assay, const struct assay_model *model,
                                               const struct assay_tensor *inputs, size_t n_inputs,
                                               const struct assay_tensor *values, size_t n_values,
                                               const struct assay_verdict **verdict,
                                               struct assay_error *error);

/* Runs an engine and judges it, as `assay compare` does: every operator on the values that the engine gave
 * it, also where the outputs are right, and what is doubtful by asking the engine node by node. A crash, a
 * hang or a refusal is a verdict, no error. */
ASSAY_API enum assay_status assay_judge_engine(struct assay *assay, const char *engine,
                                               const struct assay_model *model,
                                               const struct assay_tensor *inputs, size_t n_inputs,
                                               const struct assay_verdict **verdict,
                                               struct assay_error *error);

ASSAY_API void assay_verdict_free(const struct assay_verdict *verdict);

/* ---- Tolerances ---- */

struct assay_tolerance {
    const char *output;
    double rtol, atol; /* an answer is accepted where |got - expected| <= atol + rtol * |expected| */
    int certain;       /* 1: no right engine can fail it; 0: rounding makes it unlikely that one does */
    double passes;     /* the largest error that may pass, as a share of the output's largest number */
    int useful;        /* 0: no tolerance tells such errors from rounding */
};

struct assay_tolerances {
    size_t count;
    const struct assay_tolerance *items; /* one for each output */
};

/* Tolerances for comparing answers with the reference's numbers on these inputs, that also see an error of
 * that share of the output's largest number (0: 0.001). */
ASSAY_API enum assay_status assay_tolerances_of(struct assay *assay, const struct assay_model *model,
                                                const struct assay_tensor *inputs, size_t n_inputs,
                                                double error_seen, const struct assay_tolerances **tolerances,
                                                struct assay_error *error);
ASSAY_API void assay_tolerances_free(const struct assay_tolerances *tolerances);

#ifdef __cplusplus
}
#endif
#endif
