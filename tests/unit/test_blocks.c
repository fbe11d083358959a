/* Subgraph blocks: their text, good and hostile; expressions; blocks harvested from a model. */
#include "base/str.h"
#include "generate/expression.h"
#include "generate/harvest.h"
#include "generate/plan.h"
#include "generate/subgraph.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool lookup(const void *context, const char *name, size_t length, int64_t *value)
{
    (void)context;
    *value = 6;
    return length == 1 && *name == 'C';
}

static bool is_checked(const struct test_case *test)
{
    const uint8_t *bytes;
    size_t size;
    return !test_case_bytes(test, &bytes, &size, NULL) && onnx_check(bytes, size, NULL) == 0;
}

static void test_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"C", 6},     {"2*C", 12},   {"(C+1)/2", 3},  {" C % 4 - 1 ", 1},  {"-C+1", -5},
                {"((C))", 6}, {"2+3*4", 14}, {"(2+3)*4", 20}, {"(0-C)*(C-8)", 12}, {"-(C-8)", 2}};
    static const char *const bad[] = {"",
                                      "C C",
                                      "(C",
                                      "C)",
                                      "D",
                                      "C/0",
                                      "1/(C-6)",
                                      "2**3",
                                      "9223372036854775807*2",
                                      "C/(0-1)",
                                      "99999999999999999999",
                                      "+",
                                      "C+",
                                      "$C",
                                      "CC"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 0;
        assert_int_equal(expression_eval(good[i].text, lookup, NULL, &value, NULL), 0);
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value;
        struct error err = {0};
        assert_int_equal(expression_eval(bad[i], lookup, NULL, &value, &err), -1);
        assert_int_equal(err.code, ERROR_FORMAT);
    }
    char deep[200];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = 0;
    int64_t value;
    assert_int_equal(expression_eval(deep, lookup, NULL, &value, NULL), -1);
}

static const char head[] = "<ir_version: 8, opset_import: [\"\" : 13]>\n";

static int add(struct blocks *blocks, const char *directives, const char *graph, struct error *err)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "%s%s%s", directives, head, graph);
    *err = (struct error){0};
    int result = blocks_add_text(blocks, "mine", text.data, err);
    str_release(&text);
    return result;
}

/* What a block says is what a case has. */
static void test_own_block(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new();
    struct error err;
    if (add(blocks,
            "#: opsets 13..15\n#: types double\n#: dim C 4..8 step 4\n#: data x, z\n#: fill i 0..C-1\n",
            "b (float[N, C] x, float[N, $(2*C)] z, int64[3] i, float[2] k = {1.0, 2.0}) => (float[] y) {\n"
            " s = Constant <value = int64[2] {$N, $(3*C)}> ()\n"
            " c = Concat <axis = 1> (x, z)\n r = Reshape (c, s)\n y = Gather <axis = 1> (r, i)\n"
            " q = Mul (k, k)\n}\n",
            &err))
        fail_msg("%s", err.message);
    const struct block *block = blocks_find(blocks, "mine");
    assert_int_equal(block->since, 13);
    assert_int_equal(block->until, 15);
    assert_int_equal(block->inputs, 2);
    assert_int_equal(block->n_ops, 5);
    for (uint64_t i = 0; i < 30; i++) {
        struct plan plan = {.blocks = {block}, .n_blocks = 1, .reshape = true, .reparam = true};
        struct test_case *c;
        assert_int_equal(generate_plan(1, i, &plan, NULL, &c, &err), 0);
        assert_in_range(model_opset(test_case_model(c, NULL)), 13, 15);
        assert_true(is_checked(c));
        const struct model *model = test_case_model(c, &err);
        assert_non_null(model);
        for (size_t k = 0; k < c->n_inputs; k++) {
            const struct tensor *t = &c->inputs[k].tensors[0];
            if (t->type == DTYPE_INT64)
                continue;
            assert_int_equal(t->type, DTYPE_DOUBLE);
            assert_int_equal(t->shape.dims[1] % 4, 0);
        }
        test_case_free(c);
    }
    blocks_free(blocks);
}

static void test_hostile_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *directives, *graph, *says;
    } bad[] = {
        {"", "b (float[N] x) => (float[N] y) { y = Nosuch (x) }", "Nosuch"},
        {"", "b (float[N] x) => (float[N] y) { y = Relu (z) }", "no node before it produces"},
        {"", "b (float[N] x) => (float[N] z) { y = Relu (x) }", "no node produces"},
        {"", "b (float[N] x) => (float[N] x) { y = Relu (x) }", "no node produces"},
        {"", "b (float[N] x) => (float[N] y) { y = Relu (x) y = Abs (x) }", "defined twice"},
        {"", "b (float[N] x) => (float[N] y) { }", "1 to 200 nodes"},
        {"", "b (float[$(N+\n] x) => (float[N] y) { y = Relu (x) }", "a '$' must be"},
        {"", "b (float[$(Q*2)] x) => (float[N] y) { y = Relu (x) }", "no size is named 'Q'"},
        {"", "b (float[?] x) => (float[N] y) { y = Relu (x) }", "a dimension"},
        {"", "b (float[7000000000000000] x) => (float[N] y) { y = Relu (x) }", "become"},
        {"", "b (float[5, 900, 900, 900] x) => (float[N] y) { y = Relu (x) }", "too large"},
        {"", "b (float[N] x, float[N] x) => (float[N] y) { y = Relu (x) }", "two inputs"},
        {"", "b (string[N] x) => (string[N] y) { y = Identity (x) }", "numbers"},
        {"", "b (float[A, B] x) => (float[A] y) { y = MatMul (x, x) }", "MatMul"},
        {"", "b (float[N] x) => (float[N] y) { y = Relu (x, x, x) }", "Relu"},
        {"", "b (float[1,1,1,1,1,1,1] x) => (float[N] y) { y = Relu (x) }", "6 dimensions"},
        {"", "b (float[N] x", ""},
        {"", "b (float[N] x) => (float[N] y) { y = Constant <value_string = \"a", ""},
        {"#: colour red\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'#: colour'"},
        {"#: opsets 9\n#: opsets x\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "opsets"},
        {"#: types int8\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "float types"},
        {"#: dim N 0..4\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'#: dim'"},
        {"#: dim N 4..2\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'#: dim'"},
        {"#: dim N 2..4 step 0\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'#: dim'"},
        {"#: dim N 4096..4096\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "become"},
        {"#: data z\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "no such input"},
        {"#: fill x 1\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'#: fill'"},
        {"#: fill x 1..Q\n", "b (float[N] x) => (float[N] y) { y = Relu (x) }", "'Q'"},
        {"",
         "b (bool c, float[N] x) => (float[N] y) { y = If <then_branch = t () => (float[N] z) { z = Relu (x) "
         "}, else_branch = e () => (float[N] z) { z = Abs (x) }> (c) }",
         "body"},
    };
    struct blocks *blocks = blocks_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err;
        if (!add(blocks, bad[i].directives, bad[i].graph, &err) || !strstr(err.message, bad[i].says))
            fail_msg("block %zu: '%s'", i, err.message);
    }
    assert_null(blocks_find(blocks, "mine"));
    struct error err = {0};
    struct str deep;
    str_init(&deep);
    str_add(&deep, head);
    for (int i = 0; i < 100000; i++)
        str_add(&deep, "b () => () { a = If<g=");
    assert_int_equal(blocks_add_text(blocks, "deep", deep.data, &err), -1);
    str_clear(&deep);
    str_printf(&deep, "%sb (", head);
    for (int i = 0; i < 100000; i++)
        str_add(&deep, "seq(");
    assert_int_equal(blocks_add_text(blocks, "deep", deep.data, &err), -1);
    str_release(&deep);
    assert_int_equal(blocks_add_text(blocks, "Relu", head, &err), -1);
    assert_int_equal(blocks_add_text(blocks, "a,b", head, &err), -1);
    assert_int_equal(blocks_add_file(blocks, "no/such.onnxtxt", &err), -1);
    blocks_free(blocks);
}

/* The blocks of the program with bytes changed: refused or placed, and nothing worse. */
static void test_damaged_blocks(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new(), *victims = blocks_new();
    size_t operators = blocks_count(blocks), taken = 0, tries = 3000;
    struct rng rng = rng_seed(7);
    static const char letters[] = "$()[]{}<>,=\"#:*/-+%0123456789NCxyw \n.";
    assert_int_equal(blocks_add_builtin(blocks, NULL), 0);
    for (size_t i = 0; i < tries; i++) {
        size_t number = operators + (size_t)rng_below(&rng, blocks_count(blocks) - operators);
        struct str text;
        struct error err;
        str_init(&text);
        str_add(&text, blocks_at(blocks, number)->text);
        for (uint64_t changes = 1 + rng_below(&rng, 3); changes; changes--)
            text.data[rng_below(&rng, text.length)] = letters[rng_below(&rng, sizeof letters - 1)];
        taken += !blocks_add_text(victims, "victim", text.data, &err);
        str_release(&text);
    }
    print_message("%zu of %zu damaged blocks are still good\n", taken, tries);
    assert_true(taken > 0 && taken < tries);
    blocks_free(victims);
    blocks_free(blocks);
}

static struct model *small_model(void)
{
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "net (float[1, 3, 12, 12] x, float[6, 3, 3, 3] w1, float[6] b1, float[6, 6, 3, 3] w2) => (float[1, "
        "6, 12, 12] y)\n"
        "<int64[2] flat = {1, 864}, float half = {0.5}>\n{\n"
        " a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)\n b = Relu (a)\n c = Conv <pads = [1, 1, 1, 1]> (b, "
        "w2)\n"
        " d = Relu (c)\n e = Add (b, d)\n f = Mul (e, half)\n g = Reshape (f, flat)\n h = Softmax (g)\n"
        " i = Relu (f)\n y = Identity (i)\n}\n";
    uint8_t *bytes;
    size_t size;
    struct model *model;
    struct error err = {0};
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&model, bytes, size, &err))
        fail_msg("%s", err.message);
    free(bytes);
    return model;
}

static void test_harvest(void **state)
{
    (void)state;
    struct model *model = small_model();
    struct harvest h;
    struct blocks *blocks = blocks_new();
    struct error err = {0};
    bool open = false, reshaped = false;
    harvest_init(&h);
    assert_int_equal(harvest_model(&h, model, 0, &err), 0);
    assert_true(h.count >= 15);
    size_t count = h.count, seen = h.blocks[0].seen;
    assert_int_equal(harvest_model(&h, model, 0, &err), 0);
    assert_int_equal(h.count, count);
    assert_true(h.blocks[0].seen > seen);
    for (size_t i = 0; i < h.count; i++) {
        assert_in_range(h.blocks[i].nodes, HARVEST_LEAST, HARVEST_MOST);
        if (blocks_add_text(blocks, h.blocks[i].name, h.blocks[i].text, &err))
            fail_msg("%s\n%s", err.message, h.blocks[i].text);
        open |= strstr(h.blocks[i].text, "$D") != NULL;
        reshaped |= strstr(h.blocks[i].text, "Reshape") != NULL;
        const struct block *block = blocks_find(blocks, h.blocks[i].name);
        struct plan plan = {
            .blocks = {blocks_find(blocks, "Relu"), block}, .n_blocks = 2, .opset = block->since};
        struct test_case *c;
        assert_int_equal(generate_plan(1, i, &plan, NULL, &c, &err), 0);
        assert_true(is_checked(c));
        test_case_free(c);
    }
    assert_true(open && reshaped);
    harvest_release(&h);
    harvest_init(&h);
    assert_int_equal(harvest_model(&h, model, 3, &err), 0);
    assert_int_equal(h.count, 3);
    harvest_release(&h);
    blocks_free(blocks);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),    cmocka_unit_test(test_own_block),
        cmocka_unit_test(test_hostile_blocks), cmocka_unit_test(test_damaged_blocks),
        cmocka_unit_test(test_harvest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
