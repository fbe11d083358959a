/*
 * A failing part under examination: the data on which it runs, and what becomes of its failure when it is
 * changed.
 */
#ifndef LOCATE_EXAMINATION_H
#define LOCATE_EXAMINATION_H

#include "locate/cause.h"
#include "locate/expected.h"
#include "locate/param_change.h"

/* Sets of data: the one at hand, two in which the elements change places, one of other elements: numbers that
 * count up, where the others show nothing and the part fails on these in the same way; or drawn like those at
 * hand. */
enum { EXAMINATION_SETS = 4 };

struct examination {
    struct cause *cause; /* what has been found so far */
    const struct cause_options *options;
    struct arena *arena;
    struct error *err;
    struct test_case *sets[EXAMINATION_SETS];

    struct expected expected;  /* of the part as it is, on the data at hand */
    bool wrong, dies, refuses; /* how the unchanged part fails; an engine that overwrites its memory may fail
                                  in a different way each time */
    bool numbers;              /* the answer on the data at hand has the right form, but wrong numbers */
    bool idle;                 /* the right answer has elements, and they are the same on all sets */
    bool broken;               /* the engine cannot be run any more */

    struct param_changes changes; /* the changes: those of parameters first, then those of type and size */
    size_t n_params;              /* of the first kind */
    enum cause_end *ends;         /* of each change */
    double *apart;                /* of each change: how far the right answer is from that of the part */

    /* Private. */
    struct under_test *test;
    struct under_test own;          /* `test` with workers of its own */
    struct settle_case own_workers; /* which of `own` */
    double until;                   /* INFINITY: no limit */
};

/* Makes the sets. Release it also after a failure. */
int examination_init(struct examination *look, struct under_test *test, struct test_case *part);
void examination_release(struct examination *look);

/*
 * Runs the part as it is; false when it does not fail by itself. A part that ends the engine is run in a new
 * process each time from then on: the engine may have spoilt its memory before it died, so that the next
 * answer is wrong, too.
 */
bool examination_start(struct examination *look);

/*
 * Tries changes on all sets of data. *apart: how far the right answer is from the present one
 * (expected_apart).
 */
enum cause_end examination_try(struct examination *look, const struct param_change *const *changes,
                               size_t count, double *apart);

/* Tries the changes number `from` to `to` - 1 one by one. */
void examination_try_each(struct examination *look, size_t from, size_t to);

/* The right answer after changes, on the data at hand. The caller releases it unless this fails. */
int examination_expect(struct examination *look, const struct param_change *const *changes, size_t count,
                       struct expected *expected);

bool examination_is_late(const struct examination *look);

#endif
