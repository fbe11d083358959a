/*
 * What settling and localising share: one engine's run of one case, the values it really had, and judging
 * parts of the model on them. Internal to this folder.
 */
#ifndef LOCATE_WORK_H
#define LOCATE_WORK_H

#include "engine/handover.h"
#include "locate/settle.h"
#include "model/index.h"

/* The reference's answer to the whole, computed when first asked for. */
struct work_whole {
    bool tried;
    size_t count;
    struct bounded *expected; /* one a graph output; NULL when the reference cannot */
};

enum { WORK_GROUP = 8 };

/* A refusal's: any; such as name an operator of the part, or begin as those of the whole do; just those. */
enum work_words { WORDS_ANY, WORDS_OWN, WORDS_SAME };

struct work {
    const struct settle_case *which;
    struct arena arena;
    struct model_index index;
    /* For each value of the index: graph input, initialiser, or what is recorded and still held; may be NULL.
     */
    const struct tensor **known;
    struct tensor *weights;  /* initialisers and constants looked at, one for each value of the index: */
    bool *viewed;            /* as views into the model, or as copies */
    struct tensor *folded;   /* what follows from the inputs' shapes alone (Shape and what is computed from
                                it); data NULL elsewhere */
    bool terse;              /* such values are not asked for: engines that fold them cannot show them */
    struct tensor *planned;  /* type and shape of every value as far as it shows before anything runs */
    struct tensor *forms;    /* type and shape of every value seen so far, without data; DTYPE_NONE else */
    struct result plain;     /* the model as it is */
    struct result shown;     /* its own answers with everything exposed, once windows are looked for */
    struct result held;      /* the group of values at hand */
    struct tensor *computed; /* by the reference, where the engine gives nothing */
    size_t n_computed;
    struct handover exposed; /* the model with every value exposed */
    bool has_exposed;
    size_t group_bytes; /* of values held at once */
    bool changed;  /* an answer with values exposed is not, bit by bit, the plain one (or not confirmed) */
    bool close;    /* but it is within the published tolerance of it, as far as was looked */
    size_t judged; /* nodes, each on the inputs the engine had */
    size_t right;  /* those of them inside their hard bound, and not because nothing could be said */
    bool all_held; /* one group held everything, and it still does */
    struct work_whole whole;
    size_t group[WORK_GROUP], n_group, group_of; /* by windows_before: of which node, and which nodes it is */
    bool alone;      /* the node judged last is outside its bound as a model of its own, too */
    struct {         /* nodes that are wrong by themselves, and not why the answer is */
        bool *nodes; /* by number; NULL: none */
        size_t first[WORK_GROUP], n_first; /* the node, or the group, that was met first */
        bool fused;
        struct verdict verdict;
    } spare;
    const struct verdict *refusal; /* the word on the whole when it is refused, else NULL */
    const struct result *ended;    /* then how it ended */
    enum work_words words;         /* with which a part must end to count */
    struct model *inferred;        /* by work_infer: where the index has its types from */
    size_t runs, groups, largest, wanted;
    struct error *err;
};

int work_init(struct work *work, const struct settle_case *which, struct error *err);
void work_release(struct work *work);

/* Runs a model on the engine under test; answers: only the first so many outputs are asked for, 0: all. */
int work_run(struct work *work, const struct model *model, const struct value *inputs, size_t n_inputs,
             size_t answers, struct result *result);
/* Types of values of which the model says nothing, from shape inference: some engines load no model whose
 * outputs have none. What cannot be inferred stays as it is. */
void work_infer(struct work *work);
int work_run_plain(struct work *work); /* into work->plain; fails unless the engine answers */

/* An initialiser or constant is no longer at hand. */
void work_drop_weight(struct work *work, size_t number);

/* A known value by its number or name, initialisers included; NULL when it is not at hand. */
const struct tensor *work_value(struct work *work, size_t number);
const struct tensor *work_named(struct work *work, const char *name);

/* Not asked for, because it is known without: what a Constant makes, and with `terse` what is folded. */
bool work_is_hidden(const struct work *work, size_t number);

/* Names of the values that nodes make and that are not hidden, in the arena. */
const char **work_made(struct work *work, size_t *count);

/* The reference's values, rounded into their types, stand for what the engine would have had. */
int work_compute(struct work *work, const char *const *names, size_t wanted);

/* A value of that name that only reads the tensor: evaluate_node, verdict_output and the pool take values
 * that they do not change. */
struct value work_view(const char *name, const struct tensor *tensor);

/* What a node makes of its recorded inputs, one for each of its outputs, to be released in any case; loose:
 * as if it had been computed as one with those that made them. */
int work_expect_node(struct work *work, size_t number, bool loose, struct bounded *expected,
                     struct error *err);

/* That against what is recorded of it. VERDICT_UNTESTED, and the text says why, when the reference cannot. */
void work_judge_node(struct work *work, size_t number, bool loose, struct verdict *verdict);

/*
 * Whether the engine also gives output `output` of the node as it was recorded when the model ends there.
 * Some engines show a value that is not what the next operator had: a buffer used again, another layout. Then
 * it is no longer at hand: who used it cannot be judged by it.
 */
bool work_confirm(struct work *work, size_t number, size_t output);

/* An answer to the whole model against the reference, with what fusing may do allowed for
 * (evaluate_options.loose);
 * VERDICT_UNTESTED when the reference cannot. */
void work_judge_whole(struct work *work, const struct result *result, struct verdict *verdict);
/* Whether an answer that is right by that is outside of the bounds without it. */
bool work_is_fused(const struct work *work, const struct result *result);

/*
 * Whether the answer, which is wrong or suspect, stays so when what the nodes make is replaced: by what one
 * node makes of the inputs that it had, or by the reference's own values of several. False, too, where that
 * cannot be seen: the answer is not off as a whole, or the engine does not compute the rest.
 */
bool work_stays_off(struct work *work, const size_t *nodes, size_t count);

/* Whether the answer is as far off when the node is given, as inputs of the model, the values that are
 * recorded of its inputs: if not, it had others. False where that cannot be seen. */
bool work_breaks_right_inputs(struct work *work, size_t number);

/* The nodes that a wrong output is computed from, when it is as wrong without the others; else all nodes. */
size_t work_needed(struct work *work, size_t output, size_t *nodes);

/* Marks, by position in index.order, `end` and what it is computed from, back to position `first`; the caller
 * frees it. */
bool *work_ancestors(const struct work *work, size_t end, size_t first);

/* A window cut out as a model of its own, with its inputs, one for each of the model's. */
struct work_part {
    struct model *model;
    struct value *inputs; /* views */
};
/* False when it cannot be cut or an input is not known; released in any case. */
bool work_part_cut(struct work_part *part, struct work *work, const size_t *nodes, size_t size);
void work_part_release(struct work_part *part);

/*
 * Cuts a window of nodes out, runs it unexposed on its known inputs and judges it: by its own hard bound, or,
 * when the whole is refused, by whether the engine refuses it, or dies on it, as well. Agrees when it cannot
 * be cut. mistrusting: mistrusted, when only another formula for the nodes explains the answer.
 */
void work_judge_window(struct work *work, const size_t *nodes, size_t size, bool mistrusting,
                       struct verdict *verdict);

/* Marks, by value, what is computed from the data of the graph's inputs: an engine cannot have folded that
 * away, however small it is. Of a value that Shape and Size look at the data does not matter. The caller
 * frees it. */
bool *work_fed(const struct work *work);

/* Bytes of all values that nodes make, as far as it shows before anything runs. */
size_t work_bytes(struct work *work);

/*
 * What the engine had, in groups. A group is a run of consecutive nodes in the index's order; while `visit`
 * is called, work->known holds everything these nodes used and made, all from one run of the engine. visit
 * returns 0 to go on, 1 to stop, -1 on failure. *outcome: how the engine ended when it does not show its
 * values.
 */
struct record_group {
    size_t first, count; /* positions in index.order */
    size_t bytes;        /* estimated */
    size_t n_names;
    const char **names; /* of the values held; only while it is visited */
};
void record_plan(struct work *work, size_t limit, struct record_group **groups, size_t *count);
typedef int (*record_visit)(void *context, struct work *work, const struct record_group *group);
int record_run(struct work *work, record_visit visit, void *context, enum outcome *outcome);

/* Makes sure that the given values are at hand, all from one run. */
int record_fetch(struct work *work, const char *const *names, size_t count);

/* The serialised model with every value exposed. */
int record_expose(struct work *work);
/* Some engines load no model whose outputs have no type and rank. The dims are left open: they are the
 * engine's to find. */
void record_types(const struct work *work, struct model *exposed);

/*
 * The smallest part that is off, or refused, only as a whole. fused: by its recorded inputs, when exposing
 * values makes the fault vanish; true when found. unshown: the engine shows no values (or no answer at all),
 * so those of the reference serve as inputs; 1 when found, 0 when not, -1 when the reference cannot.
 */
bool windows_fused(struct work *work, struct settlement *settlement);
int windows_unshown(struct work *work, struct settlement *settlement);

/* Less of a refused group that is refused too: what is wrong may be noticed behind where it is made. */
void windows_narrow(struct work *work, struct settlement *settlement);

/*
 * A node that is outside its bound where values are shown, and not alone: the engine draws it together with
 * those before it though they are shown. Into work->group goes the group that is wrong as a whole. The
 * verdict becomes mistrusted when another formula for the group explains it, and stays when neither is so.
 */
void windows_before(struct work *work, size_t number, struct verdict *verdict);

/* The policy, in parts. */
void settle_node(struct work *work, size_t number, struct verdict *verdict); /* one recorded node */

/*
 * What speaks for blaming the node judged last, which is outside its bound. A node that is so as a model of
 * its own as well is wrong, whatever the answer is. One that is not is to blame when the answer is as wrong
 * with the inputs that it is said to have had, and right with its output right; else what is recorded of it
 * and its inputs does not belong together, and it is not to blame at all.
 */
enum settle_weight {
    WEIGHT_NONE,
    WEIGHT_SPARE, /* wrong, but not why the answer is: only to blame when nobody else is */
    WEIGHT_FULL,
    WEIGHT_TOGETHER, /* with those spared before it, all that is wrong: the first of them is to blame */
};
enum settle_weight settle_weigh(struct work *work, size_t number, const struct verdict *verdict);
void settle_blame_spare(const struct work *work, struct settlement *settlement); /* the one met first */
/* Whom that says to blame; false when nobody yet. */
bool settle_blame_weighed(struct work *work, struct settlement *settlement, const struct verdict *verdict,
                          size_t number, enum settle_weight weight);
/* Who is wrong by that: the node, or the group in which it is. */
void settle_blame_node(struct work *work, struct settlement *settlement, const struct verdict *verdict,
                       size_t number);

/* The engine does not show its values: parts of the model on the reference's, then the whole. */
int settle_hidden(struct work *work, struct settlement *settlement);

/* Nothing local is wrong: imprecise, agrees, or (a group larger than any window tried) all are to blame. */
int settle_whole(struct work *work, struct settlement *settlement);

/* The smallest part that the engine refuses, or dies on, in the same way. */
int settle_refused(struct work *work, struct settlement *settlement);

void settle_blame(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                  size_t count);
void settle_describe(struct settlement *settlement, const struct model *model);

#endif
