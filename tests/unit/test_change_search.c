/* The searches of bisect against made-up truths: windows of releases, and smallest sets. */
#include "base/random.h"
#include "base/ddmin.h"
#include "releases/change_search.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

enum { MOST = 64 };

struct truth {
    size_t n;
    uint64_t states[MOST];
    size_t looks;
    bool seen[MOST];
};

static int look(void *context, const size_t *places, size_t count, uint64_t *states)
{
    struct truth *truth = context;
    for (size_t i = 0; i < count; i++) {
        assert_true(places[i] < truth->n);
        assert_false(truth->seen[places[i]]); /* nothing is run twice */
        truth->seen[places[i]] = true;
        states[places[i]] = truth->states[places[i]];
        truth->looks++;
    }
    return 0;
}

static size_t search(const char *text, size_t step, bool exact)
{
    struct truth truth = {.n = strlen(text)};
    uint64_t states[MOST] = {0};
    bool looked[MOST] = {false};
    for (size_t i = 0; i < truth.n; i++)
        truth.states[i] = (uint64_t)text[i];
    assert_int_equal(change_search(states, looked, truth.n, step, look, &truth), 0);
    if (exact)
        assert_memory_equal(states, truth.states, truth.n * sizeof *states);
    assert_memory_equal(looked, truth.seen, truth.n);
    return truth.looks;
}

static void test_one_change(void **state)
{
    (void)state;
    assert_int_equal(search("aaaaaaaaaaaaaaaaaaaaaaaaa", 2, true), 13);
    assert_int_equal(search("aaaaaaabbbbbbbbbbbbbbbbbb", 2, true), 14);
    /* A wide grid bisects what differs. */
    assert_true(search("aaaaaaabbbbbbbbbbbbbbbbbb", 24, true) <= 7);
    assert_int_equal(search("", 2, true), 0);
    assert_int_equal(search("a", 2, true), 1);
    assert_int_equal(search("ab", 2, true), 2);
    assert_int_equal(search("ab", 9, true), 2);
}

static void test_several_windows(void **state)
{
    (void)state;
    search("aaabbaaaabbaaaccaaaadddbb", 2, true);
    search("aabbaabbaabbaabbaabbaabbaa", 2, true);
    search("nnnnnnlooooooooowwwwwoooo", 2, true); /* a single one at a change */
    search("aaabaaaa", 1, true);
    /* What the header says is missed: one alone between two alike. */
    assert_int_equal(search("aaabaaaa", 2, false), 5);
}

/* Windows of at least `step`, drawn at random, are found exactly, whatever the step. */
static void test_random_windows(void **state)
{
    (void)state;
    struct rng rng = rng_seed(7);
    for (int round = 0; round < 2000; round++) {
        size_t step = 1 + (size_t)rng_below(&rng, 5), n = 1 + (size_t)rng_below(&rng, 40), at = 0;
        char text[MOST * 2] = "";
        while (at < n) {
            char letter = (char)('a' + (int)rng_below(&rng, 4));
            for (size_t i = step + (size_t)rng_below(&rng, 6); i > 0 && at < n; i--)
                text[at++] = letter;
        }
        text[at] = '\0';
        assert_true(search(text, step, true) <= n);
    }
}

static int refuse(void *context, const size_t *places, size_t count, uint64_t *states)
{
    (void)context, (void)places, (void)count, (void)states;
    return -1;
}

static void test_failed_look(void **state)
{
    (void)state;
    uint64_t states[4];
    assert_int_equal(change_search(states, NULL, 4, 2, refuse, NULL), -1);
}

/* Holds while all items of `needed` are kept. */
struct needs {
    bool needed[MOST];
    size_t n, tests, limit;
};

static long holds(void *context, const bool *const *candidates, size_t count)
{
    struct needs *needs = context;
    long first = (long)count;
    for (size_t c = count; c-- > 0;) {
        bool all = true;
        for (size_t i = 0; i < needs->n; i++)
            all = all && (!needs->needed[i] || candidates[c][i]);
        first = all ? (long)c : first;
    }
    needs->tests += count;
    return needs->limit && needs->tests > needs->limit ? -1 : first;
}

static void test_ddmin(void **state)
{
    (void)state;
    struct rng rng = rng_seed(3);
    for (int round = 0; round < 500; round++) {
        struct needs needs = {.n = 1 + (size_t)rng_below(&rng, 40)};
        bool kept[MOST];
        memset(kept, true, sizeof kept);
        for (size_t i = 0; i < needs.n; i++)
            needs.needed[i] = rng_chance(&rng, 0.1);
        assert_int_equal(ddmin(kept, needs.n, holds, &needs), 0);
        assert_memory_equal(kept, needs.needed, needs.n);
    }
    struct needs none = {.n = 0};
    assert_int_equal(ddmin(NULL, 0, holds, &none), 0);
}

static void test_ddmin_stops(void **state)
{
    (void)state;
    struct needs needs = {.n = 32, .needed = {[5] = true}, .limit = 3};
    bool kept[MOST];
    memset(kept, true, sizeof kept);
    assert_int_equal(ddmin(kept, needs.n, holds, &needs), -1);
    assert_true(kept[5]); /* what is there still holds */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_change),     cmocka_unit_test(test_several_windows),
        cmocka_unit_test(test_random_windows), cmocka_unit_test(test_failed_look),
        cmocka_unit_test(test_ddmin),          cmocka_unit_test(test_ddmin_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
