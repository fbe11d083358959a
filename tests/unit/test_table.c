/* The operator table: every row answers every question that is asked of it. */
#include "ops/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_answers(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (!op->eval || !op->types[0].set || !op->data || !op->range.rule || !op->factors.rule ||
            !op->result || !op->work || !op->slope)
            fail_msg("the row of %s lacks an answer", op->name);
}

/* An input that acts as a parameter is none that edges bring, and two are not the same one. */
static void test_params(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        for (const struct op_param *p = op->params; p && p->name; p++) {
            bool placed = p->kind != PARAM_INPUT ||
                          (p->input < (size_t)op->inputs.most && (p->input > 0 || op->data == DATA_NONE));
            for (const struct op_param *other = op->params; other < p; other++)
                placed = placed &&
                         (p->kind != PARAM_INPUT || other->kind != PARAM_INPUT || p->input != other->input);
            if (!placed)
                fail_msg("%s: %s is not the input %zu", op->name, p->name, p->input);
            if (p->illegal && (!*p->illegal || p->kind == PARAM_TENSOR || p->kind == PARAM_GRAPH))
                fail_msg("%s: %s cannot be made illegal", op->name, p->name);
        }
}

/* What an operator older than the kernels' opsets meant there; attributes that became inputs have a place. */
static void test_history(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
        const struct op_history *history = &op->history;
        if (op->since < OP_OLDEST ? history->same_since < op->since : history->same_since != 0)
            fail_msg("the row of %s does not say since when it means the same", op->name);
        for (int i = 0; i < OP_FORMER && history->attributes[i].name; i++)
            if (history->reformed <= op->since || i + 1 >= op->inputs.most)
                fail_msg("%s: %s became no input", op->name, history->attributes[i].name);
    }
}

static void test_names(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        assert_ptr_equal(op_find(op->name), op);
    assert_null(op_find("NoSuchOperator"));
    assert_null(op_known("NoSuchOperator"));
    assert_ptr_equal(op_known("Relu"), op_find("Relu"));
}

/* Operators that the reference lacks are known, but are in no list of what there is. */
static void test_without_kernel(void **state)
{
    (void)state;
    assert_null(op_find("Scan"));
    assert_true(op_has("Scan", OP_SCANS));
    assert_true(op_has("RandomNormal", OP_RANDOM));
    assert_false(op_has("Relu", OP_RANDOM));
    assert_int_equal(op_known("Compress")->work, WORK_MOVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_params),         cmocka_unit_test(test_history),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_without_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
