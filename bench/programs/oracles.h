/*
 * What published oracles would say of an answer, beside the right one: the engine that they compare with is
 * taken to be right, and where any value is right, or rounding decides which is, to give the same. That is
 * the best case for them.
 */
#ifndef BENCH_ORACLES_H
#define BENCH_ORACLES_H

#include "engine/outcome.h"

enum oracle {
    ORACLE_CLASS,   /* CRADLE: some row's class distance, of the class that is right, is at least 8 */
    ORACLE_MAD,     /* CRADLE: some row's MAD distance from that class is at least 0.2 */
    ORACLE_AUDEE,   /* another top class in some row, or NaN where there is none */
    ORACLE_DCF,     /* graph fuzzing: fewer than 99.9 % of the elements are within 0.1 % */
    ORACLE_EAGLE,   /* some element differs by more than 1e-2 + 1e-5 |b| */
    ORACLE_NUMPY,   /* numpy.allclose as it comes: 1e-8 + 1e-5 |b| */
    ORACLE_BACKEND, /* onnx.backend.test as it comes: 1e-7 + 1e-3 |b| */
    ORACLE_COUNT
};

const char *oracle_name(enum oracle oracle);
/*
 * The answer that they compare with: the reference's, which has bounds, and that of the engine in elements
 * without a finite bound. The outputs of *right are copies; oracle_forget frees them.
 */
int oracle_expect(const struct result *got, const struct result *reference, struct result *right,
                  struct error *err);
void oracle_forget(struct result *right);

bool oracle_reports(enum oracle oracle, const struct result *got, const struct result *right);

#endif
