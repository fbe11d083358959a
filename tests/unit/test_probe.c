/*
 * Probing: what counts as lacking, what a file keeps, and what the reader refuses; a small probe of healthy
 * and of faulty engines; generators that do not ask for what is lacking.
 */
#include "base/file.h"
#include "base/json_read.h"
#include "engine/registry.h"
#include "probe/probe_file.h"
#include "report/probe_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "same_bytes.h"

static int read_text(const char *text, struct arena *arena, const struct json_value **value,
                     struct error *err)
{
    arena_init(arena);
    return json_read(arena, text, strlen(text), value, err);
}

static void test_json_good(void **state)
{
    (void)state;
    struct arena arena;
    const struct json_value *root;
    struct error err = {0};
    const char *text =
        " {\"a\": [1, -2.5e1, true, false, null], \"b\": \"x\\n\\u00e9\\ud83d\\ude00\\\"\", \"c\": {}} ";
    assert_int_equal(read_text(text, &arena, &root, &err), 0);
    assert_int_equal(root->count, 3);
    const struct json_value *a = json_member(root, "a");
    assert_int_equal(a->count, 5);
    assert_true(a->first->number == 1 && a->first->next->number == -25);
    assert_true(a->first->next->next->kind == JSON_BOOL && a->first->next->next->truth);
    assert_string_equal(json_text_of(root, "b"), "x\n\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_int_equal(json_member(root, "c")->count, 0);
    assert_null(json_text_of(root, "a"));
    assert_null(json_member(a, "b"));
    assert_true(json_number_of(root, "none", 7) == 7);
    arena_release(&arena);
}

static void test_json_bad(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",         "{",       "[1",        "[1,]",        "{\"a\"}",     "{\"a\":}",    "{a: 1}",
        "[01]",     "[1.]",    "[.5]",      "[+1]",        "[1e]",        "[1e999]",     "nul",
        "\"a",      "\"\\x\"", "\"\\u00\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
        "1 2",      "[1] x",   "\"\n\"",    "-",           "[tru]",       "{\"a\":1,}",  "\"\x84\"",
        "\"\xc3\"", "'a'",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena;
        const struct json_value *root;
        struct error err = {0};
        assert_int_equal(read_text(texts[i], &arena, &root, &err), -1);
        assert_int_equal(err.code, ERROR_FORMAT);
        arena_release(&arena);
    }
}

static void test_json_deep(void **state)
{
    (void)state;
    char text[201];
    for (size_t depth = 30; depth <= 100; depth += 70) {
        struct arena arena;
        const struct json_value *root;
        struct error err = {0};
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        assert_int_equal(read_text(text, &arena, &root, &err), depth == 30 ? 0 : -1);
        arena_release(&arena);
    }
}

static struct probe_result example(struct probe_op *op, struct probe_row *rows, struct probe_find *find)
{
    *op = (struct probe_op){"Relu", "activation", 2, 1, rows, find};
    rows[0] = (struct probe_row){DTYPE_FLOAT, 2, 1, "uuuoouru......."};
    rows[1] = (struct probe_row){DTYPE_FLOAT, -1, 5, "uu?u.uuwch....."};
    *find = (struct probe_find){
        VERDICT_CRASH, DTYPE_FLOAT, 19, 1, "at run: <signal> \"11\"", "one seed=1 index=3 ops=Relu"};
    return (struct probe_result){
        .engine = "some@1:k=<v>", .name = "some", .version = "1", .seed = 1, .n_ops = 1, .ops = op};
}

static void test_counts(void **state)
{
    (void)state;
    struct probe_op op;
    struct probe_row rows[2];
    struct probe_find find;
    struct probe_result result = example(&op, rows, &find);
    struct probe_counts counts = probe_count_all(&result);
    assert_int_equal(counts.total, 17);
    assert_int_equal(counts.of[PROBE_UNSUPPORTED], 10);
    assert_int_equal(counts.of[PROBE_OK], 2);
    assert_int_equal(counts.of[PROBE_HANG], 1);
    assert_int_equal(probe_sum_up(&counts), PROBE_HANG);
    assert_int_equal(probe_count(&op, DTYPE_DOUBLE).total, 0);
    struct probe_counts only = {.of = {[PROBE_UNSUPPORTED] = 3}, .total = 3}, mixed = only, none = {0};
    mixed.of[PROBE_UNSURE] = 1;
    assert_int_equal(probe_sum_up(&only), PROBE_UNSUPPORTED);
    assert_int_equal(probe_sum_up(&mixed), PROBE_UNSURE);
    assert_int_equal(probe_sum_up(&none), PROBE_NONE);
}

/* A crash is a finding by every road, and never lacking. */
static void test_words(void **state)
{
    (void)state;
    static const struct {
        enum verdict_kind kind;
        enum probe_answer word;
    } pairs[] = {
        {VERDICT_AGREES, PROBE_OK},         {VERDICT_UNSUPPORTED, PROBE_UNSUPPORTED},
        {VERDICT_CRASH, PROBE_CRASH},       {VERDICT_MEMORY, PROBE_UNSURE},
        {VERDICT_GARBAGE, PROBE_CRASH},     {VERDICT_HANG, PROBE_HANG},
        {VERDICT_REJECTED, PROBE_REJECTED}, {VERDICT_FAILED, PROBE_REJECTED},
        {VERDICT_NAN, PROBE_WRONG},         {VERDICT_SHAPE, PROBE_WRONG},
        {VERDICT_OPEN, PROBE_UNSURE},       {VERDICT_NO_ENGINE, PROBE_NONE},
        {VERDICT_MISTRUSTED, PROBE_UNSURE},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct verdict verdict = {.kind = pairs[i].kind};
        assert_int_equal(probe_answer_of(&verdict), pairs[i].word);
        if (verdict_is_finding(pairs[i].kind))
            assert_true(probe_is_finding(pairs[i].word));
    }
    for (int word = PROBE_NONE; word < PROBE_ANSWERS; word++)
        assert_int_equal(probe_answer_of_letter(probe_letter((enum probe_answer)word)), word);
    assert_int_equal(probe_answer_of_letter('x'), PROBE_NONE);
}

static char *text_of(const struct probe_result *result)
{
    struct str text;
    struct json json;
    str_init(&text);
    json_init(&json, &text, true);
    probe_write(result, &json, NULL);
    char *data = str_detach(&text);
    str_release(&text);
    return data;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct probe_op op;
    struct probe_row rows[2];
    struct probe_find find;
    struct probe_result result = example(&op, rows, &find), again;
    struct error err = {0};
    char *text = text_of(&result);
    assert_int_equal(probe_parse(&again, text, strlen(text), &err), 0);
    char *second = text_of(&again);
    assert_string_equal(text, second);
    assert_int_equal(again.ops[0].rows[1].rank, -1);
    assert_int_equal(again.ops[0].rows[1].given, 5);
    /* Every beginning of the file is refused, whatever is cut off; and so is any that says less. */
    for (size_t size = 0; size + 2 < strlen(text); size++) {
        struct probe_result part;
        assert_int_equal(probe_parse(&part, text, size, &err), -1);
        arena_release(&part.arena);
    }
    static const char *const spoilt[][2] = {
        {"uuuoouru...", "uuuoouru..x"}, {"uuuoouru...", "uuuoouru.."},    {"float32", "floaty"},
        {"\"101\"", "\"102\""},         {"\"probe\": 2", "\"probe\": 1"}, {"\"seed\": 1", "\"seed\": -1"},
        {"\"rows\"", "\"row\""},        {"\"engine\"", "\"engines\""},    {"\"recipe\"", "\"recip\""},
    };
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        struct probe_result part;
        struct str changed;
        const char *at = strstr(text, spoilt[i][0]);
        assert_non_null(at);
        str_init(&changed);
        str_append(&changed, text, (size_t)(at - text));
        str_printf(&changed, "%s%s", spoilt[i][1], at + strlen(spoilt[i][0]));
        assert_int_equal(probe_parse(&part, changed.data, changed.length, &err), -1);
        arena_release(&part.arena);
        str_release(&changed);
    }
    arena_release(&again.arena);
    free(text);
    free(second);
}

static void test_support(void **state)
{
    (void)state;
    struct probe_op op;
    struct probe_row rows[2];
    struct probe_find find;
    struct probe_result result = example(&op, rows, &find);
    struct probe_support *support = probe_support_new();
    const struct op *relu = op_find("Relu");
    assert_false(probe_lacks(support, relu, DTYPE_FLOAT, 11));
    probe_support_add(support, &result);
    static const bool lacking[PROBE_OPSETS] = {[0] = true, [1] = true, [5] = true};
    for (int i = 0; i < PROBE_OPSETS; i++)
        assert_int_equal(probe_lacks(support, relu, DTYPE_FLOAT, OPSET_FIRST + i), lacking[i]);
    assert_false(probe_lacks(support, relu, DTYPE_DOUBLE, 11));
    assert_false(probe_lacks(support, op_find("Abs"), DTYPE_FLOAT, 11));
    assert_false(probe_lacks(support, relu, DTYPE_FLOAT, 10));
    assert_false(probe_lacks(support, relu, DTYPE_FLOAT, 22));
    /* A second engine that has it at opset 11. */
    memset(rows[0].opsets, 'o', 1);
    probe_support_add(support, &result);
    assert_false(probe_lacks(support, relu, DTYPE_FLOAT, 11));
    assert_true(probe_lacks(support, relu, DTYPE_FLOAT, 12));
    probe_support_free(support);
}

/* What an engine declares: nothing else is asked of it, but for what it was seen to do. An opset that was not
 * tried is as the one before. */
static void test_declared(void **state)
{
    (void)state;
    const struct op *relu = op_find("Relu"), *abs = op_find("Abs"), *neg = op_find("Neg"),
                    *root = op_find("Sqrt");
    struct probe_row rows[] = {{.type = DTYPE_FLOAT}, {.type = DTYPE_DOUBLE}};
    struct probe_op ops[] = {{.name = "Relu", .family = "unary", .n_rows = 1, .rows = rows},
                             {.name = "Neg", .family = "unary", .n_rows = 1, .rows = rows + 1}};
    for (size_t i = 0; i < 2; i++)
        for (int k = 0; k < PROBE_OPSETS; k++)
            rows[i].opsets[k] = probe_letter(PROBE_NONE);
    rows[0].opsets[0] = probe_letter(PROBE_UNSUPPORTED);
    rows[0].opsets[2] = rows[1].opsets[2] = probe_letter(PROBE_OK);
    struct probe_result made = {.engine = "e",
                                .name = "e",
                                .n_ops = 2,
                                .ops = ops,
                                .declared = "Relu,Sqrt@13",
                                .types = DTYPE_BIT(DTYPE_FLOAT)},
                        result;
    struct probe_support *support = probe_support_new();
    struct json json;
    struct str text;
    str_init(&text);
    json_init(&json, &text, false);
    probe_write(&made, &json, NULL);
    assert_int_equal(probe_parse(&result, text.data, text.length, NULL), 0); /* as a campaign keeps it */
    probe_support_add(support, &result);
    arena_release(&result.arena);
    str_release(&text);
    static const bool lacking[] = {true, true, false, false};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(probe_lacks(support, relu, DTYPE_FLOAT, OPSET_FIRST + i), lacking[i]);
        assert_int_equal(probe_lacks(support, root, DTYPE_FLOAT, OPSET_FIRST + i), OPSET_FIRST + i < 13);
    }
    assert_true(
        probe_lacks(support, relu, DTYPE_INT32, OPSET_FIRST + 2)); /* a type that it does not declare */
    assert_true(probe_lacks(support, abs, DTYPE_FLOAT, OPSET_FIRST + 2));   /* an operator */
    assert_false(probe_lacks(support, neg, DTYPE_DOUBLE, OPSET_FIRST + 2)); /* which it was seen to do */
    assert_true(probe_lacks(support, neg, DTYPE_DOUBLE, OPSET_FIRST + 3));
    probe_support_free(support);
}

static void test_paths(void **state)
{
    (void)state;
    char *path = probe_file("a@1.2:k=../x y;z"), *hidden = probe_file(".a");
    assert_string_equal(path, "a@1.2:k=..%2Fx%20y%3Bz.json");
    assert_string_equal(hidden, "%2Ea.json");
    free(path);
    free(hidden);
}

static void test_html(void **state)
{
    (void)state;
    struct probe_op op;
    struct probe_row rows[2];
    struct probe_find find;
    struct probe_result result = example(&op, rows, &find);
    struct str page;
    str_init(&page);
    result.engine = "</script><script>alert(1)</script>";
    probe_html(&result, 1, &page);
    assert_null(strstr(page.data, "@DATA@"));
    assert_null(strstr(page.data, "alert(1)</script>"));
    assert_non_null(strstr(page.data, "\\u003c/script>\\u003cscript>alert(1)"));
    assert_null(strstr(page.data, "http"));
    str_release(&page);
}

/* Only what is asked for, and nothing that is lacking. */
static bool lacks_double(const void *context, const struct op *op, enum dtype type, int opset)
{
    (void)context, (void)op, (void)opset;
    return type == DTYPE_DOUBLE || strcmp(op->name, "Add") == 0;
}

static void test_generator(void **state)
{
    (void)state;
    struct generate_options options = {.lacks = lacks_double}, plain = {0};
    size_t refused = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct test_case *c, *same;
        struct error err = {0};
        if (generate_one(1, i, &options, &c, &err)) {
            assert_int_equal(err.code, ERROR_UNSUPPORTED);
            refused++;
            continue;
        }
        assert_string_not_equal(c->first->name, "Add");
        assert_int_equal(generate_one(1, i, &plain, &same, &err), 0);
        assert_string_equal(c->recipe, same->recipe);
        assert_true(same_bytes(c, same));
        test_case_free(c);
        test_case_free(same);
    }
    assert_in_range(refused, 5, 100);
    for (uint64_t i = 0; i < 40; i++) {
        struct test_case *c, *same;
        struct error err = {0};
        assert_int_equal(generate_graph(1, i, &options, &c, &err), 0);
        const struct model *model = test_case_model(c, &err);
        assert_non_null(model);
        for (size_t k = 0; k < model->graph->n_node; k++)
            assert_string_not_equal(model->graph->node[k]->op_type, "Add");
        /* The recipe alone makes the same graph. */
        assert_int_equal(generate_recipe(c->recipe, &same, &err), 0);
        assert_string_equal(c->recipe, same->recipe);
        assert_true(same_bytes(c, same));
        test_case_free(c);
        test_case_free(same);
    }
}

/* Rank and form as asked, and the recipe says so. */
static void test_wishes(void **state)
{
    (void)state;
    uint32_t forms[PROBE_FORMS];
    struct error err = {0};
    assert_int_equal(generate_forms(op_find("Conv"), 13, forms, PROBE_FORMS), 2);
    assert_true(forms[0] == 3 && forms[1] == 7);
    assert_int_equal(generate_forms(op_find("Relu"), 13, forms, PROBE_FORMS), 1);
    assert_int_equal(forms[0], 0);
    for (int rank = 3; rank <= 5; rank++)
        for (uint32_t given = 3; given <= 7; given += 4) {
            struct generate_options options = {.ops = "Conv", .opset = 13, .rank = rank + 1, .given = given};
            struct test_case *c, *same;
            assert_int_equal(generate_one(1, 0, &options, &c, &err), 0);
            const struct model *model = test_case_model(c, &err);
            assert_non_null(model);
            assert_int_equal(model->graph->node[0]->n_input, given == 3 ? 2 : 3);
            if (c->n_inputs && strcmp(c->inputs[0].name, model->graph->node[0]->input[0]) == 0)
                assert_int_equal(c->inputs[0].tensors[0].shape.rank, rank);
            assert_int_equal(generate_recipe(c->recipe, &same, &err), 0);
            assert_true(same_bytes(c, same));
            test_case_free(c);
            test_case_free(same);
        }
    struct test_case *none;
    assert_int_equal(generate_recipe("one seed=1 index=0 ops=Relu rank=9", &none, &err), -1);
    assert_int_equal(generate_recipe("one seed=1 index=0 inputs=2", &none, &err), -1);
    assert_int_equal(generate_recipe("graph seed=1 index=0 skip=a", &none, &err), -1);
}

static void test_engines(void **state)
{
    (void)state;
    static const char *const labels[] = {"reference", "reference:fault=conv-rotated"};
    struct registry *registry;
    struct error err = {0};
    struct panel panel;
    assert_int_equal(registry_open(&registry, NULL, 0, &err), 0);
    assert_int_equal(
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, 2), NULL, &err), 0);
    assert_int_equal(panel_add_reference(&panel, registry, &err), 0);
    struct probe_options options = {.panel = &panel, .ops = "Conv,Relu", .seed = 1, .quick = true};
    struct probe_result *results;
    assert_int_equal(probe_run(&options, &results, &err), 0);
    struct probe_counts good = probe_count_all(&results[0]), bad = probe_count_all(&results[1]);
    assert_true(good.total > 40 && good.total == bad.total);
    assert_int_equal(good.of[PROBE_OK], good.total);
    assert_true(bad.of[PROBE_WRONG] > 5);
    assert_int_equal(results[1].ops[0].n_finds, 1);
    assert_int_equal(results[1].ops[0].finds[0].verdict, VERDICT_WRONG);
    assert_false(results[0].complete);
    /* The recipe kept makes a case of that type and opset. */
    struct test_case *c;
    assert_int_equal(generate_recipe(results[1].ops[0].finds[0].recipe, &c, &err), 0);
    assert_string_equal(c->first->name, "Conv");
    assert_int_equal(model_opset(test_case_model(c, NULL)), results[1].ops[0].finds[0].opset);
    test_case_free(c);
    probe_results_free(results, 2);
    /* When time is up, what was not asked has no answer. */
    options.seconds = 1e-9;
    assert_int_equal(probe_run(&options, &results, &err), 0);
    assert_true(probe_count_all(&results[0]).total < good.total);
    probe_results_free(results, 2);
    options.ops = "Conv,Frobnicate";
    assert_int_equal(probe_run(&options, &results, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    panel_close(&panel);
    registry_free(registry);
}

static const struct probe_op *named(const struct probe_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_ops; i++)
        if (strcmp(result->ops[i].name, name) == 0)
            return &result->ops[i];
    fail_msg("%s was not asked for", name);
    return NULL;
}

/* Operators and types that newer releases of ONNX brought are asked for. */
static void test_newer(void **state)
{
    (void)state;
    static const char *const labels[] = {"reference:round=on", "reference:fault=int4-unsigned",
                                         "reference:fault=rms-no-epsilon"};
    struct registry *registry;
    struct error err = {0};
    struct panel panel;
    assert_int_equal(registry_open(&registry, NULL, 0, &err), 0);
    assert_int_equal(
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, 3), NULL, &err), 0);
    assert_int_equal(panel_add_reference(&panel, registry, &err), 0);
    struct probe_options options = {.panel = &panel,
                                    .ops = "DequantizeLinear,RMSNormalization",
                                    .narrow = DTYPES_NARROW,
                                    .seed = 1,
                                    .quick = true};
    struct probe_result *results;
    assert_int_equal(probe_run(&options, &results, &err), 0);
    const struct probe_op *rms = named(&results[2], "RMSNormalization"),
                          *dequantize = named(&results[1], "DequantizeLinear");
    struct probe_counts newer = probe_count(rms, DTYPE_FLOAT), int4 = probe_count(dequantize, DTYPE_INT4),
                        uint4 = probe_count(dequantize, DTYPE_UINT4), all = probe_count_all(&results[0]);
    assert_true(newer.of[PROBE_WRONG] > 0 && int4.of[PROBE_WRONG] > 0);
    assert_true(uint4.total > 0 && uint4.of[PROBE_WRONG] == 0);
    assert_true(all.of[PROBE_OK] > 0 && all.of[PROBE_WRONG] == 0 && all.of[PROBE_REJECTED] == 0);
    probe_results_free(results, 3);
    panel_close(&panel);
    registry_free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_good), cmocka_unit_test(test_json_bad),  cmocka_unit_test(test_json_deep),
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_words),     cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_support),   cmocka_unit_test(test_declared),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_html),      cmocka_unit_test(test_generator), cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_engines),   cmocka_unit_test(test_newer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
