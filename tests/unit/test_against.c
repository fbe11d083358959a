/* A model against the one it was made from: measures, levels, matching, and whose the loss is. */
#include "scene.h"

#include "against/against.h"
#include "against/keep_float.h"
#include "against/levels.h"
#include "against/loss.h"

#include <math.h>

/* The model that all others here are made of. */
#define FLOAT                                                                                   \
    "g (float[1,4] x) => (float[1,3] y)"                                                        \
    "<float[4,3] w = {0.5, -1.0, 0.25, 1.0, 0.75, -0.5, -0.25, 0.5, 1.0, 0.125, -0.75, 0.375}>" \
    "{ m = MatMul(x, w) r = Relu(m) y = Add(r, r) }"

/* Levels of its weights, a scale for each column. */
#define LEVELS(scales)                                                                               \
    "g (float[1,4] x) => (float[1,3] y)"                                                             \
    "<int8[4,3] q = {64, -127, 32, 127, 95, -64, -32, 64, 127, 16, -95, 48}, int8[3] z = {0, 0, 0}," \
    " float[3] s = {" scales "}>"                                                                    \
    "{ d = DequantizeLinear<axis = 1>(q, s, z) m = MatMul(x, d) r = Relu(m) y = Add(r, r) }"

static void float_tensor(struct tensor *tensor, const float *values, int64_t count)
{
    struct error err = {0};
    struct shape shape = shape_make(1, &count);
    assert_int_equal(
        tensor_from_bytes(tensor, DTYPE_FLOAT, &shape, values, (size_t)count * sizeof *values, &err), 0);
}

static void a_loss_is_measured(void **state)
{
    (void)state;
    struct loss loss = {0};
    struct tensor base, made;
    float_tensor(&base, (const float[]){3, -4, 0, 12}, 4);
    float_tensor(&made, (const float[]){3, -4, 0, 13.3f}, 4);
    loss_add(&loss, &made, &base, 5);
    assert_float_equal(loss_share(&loss), 0.1, 1e-6);
    assert_float_equal(loss_snr(&loss), 20, 1e-4);
    assert_float_equal(loss_mse(&loss), 1.69 / 4, 1e-5);
    assert_int_equal(loss.sample, 5);
    assert_int_equal(loss.element, 3);
    tensor_release(&made);
    float_tensor(&made, (const float[]){3, -4, NAN, 12}, 4);
    loss_add(&loss, &made, &base, 6);
    assert_int_equal(loss.broken, 1);
    assert_true(isinf(loss_share(&loss)));
    tensor_release(&made);
    tensor_release(&base);
}

/* MODEL against FLOAT on `engine`. */
static void hold(struct against *against, const char *text, const char *engine)
{
    struct scene scene;
    struct inputs inputs;
    struct error err = {0};
    struct model *model = model_of_text(text), *other = model_of_text(FLOAT);
    scene_open(&scene, LABELS(engine));
    if (inputs_random(&inputs, model, 6, 1, NULL, 0, &err) ||
        against_run(against, model, other, &inputs, &scene.panel, &(struct against_options){.seconds = 60},
                    &err))
        fail_msg("%s", err.message);
    assert_int_equal(against->compared, 6);
    inputs_release(&inputs);
    scene_close(&scene);
    model_free(model);
    model_free(other);
}

static void levels_that_fit_are_no_damage(void **state)
{
    (void)state;
    struct against against;
    hold(&against, LEVELS("0.007874015748, 0.007874015748, 0.007874015748"), "reference:round=on");
    assert_string_equal(against.formats, "int8");
    assert_int_equal(against.damaged, 0);
    assert_int_equal(against.unmatched, 0);
    double share = against_share(against.output, against.n_outputs);
    assert_true(share > 1e-5 && share < 0.01);
    assert_int_equal(against.engine[0].answered, 6);
    assert_true(against_share(against.engine[0].added, 1) == 0);
    against_release(&against);
}

static void a_scale_that_does_not_fit_is_named(void **state)
{
    (void)state;
    struct against against;
    hold(&against, LEVELS("0.007874015748, 0.015748031496, 0.007874015748"), "reference:round=on");
    assert_int_equal(against.damaged, 1);
    assert_string_equal(against.layers[0].operator, "MatMul");
    assert_string_equal(against.layers[0].node, "m");
    assert_non_null(strstr(against.layers[0].why, "channel 1 of its weights w is scaled by 2"));
    assert_true(against.layers[0].share > 0.9);
    against_release(&against);
}

/* The same in one node, with levels in front and behind; its numbers are those of the node's parts. */
#define PRODUCT(scales)                                                                              \
    "g (float[1,4] x) => (float[1,3] y)"                                                             \
    "<int8[4,3] q = {64, -127, 32, 127, 95, -64, -32, 64, 127, 16, -95, 48}, int8[3] z = {0, 0, 0}," \
    " float[3] s = {" scales                                                                         \
    "}, float[1] xs = {0.03}, int8[1] xz = {0}, float[1] ms = {0.04}, int8[1] mz = {0}>"             \
    "{ xq = QuantizeLinear(x, xs, xz) n = QLinearMatMul(xq, xs, xz, q, s, z, ms, mz)"                \
    " d = DequantizeLinear(n, ms, mz) r = Relu(d) y = Add(r, r) }"

static void products_of_levels_are_taken_apart(void **state)
{
    (void)state;
    struct against against;
    hold(&against, PRODUCT("0.007874015748, 0.007874015748, 0.007874015748"), "reference:round=on");
    assert_string_equal(against.formats, "int8");
    assert_int_equal(against.damaged, 0);
    assert_int_equal(against.unmatched, 0);
    assert_true(against_share(against.engine[0].added, 1) < 1e-6);
    against_release(&against);
    hold(&against, PRODUCT("0.007874015748, 0.007874015748, 0.031496062992"), "reference:round=on");
    assert_int_equal(against.damaged, 1);
    assert_string_equal(against.layers[0].operator, "MatMul");
    assert_int_equal(against.layers[0].number, 1);
    assert_non_null(strstr(against.layers[0].why, "channel 2 of its weights"));
    against_release(&against);
}

/* The engine's error is its own: the format costs nothing, and no layer of the model is damaged. */
static void the_engines_fault_is_not_the_models(void **state)
{
    (void)state;
    struct against against;
    hold(&against, FLOAT, "reference:fault=fewer-dimensions");
    assert_true(against_same(&against));
    assert_true(against_share(against.output, 1) == 0);
    against_release(&against);
}

/* Other names, and another order of what an Add is given: only structure and values tell. */
static void renamed_values_are_found(void **state)
{
    (void)state;
    struct against against;
    hold(&against,
         "g (float[1,4] in) => (float[1,3] out)"
         "<float[4,3] k = {0.5, -1.0, 0.25, 1.0, 0.75, -0.5, -0.25, 0.5, 1.0, 0.125, -0.75, 0.375}>"
         "{ a = MatMul(in, k) b = Relu(a) out = Add(b, b) }",
         "reference:round=on");
    assert_int_equal(against.values, 3);
    assert_int_equal(against.unmatched, 0);
    assert_true(against_same(&against));
    against_release(&against);
}

/* The weights are the same, and so are the inputs: what is computed is not. */
static void another_operator_is_told(void **state)
{
    (void)state;
    struct against against;
    hold(&against,
         "g (float[1,4] x) => (float[1,3] y)"
         "<float[4,3] w = {0.5, -1.0, 0.25, 1.0, 0.75, -0.5, -0.25, 0.5, 1.0, 0.125, -0.75, 0.375}>"
         "{ m = MatMul(x, w) r = LeakyRelu<alpha = 0.2>(m) y = Add(r, r) }",
         "reference:round=on");
    assert_int_equal(against.damaged, 1);
    assert_string_equal(against.layers[0].operator, "LeakyRelu");
    assert_non_null(strstr(against.layers[0].why, "computes something else"));
    against_release(&against);
}

/* 100,000 is more than float16 has. */
static void numbers_beyond_the_type_are_named(void **state)
{
    (void)state;
    struct against against;
    struct scene scene;
    struct inputs inputs;
    struct error err = {0};
    struct model *model =
        model_of_text("g (float[1,4] x) => (float[1,4] y) <float[1] c = {30000}>"
                      "{ k = Cast<to = 10>(c) h = Cast<to = 10>(x) m = Mul(h, k) d = Div(m, k)"
                      " y = Cast<to = 1>(d) }");
    struct model *other = model_of_text("g (float[1,4] x) => (float[1,4] y) <float[1] k = {30000}>"
                                        "{ m = Mul(x, k) y = Div(m, k) }");
    scene_open(&scene, LABELS("reference:round=on"));
    assert_int_equal(inputs_random(&inputs, model, 20, 1, NULL, 0, &err), 0);
    if (against_run(&against, model, other, &inputs, &scene.panel, &(struct against_options){0}, &err))
        fail_msg("%s", err.message);
    assert_string_equal(against.formats, "float16");
    assert_int_equal(against.damaged, 1);
    assert_string_equal(against.layers[0].node, "m");
    assert_non_null(strstr(against.layers[0].why, "leaves the range of float16"));
    against_release(&against);
    inputs_release(&inputs);
    scene_close(&scene);
    model_free(model);
    model_free(other);
}

/* No row has a largest element. */
static void an_output_may_be_empty(void **state)
{
    static const char text[] = "g (float[2,3] x) => (float[0,3] y)"
                               "<int64[1] zero = {0}> { y = Slice(x, zero, zero, zero) }";
    struct against against;
    struct scene scene;
    struct inputs inputs;
    struct error err = {0};
    struct model *model = model_of_text(text), *other = model_of_text(text);
    (void)state;
    scene_open(&scene, LABELS("reference:round=on"));
    assert_int_equal(inputs_random(&inputs, model, 2, 1, NULL, 0, &err), 0);
    if (against_run(&against, model, other, &inputs, &scene.panel, &(struct against_options){0}, &err))
        fail_msg("%s", err.message);
    assert_int_equal(against.rows, 0);
    against_release(&against);
    inputs_release(&inputs);
    scene_close(&scene);
    model_free(model);
    model_free(other);
}

/* Its weights in float32 again, the one node that has any brings the loss to nothing. */
static void the_node_that_loses_is_kept(void **state)
{
    (void)state;
    struct against against;
    struct kept_float kept;
    struct scene scene;
    struct inputs inputs;
    struct error err = {0};
    struct model *model = model_of_text(LEVELS("0.007874015748, 0.007874015748, 0.007874015748"));
    struct model *other = model_of_text(FLOAT);
    scene_open(&scene, LABELS("reference:round=on"));
    assert_int_equal(inputs_random(&inputs, model, 5, 1, NULL, 0, &err), 0);
    if (against_run(&against, model, other, &inputs, &scene.panel, &(struct against_options){0}, &err) ||
        keep_float(&kept, &against, model, other, &inputs, &scene.panel,
                   &(struct keep_float_options){.figure = 1e-6}, &err))
        fail_msg("%s", err.message);
    assert_true(kept.met);
    assert_int_equal(kept.candidates, 3);
    assert_int_equal(kept.count, 1);
    assert_string_equal(kept.operators[0], "MatMul");
    assert_true(kept.before > 1e-4 && kept.after == 0 && kept.engines[0] == 0);
    assert_int_equal(kept.model->graph->n_node, 3);
    kept_float_release(&kept);
    against_release(&against);
    inputs_release(&inputs);
    scene_close(&scene);
    model_free(model);
    model_free(other);
}

/* Many layers of which each loses a little on every sample, and one, "rare", in which numbers beyond 1 are
 * clipped. rounded: by levels behind each. */
static char *many_layers(bool rounded)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "g (float[1,4] x) => (float[1,4] y) <float w = {1.25}%s> {",
               rounded ? ", float s = {0.0625}, float t = {0.008}, int8 z = {0}" : "");
    for (int i = 0; i < 20; i++)
        str_printf(&text,
                   rounded
                       ? "m%d = Mul(x, w) q%d = QuantizeLinear(m%d, s, z) a%d = DequantizeLinear(q%d, s, z) "
                       : "a%d = Mul(x, w) ",
                   i, i, i, i, i);
    str_add(&text, rounded ? "m = Mul(x, w) q = QuantizeLinear(m, t, z) rare = DequantizeLinear(q, t, z) "
                           : "rare = Mul(x, w) ");
    str_add(&text, "y = Sum(rare");
    for (int i = 0; i < 20; i++)
        str_printf(&text, ", a%d", i);
    str_add(&text, ") }");
    return str_detach(&text);
}

/* Numbers of 4 samples, of which the last alone has one that is clipped. */
static void see_samples(struct inputs *inputs, const struct model *model)
{
    struct error err = {0};
    double largest[4] = {0};
    assert_int_equal(inputs_random(inputs, model, 4, 25, NULL, 0, &err), 0);
    for (size_t i = 0; i < 4; i++) {
        struct value *values;
        assert_int_equal(inputs_get(inputs, i, &values, &err), 0);
        for (size_t k = 0; k < 4; k++)
            largest[i] = fmax(largest[i], 1.25 * fabs((double)tensor_get(&values[0].tensors[0], k)));
        values_free(values, 1);
        assert_int_equal(largest[i] > 1, i == 3);
    }
}

/* What is clipped on a later sample alone is weighed there, whatever the first has shown. */
static void what_later_samples_lose_is_weighed(void **state)
{
    (void)state;
    struct against against;
    struct scene scene;
    struct inputs inputs;
    struct error err = {0};
    char *made = many_layers(true), *from = many_layers(false);
    struct model *model = model_of_text(made), *other = model_of_text(from);
    scene_open(&scene, LABELS("reference:round=on"));
    see_samples(&inputs, model);
    assert_int_equal(
        against_run(&against, model, other, &inputs, &scene.panel, &(struct against_options){0}, &err), 0);
    assert_string_equal(against.layers[0].value, "rare");
    assert_true(against.layers[0].damaged && against.layers[0].share > 0.5);
    against_release(&against);
    inputs_release(&inputs);
    scene_close(&scene);
    model_free(model);
    model_free(other);
    free(made);
    free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_is_measured),
        cmocka_unit_test(levels_that_fit_are_no_damage),
        cmocka_unit_test(a_scale_that_does_not_fit_is_named),
        cmocka_unit_test(products_of_levels_are_taken_apart),
        cmocka_unit_test(the_engines_fault_is_not_the_models),
        cmocka_unit_test(renamed_values_are_found),
        cmocka_unit_test(another_operator_is_told),
        cmocka_unit_test(numbers_beyond_the_type_are_named),
        cmocka_unit_test(an_output_may_be_empty),
        cmocka_unit_test(the_node_that_loses_is_kept),
        cmocka_unit_test(what_later_samples_lose_is_weighed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
