/*
 * The outputs that a case expects: a third party beside an engine and the reference.
 *
 * They are compared with the engine's answer by a tolerance. The elements that are beyond it are in dispute,
 * and the reference's bounds tell who is wrong about those: the engine, the expected outputs, both, or
 * neither where rounding explains the difference. An engine is never wrong against expected outputs that the
 * reference refutes. Where the reference cannot tell, the expected outputs stand alone against the engine,
 * and the answer is suspect.
 *
 * The bounds of a whole model can be so wide that a wrong engine and the right outputs are both inside.
 * So an answer that is not as expected counts as right, and rounding as an explanation, only when every
 * operator was judged on the inputs it had (locate/settle.h); expectation_needs_operators tells when that is
 * needed.
 */
#ifndef JUDGE_EXPECTATION_H
#define JUDGE_EXPECTATION_H

#include "judge/golden.h"
#include "judge/verdict.h"

/* The word for it in JSON: "met", "refuted" ... */
const char *expectation_name(enum expectation expectation);

/* An answer and the expected outputs, as far as they are not alike. */
struct dispute {
    enum golden golden; /* how the answer differs; GOLDEN_PASS: there is nothing in dispute */
    bool known;         /* the reference has values and bounds for these outputs */
    size_t undecided;   /* elements in dispute that have no finite hard bound, */
    size_t open;        /* and those of which ONNX leaves the result unspecified */
    /* The element in dispute that is farthest from the reference, measured by the largest error of the answer
     * in the same output: an answer whose operators are all right shows how large rounding errors are in this
     * model. `far` is 0 where there is none, as it is no float or the answer has another form. */
    size_t output, element;
    long double expected, given; /* there, and what the model gives */
    double far, error;           /* how far it is off, and the answer at most */
    struct verdict claim;    /* what the reference says of the expected outputs where they are in dispute; its
                                text    says how they differ from what the model gives */
    char text[VERDICT_TEXT]; /* how the answer differs from them */
};

/*
 * Compares an answer with the expected outputs, and those with the reference, which may be NULL. values:
 * false where only kinds, types and shapes are expected.
 */
void expectation_dispute(struct dispute *dispute, const struct expected *expected,
                         const struct result *reference, const struct result *answer, bool values,
                         const struct metrics_tolerance *tolerance);

/* Whether the operators must be judged before it is known who is wrong: both are inside the bounds. */
bool expectation_needs_operators(const struct dispute *dispute, const struct verdict *verdict);

/* An expected element that is farther from the reference than this many times what rounding does to an engine
 * whose operators are all right, and to the reference when that is tried out, is not explained by rounding,
 * whatever the bounds of a deep model allow. */
#define EXPECTATION_FAR 100.0

/* What is known beyond the answer. */
struct expectation_known {
    bool right;   /* every operator of the engine was judged, and is right */
    double moved; /* how far rounding moves the element in dispute (locate/rounding_tried.h); infinite: not
                     known */
};

/* Whether `moved` would decide. */
bool expectation_needs_moved(const struct dispute *dispute, const struct verdict *verdict, bool right);

/*
 * Decides who is wrong, into verdict->expectation. verdict: on the engine's answer, settled. Where the
 * expected outputs are refuted and the engine is right, its verdict becomes VERDICT_EXPECTATION; where the
 * reference cannot tell, it becomes suspect, unless ONNX leaves the result unspecified. The text says how
 * they differ.
 */
void expectation_decide(struct verdict *verdict, const struct dispute *dispute,
                        const struct expectation_known *known);

#endif
