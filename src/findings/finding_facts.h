/*
 * A finding in fields: everything that a known issue (findings/known_issues.h) may ask about, and nothing
 * else.
 *
 * Facts are made once from the case and what the engine did, and are then independent of both: they are kept
 * in the campaign's store as JSON, so that a later list of known issues can be tried on past findings without
 * running or generating anything again.
 */
#ifndef FINDINGS_FINDING_FACTS_H
#define FINDINGS_FINDING_FACTS_H

#include "base/arena.h"
#include "base/json_read.h"
#include "base/str.h"
#include "findings/signature.h"

/* What some element of a value is. */
enum fact_mark {
    FACT_NAN = 1 << 0,
    FACT_PLUS_INFINITY = 1 << 1,
    FACT_MINUS_INFINITY = 1 << 2,
    FACT_ZERO = 1 << 3,
    FACT_FRACTION = 1 << 4, /* finite, and no integer */
    FACT_LOWEST = 1 << 5,   /* the least number of a signed integer type */
};
enum { FACT_MARKS = 6 };
extern const char *const fact_mark_names[FACT_MARKS]; /* "nan", "inf", "-inf", "zero" ... in their order */

/* An input or output of a node, as the reference computes it. */
struct fact_value {
    enum dtype type;    /* DTYPE_NONE: left out, or not known */
    struct shape shape; /* rank -1: not known */
    bool constant;  /* whatever the elements of the inputs are: an initializer, a shape, or made of such alone
                     */
    unsigned marks; /* enum fact_mark */
    double least, most; /* of the finite elements; NaN where there are none or they are not known */
};

struct fact_attribute {
    const char *name;
    const char *text; /* "linear", "0.5", "1,1,0"; "" for graphs and tensors */
};

struct fact_node {
    const char *op;
    size_t number; /* in the model's graph */
    size_t n_attributes, n_inputs, n_outputs;
    struct fact_attribute *attributes;
    struct fact_value *inputs, *outputs;
};

/* Texts live in the arena; none is NULL. */
struct finding_facts {
    struct arena arena;
    const char *engine;  /* label: "onnxruntime@1.12.0:opt=all" */
    const char *version; /* what the engine itself says */
    enum symptom symptom;
    const char *stage;    /* of an engine that refused or died: "load", "run" ...; else "" */
    const char *message;  /* the engine's own error text, "" where there is none */
    int signal;           /* that ended the engine, or 0 */
    double factor;        /* error over the hard bound; infinite where the bound is 0 */
    double expected, got; /* of the worst element, where values were compared */
    bool compared;
    int opset;
    size_t n_nodes; /* to blame; all of the model when nobody is */
    struct fact_node *nodes;
};

/* Where facts are made from. Everything is borrowed. */
struct facts_source {
    const char *engine, *version;
    const struct verdict *verdict;
    const struct settlement *settlement; /* may be NULL, or blame nobody */
    const struct result *result;         /* may be NULL */
    const struct model *model;           /* NULL: no nodes are described */
    const struct value *inputs;
    size_t n_inputs;
};

/* The node facts come from the reference, as far as it can compute the model. */
void facts_of(struct finding_facts *facts, const struct facts_source *source);

/* The part that needs no engine: opset and nodes. numbers: the nodes to blame, ascending; count 0: all. */
void facts_of_nodes(struct finding_facts *facts, const struct model *model, const struct value *inputs,
                    size_t n_inputs, const size_t *numbers, size_t count);
void facts_release(struct finding_facts *facts);

/* "float32[2,3] const nan least=-1 most=2"; "" for one that was left out. */
void fact_value_text(struct str *out, const struct fact_value *value);

/* The nodes for people: "Conv opset=13 float32[1,2,8] const:float32[2,2,3] pads=0,1", with " + " between. */
void facts_nodes_text(struct str *out, const struct finding_facts *facts);

/* One line of JSON, and back. Reading trusts nothing; *facts must be released also after a failure. */
void facts_write(struct str *out, const struct finding_facts *facts);
void fact_node_write(struct str *out, const struct fact_node *node);
int facts_read(struct finding_facts *facts, const char *text, size_t size, struct error *err);
int facts_from_json(struct finding_facts *facts, const struct json_value *from, struct error *err);

#endif
