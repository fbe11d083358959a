/*
 * Models of which every value can be looked at, so that a NaN or an infinity inside shows even where a later
 * operator hides it (ArgMax, a comparison, Relu).
 */
#ifndef SEARCH_WATCHED_VALUES_H
#define SEARCH_WATCHED_VALUES_H

#include "model/model.h"

/*
 * Makes every floating-point tensor that a node of the top graph makes an output, behind those that the model
 * has. Values whose type and shape libonnx cannot infer stay inside, and so do those with which all that are
 * added would have more than WATCHED_ELEMENTS elements, an open dimension counting as 1.
 */
#define WATCHED_ELEMENTS ((int64_t)1 << 22)
int watch_values(struct model *model, struct error *err);

#endif
