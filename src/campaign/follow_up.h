/*
 * What becomes of a finding after it was met: the case is made again from its recipe, run, made smaller,
 * tried on the engine's other releases and written as a bundle (findings/bundle.h) into the campaign's
 * folder.
 *
 * When the smaller case has another signature than the one it came from, that one is merged into it: both are
 * one bug. Of several cases that end in one signature the bundle of the first stays, unless a later one has
 * fewer nodes.
 */
#ifndef CAMPAIGN_FOLLOW_UP_H
#define CAMPAIGN_FOLLOW_UP_H

#include "findings/bundle.h"
#include "findings/known_issues.h"
#include "findings/signature.h"
#include "findings/store.h"
#include "trial/trial.h"

struct follow_up_options {
    struct registry *registry; /* where engines are found again, for releases and programs; NULL: nowhere */
    bool no_bisect;            /* leave the other releases alone */
    /* The engines of the campaign. What is kept must show on its fresh workers, where it has some, so that no
     * bundle depends on what an earlier case left in memory. */
    const struct panel *panel;
    struct store *store;
    const char *folder; /* of the campaign */
    /* What is kept is looked up in it, as the small case may tell what the whole one did not; NULL: none. */
    const struct known_issues *known;
    bundle_drawing *draw; /* for map.svg; may be NULL */
    bool no_reduce;
    bool again; /* a finding's own bundle is made anew: it may lack what is known now, such as its releases */
    bool force; /* of follow_up_case: a bundle that is there is replaced; the campaign's own always are */
    double reduce_seconds; /* at most for one case; 0: 60 */
};

enum follow_up_end {
    FOLLOW_UP_BUNDLED,
    FOLLOW_UP_MERGED, /* its bug is in a bundle already */
    FOLLOW_UP_GONE,   /* the case is no finding any more: not deterministic, another engine than then, or
                       * refused by ONNX's own checker as well */
};

struct follow_up_done {
    enum follow_up_end end;
    size_t nodes_before, nodes_after;
    double reduce_seconds;
    struct signature signature; /* of the case as it was kept */
    struct verdict verdict;     /* of a case that is gone: what was said instead */
};

/* recipe and engine (label) as the store has them with the signature. */
int follow_up_finding(const struct follow_up_options *options, const char *signature, const char *recipe,
                      const char *engine, struct follow_up_done *done, struct error *err);

/*
 * The same for a case of its own, without a campaign: the first of the engines is the one in question, the
 * bundle goes to `folder`, store and options->folder are not used.
 */
int follow_up_case(const struct follow_up_options *options, struct test_case *test, const char *folder,
                   struct follow_up_done *done, struct error *err);

/*
 * One case on all engines of a panel, on its fresh workers where it has some, judged and settled; fails when
 * it cannot be run. Released by trial_done_release.
 */
int follow_up_try(const struct panel *panel, struct test_case *test, struct trial_done *done,
                  struct error *err);

/* The signature of an engine (place in the panel) of a trial; false when its verdict is no finding. */
bool follow_up_signature(const struct panel *panel, size_t engine, const struct trial_done *done,
                         struct signature *signature);

#endif
