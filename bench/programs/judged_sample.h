/*
 * One sample, judged as `compare` judges it, for programs that ask what it sees.
 */
#ifndef BENCH_JUDGED_SAMPLE_H
#define BENCH_JUDGED_SAMPLE_H

#include "trial/sample_verdicts.h"

/* Runs the case on one engine, however that ends; with bounds for the reference. Ends the program where not
 * even that is possible. */
void run_case(struct pool *pool, int engine, const struct test_case *test, bool bounds,
              struct result *result);

/* Judges the case on every engine of the panel: outputs, then every operator. hidden[i]: its outputs are not
 * wrong. Whether all answered. */
bool judge_sample(struct sample_verdicts *verdicts, const struct panel *panel, const struct test_case *test,
                  bool *hidden);

#endif
