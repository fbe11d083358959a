#include "report/causes_answer.h"

#include "base/memory.h"
#include "judge/verdict.h"
#include "report/answer.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 6, TITLE = 200 }; /* engines that are named, of more; bytes of a title */

static bool is_known(const struct finding_cause *cause)
{
    return cause->lead->stored.state == STATE_KNOWN;
}

/* Bytes of an engine's label without its knobs. */
static size_t name_length(const char *label)
{
    return strcspn(label, ":");
}

static bool same_engine(const char *a, const char *b)
{
    return name_length(a) == name_length(b) && memcmp(a, b, name_length(a)) == 0;
}

/* How many causes that count there are from number `from` on whose engine is that of this one; 0: one before
 * has it, or this one does not count. */
static size_t count_engine(const struct finding_causes *causes, size_t from)
{
    const char *label = causes->items[from].lead->stored.engine;
    size_t count = 0;
    for (size_t i = 0; i < causes->count && !cause_is_apart(&causes->items[from]); i++) {
        if (cause_is_apart(&causes->items[i]) || !same_engine(causes->items[i].lead->stored.engine, label))
            continue;
        if (i < from)
            return 0;
        count++;
    }
    return count;
}

static void add_engine(struct str *out, const char *label)
{
    char *name = memory_strdup(label);
    name[name_length(name)] = '\0';
    text_print(out, name, 100);
    free(name);
}

/* " on opencv@4.10.0", or ", 12 on opencv@4.10.0 and 3 on torch@2.6.0". */
static void add_engines(struct str *out, const struct finding_causes *causes)
{
    size_t engines = 0, said = 0;
    for (size_t i = 0; i < causes->count; i++)
        engines += count_engine(causes, i) > 0;
    for (size_t i = 0; i < causes->count && said < NAMED; i++) {
        size_t count = count_engine(causes, i);
        if (!count)
            continue;
        said++;
        if (engines > 1) {
            str_add(out, said > 1 && said == engines ? " and " : ", ");
            answer_add_count(out, count);
        }
        str_add(out, " on ");
        add_engine(out, causes->items[i].lead->stored.engine);
    }
    if (engines > said)
        str_printf(out, " and the others on %zu more", engines - said);
}

static void add_known(struct str *out, const struct finding_causes *causes, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < causes->count; i++)
        known += is_known(&causes->items[i]) && !cause_is_apart(&causes->items[i]);
    if (count == 1)
        str_add(out, known ? "; it is a known issue" : "; it is not a known issue");
    else if (!known)
        str_add(out, "; none of them is a known issue");
    else if (known == count)
        str_add(out, "; all of them are known issues");
    else
        str_printf(out, "; %zu of them %s", known, known == 1 ? "is a known issue" : "are known issues");
}

/* The lower, the sooner it should be looked at: nobody notices a wrong answer. */
static int urgency(const struct stored *stored)
{
    enum verdict_kind kind;
    if (!verdict_parse(stored->kind, &kind))
        return 3;
    return verdict_is(kind, CLASS_WRONG_ANSWER | CLASS_UNSTABLE) ? 0 : verdict_is(kind, CLASS_DEATH) ? 1 : 2;
}

static int compare_causes(const void *a, const void *b)
{
    const struct finding_cause *x = *(const struct finding_cause *const *)a;
    const struct finding_cause *y = *(const struct finding_cause *const *)b;
    const struct stored *one = &x->lead->stored, *other = &y->lead->stored;
    if (cause_is_apart(x) != cause_is_apart(y))
        return cause_is_apart(x) ? 1 : -1;
    if (is_known(x) != is_known(y))
        return is_known(x) ? 1 : -1;
    if (urgency(one) != urgency(other))
        return urgency(one) < urgency(other) ? -1 : 1;
    if (one->nodes != other->nodes)
        return one->nodes < other->nodes ? -1 : 1;
    if (x->seen != y->seen)
        return x->seen > y->seen ? -1 : 1;
    return x < y ? -1 : x > y; /* as they were found */
}

const struct finding_cause **causes_sorted(const struct finding_causes *causes)
{
    const struct finding_cause **sorted = memory_zeroed(causes->count + 1, sizeof *sorted);
    for (size_t i = 0; i < causes->count; i++)
        sorted[i] = &causes->items[i];
    qsort(sorted, causes->count, sizeof *sorted, compare_causes);
    return sorted;
}

static void add_first(struct str *out, const struct finding_causes *causes, const char *between)
{
    const struct finding_cause **sorted = causes_sorted(causes);
    const struct finding_cause *first =
        causes->count && !is_known(sorted[0]) && !cause_is_apart(sorted[0]) ? sorted[0] : NULL;
    free(sorted);
    if (!first)
        return;
    str_printf(out, "%sLook first at ", between);
    text_print(out, first->lead->stored.name, 0);
    str_add(out, ": ");
    text_print(out, first->lead->stored.title, TITLE);
    str_add(out, " (");
    text_print(out, first->lead->stored.engine, 100);
    str_add(out, ").");
}

static void add_evidence(struct str *out, const struct finding_causes *causes, const char *folder)
{
    size_t open = 0;
    int64_t seen = 0;
    for (size_t i = 0; i < causes->count; i++) {
        seen += causes->items[i].seen;
        for (const struct cause_variant *one = causes->items[i].first; one; one = one->next)
            open += one->stored.state != STATE_BUNDLED && one->stored.state != STATE_KNOWN;
    }
    str_add(out, "Evidence: ");
    answer_add_count(out, causes->n_findings);
    str_add(out, causes->n_findings == 1 ? " finding, seen " : " findings, seen ");
    answer_add_count(out, seen > 0 ? (size_t)seen : 0);
    str_add(out, seen == 1 ? " time" : " times");
    if (open) {
        str_add(out, "; ");
        answer_add_count(out, open);
        str_printf(out, " %s not reduced, so that some may have a cause in common: 'assay report ",
                   open == 1 ? "is" : "are");
        text_print(out, folder, 0);
        str_add(out, "' reduces them");
    }
    str_add(out, ".");
}

void causes_answer(struct str *out, const struct finding_causes *causes, bool some, const char *folder,
                   const char *between)
{
    if (!causes->count) {
        str_add(out, some ? "The campaign has no such finding." : "The campaign has no findings.");
        return;
    }
    size_t apart = 0;
    for (size_t i = 0; i < causes->count; i++)
        apart += cause_is_apart(&causes->items[i]);
    size_t count = causes->count - apart;
    str_add(out, some ? "What was asked for has " : "The campaign found ");
    answer_add_count(out, count);
    str_add(out, count == 1 ? " cause of failure" : " causes of failure");
    add_engines(out, causes);
    if (count)
        add_known(out, causes, count);
    if (apart) {
        str_add(out, "; apart from that, ");
        answer_add_count(out, apart);
        str_add(out, apart == 1 ? " that is no finding" : " that are no findings");
    }
    str_add(out, ".");
    add_first(out, causes, between);
    str_add(out, between);
    add_evidence(out, causes, folder);
}
