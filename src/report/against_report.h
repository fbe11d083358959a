/* A model against the one it was made from (against/against.h), in words, as a table and in JSON. */
#ifndef REPORT_AGAINST_REPORT_H
#define REPORT_AGAINST_REPORT_H

#include "against/against.h"
#include "against/keep_float.h"
#include "base/json.h"
#include "trial/sample_verdicts.h"

struct against_scene {
    const struct against *against;
    const char *model, *other;              /* what they are called */
    const char *const *labels;              /* of the engines */
    const struct sample_verdicts *verdicts; /* on the engines, with the model as written */
    const struct kept_float *kept;          /* of --keep-float; NULL: it was not asked for */
    double figure;                          /* that was to be reached */
    const char *written;                    /* where the model was written to; NULL: nowhere */
};

/*
 * Appends the answer in sentences, separated by `between`:
 *
 *     q.onnx (int8) loses 4.1 % of what f.onnx computes (SNR 27.7 dB); of 2.1 points of accuracy 1.9 are the
 *     model's, 0.2 the engine's.
 *     Conv conv2 is damaged: channel 12 of its weights w is clipped ...; 31 % of the loss.
 *     onnxruntime computes q.onnx as it is written.
 */
void against_answer(struct str *out, const struct against_scene *scene, const char *between);

/* The layers with their numbers, as a table. all: also those that lose next to nothing. */
void against_table(struct str *out, const struct against_scene *scene, bool all, bool colour);

/* Appends "4.1 %", and for shares that nobody would read so "3.2e-05 %". */
void against_percent(struct str *out, double share);

/* Adds the member "against" (docs/json.md). */
void against_json(struct json *json, const struct against_scene *scene);

#endif
