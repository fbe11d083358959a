/*
 * The answer of a command in words, with its evidence and its doubts: what stands first on the terminal, in a
 * map, in JSON and in JUnit.
 *
 *     model.onnx is computed correctly by onnxruntime@1.30.0 and torch: every operator checked on 20 samples;
 *     opencv refuses it at Gemm fc.
 *     Evidence: 20 random samples of 1 x 3 x 32 x 32, 2,240 output values, all judged, largest error 1.2e-07
 *     of the largest value; an error above 3e-06 would have been seen in the outputs, above 0.0002 in any
 *     operator (weakest: Softmax sm).
 *
 * The words for verdicts are those of judge/verdict.c. Never more is claimed than was judged: an engine that
 * agrees is called correct only if some of its values were judged against the reference and, where operators
 * are checked, each operator was judged on some sample; a vote is called a vote; what was not judged or not
 * exercised is told, and why, as far as it is known.
 */
#ifndef REPORT_ANSWER_H
#define REPORT_ANSWER_H

#include "base/json.h"
#include "base/str.h"
#include "judge/standing.h"
#include "judge/verdict.h"
#include "trial/sample_verdicts.h"

/* What is said of one engine. */
struct answer_part {
    const char *engine;
    enum verdict_kind kind;
    bool by_vote;      /* there was no reference */
    bool known;        /* the finding is a known issue */
    const char *where; /* "Gemm fc": what is to blame; NULL or "": not known */
    size_t alike, all; /* so many of all samples (or cases) have this verdict; 0 of 0: not counted */
    size_t elements, judged, by_operator; /* values of the answers, those judged as a whole, and those whose
                                             operators were judged instead */
    double error, visible;                /* as in struct verdict, the largest over all samples */
    const struct operator_evidence *evidence; /* of its operators; NULL: the command does not check them */
};

struct answer {
    const char *what;   /* "model.onnx", "the gradients of model.onnx" */
    bool plural;        /* it is plural */
    bool counted;       /* it is a number of cases, of which `alike` are meant, rather than of samples */
    size_t samples;     /* in the data set, of which a part was judged; 0: not counted */
    const char *share;  /* what `alike` counts, unless samples: "forms" */
    bool unjudging;     /* nothing was to be judged: an engine that agrees merely answered */
    const char *agrees; /* instead of "is computed correctly by"; NULL: that */
    const char *said;   /* stands in place of the sentences about the engines; NULL: they stand */
    size_t count;
    const struct answer_part *parts;
    const char *evidence; /* "20 random samples of 1 x 3"; NULL: none to tell */
    const char *
        unit; /* of what was judged, which ends with " value": "output value"; NULL: values are not counted */
    const char *not_judged; /* what was not judged, and why, whatever the numbers say; NULL: nothing */
    const char *beyond;     /* numbers beyond their type that decide an answer, in words; or NULL */
    const char *unjudged;   /* why values could not be judged; NULL: not known */
    const char *idle;       /* what no sample exercised; NULL: nothing is known of that */
    const char *borrowed;   /* operators that an engine takes from the reference; NULL: none */
    const char
        *lowered; /* what is computed in fewer bits than its type has; NULL: nothing is known of that */
    const char *without;             /* why there was no reference for some samples; NULL: there was */
    const struct standing *standing; /* NULL: what was not judged is said elsewhere */
};

/* Appends the answer; its sentences (answer, evidence, doubts) are separated by `between`: "\n", or " ". */
void answer_add(struct str *out, const struct answer *answer, const char *between);

/* The same for the terminal, with an empty line after it, and as the member "answer" of JSON. */
void answer_print(struct str *out, const struct answer *answer);
void answer_json(struct json *json, const struct answer *answer);

/* An answer about the verdicts on samples, and what it is made of. Members of `answer` may be changed. */
struct answer_scene {
    struct answer answer;
    struct answer_part *parts;
    struct str *wheres; /* one for each part */
    struct str what, evidence, idle, borrowed, lowered;
    struct standing standing;
};
/* path: the model. described: the samples (inputs_describe), of which `samples` there are. */
void answer_scene_init(struct answer_scene *scene, const struct sample_verdicts *verdicts,
                       const char *const *labels, const char *path, const char *described, size_t samples);
void answer_scene_release(struct answer_scene *scene);

/* The part of an engine that was judged on samples; *where takes the words for what is to blame. */
struct answer_part answer_part_of(const struct engine_verdict *overall, const char *engine,
                                  struct str *where);

/* Appends "Gemm fc", or "Conv c1, Relu r1 and Add a1 together"; behind: "Relu r1, only behind Conv c1". */
void answer_add_nodes(struct str *out, const char *const *operators, const char *const *nodes, size_t count,
                      bool behind);

/* Appends a number with a comma at every third digit. */
void answer_add_count(struct str *out, size_t count);

#endif
