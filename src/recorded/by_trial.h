/*
 * Values none of which has a bound, as the last layer of a deep model: how far rounding moves them, tried out
 * (locate/rounding_tried.h), and many times that in place of a bound, or what is probable, if that is more.
 *
 * It proves nothing. So it is asked only where nothing else can be judged, never says that a recording is
 * right, and leaves alone what a model jumps to (ArgMax, Floor, levels), where one step is far from the next
 * and some trials may miss it.
 */
#ifndef RECORDED_BY_TRIAL_H
#define RECORDED_BY_TRIAL_H

#include "recorded/scene.h"

/*
 * Gives numbers without a bound one: of the values of these names, as scene_values gives them for these
 * inputs. What ONNX leaves unspecified stays open. False when nothing can be said: the model jumps, cannot be
 * run, or there is no time.
 */
bool by_trial_bounds(struct scene *scene, const struct value *data, enum precision precision,
                     const char *const *names, size_t count, struct bounded *values);

/* The same with a share of the largest number of each value, without a run: what is farther off than that is
 * not worth a trial. */
void by_trial_rough(struct bounded *values, size_t count, double share);

#endif
