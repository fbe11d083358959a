/* The evidence that experiments on a case give, against a panel of engines (unit/scene.h). */
#ifndef UNIT_EVIDENCE_OF_H
#define UNIT_EVIDENCE_OF_H

#include "scene.h"

#include "diagnose/diagnose.h"

#include <stddef.h>

static inline bool shows(const struct finding_evidence *evidence, enum evidence_bit bit)
{
    return evidence->shown & EVIDENCE(bit);
}

/* Of a case that the engine must fail on. Gives up the case; the caller releases the evidence. */
static inline void evidence_of_case(struct scene *scene, struct test_case *test,
                                    struct finding_evidence *evidence)
{
    struct trial_done done;
    struct trials *trials = trials_new(&(struct trial_options){.panel = &scene->panel});
    assert_int_equal(trials_submit(trials, test, NULL, NULL), 0);
    assert_int_equal(trials_next(trials, &done, NULL), 1);
    trials_free(trials);
    assert_true(verdict_is_finding(done.judgement.verdicts[0].kind));
    evidence_init(evidence);
    free(diagnose(&scene->panel, NULL, &done, evidence));
    trial_done_release(&done);
}

#endif
