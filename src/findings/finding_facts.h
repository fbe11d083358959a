/*
 * The facts of a finding: everything that a known issue (findings/known_issues.h) may ask about, as fields.
 *
 * Facts are made once from the case and from what the engine did, and do not depend on either afterwards. The
 * campaign's store keeps them as JSON, so that a later list of known issues can be tried on past findings
 * without generating or running anything again.
 */
#ifndef FINDINGS_FINDING_FACTS_H
#define FINDINGS_FINDING_FACTS_H

#include "base/arena.h"
#include "base/json_read.h"
#include "base/str.h"
#include "case/test_case.h"
#include "findings/signature.h"

/* What at least one element of a value is. */
enum fact_mark {
    FACT_NAN = 1 << 0,
    FACT_PLUS_INFINITY = 1 << 1,
    FACT_MINUS_INFINITY = 1 << 2,
    FACT_ZERO = 1 << 3,
    FACT_FRACTION = 1 << 4, /* finite and not an integer */
    FACT_LOWEST = 1 << 5,   /* the smallest number of a signed integer type */
};
enum { FACT_MARKS = 6 };
extern const char *const fact_mark_names[FACT_MARKS]; /* "nan", "inf", "-inf", "zero" ... in their order */

/* An input or output of a node, as the reference computes it. */
struct fact_value {
    enum dtype type;    /* DTYPE_NONE: left out, or not known */
    struct shape shape; /* of rank -1: not known */
    bool constant;      /* does not depend on the elements of the inputs: initialisers, shapes ... */
    unsigned marks;     /* bits of enum fact_mark */
    double least, most; /* of the finite elements; NaN where there are none or they are not known */
};

struct fact_attribute {
    const char *name;
    const char *text; /* "linear", "0.5", "1,1,0"; "" for graphs and tensors */
};

struct fact_node {
    const char *op;
    size_t number; /* its index in the model's graph */
    size_t n_attributes, n_inputs, n_outputs;
    struct fact_attribute *attributes;
    struct fact_value *inputs, *outputs;
};

/* Texts live in the arena; none is NULL. facts_release frees it all. */
struct finding_facts {
    struct arena arena;
    const char *engine;    /* label: "onnxruntime@1.12.0:opt=all" */
    const char *like;      /* the engine that it is another build of, or "" */
    const char *version;   /* as the engine reports it */
    const char *name;      /* of the finding (findings/signature.h), or "" */
    const char *cause;     /* key of its cause, as known_cause_text writes it; "" before it is diagnosed */
    const char *parameter; /* the one to blame, as far as experiments showed it, or "" */
    const char *needed;    /* further parameters without which it does not fail, with blanks between */
    const char *crash;     /* of a crash with a parameter to blame, the key whatever its stack, or "" */
    const char *place;     /* the file of the engine's source that its message names, or "" */
    bool undiagnosed;      /* experiments will be made, and may tell it from others of its name */
    bool gradient;         /* gradients were asked for, in place of outputs */
    enum symptom symptom;
    const char *stage;    /* where an engine refused or died: "load", "run" ...; else "" */
    const char *message;  /* the engine's own error message, or "" */
    int signal;           /* the one that ended the engine, or 0 */
    double factor;        /* the error divided by the hard bound; infinite where the bound is 0 */
    double expected, got; /* the worst element; only if `compared` */
    bool compared;        /* values were compared */
    int opset;
    size_t n_nodes; /* the nodes to blame, or all of the model when none could be blamed */
    struct fact_node *nodes;
};

/* What facts are made from. Everything is borrowed. */
struct facts_source {
    const char *engine, *version;
    const struct engine_profile *profile; /* may be NULL */
    const struct verdict *verdict;
    const struct settlement *settlement; /* may be NULL, or blame no node */
    const struct result *result;         /* may be NULL */
    const struct test_case *test;        /* no nodes are described when its model cannot be read */
};

/*
 * Makes the facts of a finding. Values of nodes are described as far as the reference can compute the model.
 * The caller releases *facts.
 */
void facts_of(struct finding_facts *facts, const struct facts_source *source);

/*
 * Makes only the facts that need no engine: what was asked, the opset and the nodes. `numbers` are the
 * indices of the `count` nodes to blame, ascending; if count is 0, all nodes are described. Nodes that call
 * functions of the model are described by the nodes inside, with the number of the call, except where the
 * engine died (kind; see findings/inlined_nodes.h). The caller releases *facts.
 */
void facts_of_nodes(struct finding_facts *facts, const struct test_case *test, const size_t *numbers,
                    size_t count, enum verdict_kind kind);
void facts_release(struct finding_facts *facts);

/* Appends a value as text: "float32[2,3] const nan least=-1 most=2"; nothing for one that was left out. */
void fact_value_text(struct str *out, const struct fact_value *value);

/*
 * Appends the nodes in a form for people: "Conv opset=13 float32[1,2,8] const:float32[2,2,3] pads=0,1".
 * Several nodes are joined by " + ".
 */
void facts_nodes_text(struct str *out, const struct finding_facts *facts);

/*
 * Facts as one line of JSON: the first two functions append it, the last two read it. What is read is
 * checked; damaged text is an ERROR_FORMAT. The caller releases *facts, also after a failure.
 */
void facts_write(struct str *out, const struct finding_facts *facts);
void fact_node_write(struct str *out, const struct fact_node *node);
int facts_read(struct finding_facts *facts, const char *text, size_t size, struct error *err);
int facts_from_json(struct finding_facts *facts, const struct json_value *from, struct error *err);

#endif
