/*
 * The reducer: what its passes do to models, that they come to an end, and whole reductions of planted
 * faults.
 */
#include "base/memory.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "model/edit.h"
#include "model/onnx.h"
#include "reduce/pass.h"
#include "reduce/reduce.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "same_bytes.h"
#include "subject_text.h"

static const struct pass *const passes[] = {
    &pass_outputs, &pass_fold,  &pass_bodies, &pass_bypass,     &pass_omit,   &pass_shrink,
    &pass_rank,    &pass_plain, &pass_types,  &pass_attributes, &pass_values, &pass_opset,
};
enum { PASSES = sizeof passes / sizeof *passes };

/* One of each kind: plain, constants, convolution, bodies in bodies, several outputs and types. */
static const char *const texts[] = {
    "<ir_version: 7, opset_import: [\"\": 13]>\n"
    "agraph (float[1,3] a, float[2,3] b) => (float[2,3] y, float[2,3] z) {\n"
    "    s = Add(a, b)\n    t = Tanh(s)\n    f = Floor(t)\n    y = Mul(f, a)\n    z = Sub(t, b)\n}",

    "<ir_version: 7, opset_import: [\"\": 13]>\n"
    "agraph (float[1,2,5,5] x) => (float[1,3,3,3] y) {\n"
    "    one = Constant <value: tensor = float {1}> ()\n"
    "    two = Add(one, one)\n    w = Expand(two, shape)\n"
    "    shape = Constant <value: tensor = int64[4] {3,2,3,3}> ()\n"
    "    y = Conv <kernel_shape: ints = [3,3], strides: ints = [2,2], pads: ints = [1,1,1,1]> (x, w)\n}",

    "<ir_version: 7, opset_import: [\"\": 13]>\n"
    "agraph (float[4] a, bool q) => (float[12] y, float[4] n) {\n    n = Neg(a)\n    y = If (q) <\n"
    "        then_branch = g1 () => (float[12] u) { e = Abs(n)  m = Sub(e, a)  c = Concat <axis: int = 0> "
    "(e, m, n)"
    "  u = Tanh(c) },\n"
    "        else_branch = g2 () => (float[12] v) { v = If (q) <\n"
    "            then_branch = g3 () => (float[12] o) { o = Concat <axis: int = 0> (a, a, a) },\n"
    "            else_branch = g4 () => (float[12] p) { p = Concat <axis: int = 0> (n, a, n) }> }>\n}",

    "<ir_version: 7, opset_import: [\"\": 13]>\n"
    "agraph (double[3,4] a, int64[2] i) => (double[2,4] y, int64[4] s) {\n"
    "    g = Gather <axis: int = 0> (a, i)\n    y = Softmax <axis: int = 1> (g)\n"
    "    s = ArgMax <axis: int = 0, keepdims: int = 0> (y)\n}",

    "<ir_version: 7, opset_import: [\"\": 13]>\n"
    "agraph (int64 m, bool c, float16[1,3] v) => (float16[1,3] y) {\n    n = Sub(one, m)\n"
    "    one = Constant <value: tensor = int64 {3}> ()\n    k = Not(c)\n    x = Exp(v)\n    y = Loop (n, k, "
    "x) <\n"
    "        body = g (int64 i, bool d, float16[1,3] w) => (bool e, float16[1,3] z) {\n"
    "            e = Identity(d)  r = Relu(w)  z = Add(r, v) }>\n}",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static bool is_valid(struct subject *subject)
{
    struct bounded *values;
    size_t count, size;
    uint8_t *bytes;
    bool valid = evaluate(subject, &values, &count);
    free_values(values, count);
    if (!valid || model_pack(subject->model, &bytes, &size, NULL))
        return false;
    valid = onnx_check(bytes, size, NULL) >= 0;
    free(bytes);
    return valid;
}

static void same_values(const struct bounded *a, const struct bounded *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(shape_equal(&a->shape, &b->shape));
    for (size_t i = 0; i < a->count; i++)
        assert_true(a->value[i] == b->value[i]);
}

/* Folding constants and taking an If's branch change no result; dropping outputs keeps the others. */
static void test_equivalent(void **state)
{
    (void)state;
    size_t folded = 0;
    for (size_t t = 0; t < TEXTS; t++) {
        struct subject subject;
        struct record record;
        struct bounded *before, *after;
        size_t n_before, n_after;
        subject_from_text(&subject, texts[t]);
        assert_true(evaluate(&subject, &before, &n_before));
        assert_int_equal(record_reference(&record, &subject, NULL), 0);
        struct edits edits = {0};
        pass_fold.list(&subject, &record, &edits);
        size_t constants = edits.count;
        pass_bodies.list(&subject, &record, &edits);
        for (size_t i = 0; i < edits.count; i++) {
            struct subject copy;
            const Onnx__NodeProto *node = subject.model->graph->node[edits.items[i].a];
            if (i >= constants && (edits.items[i].kind || !text_equal(node->op_type, "If")))
                continue; /* another turn or branch may give another result */
            assert_true(
                apply(&copy, &subject, &record, i < constants ? &pass_fold : &pass_bodies, &edits.items[i]));
            assert_true(evaluate(&copy, &after, &n_after));
            assert_int_equal(n_after, n_before);
            for (size_t k = 0; k < n_after; k++)
                same_values(&before[k], &after[k]);
            folded++;
            free_values(after, n_after);
            subject_release(&copy);
        }
        free(edits.items);
        free_values(before, n_before);
        record_release(&record);
        subject_release(&subject);
    }
    assert_true(folded >= 4); /* three constants and an If */
}

/* Every single node cut out computes what was recorded. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t t = 0; t < TEXTS; t++) {
        struct subject subject, part;
        struct record record;
        subject_from_text(&subject, texts[t]);
        assert_int_equal(record_reference(&record, &subject, NULL), 0);
        for (size_t n = 0; n < subject.model->graph->n_node; n++) {
            struct bounded *values;
            size_t count;
            assert_int_equal(pass_cut(&part, &subject, &record, &n, 1), 0);
            assert_int_equal(part.model->graph->n_node, 1);
            assert_true(evaluate(&part, &values, &count));
            for (size_t k = 0; k < count; k++) {
                const struct tensor *known = record_find(&record, part.model->graph->output[k]->name);
                assert_non_null(known);
                assert_true(shape_equal(&known->shape, &values[k].shape));
            }
            free_values(values, count);
            subject_release(&part);
        }
        record_release(&record);
        subject_release(&subject);
    }
}

/* Every edit of every pass: what the reference takes is taken by the checker too or refused cleanly, and the
 * subject it was made from is as before. */
static size_t try_all(const struct subject *subject, size_t valid[PASSES])
{
    struct record record;
    uint8_t *before, *after;
    size_t before_size, after_size, tried = 0;
    assert_int_equal(record_reference(&record, subject, NULL), 0);
    assert_int_equal(model_pack(subject->model, &before, &before_size, NULL), 0);
    for (size_t p = 0; p < PASSES; p++) {
        struct edits edits = {0};
        passes[p]->list(subject, &record, &edits);
        for (size_t i = 0; i < edits.count; i++) {
            struct subject copy;
            if (apply(&copy, subject, &record, passes[p], &edits.items[i]))
                valid[p] += is_valid(&copy);
            subject_release(&copy);
            tried++;
        }
        free(edits.items);
    }
    assert_int_equal(model_pack(subject->model, &after, &after_size, NULL), 0);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, after_size);
    free(before);
    free(after);
    record_release(&record);
    return tried;
}

static void test_every_edit(void **state)
{
    (void)state;
    size_t valid[PASSES] = {0};
    for (size_t t = 0; t < TEXTS; t++) {
        struct subject subject;
        subject_from_text(&subject, texts[t]);
        assert_true(try_all(&subject, valid) > 20);
        subject_release(&subject);
    }
    for (size_t p = 0; p < PASSES; p++)
        if (!valid[p])
            fail_msg("no edit of pass %s gives a valid model", passes[p]->name);
}

/* Random graphs of all operators. */
static void test_random_graphs(void **state)
{
    (void)state;
    struct generate_options options = {.min_nodes = 2, .max_nodes = 8, .max_opset = onnx_max_opset()};
    size_t valid[PASSES] = {0}, tried = 0;
    for (uint64_t index = 0; index < 12; index++) {
        struct test_case *random;
        struct subject subject;
        if (generate_graph(11, index, &options, &random, NULL))
            continue;
        assert_int_equal(subject_from_case(&subject, random, NULL), 0);
        tried += try_all(&subject, valid);
        subject_release(&subject);
        test_case_free(random);
    }
    assert_true(tried > 500);
}

/* Where anything valid will do, the passes come to an end, at next to nothing. */
static void test_comes_to_an_end(void **state)
{
    (void)state;
    for (size_t t = 0; t < TEXTS; t++) {
        struct subject best;
        size_t steps = 0, elements, nodes;
        subject_from_text(&best, texts[t]);
        elements = subject_elements(&best);
        nodes = subject_nodes(&best);
        for (bool any = true; any;) {
            any = false;
            for (size_t p = 0; p < PASSES; p++) {
                struct record record;
                struct edits edits = {0};
                assert_int_equal(record_reference(&record, &best, NULL), 0);
                passes[p]->list(&best, &record, &edits);
                for (size_t i = 0; i < edits.count; i++) {
                    struct subject copy;
                    if (apply(&copy, &best, &record, passes[p], &edits.items[i]) && is_valid(&copy)) {
                        struct subject old = best;
                        best = copy;
                        copy = old;
                        any = true;
                        i = edits.count;
                    }
                    subject_release(&copy);
                }
                free(edits.items);
                record_release(&record);
            }
            assert_true(steps++ < 400);
        }
        assert_true(subject_elements(&best) < elements);
        assert_true(subject_nodes(&best) <= nodes);
        assert_int_equal(best.model->graph->n_output, 1);
        subject_release(&best);
    }
}

static void test_hostile_cases(void **state)
{
    (void)state;
    struct subject subject;
    struct error err = {0};
    uint8_t *rubbish = malloc(64);
    assert_non_null(rubbish);
    memset(rubbish, 0xa5, 64);
    struct test_case *test = test_case_from_bytes(rubbish, 64);
    assert_int_equal(subject_from_case(&subject, test, &err), -1);
    subject_release(&subject);
    test_case_free(test);
    /* An input that nobody gives, or that is no tensor. */
    uint8_t *bytes;
    size_t size;
    assert_int_equal(onnx_parse_text(texts[0], &bytes, &size, &err), 0);
    test = test_case_from_bytes(bytes, size);
    assert_int_equal(subject_from_case(&subject, test, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    subject_release(&subject);
    struct value sequence = {.name = (char *)(uintptr_t) "a", .kind = VALUE_SEQUENCE};
    assert_int_equal(test_case_add_inputs(test, &sequence, 1, &err), 0);
    assert_int_equal(subject_from_case(&subject, test, &err), -1);
    subject_release(&subject);
    test_case_free(test);
}

/* Whole reductions of planted faults by the reference engine. */
struct scene {
    struct registry *registry;
    struct pool *pool;
    struct test_case *test;
};

static void scene_open(struct scene *scene, const char *text, const char *engine)
{
    const struct engine_spec *spec;
    struct subject subject;
    assert_int_equal(registry_open(&scene->registry, NULL, 0, NULL), 0);
    assert_int_equal(
        registry_find(scene->registry, given_typed(registry_arena(scene->registry), engine), &spec, NULL), 0);
    scene->pool = pool_new(&(struct pool_options){.deadline = 20});
    assert_int_equal(pool_add(scene->pool, spec), 0);
    subject_from_text(&subject, text);
    scene->test = subject_to_case(&subject);
    test_case_set_recipe(scene->test, "made");
}

static void scene_close(struct scene *scene)
{
    pool_free(scene->pool);
    registry_free(scene->registry);
    test_case_free(scene->test);
}

static void test_whole(void **state)
{
    (void)state;
    struct scene scene;
    struct test_case *small, *again;
    struct reduce_stats stats, other;
    struct error err = {0};
    scene_open(&scene, texts[2], "reference:fault=concat-three");
    struct reduce_options options = {.pool = scene.pool, .companion = -1};
    if (reduce_case(&small, scene.test, &options, &stats, &err))
        fail_msg("%s", err.message);
    assert_true(stats.complete);
    assert_int_equal(stats.nodes_after, 1);
    assert_int_equal(stats.verdict.kind, VERDICT_WRONG);
    assert_string_equal(small->recipe, "made");
    assert_true(stats.elements_after < stats.elements_before);
    /* The same again, whatever is under way at once. */
    options.ahead = 1;
    assert_int_equal(reduce_case(&again, scene.test, &options, &other, &err), 0);
    assert_true(same_bytes(again, small));
    test_case_free(again);
    /* What is small stays as it is. */
    assert_int_equal(reduce_case(&again, small, &options, &other, &err), 0);
    assert_int_equal(other.held, 0);
    test_case_free(again);
    /* Another failure is not this one. */
    struct signature keep = stats.last;
    keep.engine[0]++;
    options.keep = &keep;
    assert_int_equal(reduce_case(&again, small, &options, &other, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    test_case_free(again);
    test_case_free(small);
    scene_close(&scene);
}

/* A model that ONNX forbids stays forbidden for the same reason, and one that is not cannot be kept as such.
 */
static void test_forbidden(void **state)
{
    static const char text[] = "<ir_version: 8, opset_import: [\"\" : 13]>\n"
                               "g (float[2,2,5,5] x, float[2,2,3,3] w) => (float[2,2,3,3] y) {\n"
                               "  a = Abs(x)  c = Conv <kernel_shape = [0, 3]> (a, w)  y = Neg(c)\n}\n";
    struct scene scene;
    struct test_case *small;
    struct reduce_stats stats;
    struct error err = {0};
    (void)state;
    scene_open(&scene, text, "reference:fault=kernel-zero-crash");
    struct reduce_options options = {.pool = scene.pool, .companion = -1};
    assert_int_equal(reduce_case(&small, scene.test, &options, &stats, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    scene.test->forbidden = FORBIDDEN_BY_CHECKER; /* nobody is as certain as that */
    scene.test->forbidden_why = memory_strdup("a kernel of 0");
    scene.test->forbidden_node = memory_strdup("c");
    assert_int_equal(reduce_case(&small, scene.test, &options, &stats, &err), -1);
    scene.test->forbidden = FORBIDDEN_BY_REFERENCE;
    if (reduce_case(&small, scene.test, &options, &stats, &err))
        fail_msg("%s", err.message);
    assert_true(stats.complete);
    assert_int_equal(stats.nodes_after, 1);
    assert_true(stats.elements_after <= 4);
    assert_int_equal(stats.verdict.kind, VERDICT_CRASH);
    assert_true(small->forbidden >= FORBIDDEN_BY_CHECKER && small->forbidden <= FORBIDDEN_BY_REFERENCE);
    assert_non_null(strstr(small->forbidden_why, "kernel"));
    assert_string_equal(small->forbidden_node, "c");
    test_case_free(small);
    scene_close(&scene);
}

static void test_no_time_no_failure(void **state)
{
    (void)state;
    struct scene scene;
    struct test_case *small;
    struct reduce_stats stats;
    struct error err = {0};
    scene_open(&scene, texts[2], "reference:fault=concat-three");
    struct reduce_options options = {.pool = scene.pool, .companion = -1, .seconds = 1e-9};
    assert_int_equal(reduce_case(&small, scene.test, &options, &stats, &err), 0);
    assert_false(stats.complete);
    assert_int_equal(stats.nodes_after, stats.nodes_before);
    test_case_free(small);
    scene_close(&scene);
    scene_open(&scene, texts[2], "reference");
    options = (struct reduce_options){.pool = scene.pool, .companion = -1};
    assert_int_equal(reduce_case(&small, scene.test, &options, &stats, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    test_case_free(small);
    scene_close(&scene);
}

static void settle_bodies(struct subject *subject, const char *text)
{
    struct error err = {0};
    uint8_t *bytes;
    size_t size;
    *subject = (struct subject){0};
    assert_int_equal(onnx_parse_text(text, &bytes, &size, &err), 0);
    assert_int_equal(model_parse(&subject->model, bytes, size, &err), 0);
    free(bytes);
    subject_settle_bodies(subject);
}

/* Ranks that bodies declare follow what they compute, in the branch that is not taken too. */
static void test_bodies_settled(void **state)
{
    (void)state;
    static const char text[] =
        "<ir_version: 7, opset_import: [\"\": 13]>\n"
        "agraph (float[2] a, bool q, float[1, 1, 2, 2, 2] x, float[1, 1, 1, 1, 1] w) => (float[2] y, float[] "
        "z) {\n"
        "    t = ConvTranspose <output_shape = [1, 1, 1]> (x, w) y, z = If (q) <\n"
        "        then_branch = g1 () => (float[1, 1, 2] u, float[1] k) { u = Abs(a) k = Neg(t) },\n"
        "        else_branch = g2 () => (float[] v, float[1] l) { c = Constant <value: tensor = float[1, 2] "
        "{3, 4}> ()"
        "  v = Mul(a, c) l = Abs(t) }>\n}";
    struct subject subject;
    settle_bodies(&subject, text);
    const Onnx__NodeProto *node = subject.model->graph->node[1];
    assert_int_equal(node_graph(node, "then_branch")->output[0]->type->tensor_type->shape->n_dim, 1);
    assert_int_equal(node_graph(node, "else_branch")->output[0]->type->tensor_type->shape->n_dim, 2);
    assert_int_equal(node_graph(node, "then_branch")->output[1]->type->tensor_type->shape->n_dim, 5);
    subject_release(&subject);
}

/* What a Loop carries has no rank in its body when it begins with another than the one declared there. */
static void test_carried_settled(void **state)
{
    (void)state;
    static const char text[] =
        "<ir_version: 7, opset_import: [\"\": 13]>\n"
        "agraph (float a, float[2, 2] b) => (float[2, 2] y, float[2, 2] z) <int64 n = {2}> {\n"
        "    y, z = Loop <body = g (int64 i, bool c, float[m, k] u, float[m, k] v) => (bool d, float[m, k] "
        "w, "
        "float[m, k] x) { d = Identity(c) w = Add(u, v) x = Neg(v) }> (n, , a, b)\n}";
    struct subject subject;
    settle_bodies(&subject, text);
    const Onnx__GraphProto *body = node_graph(subject.model->graph->node[0], "body");
    assert_null(body->input[2]->type->tensor_type->shape);
    assert_int_equal(body->input[3]->type->tensor_type->shape->n_dim, 2);
    subject_release(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_settled),
        cmocka_unit_test(test_carried_settled),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_equivalent),
        cmocka_unit_test(test_every_edit),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_comes_to_an_end),
        cmocka_unit_test(test_hostile_cases),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_no_time_no_failure),
        cmocka_unit_test(test_forbidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
