/*
 * The minimal cause: which parameter of a node, or of a few nodes that fail together, makes it fail.
 *
 * The failing nodes are a model of their own, on the inputs they had. Each parameter is given every other
 * value of the operator table (locate/param_change.h), and the changed model runs on the engine. A change
 * *cures* when the answer is inside its bounds on the data at hand and on further data drawn like it: the
 * same elements in other places, and other elements of the same sizes. It *keeps* the failure when the answer
 * is still outside. A change after which nothing was judged, the answer does not depend on the inputs, or the
 * engine ends in another way says nothing.
 *
 * A parameter whose change alone cures is necessary for the failure. When several are, the cause is the one
 * that is cured by the same computation, spelled otherwise; then one that means something only for the
 * present value of the other (count_include_pad of pads); then the one with which the failure comes and goes
 * (every other value cures, the default among them), and so on (marks_of in evidence.c). The others are
 * conditions.
 * When no single change cures, delta debugging looks for the smallest set of changes that does. When none
 * does, the operator fails whatever its parameters. Other element types and sizes are tried, too: where a
 * size matters, a change that gives the answer another shape is no proof.
 *
 * As in Audee's algorithm 2 (locate/causal_pairs.h) the network is then given the cure and runs once more,
 * where it is small enough: the node must no longer be to blame.
 */
#ifndef LOCATE_CAUSE_H
#define LOCATE_CAUSE_H

#include "base/json.h"
#include "locate/under_test.h"

enum cause_kind {
    CAUSE_UNKNOWN = 0, /* not looked for, or not found in the time given; `text` says why, or is "" */
    CAUSE_PARAMETER,   /* one parameter, perhaps with conditions */
    CAUSE_SET,         /* several parameters, which only cure together */
    CAUSE_OPERATOR,    /* whatever the parameters */
};

/* A parameter and its value. */
struct cause_value {
    size_t node; /* in the model that was localised */
    const char *parameter, *value;
};

enum cause_end {
    CHANGE_INVALID = 0, /* not a valid node, or not applicable; never listed */
    CHANGE_UNCLEAR,     /* says nothing */
    CHANGE_KEEPS,
    CHANGE_CURES,
};

struct cause_try {
    struct cause_value to; /* the value tried; the parameter NULL: element type or size */
    enum cause_end end;
    bool equivalent;  /* the right answer stays the same */
    const char *rule; /* the rewriting that spells it otherwise; NULL: a plain change */
};

/* What became of the whole network with the cure. */
enum cause_rerun {
    RERUN_NONE = 0,  /* it was not run: not wanted, too large, or the cure does not fit into it */
    RERUN_RIGHT,     /* it is right */
    RERUN_ELSEWHERE, /* the node is right, and another is to blame */
    RERUN_SAME,      /* the node is still to blame */
};

struct cause {
    enum cause_kind kind;
    bool certain; /* kind is known, and the data does not decide alone */
    size_t n_parameters;
    struct cause_value *parameters; /* with the values they have; most important first */
    size_t n_conditions;
    struct cause_value *conditions; /* parameters that are necessary too */
    const char *cure;               /* "auto_pad=NOTSET"; NULL unless parameters are the cause */
    bool same_meaning;              /* the cure is another spelling of what the parameter is */
    const char *form;               /* an element type or size that cures, "float64"; or NULL */
    bool of_sizes; /* numbers are right with the sizes next to that of the first input along some axis */
    bool by_data;  /* other data drawn like it does not fail */
    size_t n_tries;
    struct cause_try *tries;
    struct test_case *fixed; /* the whole case with the cure; NULL: none was wanted or can be made. The caller
                                of cause_find frees it */
    enum cause_rerun rerun;
    const char *next; /* for RERUN_ELSEWHERE: "Conv `conv2`" */
    size_t runs;      /* of the engine */
    const char *text; /* one line */
};

struct cause_options {
    double seconds; /* 0: no limit */
    /* Numbers in the model that was localised, for each node of the part; NULL: the part is that model. */
    const size_t *nodes;
    struct test_case *whole; /* that model and its inputs, for `fixed`; NULL: not wanted */
};

/*
 * Looks for the cause. `part` is a model of one node or a few with the inputs on which it fails on the engine
 * of `test`. Everything in *cause is in the arena. Fails only when the engine can no longer be run.
 */
int cause_find(struct cause *cause, struct under_test *test, struct test_case *part,
               const struct cause_options *options, struct arena *arena, struct error *err);

const char *cause_kind_name(enum cause_kind kind);
const char *cause_rerun_name(enum cause_rerun rerun); /* "none", "right", "elsewhere", "same" */
const char *cause_end_name(enum cause_end end);       /* "keeps", "cures", "unclear" */

/* Writes the cause as a JSON object named "cause". */
void cause_json(const struct cause *cause, struct json *json);

#endif
