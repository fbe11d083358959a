/* Kinds of cases are drawn by what they found, and a source goes on from its snapshot as if it had never
 * ended. */
#include "guide/yield.h"

#include "campaign/fuzz_source.h"
#include "ops/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 20000, CASES = 40 };

/* The share of the work that each kind gets, in parts of a hundred. */
static void draw_shares(const struct yield *yield, bool single, double shares[YIELD_KINDS])
{
    const bool allowed[YIELD_KINDS] = {single, true, true};
    struct rng rng = rng_seed(7);
    double all = 0, made[YIELD_KINDS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        size_t kind = yield_choose(yield, YIELD_KIND, allowed, &rng), blocks = yield_blocks(kind, &rng);
        double cost = 1 + (double)(blocks ? blocks : 1);
        made[kind] += cost;
        all += cost;
    }
    for (size_t i = 0; i < YIELD_KINDS; i++)
        shares[i] = 100 * made[i] / all;
}

static struct yield_choice single(size_t types, size_t operator)
{
    return (struct yield_choice){.arm = {[YIELD_TYPES] = types, [YIELD_OPERATOR] = operator} };
}

static void what_found_most_is_drawn_most(void **state)
{
    (void)state;
    static struct yield none, one;
    struct yield_choice small = {.arm = {KIND_SMALL}};
    double shares[YIELD_KINDS];
    for (size_t kind = 0; kind < YIELD_KINDS; kind++)
        for (int i = 0; i < 5000; i++)
            yield_add_case(&one, &(struct yield_choice){.arm = {kind}}, kind ? 1 : 0);
    for (int i = 0; i < 40; i++)
        yield_add_found(&one, &small);
    draw_shares(&none, true, shares);
    assert_true(shares[0] > shares[1] && shares[1] > shares[2] && shares[2] > 10); /* by past campaigns */
    draw_shares(&one, true, shares);
    assert_true(shares[1] > 80);
    assert_true(shares[0] > 4 && shares[2] > 4); /* what finds nothing now may find something later */
    draw_shares(&none, false, shares);
    assert_true(shares[0] == 0 && shares[1] > 45 && shares[2] > 15);
}

/* Ten findings of one operator say less of their types than ten of ten operators. */
static void forms_of_one_bug_say_less(void **state)
{
    (void)state;
    static struct yield one, many;
    const bool allowed[YIELD_TYPES_ARMS] = {true, true, true, true, true, true};
    struct rng rng = rng_seed(3);
    size_t drawn[2] = {0};
    for (size_t i = 0; i < 10; i++) {
        struct yield_choice same = single(TYPES_DOUBLE, 4), other = single(TYPES_DOUBLE, i);
        yield_add_found(&one, &same);
        yield_add_found(&many, &other);
    }
    for (int i = 0; i < DRAWS; i++) {
        drawn[0] += yield_choose(&one, YIELD_TYPES, allowed, &rng) == TYPES_DOUBLE;
        drawn[1] += yield_choose(&many, YIELD_TYPES, allowed, &rng) == TYPES_DOUBLE;
    }
    assert_true(drawn[0] > DRAWS / 6 && drawn[0] * 10 < drawn[1] * 9);
}

static void what_is_lacking_is_not_drawn(void **state)
{
    (void)state;
    static struct yield yield;
    struct yield_choice narrow = single(TYPES_NARROW, 9), usual = single(TYPES_USUAL, 9);
    yield_add_answer(&yield, &narrow, false);
    assert_true(yield_is_there(&yield, 9, YIELD_TYPES, TYPES_NARROW));
    yield_add_answer(&yield, &narrow, false);
    yield_add_answer(&yield, &usual, true);
    assert_false(yield_is_there(&yield, 9, YIELD_TYPES, TYPES_NARROW));
    assert_true(yield_is_there(&yield, 9, YIELD_OPSET, OPSETS_OLD)); /* one was taken */
    assert_true(yield_is_there(&yield, 8, YIELD_TYPES, TYPES_NARROW));
}

static void differences_add_up(void **state)
{
    (void)state;
    static struct yield before, after, sum;
    struct str text;
    struct error err;
    struct yield_choice a = single(TYPES_BYTES, 3), b = {.arm = {KIND_LARGE}};
    str_init(&text);
    yield_add_case(&before, &a, 0);
    yield_add_answer(&before, &a, true);
    after = sum = before;
    yield_add_case(&after, &b, 9);
    yield_add_found(&after, &b);
    yield_add_answer(&after, &(struct yield_choice){.arm = {[YIELD_OPERATOR] = YIELD_OPERATORS - 1}}, false);
    yield_add_answer(&after, &a, true);
    yield_write(&after, &before, &text);
    const char *at = text.data;
    assert_int_equal(yield_fold(&sum, &at, &err), 0);
    assert_int_equal(*at, '\0');
    assert_memory_equal(&sum, &after, sizeof sum);
    text.data[text.length - 1] = '\0';
    at = text.data;
    assert_int_equal(yield_fold(&sum, &at, &err), -1);
    assert_memory_equal(&sum, &after, sizeof sum);
    str_release(&text);
}

/* Whatever the table grows to, every operator has an arm; and shapes and constants are drawn as their words
 * say. */
static void arms_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_in_range(op_count(), 1, YIELD_OPERATORS);
    assert_int_equal(yield_arms(YIELD_SIZES), SIZES_COUNT);
    assert_int_equal(yield_arms(YIELD_OPERATOR), YIELD_OPERATORS);
    size_t empty = 0, constant = 0;
    for (int i = 0; i < 40; i++) {
        char recipe[100];
        struct test_case *test;
        struct error err;
        snprintf(recipe, sizeof recipe, "one seed=1 index=%d ops=Relu%s", i,
                 i % 2 ? " sizes=empty" : " constants=all");
        if (generate_recipe(recipe, &test, &err))
            fail_msg("%s", err.message);
        assert_string_equal(test->recipe, recipe);
        constant += i % 2 == 0 && test->n_inputs == 0;
        empty += i % 2 && test->inputs && test->inputs[0].tensors->count == 0;
        test_case_free(test);
    }
    assert_int_equal(constant, 20);
    assert_in_range(empty, 5, 16);
}

static void make_some(struct fuzz_source *source, uint64_t first, struct str *recipes)
{
    struct error err;
    for (uint64_t i = first; i < first + CASES; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, &err))
            fail_msg("%s", err.message);
        str_printf(recipes, "%s\n", test->recipe);
        if (i % 3 == 0)
            fuzz_source_reward(source, &origin);
        test_case_free(test);
    }
}

static void a_snapshot_goes_on(void **state)
{
    (void)state;
    struct fuzz_source_options options = {.seed = 5, .strategy = FUZZ_YIELD};
    struct fuzz_source *source, *again;
    struct str text, first, second;
    struct error err;
    str_init(&text);
    str_init(&first);
    str_init(&second);
    assert_int_equal(fuzz_source_new(&source, &options, &err), 0);
    assert_int_equal(fuzz_source_new(&again, &options, &err), 0);
    make_some(source, 0, &first);
    fuzz_source_write(source, &text);
    assert_int_equal(fuzz_source_read(again, text.data, &err), 0);
    str_clear(&first);
    make_some(source, CASES, &first);
    make_some(again, CASES, &second);
    assert_string_equal(first.data, second.data);
    str_release(&text);
    str_release(&first);
    str_release(&second);
    fuzz_source_free(source);
    fuzz_source_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_found_most_is_drawn_most),
        cmocka_unit_test(forms_of_one_bug_say_less),
        cmocka_unit_test(what_is_lacking_is_not_drawn),
        cmocka_unit_test(arms_are_those_of_the_tables),
        cmocka_unit_test(differences_add_up),
        cmocka_unit_test(a_snapshot_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
