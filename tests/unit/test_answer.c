/* The answer in words: never more is claimed than was judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/answer.h"
#include "report/causes_answer.h"

#include <math.h>

static void expect(const struct answer *answer, const char *text)
{
    struct str out;
    str_init(&out);
    answer_add(&out, answer, " ");
    assert_string_equal(out.data, text);
    str_release(&out);
}

static struct answer about(const struct answer_part *parts, size_t count)
{
    return (struct answer){.what = "m.onnx",
                           .count = count,
                           .parts = parts,
                           .evidence = "20 random samples of 1 x 3 x 32 x 32",
                           .unit = "output value"};
}

static struct node_evidence judged_nodes[] = {
    {.operator= "Conv", .name = "c", .judged = 20, .error = 1e-7, .visible = 1e-5},
    {.operator= "Softmax", .name = "sm", .judged = 20, .error = 2e-7, .visible = 2e-4},
};

/* Two operators, on 20 samples; `complete` of them have both judged. */
static struct operator_evidence evidence_of(size_t complete)
{
    return (struct operator_evidence){
        .samples = 20, .complete = complete, .most = complete ? 2 : 1, .n_nodes = 2, .nodes = judged_nodes};
}

static void sentence_of_the_example(void **state)
{
    (void)state;
    const struct operator_evidence evidence = evidence_of(20);
    const struct answer_part parts[] = {
        {.engine = "opencv", .kind = VERDICT_REJECTED, .where = "Gemm fc", .alike = 20, .all = 20},
        {.engine = "onnxruntime@1.30.0",
         .kind = VERDICT_AGREES,
         .alike = 20,
         .all = 20,
         .elements = 2240,
         .judged = 2240,
         .error = 1.2e-7,
         .visible = 1e-6,
         .evidence = &evidence},
        {.engine = "torch",
         .kind = VERDICT_AGREES,
         .alike = 20,
         .all = 20,
         .elements = 2240,
         .judged = 2240,
         .error = 1e-8,
         .visible = 3e-6,
         .evidence = &evidence},
    };
    struct answer answer = about(parts, 3);
    expect(&answer,
           "m.onnx is computed correctly by onnxruntime@1.30.0 and torch: every operator checked on 20 "
           "samples; opencv refuses it at Gemm fc. Evidence: 20 random samples of 1 x 3 x 32 x 32, 2,240 "
           "output values, all judged, largest error 1.2e-07 of the largest value; an error above 3e-06 "
           "would have been seen in the outputs, above 0.0002 in any operator (weakest: Softmax sm).");
}

/* Correct is said only where each operator was judged; how many samples stand behind that is said too. */
static void strength_of_the_evidence(void **state)
{
    (void)state;
    struct operator_evidence evidence = evidence_of(20);
    struct answer_part part = {.engine = "a",
                               .kind = VERDICT_AGREES,
                               .alike = 1000,
                               .all = 1000,
                               .elements = 10,
                               .judged = 10,
                               .evidence = &evidence};
    struct answer answer = about(&part, 1);
    answer.samples = 1000;
    expect(&answer, "m.onnx is computed correctly by a: outputs agree on 1,000 samples; every operator "
                    "checked on 20 of them, spread evenly and where outputs differ most. Evidence: 20 random "
                    "samples of 1 x 3 x 32 x 32, 10 output values, all judged, without any error; any error "
                    "would have been seen in the outputs, above 0.0002 in any operator (weakest: Softmax "
                    "sm).");
    answer.evidence = NULL;
    part.alike = part.all = 30;
    expect(&answer, "m.onnx is computed correctly by a: outputs agree on 30 of 1,000 samples; every operator "
                    "checked on 20 of them, spread evenly and where outputs differ most.");
    evidence = evidence_of(0);
    expect(&answer, "m.onnx is answered within its error bounds by a; 1 of 2 operators checked.");
    evidence = (struct operator_evidence){.failed = 1, .failure = "why"};
    expect(&answer, "m.onnx is answered within its error bounds by a; its operators could not be checked.");
    evidence = evidence_of(1);
    part.alike = part.all = answer.samples = 1;
    answer.idle = "If i: its else branch was not taken";
    answer.borrowed = "a borrows Softmax sm";
    expect(&answer, "m.onnx is computed correctly by a: every operator checked on 1 sample. Computed by the "
                    "reference and not checked: a borrows Softmax sm. Not exercised: If i: its else branch "
                    "was not taken.");
}

static void nodes_to_blame(void **state)
{
    (void)state;
    const char *operators[] = {"Relu", "Conv", "Add"}, *nodes[] = {"r", "c", "a"};
    const struct {
        size_t count;
        bool behind;
        const char *text;
    } rows[] = {
        {1, false, "Relu r"},
        {3, false, "Relu r, Conv c and Add a together"},
        {2, true, "Relu r, only behind Conv c"},
        {3, true, "Relu r, only behind Conv c and Add a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str out;
        str_init(&out);
        answer_add_nodes(&out, operators, nodes, rows[i].count, rows[i].behind);
        assert_string_equal(out.data, rows[i].text);
        str_release(&out);
    }
}

static struct cause_variant variant(const char *name, const char *kind, const char *engine, int64_t nodes,
                                    enum finding_state state)
{
    return (struct cause_variant){.stored = {.name = name,
                                             .kind = kind,
                                             .class = "engine bug",
                                             .title = "A title",
                                             .engine = engine,
                                             .nodes = nodes,
                                             .state = state}};
}

static void expect_causes(struct finding_cause *items, size_t count, size_t n_findings, bool some,
                          const char *text)
{
    struct finding_causes causes = {.count = count, .items = items, .n_findings = n_findings};
    struct str out;
    str_init(&out);
    causes_answer(&out, &causes, some, "campaign", " ");
    assert_string_equal(out.data, text);
    str_release(&out);
}

/* What is known is never looked at first, nor is a refusal where an answer is wrong. */
static void causes_of_a_campaign(void **state)
{
    (void)state;
    struct cause_variant one[] = {
        variant("wrong-known", "wrong", "opencv@4.10.0", 1, STATE_KNOWN),
        variant("refused-gemm", "rejected", "opencv@4.10.0", 1, STATE_BUNDLED),
        variant("wrong-large", "wrong", "torch@2.6.0:threads=2", 4, STATE_NEW),
        variant("wrong-small", "wrong", "torch@2.6.0:threads=1", 2, STATE_BUNDLED),
    };
    struct finding_cause items[4];
    for (size_t i = 0; i < 4; i++)
        items[i] = (struct finding_cause){
            .count = 1, .seen = 500, .first = &one[i], .last = &one[i], .lead = &one[i]};
    expect_causes(items, 0, 0, false, "The campaign has no findings.");
    expect_causes(items, 0, 0, true, "The campaign has no such finding.");
    expect_causes(
        items, 1, 1, true,
        "What was asked for has 1 cause of failure on opencv@4.10.0; it is a known issue. Evidence: "
        "1 finding, seen 500 times.");
    expect_causes(items, 2, 2, false,
                  "The campaign found 2 causes of failure on opencv@4.10.0; 1 of them is a known issue. Look "
                  "first at refused-gemm: A title (opencv@4.10.0). Evidence: 2 findings, seen 1,000 times.");
    expect_causes(
        items, 4, 4, false,
        "The campaign found 4 causes of failure, 2 on opencv@4.10.0 and 2 on torch@2.6.0; 1 of them "
        "is a known issue. Look first at wrong-small: A title (torch@2.6.0:threads=1). Evidence: 4 "
        "findings, seen 2,000 times; 1 is not reduced, so that some may have a cause in common: "
        "'assay report campaign' reduces them.");
}

static void failures_alone(void **state)
{
    (void)state;
    const struct answer_part parts[] = {
        {.engine = "a",
         .kind = VERDICT_WRONG,
         .where = "Resize y",
         .alike = 3,
         .all = 20,
         .elements = 40,
         .judged = 40,
         .error = INFINITY},
        {.engine = "b", .kind = VERDICT_SHAPE, .where = "Resize y", .alike = 3, .all = 20, .elements = 40},
        {.engine = "c", .kind = VERDICT_CRASH, .known = true, .alike = 20, .all = 20},
        {.engine = "d", .kind = VERDICT_NO_ENGINE},
    };
    struct answer answer = about(parts, 4);
    expect(&answer,
           "a and b are wrong on m.onnx at Resize y in 3 of 20 samples; c crashes on it, a known issue; d "
           "did not start for it. Evidence: 20 random samples of 1 x 3 x 32 x 32, 40 output values, all "
           "judged.");
}

/* An all clear without a judged value is none. */
static void nothing_judged(void **state)
{
    (void)state;
    const struct answer_part none[] = {{.engine = "a", .kind = VERDICT_AGREES, .alike = 1, .all = 1}};
    const struct answer_part all[] = {
        {.engine = "a", .kind = VERDICT_AGREES, .alike = 1, .all = 1, .elements = 4}};
    const struct answer_part vote[] = {{.engine = "a",
                                        .kind = VERDICT_AGREES,
                                        .by_vote = true,
                                        .alike = 1,
                                        .all = 1,
                                        .elements = 4,
                                        .judged = 4},
                                       {.engine = "b",
                                        .kind = VERDICT_AGREES,
                                        .by_vote = true,
                                        .alike = 1,
                                        .all = 1,
                                        .elements = 4,
                                        .judged = 4}};
    struct answer answer = about(none, 1);
    expect(&answer,
           "m.onnx is answered, with nothing to be judged, by a. Evidence: 20 random samples of 1 x 3 x 32 x "
           "32, no output value judged.");
    answer = about(all, 1);
    answer.unjudged = "NaN at sample 3 of x.npz, x[3,17], reaches 4 of 4 output values through Softmax s";
    expect(&answer,
           "m.onnx is answered, with nothing to be judged, by a. Evidence: 20 random samples of 1 x 3 x 32 x "
           "32, 4 output values, none judged. Not judged: NaN at sample 3 of x.npz, x[3,17], reaches 4 of 4 "
           "output values "
           "through Softmax s.");
    answer = about(vote, 2);
    answer.without = "the reference: it lacks the operator Foo";
    expect(
        &answer,
        "m.onnx is computed alike by a and b, which does not show that they are right. Evidence: 20 random "
        "samples of 1 x 3 x 32 x 32, 4 output values, all judged. Not judged by the reference: it lacks "
        "the operator Foo.");
}

static void partly_judged(void **state)
{
    (void)state;
    const struct standing standing = {.troubles = 2, .reason = "b gave no answer"};
    const struct answer_part parts[] = {
        {.engine = "a", .kind = VERDICT_AGREES, .alike = 2, .all = 2, .elements = 60, .judged = 4},
        {.engine = "b", .kind = VERDICT_AGREES, .alike = 1, .all = 2, .elements = 60, .by_operator = 60}};
    struct answer answer = about(parts, 1);
    answer.standing = &standing;
    expect(
        &answer,
        "m.onnx is computed correctly by a, as far as could be judged. Evidence: 20 random samples of 1 x 3 "
        "x "
        "32 x 32, 60 output values, 4 judged, without any error; any error would have been seen in the "
        "outputs. Not judged: 56 of 60 output values; why is not known. Not everything was judged: b gave no "
        "answer (and 1 more such).");
    answer = about(parts + 1, 1);
    expect(&answer, "m.onnx is computed correctly by b in 1 of 2 samples. Evidence: 20 random samples of 1 x "
                    "3 x 32 x 32, "
                    "60 output values. The whole output has no useful error bound, so each operator was "
                    "checked; all are right.");
}

static void cases_and_runs(void **state)
{
    (void)state;
    const struct answer_part parts[] = {{.engine = "a", .kind = VERDICT_AGREES, .alike = 12, .all = 12},
                                        {.engine = "b", .kind = VERDICT_AGREES, .alike = 9, .all = 12},
                                        {.engine = "b", .kind = VERDICT_NAN, .alike = 3, .all = 12}};
    struct answer answer = {
        .what = "the 12 cases", .plural = true, .counted = true, .count = 3, .parts = parts};
    expect(
        &answer,
        "The 12 cases are computed correctly by a; 9 of them are computed correctly by b; b is wrong on 3 of "
        "them.");
    answer = (struct answer){
        .what = "m.onnx", .unjudging = true, .count = 2, .parts = parts, .evidence = "1 sample"};
    expect(&answer, "m.onnx is answered by a; it is answered by b in 9 of 12 samples. Evidence: 1 sample.");
}

/* Many engines are not all named, and each verdict has its words for one engine and for several. */
static void words(void **state)
{
    (void)state;
    struct answer_part parts[9] = {0};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    for (size_t i = 0; i < 9; i++)
        parts[i] = (struct answer_part){.engine = names[i], .kind = VERDICT_HANG};
    struct answer answer = about(parts, 9);
    answer.evidence = NULL;
    expect(&answer, "a, b, c, d, e, f and 3 more hang on m.onnx.");
    for (int i = 0; i < VERDICT_COUNT; i++)
        for (int k = 0; k < 2; k++)
            assert_non_null(verdict_row((enum verdict_kind)i)->says[k]);
    struct str text;
    str_init(&text);
    answer_add_count(&text, 1234567);
    assert_string_equal(text.data, "1,234,567");
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentence_of_the_example),
        cmocka_unit_test(strength_of_the_evidence),
        cmocka_unit_test(nodes_to_blame),
        cmocka_unit_test(causes_of_a_campaign),
        cmocka_unit_test(failures_alone),
        cmocka_unit_test(nothing_judged),
        cmocka_unit_test(partly_judged),
        cmocka_unit_test(cases_and_runs),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
