/*
 * Rewritings: rules applied to a case, as a line of text that can be replayed.
 *
 *     auto-pad@y  transpose-pair@x#3 identity@h  knob@opt=none  again
 *
 * are four rewritings; the second applies two rules in a row. Each step is RULE[@SITE][#VARIATION]. The site
 * is the name of a value: for a rule about nodes, the first output of the node; for a rule about settings, a
 * setting of the engine. Bytes of names other than letters, digits and _ . / : = , - are written as %XX. The
 * variation (default 0) is the seed of what the rule chooses freely. The same line applied to the same case
 * gives the same bytes.
 */
#ifndef RULES_REWRITING_H
#define RULES_REWRITING_H

#include "base/str.h"
#include "rules/rule.h"

enum { REWRITING_MAX_DEPTH = 16 };

/* Which rules to consider. */
struct rule_choice {
    const char *rules;   /* comma-separated names; NULL: all */
    const char *without; /* comma-separated names that are left out; NULL: none */
    /* Settings of the engines under test, "opt=none", for rules with each_knob. */
    size_t n_knobs;
    const char *const *knobs;
    bool no_runs; /* leave out rules about the way of running */
    bool bytes;   /* rewritings that are drawn begin with the step "bytes" */
};

/* Lists the rules that have an axis, for `rules` of a choice; on the heap. */
char *rule_choice_determinism(void);

/* Fails with ERROR_USAGE when the lists name a rule that does not exist; says which is nearest. */
int rule_choice_check(const struct rule_choice *choice, struct error *err);

/*
 * All steps that may be applied to a case: one for each chosen rule and site that the rule's operators and
 * scope allow. Whether a rule really applies is known only when it is tried (rewriting_apply). The caller
 * frees the list with steps_free.
 */
struct rewriting_steps {
    size_t count, capacity;
    char **steps; /* "auto-pad@y" */
    const struct rule **rules;
};
int rewriting_steps(struct rewriting_steps *list, const struct test_case *test,
                    const struct rule_choice *choice, struct error *err);
void rewriting_steps_free(struct rewriting_steps *list);

/*
 * Applies a rewriting to a case. Returns 1 with *rewritten, which the caller frees; 0 when a step does not
 * apply, or when the result is not valid or its outputs get other types or shapes, with the reason in *err;
 * -1 when the text is malformed (ERROR_USAGE) or something else failed.
 */
int rewriting_apply(struct test_case *origin, const char *rewriting, struct test_case **rewritten,
                    struct error *err);

/*
 * Draws a rewriting of at most `depth` steps that applies, trying at most `tries` steps for each. The rule is
 * drawn first, among those with a site, then its site, so that rules with few sites are drawn as often as
 * others. Returns as rewriting_apply does; 0 when nothing was found.
 */
int rewriting_draw(struct test_case *origin, const struct rule_choice *choice, size_t depth, size_t tries,
                   struct rng *rng, struct test_case **rewritten, struct error *err);

/* Appends the step that applies a rule at a site: "auto-pad@y". */
void rewriting_step(struct str *out, const char *rule, const char *site);

/* The rule of the last step of a rewriting, and how many steps it has. */
const struct rule *rewriting_rule(const char *rewriting);
size_t rewriting_depth(const char *rewriting);

/* Appends the rules of a rewriting, each once, in their order: "auto-pad+identity". A rule about settings has
 * the names of the knobs with it: "knob(opt,threads)". */
void rewriting_rules(struct str *out, const char *rewriting);

/* The steps that are about the way of running alone, as a rewriting on the heap; "" when there are none. */
char *rewriting_ways(const char *rewriting);

/* Appends a line of Markdown for each step, "- `auto-pad@y`: ..." with the rule's summary. */
void rewriting_describe(struct str *out, const char *rewriting);

/* The number of the node of the original at which a rewriting of one step was applied; -1 when it has more
 * steps or is not about a node. */
long rewriting_node(const char *rewriting, const struct model *original);

/* Makes a case from its recipe, which may end in a rewriting: "one seed=1 index=2 | auto-pad@y". Fails with
 * ERROR_NOT_FOUND when the rewriting does not apply. */
int rewriting_recipe(const char *recipe, struct test_case **out, struct error *err);

#endif
