/*
 * One engine's values at the points of a network, judged by the reference: each by the operators between it
 * and the points before, on what the engine itself had there. So what one layer does wrong is not held
 * against the next, and bounds stay those of a few operators, however many layers there are.
 *
 * Where llama.cpp computes as its weights' type promises, it rounds what weights multiply (struct point) and
 * turns pairs by angles of float32; the bounds allow for both. Nothing else is allowed for.
 */
#ifndef GGUF_COURSE_H
#define GGUF_COURSE_H

#include "eval/evaluate.h"
#include "gguf/points.h"

/* A number outside its bound. */
struct course_fault {
    bool found;
    size_t point, step, position, place; /* of the text, and of the numbers of this position */
    double got, expected, bound;
    size_t wrong, total; /* numbers of this value */
};

struct course {
    const struct llama_form *form;
    const struct points *points;
    bool rounds; /* it is llama.cpp: it rounds and turns as above */
    bool lowers; /* it says that it rounds what is multiplied with dequantised weights to eight bits, in
                    blocks of its own choice: to one of 255 steps of the largest number of a row at most */
    struct evaluator *evaluator;
    double *factors;           /* for each point the largest error in shares of its bound, over all steps */
    struct course_fault fault; /* of the first step, and there of the first point */
    size_t open;               /* numbers that could not be judged */
    /* The values under way. */
    size_t step, rows;
    const struct tensor *values; /* one for each point */
    struct error *err;
};

/* Members up to `lowers` are set, the points are known by now. The model has the weights that the engine
 * has. The factors are in the arena. Release it also after a failure; what was found stays. */
int course_init(struct course *course, const struct model *model, struct arena *arena, struct error *err);
void course_release(struct course *course);

/* Judges the values of one step: one tensor for each point, on the model's inputs. */
int course_judge(struct course *course, size_t step, size_t rows, const struct value *inputs,
                 const struct tensor *values, struct error *err);

#endif
