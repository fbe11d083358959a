/* One sample of a recording on the reference, while it is judged and explained. */
#ifndef RECORDED_SCENE_H
#define RECORDED_SCENE_H

#include "base/map.h"
#include "eval/evaluate.h"
#include "recorded/held.h"
#include "recorded/recorded.h"

/* One recorded value of the sample. */
struct scene_value {
    struct tensor got; /* as recorded */
    bool have;
    struct bounded whole, alone; /* the reference's, from the inputs on, and from recorded values */
    struct held held, held_alone;
    bool turned; /* the recording has another layout: */
    struct axes layout;
};

struct scene {
    const struct model *model;
    const struct dump *recording;
    const struct inputs *inputs;
    const struct recorded_options *options;
    enum precision precision;
    struct map numbers; /* of the recorded values, by their names in the model */
    size_t sample, samples, count;
    struct value *data; /* the inputs of the sample */
    struct scene_value *values;
    double begun;
    bool hurried;
    bool by_trial; /* no number has a bound: they are held to what rounding does when it is tried out */
};

void scene_init(struct scene *scene, const struct model *model, const struct dump *recording,
                const struct inputs *inputs, const struct recorded_options *options);
void scene_release(struct scene *scene);

/* Reads a sample of data and recording, and holds the recording against the reference from the inputs on,
 * with the layouts in which it is right. */
int scene_judge(struct scene *scene, size_t sample, struct error *err);

/* Whether all that was recorded is as the model gives it from the inputs on. */
bool scene_agrees(const struct scene *scene);

/* Computes each value from the recorded values before it. */
int scene_judge_alone(struct scene *scene, struct error *err);

/* Whether some number that a node gives could be judged. */
bool scene_any_judged(const struct scene *scene);

/* Holds the sample's recorded values to bounds by trial (recorded/by_trial.h), until the next sample. Where
 * there are none, nothing changes. */
void scene_judge_by_trial(struct scene *scene);

/* Whether the recording is what the model gives for other inputs, in this precision, in any layout. */
bool scene_agrees_with(struct scene *scene, const struct value *data, enum precision precision);

/* Whether there is no time for another explanation. */
bool scene_late(struct scene *scene);

/* Runs the model on inputs, and gives the values of these names as this precision allows; they are the
 * caller's. */
int scene_values(const struct scene *scene, const struct value *data, enum precision precision,
                 const char *const *names, size_t count, struct bounded **values, struct error *err);

#endif
