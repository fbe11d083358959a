/*
 * What the engine makes of a case that was changed for an experiment (diagnose/table.h).
 */
#ifndef DIAGNOSE_EXPERIMENT_H
#define DIAGNOSE_EXPERIMENT_H

#include "diagnose/evidence.h"
#include "trial/trial.h"

/* The finding that experiments are made on. */
struct experiment {
    const struct panel *panel;     /* the engine in question is the first of it */
    struct registry *registry;     /* NULL: passes are not looked for */
    const struct trial_done *done; /* the failure */
    struct test_case *base; /* the case to change, which fails alike; the runner may choose another form */
    bool deadly;            /* the case ends the engine */
    bool of_numbers;        /* the answer has wrong numbers */
    bool of_type;           /* the answer is of a wrong element type */
    bool fed;               /* a node on constants alone is what fails (constants_base) */
    const char *message;    /* as in the signature, when there is no answer; else NULL */
    struct finding_evidence *evidence; /* what is found on the way */
};

/* Runs the case, in a fresh process where the finding is a death: what ends an engine may have spoilt its
 * memory for the next case. settle: see trial/trial.h. Gives up the case, which may be NULL. False when it
 * cannot be run; else the caller releases *done. */
bool experiment_try(const struct experiment *how, struct test_case *test, bool settle,
                    struct trial_done *done);

/* In the order of how much of the failure is gone. */
enum answer {
    ANSWER_UNKNOWN, /* not asked, or it cannot be judged, or the engine says that it lacks something */
    ANSWER_SAME,    /* refused, or the engine ended, as on the case itself */
    ANSWER_FAILURE, /* the same in another way */
    ANSWER_WRONG,
    ANSWER_RIGHT
};

/* What the engine makes of the case. Gives up the case, which may be NULL. */
enum answer experiment_answer(const struct experiment *how, struct test_case *test);
bool experiment_right(const struct experiment *how, struct test_case *test);

/* The message of a case without an answer, as in its signature; "" when there is an answer. */
struct signature;
void experiment_message(const struct experiment *how, const struct trial_done *done,
                        struct signature *signature);

/* Whether the engine gave an answer, right or not; whether it ended. */
bool experiment_answered(const struct trial_done *done);
bool experiment_died(const struct trial_done *done);

/* Whether the answer is right but for its element types, of which some engines have few: it has the right
 * shapes, and the numbers are near. */
bool experiment_right_but_for_type(const struct trial_done *done);

/* Whether some right result is a scalar. */
bool experiment_gives_scalar(const struct trial_done *done);

#endif
