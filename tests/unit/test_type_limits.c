/* Numbers beyond their type: the node that is named, and what an engine did about them. */
#include "scene.h"

#include "locate/type_limits.h"

#include <math.h>

enum { COUNT = 4 };

#define HALF "g (float[4] x) => (float[4] y) { h = Cast<to = 10>(x) "

static const struct {
    const char *text;
    float x[COUNT];
    const char *named; /* "": nothing is */
} cases[] = {
    {HALF "s = Mul(h, h) m = ReduceMean<axes = [0]>(s) r = Sqrt(m) n = Div(h, r) y = Cast<to = 1>(n) }",
     {300, -400, 20, 1},
     "Mul (node s) overflows float16: 2 of 4 elements, up to 160000 where the type ends at 65504"},
    /* All is within the type. */
    {HALF "s = Mul(h, h) r = Sqrt(s) n = Div(h, r) y = Cast<to = 1>(n) }", {3, -4, 20, 1}, ""},
    /* The mean overflows as well, and the first is named. */
    {HALF "s = Mul(h, h) m = ReduceMean<axes = [0]>(s) r = Sqrt(m) n = Div(h, r) y = Cast<to = 1>(n) }",
     {3000, -4000, 2000, 1000},
     "Mul (node s) overflows float16: 4 of 4 elements, up to 1.6e+07 where the type ends at 65504"},
    {HALF "s = Mul(h, h) r = Sqrt(s) n = Div(h, r) y = Cast<to = 1>(n) }",
     {1e-4F, -1e-4F, 1e-4F, 1},
     "Mul (node s) underflows float16: 3 of 4 elements, the largest of them 1e-08, become 0 where the type "
     "begins at 5.96e-08"},
    /* An overflow that does no harm in front of one that does. */
    {HALF "b = Mul(h, h) c = Sigmoid(b) s = Add(h, h) t = Add(s, s) d = Mul(c, t) y = Cast<to = 1>(d) }",
     {300, 30000, 2, 1},
     "Add (node t) overflows float16: 1 of 4 elements, up to 120000 where the type ends at 65504"},
    {"g (float[4] x) => (float[4] y) { h = Cast<to = 16>(x) s = Mul(h, h) r = Sqrt(s) n = Div(h, r)"
     "y = Cast<to = 1>(n) }",
     {0x1p100F, 1, -0x1p90F, 2},
     "Mul (node s) overflows bfloat16: 2 of 4 elements, up to 1.60694e+60 where the type ends at "
     "3.38953e+38"},
    {"g (float[4] x) => (float[4] y) <float a = {1}, int8 z = {0}>"
     "{ q = QuantizeLinear(x, a, z) y = DequantizeLinear(q, a, z) }",
     {1, 200, -300, 7},
     "QuantizeLinear (node q) overflows int8: 2 of 4 elements, up to 300 where the type ends at 127"},
};

static struct test_case *case_of(const char *text, const float *x)
{
    struct test_case *test = case_of_text(text, 0);
    for (size_t i = 0; i < COUNT; i++)
        tensor_set(&test->inputs[0].tensors[0], i, x[i]);
    return test;
}

static void the_first_node_that_matters_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_case *test = case_of(cases[i].text, cases[i].x);
        struct type_limit limit;
        struct error err = {0};
        struct str text;
        str_init(&text);
        if (type_limit_find(&limit, test, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        if (limit.kind)
            type_limit_text(&text, &limit, test_case_model(test, NULL));
        assert_string_equal(text.length ? text.data : "", cases[i].named);
        str_release(&text);
        test_case_free(test);
    }
}

/* Answers of engines to cases above. */
static const struct {
    size_t of;
    float y[COUNT];
    const char *word; /* NULL: it cannot be told */
} answers[] = {
    {0, {0, 0, 0, 0}, "gives infinity"},
    {0, {1.19904F, -1.59872F, 0.0799F, 0.004F}, "keeps them wide"},
    {0, {1.657F, -2.2096F, 0.11048F, 0.0055F}, "saturates them"},
    {0, {7, 8, 9, 10}, NULL},
    {3, {1, -1, 1, 1}, "keeps them wide"},
    {3, {INFINITY, -INFINITY, INFINITY, 1}, "gives 0"},
    {6, {1, 127, -128, 7}, "saturates them"},
    {6, {1, -56, -44, 7}, "wraps them"},
    {6, {1, 200, -300, 7}, "keeps them wide"},
};

static void what_an_engine_did_follows_from_its_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct test_case *test = case_of(cases[answers[i].of].text, cases[answers[i].of].x);
        struct type_limit limit;
        struct value y;
        struct tensor tensor;
        assert_int_equal(type_limit_find(&limit, test, NULL), 0);
        assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &(struct shape){.rank = 1, .dims = {COUNT}},
                                           answers[i].y, sizeof answers[i].y, NULL),
                         0);
        value_init(&y);
        value_set_tensor(&y, &tensor);
        const char *word = type_limit_word(&limit, type_limit_handling(&limit, test, &y, 1));
        if (answers[i].word && word)
            assert_string_equal(word, answers[i].word);
        else
            assert_true(word == answers[i].word);
        value_release(&y);
        test_case_free(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_node_that_matters_is_named),
        cmocka_unit_test(what_an_engine_did_follows_from_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
