/*
 * SARIF 2.1.0, the JSON format in which code hosts and editors take findings: one run of one tool, its rules,
 * and the results. Texts may come from anywhere: what may not be shown becomes '?', and bytes that are no
 * UTF-8 do, too.
 */
#ifndef REPORT_SARIF_H
#define REPORT_SARIF_H

#include "base/arena.h"
#include "base/str.h"

enum sarif_level { SARIF_ERROR, SARIF_WARNING, SARIF_NOTE };

struct sarif_result {
    const char *rule; /* "wrong"; sarif_rule describes it */
    enum sarif_level level;
    const char *message;     /* what is wrong, a sentence */
    const char *path;        /* of the file that shows it, relative to where the command ran; any bytes */
    const char *engine;      /* a label */
    const char *operators;   /* "Mul+MatMul"; may be "" */
    const char *fingerprint; /* the same text in every run that finds this */
    const char *accepted;    /* why it is not news, as a known issue says; NULL: it is news */
};

struct sarif_rule {
    const char *id, *text;
};

struct sarif {
    struct arena arena;
    size_t n_rules, rules_capacity, count, capacity;
    struct sarif_rule *rules;
    struct sarif_result *results;
};

void sarif_init(struct sarif *sarif);
void sarif_release(struct sarif *sarif);

/* Describes a rule; one that is described already stays as it is. */
void sarif_rule(struct sarif *sarif, const char *id, const char *text);

/* Adds a result, of which everything is copied. Its rule must be described. */
void sarif_add(struct sarif *sarif, const struct sarif_result *result);

/* Appends the whole document. trouble: why not everything was judged, so that the run does not count as
 * successful; "": it was. */
void sarif_write(const struct sarif *sarif, const char *trouble, struct str *out);

#endif
