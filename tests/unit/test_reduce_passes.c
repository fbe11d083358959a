/*
 * The passes of the reducer that put something simpler in the place of something: plain operators, bodies,
 * element types.
 */
#include "base/str.h"
#include "model/build.h"
#include "reduce/same_failure.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject_text.h"

#define HEAD "<ir_version: 8, opset_import: [\"\": 15]>\n"

/* A subject, what it computes, and one subject for every valid edit of a pass. */
struct scene {
    struct subject subject;
    struct record record;
    size_t count;
    struct subject made[64];
};

static void scene_open(struct scene *scene, const char *text, const struct pass *pass)
{
    struct edits edits = {0};
    *scene = (struct scene){0};
    subject_from_text(&scene->subject, text);
    record_reference(&scene->record, &scene->subject, NULL); /* of Scan, which it lacks: the leaves alone */
    assert_non_null(record_find(&scene->record, subject_leaf_name(&scene->subject, 0)));
    pass->list(&scene->subject, &scene->record, &edits);
    for (size_t i = 0; i < edits.count && scene->count < 64; i++) {
        struct subject copy;
        struct bounded *values;
        size_t count;
        bool valid = apply(&copy, &scene->subject, &scene->record, pass, &edits.items[i]) &&
                     evaluate(&copy, &values, &count);
        if (valid) {
            free_values(values, count);
            scene->made[scene->count++] = copy;
        } else {
            subject_release(&copy);
        }
    }
    free(edits.items);
}

static void scene_close(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        subject_release(&scene->made[i]);
    record_release(&scene->record);
    subject_release(&scene->subject);
}

static int add_type(void *context, Onnx__NodeProto *node)
{
    str_printf(context, " %s", node->op_type);
    return 0;
}

/* The first subject made with exactly these operators, in order, bodies included (" Neg Add"); or NULL. */
static const struct subject *with(const struct scene *scene, const char *operators)
{
    const struct subject *found = NULL;
    for (size_t i = 0; i < scene->count && !found; i++) {
        struct str types;
        str_init(&types);
        model_each_node(scene->made[i].model->graph, add_type, &types);
        if (text_equal(types.data, operators))
            found = &scene->made[i];
        str_release(&types);
    }
    return found;
}

/* Its first result, element by element. */
static void gives(const struct subject *subject, const long double *due, size_t n)
{
    struct subject copy;
    struct bounded *values;
    size_t count;
    assert_non_null(subject);
    assert_int_equal(subject_copy(&copy, subject, NULL), 0);
    assert_true(evaluate(&copy, &values, &count));
    assert_int_equal(values[0].count, n);
    for (size_t i = 0; i < n; i++)
        assert_true((long double)values[0].value[i] == due[i]);
    free_values(values, count);
    subject_release(&copy);
}

/* Inputs are -1, -0.625, -0.25 ... (subject_text.h). */
static void a_bystander_is_plain(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HEAD "g (float[2] x) => (float[2] y) { a = Floor(x)  y = Abs(a) }", &pass_plain);
    /* From a leaf of its own it gives what Floor gave; in its place it is Neg of the same input. */
    const long double floors[] = {1, 1}, negated[] = {1, 0.625L};
    gives(with(&scene, " Neg Abs"), floors, 2);
    bool like = false;
    for (size_t i = 0; i < scene.count; i++) {
        const Onnx__NodeProto *node = scene.made[i].model->graph->node[0];
        if (text_equal(node->op_type, "Neg") && text_equal(node->input[0], "x")) {
            gives(&scene.made[i], negated, 2);
            like = true;
        }
    }
    assert_true(like);
    scene_close(&scene);
    /* What is plain already, or alone, stays. */
    scene_open(&scene, HEAD "g (float[2] x) => (float[2] y) { a = Neg(x)  y = Neg(a) }", &pass_plain);
    assert_int_equal(scene.count, 1); /* the second, from a leaf: the first goes */
    assert_int_equal(scene.made[0].model->graph->n_node, 1);
    scene_close(&scene);
    scene_open(&scene, HEAD "g (float[2] x) => (float[2] y) { y = Floor(x) }", &pass_plain);
    assert_int_equal(scene.count, 0);
    scene_close(&scene);
}

/* Within a body no values are known: what gives the type and shape it takes, of a signed number, is Neg. */
static void a_bystander_in_a_body_is_plain(void **state)
{
    static const struct {
        const char *node;
        bool plain;
    } rows[] = {{"Tanh(x)", true},       {"HardSwish(x)", true}, {"HardSigmoid(x)", true},
                {"Reciprocal(x)", true}, {"Softmax(x)", true},   {"Identity(x)", false},
                {"Abs(x)", false},       {"Neg(x)", false},      {"ReduceMax(x)", false},
                {"Add(x, x)", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[500];
        struct scene scene;
        snprintf(text, sizeof text,
                 HEAD "g (float[2] x) => (float[2] y) { c = Constant <value = bool {1}> ()"
                      " y = If (c) <then_branch = t () => (float[2] a) { b = %s a = Sum(b, x) },\n"
                      "             else_branch = e () => (float[2] a) { a = Floor(x) }> }",
                 rows[i].node);
        scene_open(&scene, text, &pass_plain);
        if ((with(&scene, " Constant If Neg Sum Floor") != NULL) != rows[i].plain)
            fail_msg("%s", rows[i].node);
        scene_close(&scene);
    }
}

static void types_choose_the_plain_operator(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene,
               HEAD "g (bool[2] x, uint8[2] u) => (bool[2] y, uint8[2] v) {\n"
                    " a = And(x, x)  y = Or(a, x)  b = Add(u, u)  v = Mul(b, u) }",
               &pass_plain);
    assert_non_null(with(&scene, " Not Or Add Mul"));
    assert_non_null(with(&scene, " And Or Abs Mul"));
    scene_close(&scene);
}

/* Who is given the result must be given its type. */
static void types_stay_where_they_matter(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HEAD "g (float[2] x) => (float[2] y) { c = IsNaN(x)  y = Where(c, x, x) }",
               &pass_plain);
    assert_null(with(&scene, " Neg Where"));
    assert_non_null(with(&scene, " Not Where"));
    scene_close(&scene);
}

static void castlike_is_cast(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HEAD "g (float[2] x, int32[3] t) => (int32[2] y) { y = CastLike(x, t) }", &pass_plain);
    const struct subject *cast = with(&scene, " Cast");
    const long double due[] = {-1, 0};
    gives(cast, due, 2);
    assert_int_equal(cast->n_inputs, 1);
    scene_close(&scene);
}

static void networks_go_one_way(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene,
               HEAD "g (float[3,1,2] x, float[2,4,2] w, float[2,4,4] r, float[2,8] b, float[2,1,4] h)\n"
                    " => (float[3,2,1,4] y) { y = RNN <hidden_size = 4, direction = \"bidirectional\",\n"
                    " activations = [\"Relu\", \"Tanh\"]> (x, w, r, b, , h) }",
               &pass_plain);
    assert_int_equal(scene.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const Onnx__NodeProto *node = scene.made[i].model->graph->node[0];
        const Onnx__AttributeProto *activations = node_attribute(node, "activations");
        assert_int_equal(activations->n_strings, 1);
        assert_memory_equal(activations->strings[0].data, i ? "Tanh" : "Relu", 4);
        assert_true((node_attribute(node, "direction") != NULL) == (i == 1));
        for (size_t k = 1; k < scene.made[i].n_inputs; k++)
            assert_int_equal(scene.made[i].inputs[k].tensors[0].shape.dims[0], 1);
        assert_int_equal(scene.made[i].inputs[0].tensors[0].shape.dims[0], 3);
    }
    scene_close(&scene);
}

static void bodies_stand_alone(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene,
               HEAD "g (float[2] x) => (float[2] y) {\n"
                    " n = Constant <value = int64 {3}> ()  c = Constant <value = bool {1}> ()\n"
                    " y, s = Loop (n, c, x) <body = b (int64 i, bool d, float[2] a) =>\n"
                    "  (bool e, float[2] o, float[2] p) { e = Not(d)  o = Add(a, x)  p = Sin(o) }> }",
               &pass_bodies);
    const long double twice[] = {-2, -1.25L};
    gives(with(&scene, " Add Identity"), twice, 2);
    assert_non_null(with(&scene, " Constant Constant Loop Not Add")); /* s is used by nobody */
    scene_close(&scene);
    scene_open(&scene,
               HEAD "g (float[2] x, float[3,2] z) => (float[2] y) {\n"
                    " y = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] t) => (float[2] o)\n"
                    "  { o = Sub(a, t) }> (x, z) }",
               &pass_bodies);
    const long double nothing[] = {0, 0};
    gives(with(&scene, " Sub Identity"), nothing, 2);
    scene_close(&scene);
}

/* What a body hands on is made in it: neither its own inputs nor values from outside. */
static void bodies_make_what_they_give(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(
        &scene,
        HEAD "g (int64 n, bool c, float[2] x) => (float[2] y, int64[M] s) {\n"
             " y, s = Loop (n, c, x) <body = b (int64 i, bool d, float[2] a) =>\n"
             "  (bool e, float[2] o, int64 p) { e = Not(d)  t = Add(a, x)  o = Sin(t)  p = Identity(i) }> }",
        &pass_bypass);
    assert_non_null(with(&scene, " Loop Not Sin Identity"));
    assert_non_null(with(&scene, " Loop Not Add Identity"));
    assert_null(with(&scene, " Loop Not Add Sin"));
    assert_null(with(&scene, " Loop Add Sin Identity"));
    scene_close(&scene);
    scene_open(&scene,
               HEAD "g (bool c, float[2] x) => (float[2] y) {\n"
                    " y = If (c) <then_branch = t () => (float[2] a) { a = Sin(x) },\n"
                    "  else_branch = e () => (float[2] b) { d = Cos(x)  b = Abs(d) }> }",
               &pass_bypass);
    assert_int_equal(scene.count, 2); /* without Cos, without Abs */
    assert_null(with(&scene, " If Cos Abs"));
    scene_close(&scene);
}

static void branches_become_alike(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene,
               HEAD "g (bool c, float[2] x) => (float[2] y) {\n"
                    " y = If (c) <then_branch = t () => (float[2] a) { a = Sin(x) },\n"
                    "  else_branch = e () => (float[2] b) { d = Sin(x)  b = Cos(d) }> }",
               &pass_bodies);
    assert_non_null(with(&scene, " If Sin Sin"));
    assert_null(with(&scene, " If Sin Cos Sin Cos")); /* never the larger one */
    scene_close(&scene);
}

/* Nothing computes a branch that is not taken. */
static void constants_keep_their_value(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(
        &scene,
        HEAD "g (bool c) => (float[1] y) {\n"
             " y = If (c) <then_branch = t () => (float[1] a) { a = Constant <value = float[1] {1}> () },\n"
             "             else_branch = e () => (float[1] b) { b = Constant <value = float[1] {2}> () }> }",
        &pass_attributes);
    assert_int_equal(scene.count, 0);
    scene_close(&scene);
}

static bool is_idle(const char *sizes)
{
    struct subject subject;
    struct evaluator *evaluator;
    struct bounded *values;
    size_t count;
    bool idle = false;
    struct str text;
    str_init(&text);
    str_printf(&text,
               HEAD "g (float[2] x) => (float[2] y) <int64[1] s = {%s}> {\n"
                    " n = ReduceMax <keepdims = 0> (x)  d = Less (n, n)\n"
                    " y = If (d) <then_branch = t () => (float[2] a) { a = Reshape (x, s) },\n"
                    "             else_branch = e () => (float[2] b) { b = Sin (x) }> }",
               sizes);
    subject_from_text(&subject, text.data);
    assert_int_equal(
        evaluator_new(&evaluator, subject.model, &(struct evaluate_options){.idle = &idle}, NULL), 0);
    assert_int_equal(
        evaluator_run(evaluator, subject.inputs, subject.n_inputs, NULL, 0, &values, &count, NULL), 0);
    evaluator_free(evaluator);
    free_values(values, count);
    subject_release(&subject);
    str_release(&text);
    return idle;
}

static void a_branch_not_taken_must_be_valid(void **state)
{
    (void)state;
    assert_false(is_idle("2"));
    assert_true(is_idle("3"));
}

/* Slices of a Loop that never runs are as large as its body says; without a word they may be of any size. */
static bool stays_valid(const char *size, bool forgetting)
{
    struct subject subject;
    struct bounded *values;
    size_t count = 0;
    struct str text;
    str_init(&text);
    str_printf(&text,
               HEAD "g (float[2] x) => (float[2] y, float[0,2] z) <int64 m = {0}, bool t = {1}> {\n"
                    " y, z = Loop (m, t, x) <body = b (int64 i, bool c, float[2] v) =>\n"
                    "  (bool d, float[2] w, float[%s] s) { d = Not (c)  w = Neg (v)  s = Abs (v) }> }",
               size);
    subject_from_text(&subject, text.data);
    if (forgetting)
        subject_forget_types(&subject);
    bool valid = evaluate(&subject, &values, &count);
    if (valid) {
        assert_int_equal(values[1].shape.dims[1], 2);
        free_values(values, count);
    }
    subject_release(&subject);
    str_release(&text);
    return valid;
}

static void a_loop_that_never_runs_keeps_its_sizes(void **state)
{
    (void)state;
    assert_true(stays_valid("2", false));
    assert_true(stays_valid("2", true));
    assert_false(stays_valid("N", false));
    assert_false(stays_valid("3", false));
}

static void leaves_and_casts_get_simpler_types(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, HEAD "g (int64[2] x) => (int8[2] y) { a = Neg(x)  y = Cast <to = 3> (a) }",
               &pass_types);
    size_t floats = 0, casts = 0;
    for (size_t i = 0; i < scene.count; i++) {
        const struct subject *made = &scene.made[i];
        floats += made->inputs[0].tensors[0].type == DTYPE_FLOAT;
        casts += node_int(made->model->graph->node[1], "to", 0) == DTYPE_FLOAT;
    }
    assert_int_equal(floats, 1);
    assert_int_equal(casts, 1);
    scene_close(&scene);
    /* Nothing simpler; nothing that the text does not allow: axes are int64, conditions bool, Add has one
     * type. */
    static const char *const none[] = {
        HEAD "g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }",
        HEAD "g (float[2] x) => (float[1] y) { a = Constant <value = int64[1] {0}> ()  y = ReduceSum(x, a) }",
        HEAD "g (float[2] x, int64[1] a) => (float[1] y) { y = ReduceSum(x, a) }",
        HEAD "g (float[2] x, bool[2] c) => (float[2] y) { y = Where(c, x, x) }",
        HEAD "g (bool[2] x) => (bool[2] y) { y = Not(x) }",
        HEAD "g (int64[2] x, int64[2] z) => (int64[2] y) { y = Add(x, z) }",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        scene_open(&scene, none[i], &pass_types);
        assert_int_equal(scene.count, 0);
        scene_close(&scene);
    }
}

static bool shows(const char *smaller, const char *larger)
{
    struct signature a, b;
    char text[SIGNATURE_TEXT_SIZE];
    snprintf(text, sizeof text, "wrong|e|%s|f32||", smaller);
    assert_true(signature_parse(&a, text));
    snprintf(text, sizeof text, "wrong|e|%s|f32||", larger);
    assert_true(signature_parse(&b, text));
    return same_failure(&a, &b);
}

static void fewer_operators_are_the_same_failure(void **state)
{
    (void)state;
    assert_true(shows("MatMul", "Mul+MatMul"));
    assert_false(shows("Gemm", "Mul+MatMul"));
    assert_true(shows("Neg+MatMul", "Mul+MatMul"));
    assert_false(shows("Neg", "Mul+MatMul")); /* plain ones are not the failure */
    assert_true(shows("Neg", "Neg+MatMul"));
    assert_true(shows("Add", "If(Add,Cos)"));
    assert_true(shows("If(Neg)", "If(Add,Cos)"));
    assert_false(shows("Sin", "If(Add,Cos)"));
    /* Of a group that is not named whole, any may be it. */
    assert_true(shows("Gemm", "graph"));
    assert_true(shows("Gemm", "Abs+Abs+Abs+..."));
    char many[SIGNATURE_PART_SIZE + 1];
    memset(many, 'A', SIGNATURE_PART_SIZE);
    many[SIGNATURE_PART_SIZE] = '\0';
    assert_true(shows("Gemm", many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bystander_is_plain),
        cmocka_unit_test(a_bystander_in_a_body_is_plain),
        cmocka_unit_test(types_choose_the_plain_operator),
        cmocka_unit_test(types_stay_where_they_matter),
        cmocka_unit_test(castlike_is_cast),
        cmocka_unit_test(networks_go_one_way),
        cmocka_unit_test(bodies_stand_alone),
        cmocka_unit_test(bodies_make_what_they_give),
        cmocka_unit_test(branches_become_alike),
        cmocka_unit_test(constants_keep_their_value),
        cmocka_unit_test(a_branch_not_taken_must_be_valid),
        cmocka_unit_test(a_loop_that_never_runs_keeps_its_sizes),
        cmocka_unit_test(leaves_and_casts_get_simpler_types),
        cmocka_unit_test(fewer_operators_are_the_same_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
