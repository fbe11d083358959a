/* Kinds of cases are drawn by what they found, and a source goes on from its snapshot as if it had never
 * ended. */
#include "guide/yield.h"

#include "campaign/fuzz_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 20000, CASES = 40 };

/* The share of the work that each kind gets, in parts of a hundred. */
static void draw_shares(const struct yield *yield, bool single, double shares[YIELD_KINDS])
{
    struct rng rng = rng_seed(7);
    struct yield made = {0};
    double all = 0;
    for (int i = 0; i < DRAWS; i++) {
        size_t kind = yield_choose(yield, single, &rng);
        yield_add_case(&made, kind, yield_blocks(kind, &rng));
    }
    for (size_t i = 0; i < YIELD_KINDS; i++)
        all += (double)made.cost[i];
    for (size_t i = 0; i < YIELD_KINDS; i++)
        shares[i] = 100 * (double)made.cost[i] / all;
}

static void what_found_most_is_drawn_most(void **state)
{
    (void)state;
    struct yield none = {0}, one = {{10000, 10000, 10000}, {0, 40, 0}};
    double shares[YIELD_KINDS];
    draw_shares(&none, true, shares);
    for (size_t i = 0; i < YIELD_KINDS; i++)
        assert_true(shares[i] > 30 && shares[i] < 37);
    draw_shares(&one, true, shares);
    assert_true(shares[1] > 85);
    assert_true(shares[0] > 4 && shares[2] > 4); /* what finds nothing now may find something later */
    draw_shares(&none, false, shares);
    assert_true(shares[0] == 0 && shares[1] > 45 && shares[2] > 45);
}

static void differences_add_up(void **state)
{
    (void)state;
    struct yield before = {{100, 20, 3}, {5, 0, 1}}, after = {{900, 20, 60}, {7, 0, 2}}, sum = before;
    struct str text;
    struct error err;
    str_init(&text);
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
        cmocka_unit_test(differences_add_up),
        cmocka_unit_test(a_snapshot_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
