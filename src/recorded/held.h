/* A recorded tensor held against what the reference gives, element by element in the order of memory. */
#ifndef RECORDED_HELD_H
#define RECORDED_HELD_H

#include "bounds/bounded.h"

struct held {
    bool same_count;
    size_t compared, open;
    size_t off;              /* beyond what rounding explains */
    double error;            /* the largest, as a share of the largest number of the reference */
    double beyond;           /* the largest error over its bound; infinite where that is 0 */
    double farthest, widest; /* the largest error and the largest bound, as they are */
    struct held_element {
        size_t place; /* in the order of memory of the recording */
        long double expected, got;
        double bound;
    } worst; /* the first that has the largest `beyond`; only where one is off */
};

/* The axes of the reference's value in the order in which the recording has them; NULL: its own. */
struct axes {
    int count, axis[TENSOR_MAX_RANK];
};

/* rounded: the recording's numbers have digits down to this. `quick` stops at the first element that is off.
 */
struct held held_against(const struct bounded *reference, const struct tensor *recorded,
                         const struct axes *axes, double rounded, bool quick);
/* Nothing speaks against it; whether any element was compared is another matter. */
bool held_agrees(const struct held *held);

/* What a number of that size loses when it is stored in a type of floats. */
double held_stored(enum dtype type, double size);

/* Looks for an order of axes in which the recording agrees; false when there is none but its own. */
bool held_layout(const struct bounded *reference, const struct tensor *recorded, double rounded,
                 struct axes *axes);
/* "NHWC", or "axes 0,2,1". */
void axes_text(const struct axes *axes, char *text, size_t size);

/* The recording as a tensor of the reference's type, shape and layout; the caller releases it. */
int held_as(const struct bounded *reference, const struct tensor *recorded, const struct axes *axes,
            struct tensor *tensor, struct error *err);

#endif
