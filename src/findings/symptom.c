/* The symptoms of signatures: their words, and that of a verdict. */
#include "findings/signature.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static const struct {
    const char *word;
    enum verdict_kind verdict;
} symptoms[SYMPTOM_COUNT - VERDICT_COUNT] = {
    [SYMPTOM_NAN_LOST - VERDICT_COUNT] = {"nan-lost", VERDICT_NAN},
    [SYMPTOM_REFUSED - VERDICT_COUNT] = {"refused", VERDICT_REJECTED},
    [SYMPTOM_CRASH_FPE - VERDICT_COUNT] = {"crash-fpe", VERDICT_CRASH},
};

static bool is_verdict(enum symptom symptom)
{
    return (unsigned)symptom < VERDICT_COUNT;
}

const char *symptom_word(enum symptom symptom)
{
    return is_verdict(symptom) ? verdict_name((enum verdict_kind)symptom)
                               : symptoms[symptom - VERDICT_COUNT].word;
}

enum verdict_kind symptom_verdict(enum symptom symptom)
{
    return is_verdict(symptom) ? (enum verdict_kind)symptom : symptoms[symptom - VERDICT_COUNT].verdict;
}

bool symptom_parse(const char *word, size_t length, enum symptom *symptom)
{
    for (int i = 0; i < SYMPTOM_COUNT; i++) {
        const char *known = symptom_word((enum symptom)i);
        if (strlen(known) == length && strncmp(known, word, length) == 0) {
            *symptom = (enum symptom)i;
            return true;
        }
    }
    return false;
}

enum symptom symptom_of(const struct verdict *verdict, const struct settlement *settlement,
                        const struct result *result)
{
    bool settled = settlement && settlement->count && verdict_is_finding(settlement->kind);
    enum verdict_kind kind = settled ? settlement->kind : verdict->kind;
    /* The worst element of the whole need not be the fault of who is blamed. */
    const struct verdict *last = settled ? &settlement->verdict : verdict;
    if (kind == VERDICT_NAN && isnan(last->expected))
        return SYMPTOM_NAN_LOST;
    if (verdict_is(kind, CLASS_REFUSAL))
        return SYMPTOM_REFUSED;
    if (verdict_row(kind)->by_signal && result && result->signal == SIGFPE)
        return SYMPTOM_CRASH_FPE;
    return (enum symptom)kind;
}
