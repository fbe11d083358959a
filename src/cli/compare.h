/*
 * How `assay compare` writes its results. compare.c runs the comparison; compare_write.c writes text,
 * compare_json.c JSON and JUnit. The write functions take `count` models and append to *out; labels: one for
 * each engine.
 */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/common.h"
#include "compare/compare.h"
#include "recorded/recorded.h"
#include "report/against_report.h"
#include "report/answer.h"

struct compare_settings {
    struct common common;
    struct input_settings inputs;
    double rtol, atol, scale;
    long long top;
    double class, mad, percent;
    long long batch, judge, operators;
    double seconds; /* for checks */
    const char *keep, *known;
    bool no_known, metrics;
    const char *against;    /* the model that it was made from; NULL: none */
    const char *keep_float; /* a share: "0.1%"; NULL: not asked for */
    double figure;          /* the same, as a number */
    const char *model_out;  /* where the model with nodes kept in float32 goes; NULL: nowhere */
    /* Values recorded elsewhere, and what is known of them: */
    const char *expected, *map;
    int precision, party; /* enum precision, enum recorded_party */
    double rounded;
};

/* One model of the command line. */
struct compare_model {
    const char *path;
    struct model *model; /* NULL after it has been run */
    struct inputs inputs;
    struct compare compare;
    bool classes;            /* labels are classes */
    char *described;         /* the samples in words */
    bool strict;             /* of --strict */
    struct against *against; /* with --against; NULL: without */
    struct kept_float *kept; /* with --keep-float; NULL: without */
    double figure;           /* of --keep-float */
    const char *written;     /* the path of the model with these nodes; NULL: it was not written */
    const char *other;       /* the path of that model */
    bool has_recorded;
    struct recorded recorded;
    char *unused; /* arrays of the recording that are no value of the model, in words; NULL: no recording */
};

/* The answer about a model, of which the caller releases the scene. */
void compare_answer(const struct compare_model *model, const char *const *labels, struct answer_scene *scene);

void compare_write_text(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, bool colour, struct str *out);
void compare_write_json(const struct compare_model *models, size_t count, const struct session *session,
                        const struct compare_settings *settings, const struct standing *standing,
                        struct str *out);
void compare_write_junit(const struct compare_model *models, size_t count, const struct session *session,
                         const struct compare_settings *settings, struct str *out);

/* What there is to say about the model against the other one. Only with --against. */
struct against_scene compare_against_scene(const struct compare_model *model, const char *const *labels);

/* Appends in one line why a pair differs; nothing when it does not. */
void compare_reason(const struct compare *compare, const struct compare_pair *pair, struct str *out);

#endif
