/*
 * Classes of findings, and the node at which an answer becomes uncertain. The graphs are made so that it is
 * known by hand where digits are lost, which jump is near and what ONNX leaves open.
 */
#include "scene.h"

#include "locate/classify.h"

#include <math.h>

struct row {
    const char *graph;
    long double first; /* elements of inputs: first, first + 1 ... */
    enum uncertainty_kind kind;
    const char *text; /* of the result: how it begins */
};

static const struct row rows[] = {
    /* exp(log(x)) is x up to rounding; x is taken away again. The loss before it does no harm. */
    {"g (float[4] x) => (float[4] y) { l = Log(x) e = Exp(l) d = Sub(e, x) y = Neg(d) }", 3,
     UNCERTAIN_CANCELLATION, "Sub (node d) cancels "},
    /* A second sum that cancels exactly nothing, behind the one that matters. */
    {"g (float[4] x) => (float[4] y) { l = Log(x) e = Exp(l) d = Sub(e, x) r = Add(d, d) y = Mul(r, x) }", 3,
     UNCERTAIN_CANCELLATION, "Sub (node d) cancels "},
    /* What is lost in one branch is drowned by the other: nobody may be named for it. */
    {"g (float[4] x) => (float[4] y) { l = Log(x) e = Exp(l) d = Sub(e, x) y = Add(d, e) }", 3,
     UNCERTAIN_NOWHERE, "the rounding errors of its 4 nodes add up"},
    {"g (float[3] x) => (float[3] y) { l = Log(x) e = Exp(l) y = Floor(e) }", 3, UNCERTAIN_JUMP,
     "Floor (node y): its input "},
    {"g (float[3] x) => (bool[3] y) { l = Log(x) e = Exp(l) y = Greater(e, x) }", 3, UNCERTAIN_JUMP,
     "Greater (node y): the two values that it compares are equal, and rounding"},
    /* Three logits that are equal in real numbers. */
    {"g (float[3] x) => (int64[1] y) { l = Log(x) e = Exp(l) d = Div(e, x) y = ArgMax <axis = 0> (d) }", 3,
     UNCERTAIN_JUMP, "ArgMax (node y): the two largest elements are equal, and rounding"},
    {"g (float[2] x) => (float[2] y) { l = Log(x) e = Exp(l) p = Exp(e) y = Exp(p) }", 2.0L,
     UNCERTAIN_NOWHERE, "the rounding errors of its 4 nodes add up"},
    {"g (float[2] x) => (float[2] y) { i = Cast <to = 6> (x) y = Cast <to = 1> (i) }", 3e9L, UNCERTAIN_OPEN,
     "Cast (node i): ONNX leaves this result unspecified: a number that the integer type cannot hold"},
    /* The root of what may be negative is no gap in the ONNX text: it may be negative because digits went. */
    {"g (float[2] x) => (float[2] y) { l = Log(x) e = Exp(l) d = Sub(e, x) y = Sqrt(d) }", 3,
     UNCERTAIN_CANCELLATION, "Sub (node d) cancels "},
    {"g (float[2] x) => (float[2] y) { y = Neg(x) }", 3, UNCERTAIN_NOWHERE,
     "the reference's result is exact"},
};

static void names_the_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct test_case *test = case_of_text(rows[i].graph, rows[i].first);
        struct uncertainty found;
        struct error err = {0};
        if (uncertainty_find(&found, test, 0, UNCERTAIN_ANY, &err))
            fail_msg("%s: %s", rows[i].graph, err.message);
        if (found.kind != rows[i].kind || strncmp(found.text, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("%s: %d, %s", rows[i].graph, (int)found.kind, found.text);
        if (found.kind != UNCERTAIN_NOWHERE)
            assert_true(found.node < test_case_model(test, NULL)->graph->n_node);
        test_case_free(test);
    }
}

static void counts_digits(void **state)
{
    (void)state;
    struct test_case *test = case_of_text(rows[0].graph, 3);
    struct uncertainty found;
    assert_int_equal(uncertainty_find(&found, test, 0, 0, NULL), 0);
    assert_int_equal(found.node, 2);
    /* All of the six or seven digits of a float32. */
    assert_true(found.factor > 1e4 && found.factor < 1e8);
    test_case_free(test);
}

static void finds_ties(void **state)
{
    (void)state;
    struct uncertainty found;
    struct test_case *near = case_of_text(
        "g (float[3] x) => (float[3] y) { l = Log(x) e = Exp(l) d = Div(e, x) y = Softmax(d) }", 3);
    assert_int_equal(uncertainty_tie(&found, near, 0, NULL), 0);
    assert_int_equal(found.kind, UNCERTAIN_TIE);
    assert_int_equal(found.node, 3);
    struct test_case *far = case_of_text("g (float[3] x) => (float[3] y) { y = Softmax(x) }", 3);
    assert_int_equal(uncertainty_tie(&found, far, 0, NULL), 0);
    assert_int_equal(found.kind, UNCERTAIN_NOWHERE);
    assert_int_not_equal(uncertainty_tie(&found, far, 1, NULL), 0);
    test_case_free(near);
    test_case_free(far);
}

/* Every finding of the judge is an engine bug or listed apart, and no other verdict is an engine bug. */
static void follows_the_verdict(void **state)
{
    (void)state;
    for (int kind = 0; kind < VERDICT_COUNT; kind++) {
        struct verdict verdict = {.kind = (enum verdict_kind)kind};
        struct classification made;
        classify(&made, &verdict, NULL);
        bool apart = finding_class_row(made.class)->apart;
        assert_true(made.class == FINDING_BUG || apart || !verdict_is_finding(verdict.kind));
        assert_true(made.class != FINDING_BUG || verdict_is_finding(verdict.kind));
        assert_int_equal(made.class != FINDING_UNCLASSIFIED, *made.because != 0);
        assert_int_equal(made.class, classify_kind(verdict.kind));
    }
    struct verdict voted = {.kind = VERDICT_SUSPECT, .by_vote = true};
    assert_int_equal(classify_verdict(&voted), FINDING_UNKNOWN);
    struct verdict constant = {.kind = VERDICT_MISTRUSTED, .no_evidence = true};
    assert_int_equal(classify_verdict(&constant), FINDING_UNCLASSIFIED);
}

static void words_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_CLASS_COUNT; i++) {
        enum finding_class class = FINDING_CLASS_COUNT;
        assert_true(finding_class_parse(finding_class_row((enum finding_class)i)->word, &class));
        assert_int_equal(class, i);
        assert_true(*finding_class_row((enum finding_class)i)->sentence);
    }
    enum finding_class class;
    assert_false(finding_class_parse("bug", &class));
}

static void text_is(const struct answer_difference *difference, const char *expected)
{
    struct classification made;
    struct str text;
    str_init(&text);
    classify_difference(&made, difference);
    classification_text(&text, &made);
    if (strncmp(text.data, expected, strlen(expected)) != 0)
        fail_msg("%s", text.data);
    str_release(&text);
}

static void explains_two_engines(void **state)
{
    (void)state;
    struct verdict agrees = {.kind = VERDICT_AGREES}, wrong = {.kind = VERDICT_WRONG};
    struct verdict voted = {.kind = VERDICT_SUSPECT, .by_vote = true};
    struct test_case *cancels = case_of_text(rows[0].graph, 3), *open = case_of_text(rows[7].graph, 3e9L);
    struct answer_difference difference = {
        .a = &agrees, .b = &agrees, .name_a = "one", .name_b = "two", .test = cancels};
    text_is(&difference, "precision: Sub (node d) cancels ");
    difference.test = open;
    text_is(&difference, "difference: Cast (node i): ONNX leaves this result unspecified");
    difference.b = &wrong;
    text_is(&difference, "engine bug of two: the answer is outside its error bound");
    difference.a = &wrong;
    text_is(&difference, "engine bug of one and two: ");
    difference.a = difference.b = &voted;
    text_is(&difference, "unknown: there is no reference");
    test_case_free(cancels);
    test_case_free(open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_node),  cmocka_unit_test(counts_digits),
        cmocka_unit_test(finds_ties),      cmocka_unit_test(follows_the_verdict),
        cmocka_unit_test(words_come_back), cmocka_unit_test(explains_two_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
