#include "locate/classify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct finding_class_row rows[FINDING_CLASS_COUNT] = {
    [FINDING_UNCLASSIFIED] = {.word = "none", .sentence = "there is nothing to explain"},
    [FINDING_BUG] = {.word = "engine bug",
                     .sentence = "the answer is outside its error bound, has a wrong form, or is missing"},
    [FINDING_DIFFERENCE] = {.word = "difference",
                            .sentence =
                                "ONNX leaves the result unspecified, or engines follow another convention"},
    [FINDING_PRECISION] = {.word = "precision",
                           .sentence = "every answer is inside all error bounds, and rounding explains it"},
    [FINDING_UNKNOWN] = {.word = "unknown", .sentence = "there is no reference that could tell"},
    [FINDING_LIMITATION] = {.word = "limitation",
                            .sentence =
                                "the engine says that it does not take this form, and takes it nowhere",
                            .apart = true},
    [FINDING_LENIENT] = {.word = "lenient",
                         .sentence = "the engine answers a model that ONNX forbids",
                         .apart = true},
    [FINDING_UNSAID] = {.word = "unsaid",
                        .sentence = "the answer is right by one reading of what the ONNX text does not say",
                        .apart = true},
};

/* What the classes of verdicts mean: whose matter it is, and why in a sentence. */
static const struct {
    unsigned verdicts;
    enum finding_class class;
    const char *because;
} meanings[] = {
    {.verdicts = CLASS_NUMBERS,
     .class = FINDING_BUG,
     .because = "the answer is outside its error bound, so that no rounding explains it"},
    {.verdicts = CLASS_FORM, .class = FINDING_BUG, .because = "the answer has a wrong form"},
    {.verdicts = CLASS_LIMITED,
     .class = FINDING_LIMITATION,
     .because = "it takes this form of the operator in no case that was tried, and others it takes"},
    {.verdicts = CLASS_NO_ANSWER, .class = FINDING_BUG, .because = "there is no answer to a valid case"},
    {.verdicts = CLASS_LENIENT, .class = FINDING_LENIENT, .because = "it answers a model that ONNX forbids"},
    {.verdicts = CLASS_UNSAID,
     .class = FINDING_UNSAID,
     .because = "the answer is right where a NaN is left out of the greatest or least of elements, and ONNX "
                "does not say what becomes of one"},
    {.verdicts = CLASS_UNSTABLE,
     .class = FINDING_BUG,
     .because = "the same case, or an equivalent one, gets another answer"},
    {.verdicts = CLASS_OPEN, .class = FINDING_DIFFERENCE, .because = "ONNX leaves this result unspecified"},
    {.verdicts = CLASS_DOUBT,
     .class = FINDING_DIFFERENCE,
     .because = "the engines agree on another convention than the reference's"},
    {.verdicts = CLASS_UNDECIDED | CLASS_IMPRECISE,
     .class = FINDING_PRECISION,
     .because = "every operator that was judged is inside its error bound"},
    {.verdicts = CLASS_LOSSY,
     .class = FINDING_PRECISION,
     .because = "the tool stores numbers in types that hold no more, and computes with them what it should"},
    {.verdicts = CLASS_SUSPECT,
     .class = FINDING_UNKNOWN,
     .because = "it was not settled which operator is at fault"},
};

const struct finding_class_row *finding_class_row(enum finding_class class)
{
    return &rows[(unsigned)class < FINDING_CLASS_COUNT ? class : FINDING_UNCLASSIFIED];
}

bool finding_class_parse(const char *word, enum finding_class *class)
{
    for (int i = 0; i < FINDING_CLASS_COUNT; i++)
        if (strcmp(rows[i].word, word) == 0) {
            *class = (enum finding_class)i;
            return true;
        }
    return false;
}

static const char *why(enum verdict_kind kind, enum finding_class *class)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (verdict_is(kind, meanings[i].verdicts)) {
            *class = meanings[i].class;
            return meanings[i].because;
        }
    *class = FINDING_UNCLASSIFIED;
    return "";
}

enum finding_class classify_kind(enum verdict_kind kind)
{
    enum finding_class class;
    why(kind, &class);
    return class;
}

enum finding_class classify_verdict(const struct verdict *verdict)
{
    bool answered = verdict_is(verdict->kind, CLASS_UNDECIDED | CLASS_DEVIATES);
    if (verdict->no_evidence)
        return FINDING_UNCLASSIFIED;
    return verdict->by_vote && answered ? FINDING_UNKNOWN : classify_kind(verdict->kind);
}

/* Types that the numbers of a network may exceed; float32 is wide enough. */
enum { limited_types = 1 << DTYPE_FLOAT16 | 1 << DTYPE_BFLOAT16 | 1 << DTYPE_INT8 | 1 << DTYPE_UINT8 };

static void because(struct classification *made, const char *text)
{
    snprintf(made->because, sizeof made->because, "%s", text);
}

/* Adds the node that the search found. What ONNX leaves open is a difference, whatever the verdict says of
 * other elements. */
static void add_place(struct classification *made, const struct uncertainty *found)
{
    made->node = found->node;
    made->limit = found->limit;
    because(made, found->text);
    if (found->kind == UNCERTAIN_OPEN)
        made->class = FINDING_DIFFERENCE;
}

static void find_place(struct classification *made, const struct verdict *verdict,
                       const struct test_case *test)
{
    struct uncertainty found;
    struct error err = {0};
    bool whole = verdict_is(verdict->kind, CLASS_UNDECIDED | CLASS_OPEN);
    size_t element = whole ? UNCERTAIN_ANY : verdict->element;
    int status = verdict_is(verdict->kind, CLASS_OPEN)
                     ? uncertainty_open(&found, test, &err)
                     : uncertainty_find(&found, test, verdict->output, element, &err);
    if (!status && (found.kind || !verdict_is(verdict->kind, CLASS_OPEN)))
        add_place(made, &found);
}

void classify(struct classification *classification, const struct verdict *verdict,
              const struct test_case *test)
{
    enum finding_class class = classify_verdict(verdict), by_kind;
    const char *text = why(verdict->kind, &by_kind);
    if (class == FINDING_UNKNOWN && verdict->by_vote)
        text = "there is no reference that could tell";
    else if (verdict_is(verdict->kind, CLASS_DEATH) && verdict->invalid)
        text = "it should refuse this case, which is not valid";
    else if (class == FINDING_DIFFERENCE && verdict->invalid)
        text = "the case is not valid, and ONNX does not say what happens then";
    else if (verdict_is(verdict->kind, CLASS_DOUBT) && *verdict->text)
        text = verdict->text; /* it says which convention or formula explains the answer */
    *classification = (struct classification){.class = class, .node = SIZE_MAX};
    because(classification, class ? text : "");
    bool uncertain = verdict_is(verdict->kind, CLASS_UNDECIDED | CLASS_IMPRECISE | CLASS_OPEN);
    if (test && uncertain && !verdict->by_vote && !verdict->invalid)
        find_place(classification, verdict, test);
}

/* Whether the number is the end of a type, or beyond all. */
static bool is_end(long double value)
{
    if (isinf(value))
        return true;
    for (int type = 0; type < DTYPE_COUNT; type++) {
        bool small = dtype_in((enum dtype)type, limited_types);
        if (small && (value == dtype_highest((enum dtype)type) || value == dtype_lowest((enum dtype)type)))
            return true;
    }
    return false;
}

void classify_finding_limit(struct classification *classification, const struct verdict *verdict,
                            const struct test_case *test)
{
    bool ends = is_end(verdict->expected) || is_end(verdict->got);
    if (verdict_is(verdict->kind, CLASS_WRONG_ANSWER) && verdict->wrong && ends)
        type_limit_find(&classification->limit, test, NULL);
}

void classify_handling(struct classification *classification, const struct test_case *test,
                       const struct value *outputs, size_t count)
{
    const struct type_limit *limit = &classification->limit;
    const char *word =
        limit->kind ? type_limit_word(limit, type_limit_handling(limit, test, outputs, count)) : NULL;
    if (!word)
        return;
    snprintf(classification->handling, sizeof classification->handling, "the engine %s", word);
    size_t used = strlen(classification->because);
    if (classification->class != FINDING_BUG)
        snprintf(classification->because + used, sizeof classification->because - used, "; %s",
                 classification->handling);
}

void classification_limit(struct str *out, const struct classification *classification,
                          const struct model *model)
{
    if (!classification->limit.kind)
        return;
    type_limit_text(out, &classification->limit, model);
    if (*classification->handling)
        str_printf(out, "; %s", classification->handling);
}

/* Whose answer is a finding: "A", "B" or "A and B". */
static bool blame(struct classification *made, const struct answer_difference *difference)
{
    bool a = classify_verdict(difference->a) == FINDING_BUG;
    bool b = classify_verdict(difference->b) == FINDING_BUG;
    if (!a && !b)
        return false;
    enum finding_class class;
    made->class = FINDING_BUG;
    snprintf(made->whose, sizeof made->whose, "%.90s%s%.90s", a ? difference->name_a : "",
             a && b ? " and " : "", b ? difference->name_b : "");
    because(made, why((a ? difference->a : difference->b)->kind, &class));
    return true;
}

/* Whether the case was judged without the reference on either side, or not at all. */
static const char *unjudged(const struct answer_difference *difference)
{
    const struct verdict *both[] = {difference->a, difference->b};
    for (int i = 0; i < 2; i++) {
        if (both[i]->by_vote)
            return "there is no reference that could tell";
        if (verdict_is(both[i]->kind, CLASS_NOTHING | CLASS_LACK | CLASS_TROUBLE | CLASS_SUSPECT))
            return "the answers to this sample were not both judged";
    }
    return NULL;
}

void classify_difference(struct classification *classification, const struct answer_difference *difference)
{
    struct uncertainty found;
    struct error err = {0};
    const char *text = unjudged(difference);
    *classification = (struct classification){.node = SIZE_MAX};
    if (blame(classification, difference))
        return;
    classification->class = text ? FINDING_UNKNOWN : FINDING_PRECISION;
    because(classification, text ? text : "both answers are inside their error bounds");
    if (text)
        return;
    if (difference->by_rank && !uncertainty_tie(&found, difference->test, 0, &err) && found.kind) {
        add_place(classification, &found);
        return;
    }
    const struct verdict *both[] = {difference->a, difference->b};
    for (int i = 0; i < 2; i++)
        if (verdict_is(both[i]->kind, CLASS_DOUBT) && !both[i]->no_evidence) {
            classify(classification, both[i], NULL);
            return;
        }
    if (!uncertainty_find(&found, difference->test, difference->output, difference->element, &err))
        add_place(classification, &found);
}

void classification_text(struct str *out, const struct classification *classification)
{
    if (classification->class == FINDING_UNCLASSIFIED)
        return;
    str_add(out, finding_class_row(classification->class)->word);
    if (*classification->whose)
        str_printf(out, " of %s", classification->whose);
    if (*classification->because)
        str_printf(out, ": %s", classification->because);
}
