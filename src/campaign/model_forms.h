/* How often the form in which an operator fails occurs in the models at hand: whether it matters to anybody.
 */
#ifndef CAMPAIGN_MODEL_FORMS_H
#define CAMPAIGN_MODEL_FORMS_H

#include "model/model.h"

/*
 * Counts nodes with the operator of `node` in the models of the data folder (models/NAME/FILE.onnx, as
 * tools/fetch-models brings them), and of these the nodes with the same value of the attribute `parameter`,
 * or without it as `node` is; "": all of them. Returns a sentence on the heap, or NULL when no model is
 * there.
 */
char *model_forms_count(const Onnx__NodeProto *node, const char *parameter);

#endif
