/* What the results of a probe say; nothing here runs a case. */
#include "probe/probe.h"

static const struct {
    const char *name;
    char letter;
    bool finding;
} answers[PROBE_ANSWERS] = {
    [PROBE_NONE] = {.name = "none", .letter = '.'},
    [PROBE_OK] = {.name = "ok", .letter = 'o'},
    [PROBE_UNSURE] = {.name = "unsure", .letter = '?'},
    [PROBE_UNSUPPORTED] = {.name = "unsupported", .letter = 'u'},
    [PROBE_REJECTED] = {.name = "rejected", .letter = 'r', .finding = true},
    [PROBE_WRONG] = {.name = "wrong", .letter = 'w', .finding = true},
    [PROBE_CRASH] = {.name = "crash", .letter = 'c', .finding = true},
    [PROBE_HANG] = {.name = "hang", .letter = 'h', .finding = true},
};

const char *probe_answer_name(enum probe_answer answer)
{
    return answers[answer].name;
}

char probe_letter(enum probe_answer answer)
{
    return answers[answer].letter;
}

enum probe_answer probe_answer_of_letter(char letter)
{
    for (int answer = PROBE_OK; answer < PROBE_ANSWERS; answer++)
        if (answers[answer].letter == letter)
            return (enum probe_answer)answer;
    return PROBE_NONE;
}

bool probe_is_finding(enum probe_answer answer)
{
    return answers[answer].finding;
}

enum probe_answer probe_answer_of(const struct verdict *verdict)
{
    enum probe_answer answer = probe_answer_of_letter(verdict_row(verdict->kind)->letter);
    if (answer == PROBE_OK && verdict->by_vote)
        return PROBE_UNSURE;
    /*
     * The verdict mistrusts an answer that agrees but proves little because it is constant (ConstantOfShape),
     * or one by which all engines contradict the reference. The former is ok here.
     */
    if (verdict_is(verdict->kind, CLASS_DOUBT) && verdict->judged && !verdict->wrong)
        return PROBE_OK;
    return answer;
}

static void count_row(struct probe_counts *counts, const struct probe_row *row)
{
    for (int i = 0; i < PROBE_OPSETS; i++) {
        enum probe_answer answer = probe_answer_of_letter(row->opsets[i]);
        counts->of[answer]++;
        counts->total += answer != PROBE_NONE;
    }
}

struct probe_counts probe_count(const struct probe_op *op, enum dtype type)
{
    struct probe_counts counts = {0};
    for (size_t i = 0; i < op->n_rows; i++)
        if (type == DTYPE_NONE || op->rows[i].type == type)
            count_row(&counts, &op->rows[i]);
    return counts;
}

struct probe_counts probe_count_all(const struct probe_result *result)
{
    struct probe_counts counts = {0};
    for (size_t i = 0; i < result->n_ops; i++)
        for (size_t k = 0; k < result->ops[i].n_rows; k++)
            count_row(&counts, &result->ops[i].rows[k]);
    return counts;
}

enum probe_answer probe_sum_up(const struct probe_counts *counts)
{
    for (int answer = PROBE_HANG; answer >= PROBE_REJECTED; answer--)
        if (counts->of[answer])
            return (enum probe_answer)answer;
    if (counts->of[PROBE_OK])
        return PROBE_OK;
    if (counts->of[PROBE_UNSURE])
        return PROBE_UNSURE;
    return counts->of[PROBE_UNSUPPORTED] ? PROBE_UNSUPPORTED : PROBE_NONE;
}
