/*
 * What is done with a finding after it was found: its case is made again from the recipe, run, reduced, run
 * on the engine's other releases, and written as a bundle (findings/bundle.h) to the campaign's folder.
 *
 * When the reduced case has another signature than the original one, both are one bug, and the original
 * finding is merged into the other. When several cases end in one signature, the bundle of the first stays,
 * unless a later one has fewer nodes. In a campaign of many workers findings/work_follow_up.h says what
 * stays.
 */
#ifndef CAMPAIGN_FOLLOW_UP_H
#define CAMPAIGN_FOLLOW_UP_H

#include "findings/bundle.h"
#include "findings/known_issues.h"
#include "findings/signature.h"
#include "findings/work_follow_up.h"
#include "trial/trial.h"

struct follow_up_options {
    struct registry *registry; /* names the engine's other releases and its program template; NULL: neither */
    bool no_bisect;            /* do not run the other releases */
    /*
     * The engines of the campaign. A case that is kept must fail on the panel's fresh workers, where it has
     * some, so that no bundle depends on what an earlier case left in memory.
     */
    const struct panel *panel;
    /* Engines that were not asked about, whose answers to a case that is kept stand in its report; or NULL.
     */
    const struct panel *others;
    struct store *store;
    const struct folder *folder; /* of the campaign */
    /* Of a campaign of many workers, under whose lease this is; bundles go to its database, and do not stay
     * in the folder. NULL: of no such campaign. */
    struct work *work;
    /* Called again and again, so that the lease can be renewed; may be NULL. */
    void (*alive)(void *context);
    void *context;
    /*
     * Reduced cases are looked up here again, as they may match an issue that the original did not; NULL:
     * none.
     */
    const struct known_issues *known;
    bundle_drawing *draw; /* for map.svg; may be NULL */
    bool no_reduce;
    bool again; /* write an existing bundle again: it may lack what is known now, such as the releases */
    bool force; /* follow_up_case replaces an existing bundle; those of a campaign always are replaced */
    double reduce_seconds;  /* limit for one case; 0: 60 */
    double reduce_deadline; /* for each request, unless it is about a hang; 0: by how long the case takes */
    size_t reduce_most;     /* candidates that are tried for one case; 0: no limit */
};

enum follow_up_end {
    FOLLOW_UP_BUNDLED,
    FOLLOW_UP_MERGED, /* another bundle already has its bug */
    FOLLOW_UP_GONE,   /* it does not fail any more, or ONNX's own checker refuses the model as well */
};

struct follow_up_done {
    enum follow_up_end end;
    size_t nodes_before, nodes_after;
    double reduce_seconds;
    struct signature signature; /* of the case in the bundle */
    struct verdict verdict;     /* of a case that is gone: the verdict now */
};

/* Follows up a finding of the campaign: its signature, recipe and engine (label) as they are in the store. */
int follow_up_finding(const struct follow_up_options *options, const char *signature, const char *recipe,
                      const char *engine, struct follow_up_done *done, struct error *err);

/*
 * The same for a single case without a campaign: the finding is on the first engine of the panel, the bundle
 * is written to `folder`, a path of the user's, and the store and folder of the options are not used.
 */
int follow_up_case(const struct follow_up_options *options, struct test_case *test, const char *folder,
                   struct follow_up_done *done, struct error *err);

/*
 * Runs one case on all engines of a panel, on its fresh workers where it has some, judges and settles it.
 * Fails when it cannot be run. The caller releases *done with trial_done_release.
 */
int follow_up_try(const struct panel *panel, struct test_case *test, struct trial_done *done,
                  struct error *err);

/*
 * Makes a case of a campaign again from its recipe, and runs, judges and settles it in fresh processes alone:
 * what an engine answers because of what earlier cases left in its memory does not show. The caller releases
 * *done.
 */
int follow_up_again(const struct panel *panel, struct registry *registry, const struct folder *folder,
                    const char *recipe, struct trial_done *done, struct error *err);

/*
 * The signature of what the trial found on an engine (its place in the panel); false when that is no finding.
 */
bool follow_up_signature(const struct panel *panel, size_t engine, const struct trial_done *done,
                         struct signature *signature);

#endif
