/*
 * One run of an experiment (campaign/experiments.h): a case on the engine in question.
 */
#ifndef CAMPAIGN_EXPERIMENT_TRIAL_H
#define CAMPAIGN_EXPERIMENT_TRIAL_H

#include "campaign/experiments.h"

/* Runs the case, in a fresh process where the finding is a death: what ends an engine may have spoilt its
 * memory for the next case. settle: see trial/trial.h. Gives up the case, which may be NULL. False when it
 * cannot be run; else the caller releases *done. */
bool experiment_try(const struct experiments *how, struct test_case *test, bool settle,
                    struct trial_done *done);

/* Whether the engine gave an answer, right or not. */
bool experiment_answered(const struct trial_done *done);

/* Whether the engine ended. */
bool experiment_died(const struct trial_done *done);

/* Whether the answer has the right element types and shapes. */
bool experiment_right_form(const struct trial_done *done);

/* Whether the answer is right but for its element types, of which some engines have few: it has the right
 * shapes, and the numbers are near. */
bool experiment_right_but_for_type(const struct trial_done *done);

/* Whether the results have the right shapes and numbers, whatever their element types. */
bool experiment_is_near(const struct result *right, const struct result *got);

/* Whether some right result is a scalar. */
bool experiment_gives_scalar(const struct trial_done *done);

#endif
