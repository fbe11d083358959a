/*
 * Who is wrong where a recording (recorded/dump.h) is not what the model gives: a recording is a party
 * like an engine.
 *
 * Every recorded value is held against the reference twice: from the inputs on, and computed from the
 * recorded values before it, which tells the first layer that differs by itself. Before a layer is blamed,
 * other explanations are tried: the recording holds a value in another layout, or another value of the model;
 * its samples come in another order; it was made from inputs that were prepared in another way
 * (recorded/preprocessing.h); or it was computed in fewer bits. An explanation counts only when every
 * recorded value is as the model gives it then.
 */
#ifndef RECORDED_RECORDED_H
#define RECORDED_RECORDED_H

#include "bounds/precision.h"
#include "case/inputs.h"
#include "recorded/dump.h"
#include "recorded/held.h"

enum recorded_kind {
    RECORDED_UNJUDGED = 0, /* no number could be judged */
    RECORDED_AGREES,       /* all is within rounding of the precision */
    RECORDED_SHAPE,        /* a value has another number of elements */
    RECORDED_INPUTS,       /* other inputs: prepared in another way */
    RECORDED_ORDER,        /* the samples in another order */
    RECORDED_LAYOUT,       /* as the model gives it, with a value in another layout */
    RECORDED_OTHER,        /* a recorded value is another value of the model */
    RECORDED_BITS,         /* as far off as fewer bits explain */
    RECORDED_ADDS_UP,      /* every layer is right on the recorded values before it */
    RECORDED_PARTS,        /* a layer is not what the model has there */
};

/* The word of JSON. */
const char *recorded_word(enum recorded_kind kind);

/* Who made the recording, which decides what a layer that differs means. */
enum recorded_party { PARTY_UNKNOWN, PARTY_DEVICE, PARTY_FRAMEWORK };
#define PARTY_WORDS "unknown|device|framework"

struct recorded_options {
    enum precision precision; /* that the recording was computed in */
    double rounded;           /* its numbers were written with digits down to this */
    double seconds;           /* for explanations; 0: no limit */
};

/* One value, on the sample that the verdict is about. */
struct recorded_look {
    const char *name, *value, *op; /* op: "" for an input */
    size_t elements, open;         /* open: without a bound */
    size_t off, off_alone;     /* beyond rounding: from the inputs on, and from the recorded values before */
    double error, error_alone; /* the largest, as a share of the value's largest number */
    double beyond;             /* error_alone over what rounding can explain */
    struct held_element worst; /* where off_alone is not 0 */
    char layout[64];           /* of the recording, where it is another; "" */
    bool judged;
};

struct recorded {
    struct arena arena;
    enum recorded_kind kind;
    size_t samples, sample; /* looked at; the one that the verdict is about */
    size_t count, first;    /* values; the one at fault */
    struct recorded_look *looks;
    enum precision precision, seen; /* that was given; with RECORDED_BITS the one that explains it */
    const char *nodes;              /* the nodes that the first value is computed by, in words */
    const char *text;               /* what is to be said, beginning with "the recording ..." */
    bool by_trial; /* no number has a bound: what is off is so by far more than rounding that was tried out */
    bool hurried;  /* the time was over before all explanations were tried */
};

/* Judges a recording of all samples. After a failure there is only *recorded to be released. */
int recorded_judge(struct recorded *recorded, const struct model *model, const struct dump *recording,
                   const struct inputs *inputs, const struct recorded_options *options, struct error *err);
void recorded_release(struct recorded *recorded);

#endif
