/*
 * Makes a failing case that may be given away: names, texts and data of a confidential one are replaced, and
 * the failure stays.
 *
 * The names go first. Then the data of all parts (parts.h) is replaced by stand-ins of one closeness after
 * the other, the least first, until the failure stays. Where no closeness will do for all parts at once, each
 * half of them is tried alone, down to single parts. What cannot be replaced at all keeps its values:
 * settings of operators (shapes, axes) as they are, anything else only where the user allows it by name. Each
 * candidate is judged by the reducer's oracle, as if it were a smaller case: the expected answer is computed
 * again, so that the failure is a true one, and its signature must be the same.
 *
 * At the end the case is searched byte by byte for what was replaced (leak.h). Where something of it is
 * there, by chance or because a stand-in is too close, it is drawn again with another seed, and if that does
 * not help, refused.
 */
#ifndef SCRAMBLE_SCRAMBLE_H
#define SCRAMBLE_SCRAMBLE_H

#include "reduce/reduce.h"
#include "scramble/stand_in.h"

/* What became of one part. */
struct scrambled_part {
    char *name, *shown; /* heap: the original name, and "float32[3,4]" */
    char *fresh;        /* heap: the name that it has now */
    bool input, parameter;
    enum closeness closeness;
};

struct scramble_report {
    size_t n_parts, n_names, n_texts, n_runs;
    struct scrambled_part *parts;
    char *
        operators; /* heap: operators and functions that nobody else has and that keep their names, or NULL */
    bool names_kept, lengths_kept; /* all names of values and nodes; the lengths of names */
    struct reduce_stats stats;     /* of the result; what was before is not filled in */
};
void scramble_report_release(struct scramble_report *report);

struct scramble_options {
    const struct reduce_options *run; /* on which engine, and limits */
    uint64_t seed;
    /* Names of parts that may keep their values, of operators that may keep theirs, and "names" for all names
     * of values and nodes; shell patterns. */
    size_t n_keep;
    const char *const *keep;
};

/*
 * Fails like reduce_case; with ERROR_NOT_FOUND also when the failure does not stay without something that
 * `keep` does not name, which the message names. The caller frees *scrambled and releases the report, also
 * after a failure.
 */
int scramble_case(struct test_case **scrambled, const struct test_case *from,
                  const struct scramble_options *options, struct scramble_report *report, struct error *err);

#endif
