/*
 * Whether ONNX forbids a model, and who says so: an engine must refuse such a model, and its answer to it may
 * be anything else than right.
 */
#ifndef SEARCH_FORBIDDEN_H
#define SEARCH_FORBIDDEN_H

#include "case/test_case.h"

/*
 * The most certain of those who forbid the model; FORBIDDEN_BY_NOBODY when nobody does for certain. *why is
 * what they say. The reference is asked for a whole run on the inputs; what it does not support it does not
 * forbid.
 */
enum forbidden_by forbidden_proof(const struct model *model, const struct value *inputs, size_t n_inputs,
                                  struct error *why);

/* Whether a run of the reference finds the model, or what the inputs make of it, to break ONNX's rules. */
bool forbidden_by_run(const struct model *model, const struct value *inputs, size_t n_inputs,
                      struct error *why);

/* Whether libonnx's strict shape inference refuses the model, whatever it declares of its outputs' shapes.
 * *why is left alone otherwise. */
bool forbidden_by_inference(const struct model *model, struct error *why);

#endif
