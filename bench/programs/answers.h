/* The answers of an engine that is the reference itself, under some options, and what the judge says of them.
 */
#ifndef BENCH_ANSWERS_H
#define BENCH_ANSWERS_H

#include "case/test_case.h"
#include "eval/evaluate.h"

struct answers {
    struct bounded *values;
    size_t count;
};

/* The values of these names; `wanted` 0: the graph's outputs. To be released whether it works or not. */
int answers_compute(struct answers *answers, const struct model *model, const struct test_case *test,
                    const struct evaluate_options *options, const char *const *names, size_t wanted,
                    struct error *err);
void answers_release(struct answers *answers);

/* Whether the judge lets these `count` answers pass; his words are in `text`. */
bool answers_pass(const struct bounded *expected, const struct bounded *got, size_t count, char *text,
                  size_t size);

#endif
