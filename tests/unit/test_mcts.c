#include "guide/mcts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OPS = 30 };

static struct coverage *some_coverage(void)
{
    struct coverage *coverage = coverage_new(NULL);
    for (size_t i = 0; i < OPS; i++)
        coverage_add_row(coverage, op_at(i));
    return coverage;
}

static struct mcts *some_tree(const struct mcts_options *options, const struct coverage *coverage)
{
    static const size_t pair[] = {3, 4};
    struct mcts *mcts = mcts_new(options, coverage);
    for (size_t i = 0; i < OPS; i++)
        mcts_add_block(mcts, 1, &i);
    mcts_add_block(mcts, 2, pair);
    return mcts;
}

static void test_limits(void **state)
{
    struct mcts_options options = {.depth = 4, .root_children = 3};
    struct coverage *coverage = some_coverage();
    struct mcts *mcts = some_tree(&options, coverage);
    struct rng rng = rng_seed(1);
    struct mcts_path path;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        mcts_choose(mcts, &rng, &path);
        assert_in_range(path.count, 1, 4);
        for (size_t k = 0; k < path.count; k++)
            for (size_t j = 0; j < k; j++)
                assert_int_not_equal(path.blocks[k], path.blocks[j]);
        mcts_reward(mcts, path.node, 1, 0);
    }
    /* Three children each, four levels: 1 + 3 + 9 + 27 + 81. */
    assert_int_equal(mcts_size(mcts), 121);
    mcts_free(mcts);
    coverage_free(coverage);
}

/* The child that succeeds is visited more often than its siblings, which are not forgotten. */
static void test_reward(void **state)
{
    struct mcts_options options = {.depth = 1, .root_children = 3};
    struct coverage *coverage = some_coverage();
    struct mcts *mcts = some_tree(&options, coverage);
    struct rng rng = rng_seed(2);
    struct mcts_path path;
    size_t visits[4] = {0};
    (void)state;
    for (int i = 0; i < 300; i++) {
        mcts_choose(mcts, &rng, &path);
        assert_in_range(path.node, 1, 3);
        visits[path.node]++;
        mcts_reward(mcts, path.node, 1, path.node == 2 ? 1 : 0);
    }
    assert_true(visits[2] > 200 && visits[1] > 2 && visits[3] > 2);
    mcts_free(mcts);
    coverage_free(coverage);
}

/* What is covered comes last. */
static void test_least_covered(void **state)
{
    struct mcts_options options = {.depth = 1};
    struct coverage *coverage = some_coverage();
    struct mcts *mcts = some_tree(&options, coverage);
    struct model *model = model_new(17);
    const char *input = "x", *output = "y";
    struct rng rng = rng_seed(3);
    struct mcts_path path;
    struct coverage_record record;
    (void)state;
    coverage_record_init(&record);
    model_add_node(model, op_at(7)->name, NULL, 1, &input, 1, &output);
    coverage_record_model(&record, model, NULL);
    coverage_add(coverage, &record);
    for (int i = 0; i < OPS - 2; i++) {
        mcts_choose(mcts, &rng, &path);
        assert_int_not_equal(path.blocks[0], 7);
        mcts_reward(mcts, path.node, 1, 0);
    }
    coverage_record_release(&record);
    model_free(model);
    mcts_free(mcts);
    coverage_free(coverage);
}

static void test_text(void **state)
{
    struct coverage *coverage = some_coverage();
    struct mcts *mcts = some_tree(NULL, coverage), *copy = some_tree(NULL, coverage);
    struct rng rng = rng_seed(4), same;
    struct mcts_path a, b;
    struct str text, again;
    struct error err;
    (void)state;
    str_init(&text);
    str_init(&again);
    for (int i = 0; i < 200; i++) {
        mcts_choose(mcts, &rng, &a);
        mcts_reward(mcts, a.node, 1, i % 3 == 0 ? 0.3 : 0);
    }
    mcts_write(mcts, &text);
    assert_int_equal(mcts_read(copy, text.data, &err), 0);
    mcts_write(copy, &again);
    assert_string_equal(text.data, again.data);
    same = rng;
    for (int i = 0; i < 50; i++) {
        mcts_choose(mcts, &rng, &a);
        mcts_choose(copy, &same, &b);
        assert_int_equal(a.node, b.node);
        mcts_reward(mcts, a.node, 1, 0);
        mcts_reward(copy, a.node, 1, 0);
    }
    assert_int_equal(mcts_read(copy, "0 0 0 0x0p+0\n5 1 1 0x0p+0\n", &err), -1);
    assert_int_equal(mcts_read(copy, "0 0 0 0x0p+0\n0 999 1 0x0p+0\n", &err), -1);
    assert_int_equal(mcts_read(copy, "", &err), -1);
    assert_int_equal(mcts_size(copy), 1);
    str_release(&text);
    str_release(&again);
    mcts_free(mcts);
    mcts_free(copy);
    coverage_free(coverage);
}

/* One range: choices from a tree as it is, and what they came to. */
static void run_range(struct mcts *mcts, const char *snapshot, uint64_t seed, struct str *difference)
{
    struct rng rng = rng_seed(seed);
    struct mcts_path path;
    struct error err;
    mcts_clear(mcts);
    if (*snapshot)
        assert_int_equal(mcts_fold(mcts, &snapshot, &err), 0);
    mcts_mark(mcts);
    for (int i = 0; i < 60; i++) {
        mcts_choose(mcts, &rng, &path);
        mcts_reward(mcts, path.node, 1, (double)rng_below(&rng, 5) / 4);
    }
    str_clear(difference);
    mcts_difference(mcts, difference);
}

/* What several ranges came to, added to the snapshot that they began with, has every visit and success. */
static void test_fold(void **state)
{
    struct coverage *coverage = some_coverage();
    struct mcts *mcts = some_tree(NULL, coverage), *sum = some_tree(NULL, coverage);
    struct str text, first, snapshot, plain;
    struct error err;
    (void)state;
    str_init(&text);
    str_init(&first);
    str_init(&snapshot);
    str_init(&plain);
    for (uint64_t generation = 0; generation < 4; generation++) {
        for (uint64_t range = 0; range < 5; range++) {
            run_range(mcts, snapshot.data, generation * 5 + range, &text);
            const char *at = text.data;
            assert_int_equal(mcts_fold(sum, &at, &err), 0);
            assert_int_equal(*at, '\0');
            /* A single range on top of its snapshot is the tree that it left. */
            struct mcts *alone = some_tree(NULL, coverage);
            const char *before = snapshot.data;
            if (*before)
                assert_int_equal(mcts_fold(alone, &before, &err), 0);
            at = text.data;
            assert_int_equal(mcts_fold(alone, &at, &err), 0);
            str_clear(&plain);
            str_clear(&first);
            mcts_write(alone, &plain);
            mcts_write(mcts, &first);
            assert_string_equal(plain.data, first.data);
            mcts_free(alone);
            for (size_t length = 0; length < text.length; length += 3) { /* cut off */
                char *cut = strndup(text.data, length);
                alone = some_tree(NULL, coverage);
                before = snapshot.data;
                if (*before)
                    assert_int_equal(mcts_fold(alone, &before, &err), 0);
                at = cut;
                assert_int_equal(mcts_fold(alone, &at, &err), -1);
                mcts_free(alone);
                free(cut);
            }
        }
        str_clear(&snapshot);
        mcts_whole(sum, &snapshot);
        str_clear(&plain);
        mcts_write(sum, &plain);
        assert_true(strtoul(plain.data + 4, NULL, 10) == (generation + 1) * 300); /* "0 0 VISITS ..." */
        mcts_clear(mcts);
        const char *at = snapshot.data;
        assert_int_equal(mcts_fold(mcts, &at, &err), 0);
        str_clear(&first);
        mcts_write(mcts, &first);
        assert_string_equal(first.data, plain.data);
    }
    str_release(&text);
    str_release(&first);
    str_release(&snapshot);
    str_release(&plain);
    mcts_free(mcts);
    mcts_free(sum);
    coverage_free(coverage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits), cmocka_unit_test(test_reward), cmocka_unit_test(test_least_covered),
        cmocka_unit_test(test_text),   cmocka_unit_test(test_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
