/* Sweeps: whether all values are there, whether the table is right about what an element follows from, and
 * whether the parts of a list are its whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "campaign/sweep_source.h"
#include "drawn_node.h"
#include "generate/sweep_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sweep sweep_of(const char *op, enum dtype type, enum sweep_form form)
{
    return (struct sweep){.op = op_find(op), .type = type, .opset = 21, .form = form, .seed = 1};
}

static struct test_case *make(const struct sweep *sweep)
{
    struct test_case *made;
    struct error err = {0};
    if (sweep_make(sweep, &made, &err))
        fail_msg("%s", err.message);
    return made;
}

/* How many different elements the tensor has, by their bytes; at most 2. */
static size_t patterns_in(const struct tensor *tensor)
{
    bool *seen = calloc(1 << 16, sizeof *seen);
    size_t size = dtype_size(tensor->type), count = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        uint16_t pattern = 0;
        memcpy(&pattern, (const char *)tensor->data + i * size, size);
        count += !seen[pattern];
        seen[pattern] = true;
    }
    free(seen);
    return count;
}

static void test_all_patterns(void **state)
{
    static const struct {
        const char *op;
        enum dtype type;
        size_t patterns;
    } rows[] = {{"Sqrt", DTYPE_FLOAT16, 65536}, {"Exp", DTYPE_BFLOAT16, 65536},
                {"Neg", DTYPE_INT16, 65536},    {"Abs", DTYPE_UINT8, 256},
                {"Not", DTYPE_BOOL, 2},         {"Identity", DTYPE_FLOAT8E5M2, 256},
                {"Identity", DTYPE_INT4, 16},   {"Identity", DTYPE_FLOAT4E2M1, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (enum sweep_form form = SWEEP_RUN; form <= SWEEP_TURNED; form++) {
            struct sweep sweep = sweep_of(rows[i].op, rows[i].type, form);
            sweep.opset = rows[i].type == DTYPE_FLOAT4E2M1 ? 23 : 21;
            sweep.opset = rows[i].type == DTYPE_BFLOAT16 ? 13 : sweep.opset;
            struct test_case *made = make(&sweep);
            assert_int_equal(made->n_inputs, 1);
            assert_int_equal(patterns_in(&made->inputs[0].tensors[0]), rows[i].patterns);
            test_case_free(made);
        }
}

static void test_all_pairs(void **state)
{
    static const struct {
        const char *op;
        size_t second;
    } rows[] = {{"Add", 1}, {"BitShift", 1}, {"com.microsoft::QLinearAdd", 3}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct sweep sweep = sweep_of(rows[k].op, DTYPE_UINT8, SWEEP_RUN);
        sweep.index = 1;
        assert_int_equal(sweep.op->each.second, rows[k].second);
        struct test_case *made = make(&sweep);
        const struct tensor *pair[2] = {NULL, NULL};
        for (size_t i = 0; i < made->n_inputs; i++)
            if (made->inputs[i].tensors[0].count == SWEEP_VALUES)
                pair[pair[0] != NULL] = &made->inputs[i].tensors[0];
        assert_non_null(pair[1]);
        struct tensor both;
        assert_int_equal(tensor_alloc(&both, DTYPE_UINT16, &pair[0]->shape, 0, NULL), 0);
        for (size_t i = 0; i < both.count; i++)
            tensor_set(&both, i, tensor_get(pair[0], i) * 256 + tensor_get(pair[1], i));
        assert_int_equal(patterns_in(&both), SWEEP_VALUES);
        tensor_release(&both);
        test_case_free(made);
    }
}

static void test_floats(void **state)
{
    struct sweep sweep = sweep_of("Sqrt", DTYPE_FLOAT, SWEEP_RUN);
    struct test_case *made = make(&sweep);
    const struct tensor *x = &made->inputs[0].tensors[0];
    size_t nan = 0, infinite = 0, subnormal = 0;
    bool exponents[512] = {false};
    (void)state;
    for (size_t i = 0; i < x->count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)x->data + 4 * i, 4);
        exponents[bits >> 23] = true;
        long double value = tensor_get(x, i);
        nan += isnan(value) ? 1 : 0;
        infinite += isinf(value) ? 1 : 0;
        subnormal += value != 0 && fabsl(value) < 0x1p-126L;
    }
    for (size_t i = 0; i < 512; i++)
        assert_true(exponents[i]);
    assert_int_equal(infinite, 2);
    assert_true(nan > 200 && subnormal > 200);
    test_case_free(made);
}

static void test_tails(void **state)
{
    struct sweep sweep = sweep_of("Sqrt", DTYPE_FLOAT, SWEEP_TAILS);
    (void)state;
    for (sweep.offset = 0; sweep.offset <= SWEEP_LAST_OFFSET; sweep.offset += SWEEP_LAST_OFFSET) {
        struct test_case *made = make(&sweep);
        assert_int_equal(made->n_inputs, SWEEP_LAST_LENGTH);
        for (size_t i = 0; i < made->n_inputs; i++)
            assert_int_equal(made->inputs[i].tensors[0].count, i + 1 + (size_t)sweep.offset);
        assert_int_equal(test_case_model(made, NULL)->graph->n_output, SWEEP_LAST_LENGTH);
        test_case_free(made);
    }
}

/* ---- What the table says of elements ---- */

enum { ELEMENTS = 600 };

/* The operands as the sweep has them, in order or the other way round. */
static void set_operands(const struct sweep *sweep, struct draw *d, bool reversed)
{
    const size_t places[2] = {0, sweep->op->each.second};
    for (size_t k = 0; k < (places[1] ? 2U : 1U); k++) {
        struct drawn *input = &d->inputs[places[k]];
        struct shape shape = {1, {ELEMENTS}};
        if (input->source == DRAWN_NEW)
            tensor_release(&input->data);
        input->source = DRAWN_NEW;
        assert_int_equal(tensor_alloc(&input->data, input->type, &shape, 0, NULL), 0);
        for (size_t i = 0; i < ELEMENTS; i++)
            sweep_set_sample(&input->data, reversed ? ELEMENTS - 1 - i : i, i * (k ? 7 : 1) % 256, 0);
    }
}

static int evaluate(const struct draw *d, struct tensor *out)
{
    struct bounded values[16], outputs[8];
    const struct bounded *inputs[16];
    struct error err = {0};
    assert_true(d->n_inputs <= 16 && d->n_outputs <= 8);
    for (size_t i = 0; i < d->n_inputs; i++) {
        bounded_init(&values[i]);
        inputs[i] = d->inputs[i].source == DRAWN_OMITTED ? NULL : &values[i];
        if (inputs[i])
            assert_int_equal(bounded_from_tensor(&values[i], &d->inputs[i].data, NULL), 0);
    }
    for (size_t i = 0; i < 8; i++)
        bounded_init(&outputs[i]);
    struct op_call call = drawn_call(d, inputs, outputs, &err);
    int status = d->op->eval(&call);
    if (!status)
        status = bounded_to_tensor(&outputs[0], out, NULL);
    for (size_t i = 0; i < d->n_inputs; i++)
        bounded_release(&values[i]);
    for (size_t i = 0; i < 8; i++)
        bounded_release(&outputs[i]);
    return status;
}

/* Whether parameters are single numbers, or too few for the operands to be in line with them. */
static bool has_plain_parameters(const struct sweep *sweep, const struct draw *d)
{
    for (size_t i = 1; i < d->n_inputs; i++)
        if (i != sweep->op->each.second && d->inputs[i].data.count > 1)
            return false;
    return true;
}

/* Whether the elements of the result stand in reverse when those of the operands do; false: not tried. */
static bool check_each(const struct sweep *sweep)
{
    bool tried = false;
    struct drawn given = {.source = DRAWN_EXISTING, .type = sweep->type, .shape = {1, {ELEMENTS}}};
    struct tensor forth = {0}, back = {0};
    struct arena arena;
    struct draw d;
    arena_init(&arena);
    if (sweep_draw(&d, &arena, sweep, &given) == 0 && has_plain_parameters(sweep, &d)) {
        set_operands(sweep, &d, false);
        int status = evaluate(&d, &forth);
        set_operands(sweep, &d, true);
        tried = !status && evaluate(&d, &back) == 0;
        if (tried) {
            size_t size = dtype_size(forth.type);
            assert_int_equal(forth.count, ELEMENTS);
            for (size_t i = 0; i < ELEMENTS; i++)
                if (memcmp((char *)forth.data + i * size, (char *)back.data + (ELEMENTS - 1 - i) * size,
                           size))
                    fail_msg("%s of %s: an element follows from others than the table says", sweep->op->name,
                             dtype_name(sweep->type));
        }
        tensor_release(&forth);
        tensor_release(&back);
    }
    draw_release(&d);
    arena_release(&arena);
    return tried;
}

static void test_each(void **state)
{
    const struct generate_options all = {0};
    struct sweep_list list;
    bool *tried = calloc(op_count(), sizeof *tried);
    size_t operators = 0;
    (void)state;
    sweep_list_init(&list, 1, &all);
    for (size_t i = 0; i < list.count; i++) {
        const struct sweep *sweep = &list.items[i];
        size_t row = 0;
        while (op_at(row) != sweep->op)
            row++;
        if (!tried[row] && sweep->form == SWEEP_RUN && sweep->op->each.rule != EACH_PRODUCT)
            operators += tried[row] = check_each(sweep);
    }
    assert_true(operators > 60);
    free(tried);
    printf("%zu operators, %zu cases\n", operators, list.count);
    sweep_list_release(&list);
}

/* ---- Lists ---- */

static const struct generate_options casts = {.ops = "Cast,Sign,QuantizeLinear",
                                              .types = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16)};

/* A recipe makes the case that it was written for, and the list holds no case that cannot be made. */
static void test_recipes(void **state)
{
    struct sweep_list list;
    size_t step = 97, lacking = 0;
    (void)state;
    sweep_list_init(&list, 1, &casts);
    assert_true(list.count > 500);
    for (size_t i = 0; i < list.count; i += step) {
        struct test_case *made, *again;
        struct error err = {0};
        if (sweep_make(&list.items[i], &made, &err)) {
            lacking++;
            continue;
        }
        assert_int_equal(generate_recipe(made->recipe, &again, &err), 0);
        assert_string_equal(made->recipe, again->recipe);
        assert_int_equal(made->n_inputs, again->n_inputs);
        for (size_t k = 0; k < made->n_inputs; k++)
            assert_true(tensor_identical(&made->inputs[k].tensors[0], &again->inputs[k].tensors[0]));
        test_case_free(made);
        test_case_free(again);
    }
    assert_int_equal(lacking, 0);
    sweep_list_release(&list);
}

static void test_bad_recipes(void **state)
{
    static const char *const bad[] = {
        "sweep",
        "sweep ops=Sqrt opset=21 types=float16 form=round",
        "sweep ops=Softmax opset=21 types=float16 form=run",
        "sweep ops=Sqrt opset=21 types=float16,float32 form=run",
        "sweep ops=Sqrt opset=99 types=float16 form=run",
        "sweep ops=Sqrt opset=21 types=float16 form=tails offset=17",
        "sweep ops=Sqrt opset=21 types=int8 form=run",
        "sweep ops=MatMulInteger opset=21 types=int8 form=turned",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct test_case *made;
        struct error err = {0};
        assert_int_not_equal(generate_recipe(bad[i], &made, &err), 0);
        assert_null(made);
    }
}

/* What the sources of so many shards make of a few operators, one recipe each. */
static size_t collect(size_t of, char **recipes, size_t most)
{
    const struct generate_options options = {.ops = "Neg,Not,Sign", .types = DTYPE_BIT(DTYPE_INT8)};
    size_t total = 0;
    for (size_t shard = 1; shard <= (of ? of : 1); shard++) {
        struct sweep_options part = {of ? shard : 0, of};
        struct case_source source;
        uint64_t count;
        struct test_case *made;
        assert_int_equal(sweep_source_new(&source, &part, 1, &options, &count, NULL), 0);
        for (uint64_t i = 0; i < count; i++) {
            assert_int_equal(source.kind->make(source.self, i, (size_t)i, &made, NULL), 0);
            assert_true(total < most);
            recipes[total++] = strdup(made->recipe);
            test_case_free(made);
        }
        struct error err = {0};
        assert_int_not_equal(source.kind->make(source.self, count, 0, &made, &err), 0);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
        source.kind->free(source.self);
    }
    return total;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The parts hold the cases of the whole, each once. */
static void test_shards(void **state)
{
    enum { MOST = 500 };
    char *whole[MOST], *parts[MOST];
    size_t count = collect(0, whole, MOST), sharded = collect(3, parts, MOST);
    (void)state;
    assert_true(count > 20);
    assert_int_equal(count, sharded);
    qsort(whole, count, sizeof *whole, compare);
    qsort(parts, count, sizeof *parts, compare);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(whole[i], parts[i]);
        assert_true(i == 0 || strcmp(whole[i], whole[i - 1]) != 0);
    }
    for (size_t i = 0; i < count; i++) {
        free(whole[i]);
        free(parts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_patterns), cmocka_unit_test(test_all_pairs), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_tails),        cmocka_unit_test(test_each),      cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_bad_recipes),  cmocka_unit_test(test_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
