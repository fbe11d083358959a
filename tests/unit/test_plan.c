/*
 * Plans: topologies with the properties of their kind, cases that are valid and the same from the same
 * recipe.
 */
#include "gencases.h"

#include "base/hash.h"
#include "base/str.h"
#include "generate/plan.h"
#include "model/index.h"

#ifdef __SANITIZE_ADDRESS__ /* eight times slower */
enum { PLAN_CASES = 120 };
#else
enum { PLAN_CASES = 600 };
#endif

static struct digraph make(enum topology t, size_t n, int k, double p, uint64_t seed)
{
    struct digraph g;
    topology_make(&g, t, n, k, p, rng_seed(seed));
    return g;
}

static void test_line(void **state)
{
    (void)state;
    struct digraph g = make(TOPOLOGY_LINE, 9, 4, 0.5, 1);
    assert_int_equal(digraph_edges(&g), 8);
    for (size_t i = 0; i + 1 < 9; i++)
        assert_true(digraph_has(&g, i, i + 1));
    g = make(TOPOLOGY_WS, 1, 4, 0.5, 1);
    assert_int_equal(digraph_edges(&g), 0);
    g = make(TOPOLOGY_RN, 0, 4, 0.5, 1);
    assert_int_equal(digraph_edges(&g), 0);
}

/* A rewired link replaces one: n * k / 2 of them whatever p is; with p = 0 they are the ring's. */
static void test_watts_strogatz(void **state)
{
    (void)state;
    for (int k = 2; k <= 6; k += 2)
        for (size_t n = 7; n <= 64; n += 19)
            for (uint64_t seed = 0; seed < 20; seed++) {
                struct digraph g = make(TOPOLOGY_WS, n, k, 0.5, seed);
                assert_int_equal(digraph_edges(&g), n * (size_t)k / 2);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(i < 63 ? g.to[i] & (((uint64_t)2 << i) - 1) : 0, 0);
                g = make(TOPOLOGY_WS, n, k, 0, seed);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(__builtin_popcountll(g.to[i] | digraph_from(&g, i)), k);
            }
    struct digraph small = make(TOPOLOGY_WS, 2, 6, 0.5, 3);
    assert_int_equal(digraph_edges(&small), 1);
}

/* The line is inside; nobody has more than k neighbours (2 are the line's); with p = 1 none can be added. */
static void test_residual(void **state)
{
    (void)state;
    size_t more = 0;
    for (size_t k = 2; k <= 6; k += 2)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct digraph g = make(TOPOLOGY_RN, 15, (int)k, 0.9, seed);
            for (size_t i = 0; i < 15; i++) {
                assert_true(i == 14 || digraph_has(&g, i, i + 1));
                assert_true((size_t)__builtin_popcountll(g.to[i] | digraph_from(&g, i)) <= k);
            }
            more += digraph_edges(&g) - 14;
            assert_true(k > 2 || digraph_edges(&g) <= 15);
        }
    assert_true(more > 200);
}

static void test_edge_mutations(void **state)
{
    (void)state;
    struct digraph g = make(TOPOLOGY_LINE, 10, 2, 0, 1), before = g;
    digraph_add_edges(&g, 5, rng_seed(1));
    assert_int_equal(digraph_edges(&g), 14);
    for (size_t i = 0; i < 10; i++)
        assert_true((before.to[i] & ~g.to[i]) == 0);
    digraph_remove_edges(&g, 4, rng_seed(2));
    assert_int_equal(digraph_edges(&g), 10);
    digraph_add_edges(&g, 1000, rng_seed(3));
    assert_int_equal(digraph_edges(&g), 45);
    digraph_remove_edges(&g, 1000, rng_seed(3));
    assert_int_equal(digraph_edges(&g), 0);
}

static void test_plans(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new();
    assert_int_equal(blocks_add_builtin(blocks, NULL), 0);
    size_t bad = 0, nodes = 0, uncheckable = 0;
    struct rng root = rng_seed(5);
    for (uint64_t i = 0; i < PLAN_CASES; i++) {
        struct plan plan;
        struct test_case *c, *again;
        struct error err = {0};
        struct rng rng = rng_split(&root, i);
        assert_int_equal(plan_random(&plan, blocks, &rng, 1 + i % 15, NULL, &err), 0);
        if (generate_plan(1, i, &plan, NULL, &c, &err)) {
            print_error("plan %llu: %s\n", (unsigned long long)i, err.message);
            bad++;
            continue;
        }
        if (check_case(c, &err)) {
            complain(c, &err);
            bad++;
        }
        nodes += test_case_model(c, NULL)->graph->n_node;
        uncheckable += model_opset(test_case_model(c, NULL)) > 17;
        if (i % 10 == 0) {
            if (generate_recipe(c->recipe, &again, &err))
                fail_msg("%s: %s", c->recipe, err.message);
            assert_true(same_case(c, again));
            test_case_free(again);
        }
        test_case_free(c);
    }
    print_message("%zu nodes, %zu bad, %zu beyond libonnx\n", nodes, bad, uncheckable);
    assert_int_equal(bad, 0);
    blocks_free(blocks);
}

/* What plans are made of: all types, ranks, empty tensors, omitted inputs, values with several users. */
static void test_variety(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new();
    struct rng root = rng_seed(6);
    dtype_set types = 0;
    unsigned ranks = 0, opsets = 0;
    size_t empty = 0, omitted = 0, shared = 0, constants = 0, inputs = 0, fed_nonzero = 0;
    for (uint64_t i = 0; i < 1500; i++) {
        struct plan plan;
        struct test_case *c;
        struct rng rng = rng_split(&root, i);
        struct model_index index;
        assert_int_equal(plan_random(&plan, blocks, &rng, 4, NULL, NULL), 0);
        if (i % 10 == 0)
            plan.blocks[3] = blocks_find(blocks, "NonZero"), plan.topology = TOPOLOGY_LINE;
        assert_int_equal(generate_plan(1, i, &plan, NULL, &c, NULL), 0);
        const struct model *model = test_case_model(c, NULL);
        assert_non_null(model);
        assert_int_equal(model_index_init(&index, model, NULL), 0);
        opsets |= 1u << model_opset(test_case_model(c, NULL));
        for (size_t k = 0; k < c->n_inputs; k++) {
            const struct tensor *t = &c->inputs[k].tensors[0];
            types |= DTYPE_BIT(t->type);
            ranks |= 1u << t->shape.rank;
            empty += t->count == 0;
        }
        inputs += c->n_inputs;
        constants += model->graph->n_initializer;
        for (size_t k = 0; k < index.count; k++)
            shared += index.values[k].source == SOURCE_NODE && index.values[k].consumers > 1;
        for (size_t k = 0; k < model->graph->n_node; k++) {
            const Onnx__NodeProto *node = model->graph->node[k];
            for (size_t n = 0; n < node->n_input; n++)
                omitted += !*node->input[n];
            if (strcmp(node->op_type, "NonZero") == 0)
                fed_nonzero += model_index_find(&index, node->input[0])->source == SOURCE_NODE;
        }
        model_index_release(&index);
        test_case_free(c);
    }
    print_message("%zu inputs, %zu constants, %zu empty, %zu omitted, %zu shared, %zu NonZero fed\n", inputs,
                  constants, empty, omitted, shared, fed_nonzero);
    assert_int_equal(types, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL));
    assert_int_equal(ranks, 0x7f);
    assert_int_equal(opsets, 0x3ff800);
    assert_true(empty > 5 && omitted > 20 && shared > 100 && constants > inputs && fed_nonzero > 30);
    blocks_free(blocks);
}

/* Every block that comes with the program, alone: reads, and is valid at every opset it says. */
static void test_builtin_blocks(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new(), *again = blocks_new();
    struct error err = {0};
    size_t bad = 0, operators = blocks_count(blocks);
    if (blocks_add_builtin(blocks, &err))
        fail_msg("%s", err.message);
    assert_true(blocks_count(blocks) >= operators + 40);
    for (size_t i = operators; i < blocks_count(blocks); i++) {
        const struct block *b = blocks_at(blocks, i);
        if (blocks_add_text(again, b->name, b->text, &err)) {
            print_error("%s\n", err.message);
            bad++;
            continue;
        }
        for (uint64_t k = 0; k < 24; k++) {
            struct plan plan = {.blocks = {b}, .n_blocks = 1, .reshape = true, .reparam = true};
            struct test_case *c;
            plan.opset = b->since + (int)(k % (uint64_t)(b->until - b->since + 1));
            if (generate_plan(2, k, &plan, NULL, &c, &err)) {
                print_error("%s: %s\n", b->name, err.message);
                bad++;
                break;
            }
            if (check_case(c, &err)) {
                complain(c, &err);
                bad++;
            }
            test_case_free(c);
        }
    }
    assert_int_equal(bad, 0);
    blocks_free(again);
    blocks_free(blocks);
}

/* An engine that lacks every third operator and type: its cases have none, and their recipes need not ask it.
 */
static bool lacks(const void *context, const struct op *op, enum dtype type, int opset)
{
    (void)context;
    (void)opset;
    return (hash_text(op->name) + (uint64_t)type) % 3 == 0;
}

static void test_lacking(void **state)
{
    (void)state;
    struct blocks *blocks = blocks_new();
    struct rng root = rng_seed(8);
    struct generate_options options = {.lacks = lacks};
    size_t skipped = 0;
    assert_int_equal(blocks_add_builtin(blocks, NULL), 0);
    for (uint64_t i = 0; i < 200; i++) {
        struct plan plan;
        struct test_case *c, *again;
        struct error err = {0};
        struct rng rng = rng_split(&root, i);
        assert_int_equal(plan_random(&plan, blocks, &rng, 6, &options, &err), 0);
        if (generate_plan(3, i, &plan, &options, &c, &err)) {
            assert_int_equal(err.code, ERROR_NOT_FOUND);
            continue;
        }
        skipped += strstr(c->recipe, "skip=") != NULL;
        if (generate_recipe(c->recipe, &again, &err))
            fail_msg("%s: %s", c->recipe, err.message);
        if (!same_case(c, again))
            fail_msg("%s", c->recipe);
        test_case_free(again);
        test_case_free(c);
    }
    assert_true(skipped > 100);
    blocks_free(blocks);
}

/* Those that are named are all that a case has, those that connect others included, and its recipe says so.
 */
static void test_named_operators(void **state)
{
    (void)state;
    static const char named[] = "Relu,Add,Gemm";
    struct generate_options options = {.ops = named};
    struct rng root = rng_seed(9);
    struct blocks *blocks = blocks_new();
    struct error err = {0};
    size_t nodes = 0;
    assert_int_equal(blocks_add_builtin(blocks, NULL), 0);
    for (uint64_t i = 0; i < 200; i++) {
        struct rng rng = rng_split(&root, i);
        struct test_case *c = NULL, *again = NULL;
        struct plan plan;
        assert_int_equal(plan_random(&plan, blocks, &rng, 2 + i % 8, &options, NULL), 0);
        assert_int_equal(generate_plan(4, i, &plan, &options, &c, NULL), 0);
        const Onnx__GraphProto *graph = test_case_model(c, NULL)->graph;
        for (size_t k = 0; k < graph->n_node; k++)
            if (!op_list_has(named, op_find(graph->node[k]->op_type)))
                fail_msg("%s has %s", c->recipe, graph->node[k]->op_type);
        nodes += graph->n_node;
        if (generate_recipe(c->recipe, &again, &err) || !same_case(c, again))
            fail_msg("%s", c->recipe);
        test_case_free(c);
        test_case_free(again);
    }
    assert_true(nodes > 600);
    blocks_free(blocks);
}

/*
 * NonZero stands only on values whose zeros are sure, also where a half overflowed on the way: another engine
 * may still have a number there. These three once had one that the reference could not decide.
 */
static void test_sure_zeros(void **state)
{
    static const char *const recipes[] = {
        "plan seed=1 index=69823 topology=rn k=4 p=0.9 add=0.2 remove=0.1 reshape reparam fill=normal "
        "opset=17 "
        "blocks=GatherND,gelu-erf-half-first@445f0988,Equal,Not,NonZero,Exp,Reciprocal,attention-where@"
        "fa2e8134",
        "plan seed=1 index=81583 topology=rn k=4 p=0.9 remove=0.1 double=0.2 drop=0.2 reshape reparam "
        "fill=special opset=16 blocks=NonZero,Cosh,cast-pairs@2b59287f,pixel-shuffle@54ef3c06",
        "graph seed=1 index=154382",
    };
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct test_case *c;
        struct evaluator *evaluator;
        struct bounded *results;
        size_t count;
        struct error err = {0};
        if (generate_recipe(recipes[i], &c, &err) ||
            evaluator_new(&evaluator, test_case_model(c, &err), NULL, &err) ||
            evaluator_run(evaluator, c->inputs, c->n_inputs, NULL, 0, &results, &count, &err))
            fail_msg("%s: %s", recipes[i], err.message);
        for (size_t k = 0; k < count; k++)
            bounded_release(&results[k]);
        free(results);
        evaluator_free(evaluator);
        test_case_free(c);
    }
}

static void test_bad_recipes(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "plan seed=1 index=2",
        "plan seed=1 index=2 blocks=Nosuch",
        "plan seed=1 index=2 blocks=Relu topology=star",
        "plan seed=1 index=2 blocks=Relu add=-1",
        "plan seed=1 index=2 blocks=,",
        "plan seed=1 index=2 blocks=Relu colour=red",
        "plan seed=1 index=2 blocks=Relu k=99999999999",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct test_case *c;
        struct error err = {0};
        assert_int_equal(generate_recipe(bad[i], &c, &err), -1);
        assert_true(err.message[0]);
        test_case_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_watts_strogatz),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_edge_mutations),
        cmocka_unit_test(test_builtin_blocks),
        cmocka_unit_test(test_variety),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_named_operators),
        cmocka_unit_test(test_sure_zeros),
        cmocka_unit_test(test_bad_recipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
