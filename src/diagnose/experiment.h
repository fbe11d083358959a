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
    struct test_case *base; /* the case to change; it may be another form of the finding's case that fails
                               alike (constants_base) */
    bool deadly;            /* the case ends the engine */
    bool of_numbers;        /* the answer has wrong numbers */
    bool of_type;           /* the answer is of a wrong element type */
    bool fed;               /* what fails is a node on constants alone (constants_base) */
    const char *message;    /* as in the signature, when there is no answer; else NULL */
    struct finding_evidence *evidence; /* what is found on the way */
};

/* Runs the case; in a fresh process where the finding is the end of one, because memory that was damaged
 * before may change what happens. settle: see trial/trial.h. The case, which may be NULL, is given up. False
 * when it cannot be run; otherwise the caller releases *done. */
bool experiment_try(const struct experiment *how, struct test_case *test, bool settle,
                    struct trial_done *done);

/* In the order of how much of the failure is gone. */
enum answer {
    ANSWER_UNKNOWN, /* not asked, or it cannot be judged, or the engine says that it lacks something */
    ANSWER_SAME,    /* refused, or the engine ended, as on the case itself */
    ANSWER_FAILURE, /* refused, or the engine ended, in another way */
    ANSWER_WRONG,
    ANSWER_RIGHT
};

/* Asks the engine for the case, which may be NULL and is given up: how it answers, and whether it is
 * right. */
enum answer experiment_ask(const struct experiment *how, struct test_case *test);
bool experiment_ask_right(const struct experiment *how, struct test_case *test);

/* The message of a case without an answer, as in its signature; "" when there is an answer. */
struct signature;
void experiment_message(const struct experiment *how, const struct trial_done *done,
                        struct signature *signature);

/* Whether the engine gave an answer, right or not; whether it ended. */
bool experiment_answered(const struct trial_done *done);
bool experiment_died(const struct trial_done *done);

/* Whether the answer has as many outputs as it should, all of them tensors of which `alike` is true. */
bool experiment_tensors_are(const struct trial_done *done,
                            bool (*alike)(const struct tensor *right, const struct tensor *got));

/* Whether the answer is right but for its element types, of which some engines have few: it has the right
 * shapes, and the numbers are near. */
bool experiment_right_but_for_type(const struct trial_done *done);

/* Whether some right result is a scalar. */
bool experiment_gives_scalar(const struct trial_done *done);

#endif
