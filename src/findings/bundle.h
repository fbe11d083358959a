/*
 * A finding on disk, in the layout of ONNX's backend tests, so that any engine's own runner can run it:
 *
 *     model.onnx
 *     test_data_set_0/input_K.pb, output_K.pb    the inputs and the reference's answer
 *     test_data_set_0/mask_K.pb                  where some elements are not compared: see below
 *     io.npz                                     inputs and the reference's answer for NumPy, by their names
 *     data.json                                  name and tolerances, as ONNX's own tests have it
 *     actual/ENGINE/output_K.pb                  what each engine gave
 *     bound/output_K.pb                          the hard bound of each element of the answer (float64)
 *     finding.json                               all about it, for programs (docs/json.md)
 *     report.md                                  for the engine's maintainers (writeup.h)
 *     map.svg                                    of more than one node: drawn, those at fault marked
 *
 * Of a finding about two equivalent models, model.onnx and all of the above are of the original, and there is
 *
 *     rewritten.onnx                             the other model
 *     rewritten/input_K.pb, output_K.pb          its inputs and the reference's answer
 *     actual/ENGINE/rewritten_K.pb               what each engine gave
 *
 * and finding.json has the rewriting, from which replay makes the other model again.
 *
 * Of a finding about gradients there is no output_K.pb, and there are
 *
 *     gradient.txt                               the seed of the weights: that gradients are asked for
 *     gradient/weights_K.pb                      the weights of the outputs in the sum that is differentiated
 *     gradient/expected_K.pb                     the reference's gradients, named by input or initialiser
 *     actual/ENGINE/gradient_K.pb                what each engine gave
 *
 * output_K.pb is the reference's answer, which was read again from the files before the bundle appears.
 * Runners of backend tests have tolerances, not bounds: where an element is not judged, or that of the engine
 * is beyond their tolerance but not wrong, test_data_set_0/mask_K.pb, a bool tensor, is false. conform and
 * replay do not compare it there (case/backend_suite.h).
 *
 * A bundle appears whole or not at all: it is written beside its place and renamed.
 */
#ifndef FINDINGS_BUNDLE_H
#define FINDINGS_BUNDLE_H

#include "base/arena.h"
#include "base/output.h"
#include "case/test_case.h"
#include "findings/signature.h"
#include "locate/classify.h"

struct bundle_engine {
    const char *label, *version;          /* version: as the engine reports it; may be NULL */
    const struct engine_profile *profile; /* may be NULL */
    const struct verdict *verdict;
    const struct result *result; /* may be NULL */
    /* The answer to the rewritten form, where there is one; may be NULL. */
    const struct result *rewritten;
};

/* The verdict on another release or setting of the engine that ran the same case. */
struct bundle_history {
    const char *engine, *verdict; /* label; the verdict's word */
    const char *version;          /* of an engine whose label names none; or NULL */
};

/* How far the settings of the engine are from what it computes in float64 (float64_errors.h). */
struct bundle_float64 {
    const char *plain;         /* the setting that runs the graph as it is written: "mode=eager" */
    const struct result *wide; /* its answer to the model in float64 */
    size_t count;
    const char *const *settings;  /* "mode=nnc" */
    const struct result *answers; /* to the case, of each */
};

/* Appends a drawing of a model with `count` of its nodes marked: fault_map_svg (report/fault_map.h). */
typedef int bundle_drawing(struct str *svg, const struct model *model, const size_t *nodes, size_t count,
                           struct error *err);

/*
 * What the failure needs, each as it is gone when that alone is changed: no title and no sentence names a
 * condition that was not tried so.
 */
struct bundle_shown {
    const char *parameter;                    /* of the operator to blame, "pads"; "": none */
    bool constant, empty, not_finite, scalar; /* an input that is so */
};

/* What became of the case on the same release with the graph as it is written, the same kernels. */
enum bundle_plain { PLAIN_NOT_TRIED = 0, PLAIN_RIGHT, PLAIN_FAILS };

struct bundle_case {
    const struct signature *signature;
    const struct test_case *test;
    const struct result *reference;      /* with bounds; NULL when it could not compute the case */
    const struct settlement *settlement; /* of engines[0]; may be NULL */
    size_t n_engines;
    const struct bundle_engine *engines; /* the first is the one at fault */
    size_t n_history;
    const struct bundle_history *history;
    const struct bundle_shown *shown; /* NULL: nothing was tried */
    enum bundle_plain plain;
    const char *pass;     /* the optimiser pass at fault, as the engine names it; or NULL */
    bundle_drawing *draw; /* NULL: no map.svg */
    /* Of a finding that needs a rewriting to show; else NULL. Where the two forms are different models, also
     * the rewritten form and the reference's answer to it (with bounds, or NULL). */
    const char *rewriting;
    const struct test_case *rewritten;
    const struct result *rewritten_reference;
    const char
        *cause; /* which parameter makes it fail, one line (locate/cause.h); NULL: not known for certain */
    const char *forms;         /* how often models have it (campaign/model_forms.h), one line; or NULL */
    const struct trace *trace; /* what the engine at fault says it did (engine/trace.h); NULL: nothing */
    const struct bundle_float64 *float64; /* NULL: it was not asked */
    const char *source; /* the model as lines of programs (campaign/engine_source.h); or NULL */
};

/*
 * The files that a bundle, or a case of `assay reduce`, may hold: Assay recognises its own folders by them
 * (base/output.h).
 */
extern const struct output_layout bundle_layout;

/* Writes a bundle to a folder inside another or to one that the user names (USERS_PATH), which must be new or
 * empty; with `force`, an existing bundle is replaced. */
int bundle_write(const struct folder *in, const char *name, const struct bundle_case *which, bool force,
                 struct error *err);

/*
 * Appends one line on what is wrong, without the engine's name: "Slice of an empty tensor with axis=-1 gives
 * shape [0] instead of [0,2]".
 */
void bundle_title(struct str *out, const struct bundle_case *which, const struct model *model);

/* Appends the operators to blame: "Mul + MatMul". */
void bundle_operators(struct str *out, const struct bundle_case *which, const struct model *model);

/* Appends what the engine says computed the nodes to blame; nothing when it does not tell. */
void bundle_computed(struct str *out, const struct bundle_case *which, const struct model *model);

/* The class of the finding. */
void bundle_class(struct classification *class, const struct bundle_case *which);

/* What a reader of a bundle needs to know, from finding.json. Strings live in the arena, none is NULL. */
struct bundle {
    const char *signature, *name, *title, *kind, *engine, *version, *operators, *recipe;
    const char *outcome, *message; /* of the engine at fault */
    const char *rewriting;         /* "" when the finding needs none */
    const char *class;             /* "engine bug"; "" in bundles of older versions */
};

/* Reads finding.json or, in a folder of `assay reduce`, as much of it as reduced.json has. Fails with
 * ERROR_NOT_FOUND when the folder has neither. */
int bundle_read(struct bundle *bundle, const struct folder *folder, struct arena *arena, struct error *err);
int bundle_read_path(struct bundle *bundle, const char *path, struct arena *arena, struct error *err);

/* Turns an engine's label into a folder's name: only letters, digits and "._-@=," are kept. The caller frees
 * it. */
char *bundle_engine_folder(const char *label);

#endif
