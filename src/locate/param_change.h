/*
 * A parameter of a node given another legal value, in a small model with its inputs.
 *
 * The values are those of the operator table, the default, the parameter left out, variations of the present
 * value, and other spellings that mean the same (rules that keep the node, struct rule's `respells`). Inputs
 * whose shape follows from the parameter are cut or repeated to fit (struct op's `fit`). Whether the result
 * is valid is for the reference to say.
 */
#ifndef LOCATE_PARAM_CHANGE_H
#define LOCATE_PARAM_CHANGE_H

#include "case/test_case.h"
#include "ops/op.h"

enum param_way {
    WAY_ATTRIBUTE, /* the attribute gets the value in `text` */
    WAY_LEFT_OUT,  /* the attribute or input is left out */
    WAY_INPUT,     /* the elements of the input become the numbers in `text`, as many as there are */
    WAY_SPREAD,    /* the same, repeated over the input, which keeps its shape */
    WAY_KERNEL,    /* the spatial sizes of a convolution's weights become those in `text` */
    WAY_SYMMETRIC, /* each plane of the weights becomes its mean with itself turned by 180 degrees */
    WAY_RESPELLED, /* `text` is a rewriting (rules/rewriting.h) after which the answer is the same */
    WAY_TYPE,      /* every tensor of the type of the first input gets the type named by `text` */
    WAY_SIZE,      /* the first input is cut or repeated along an axis: `text` is "AXIS,SIZE" */
};

struct param_change {
    size_t node;                  /* in graph->node */
    const struct op_param *param; /* NULL for WAY_TYPE and WAY_SIZE */
    enum param_way way;
    const char *text;
    const char *value; /* for people: "SAME_LOWER", "left out"; of a respelling a phrase of its own: "pads=0,1
                          in place of auto_pad" */
    bool plain;        /* the new value is the default */
    bool alone;        /* no other node takes part in the new value */
    bool synonym;      /* the node means the same with it, whatever the data */
};

struct param_changes {
    struct arena arena;
    size_t count, capacity;
    struct param_change *items; /* heap; those of one parameter stand together */
};

/* Lists all changes of the nodes' parameters, at most PARAM_CHANGES. */
enum { PARAM_CHANGES = 640 };
void param_changes_init(struct param_changes *changes, struct test_case *test);
void param_changes_release(struct param_changes *changes);

/* The changes that are not about a parameter: other element types and sizes. */
void param_changes_of_form(struct param_changes *changes, const struct test_case *test);

/*
 * Makes a case with these changes, of which a respelling must stand alone. The outputs of its model have no
 * types yet, except after a respelling: param_change_declare sets them. Fails when a change does not apply.
 */
int param_change_apply(struct test_case **changed, struct test_case *test,
                       const struct param_change *const *changes, size_t count, struct error *err);

/* Declares types and shapes of the outputs. Only for the maker of the case. */
void param_change_declare(struct test_case *changed, const struct bounded *outputs, size_t count);

/* The present value of a parameter for people, in the arena: "SAME_UPPER", "1,1", "float32 [8,3,3,3]", "left
 * out". *plain: it is the default. */
const char *param_present(const struct test_case *test, size_t node, const struct op_param *param,
                          struct arena *arena, bool *plain);

#endif
