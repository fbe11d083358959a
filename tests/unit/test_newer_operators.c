/* Operators that came with opsets 22 and later, and Upsample, which went with opset 10, on numbers that
 * anyone can check by hand. ONNX's own cases are in test_reference --cases. */
#include "node_scene.h"

static void rms_normalization(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "RMSNormalization", 2);
    node_set_float(&scene.model->arena, scene.node, "epsilon", 3.5f);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, (const double[]){3, 4});
    give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, (const double[]){1, 2});
    end(&scene, (const double[]){0.75, 2}, 2); /* the root of 12.5 + 3.5 is 4 */
}

/* Linear: coordinates are quotients by the scale, and behind the last element there is no other. */
static void upsample_linear(void **state)
{
    struct scene scene;
    (void)state;
    begin_at(&scene, 9, "Upsample", 2);
    node_set_string(&scene.model->arena, scene.node, "mode", "linear");
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, (const double[]){1, 3, 5, 9});
    give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, (const double[]){1, 2});
    end(&scene, (const double[]){1, 2, 3, 3, 5, 7, 9, 9}, 8);
    begin_at(&scene, 9, "Upsample", 2);
    node_set_string(&scene.model->arena, scene.node, "mode", "linear");
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, (const double[]){1, 3, 5, 9});
    give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, (const double[]){2, 1});
    end(&scene, (const double[]){1, 3, 3, 6, 5, 9, 5, 9}, 8);
}

static void swish(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "Swish", 1);
    node_set_float(&scene.model->arena, scene.node, "alpha", 2);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {3}}, (const double[]){1, 0, -INFINITY});
    end(&scene, (const double[]){1 / (1 + exp(-2)), 0, NAN}, 3);
}

static void rotary_embedding(void **state)
{
    const double x[] = {1, 2, 3, 4}, cosine[] = {0, 1}, sine[] = {1, 0}, ids[] = {1, 0};
    struct shape shape = {4, {1, 1, 2, 2}}, cache = {2, {2, 1}}, places = {2, {1, 2}};
    struct scene scene;
    (void)state;
    begin(&scene, "RotaryEmbedding", 4);
    give(&scene, DTYPE_FLOAT, shape, x);
    give(&scene, DTYPE_FLOAT, cache, cosine);
    give(&scene, DTYPE_FLOAT, cache, sine);
    give(&scene, DTYPE_INT64, places, ids);
    end(&scene, (const double[]){1, 2, -4, 3}, 4); /* position 1 turns by nothing, 0 by a quarter */
}

/* Keys of 0 weigh all values alike. */
static void attention(struct scene *scene, size_t inputs)
{
    const double q[] = {1, 1}, k[] = {0, 0}, v[] = {2, 4};
    struct shape shape = {4, {1, 1, 2, 1}};
    begin(scene, "Attention", inputs);
    give(scene, DTYPE_FLOAT, shape, q);
    give(scene, DTYPE_FLOAT, shape, k);
    give(scene, DTYPE_FLOAT, shape, v);
}

static void attention_masks(void **state)
{
    struct scene scene;
    (void)state;
    attention(&scene, 3);
    end(&scene, (const double[]){3, 3}, 2);
    attention(&scene, 3);
    node_set_int(&scene.model->arena, scene.node, "is_causal", 1);
    end(&scene, (const double[]){2, 3}, 2);
    attention(&scene, 4);
    give(&scene, DTYPE_BOOL, (struct shape){2, {2, 2}}, (const double[]){0, 1, 1, 1});
    end(&scene, (const double[]){4, 3}, 2);
}

/* The past comes first; with it the diagonal moves. */
static void attention_past(void **state)
{
    const double key[] = {0}, value[] = {9};
    struct shape past = {4, {1, 1, 1, 1}};
    struct scene scene;
    (void)state;
    attention(&scene, 6);
    scene.count = 4; /* no mask */
    give(&scene, DTYPE_FLOAT, past, key);
    give(&scene, DTYPE_FLOAT, past, value);
    node_set_int(&scene.model->arena, scene.node, "is_causal", 1);
    end(&scene, (const double[]){5.5, 5}, 2);
}

/* Numbers of heads are for inputs of three dimensions; with others they may only repeat what these say. */
static void attention_heads(void **state)
{
    struct scene scene;
    struct error err = {0};
    struct bounded y = {0};
    (void)state;
    attention(&scene, 3);
    set_int(&scene, "q_num_heads", 1);
    end(&scene, (const double[]){3, 3}, 2);
    attention(&scene, 3);
    set_int(&scene, "q_num_heads", 2);
    assert_int_equal(run(&scene, &y, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

/* Releases of ONNX disagree whether the cap or the mask comes first. */
static void attention_disputed(void **state)
{
    struct scene scene;
    (void)state;
    attention(&scene, 4);
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, (const double[]){0, 1, 1, 1});
    node_set_float(&scene.model->arena, scene.node, "softcap", 2);
    end(&scene, (const double[]){NAN, NAN}, 2);
}

/* Losses 2 and 3 with the weights 3 and 1. */
static void likelihood_loss(void **state)
{
    const double x[] = {-1, -2, -3, -4}, target[] = {1, 0}, weight[] = {1, 3};
    static const struct {
        const char *reduction;
        double wanted[2];
        size_t count;
    } rows[] = {{"mean", {2.25}, 1}, {"sum", {9}, 1}, {"none", {6, 3}, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        begin(&scene, "NegativeLogLikelihoodLoss", 3);
        node_set_string(&scene.model->arena, scene.node, "reduction", rows[i].reduction);
        give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, x);
        give(&scene, DTYPE_INT64, (struct shape){1, {2}}, target);
        give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, weight);
        end(&scene, rows[i].wanted, rows[i].count);
    }
}

/* A target that is ignored does not count; a mean of nothing is open. */
static void cross_entropy_loss(void **state)
{
    const double x[] = {0, 0, 5, 7}, target[] = {1, 0};
    (void)state;
    for (int64_t ignored = 0; ignored < 2; ignored++) {
        struct scene scene;
        begin(&scene, "SoftmaxCrossEntropyLoss", 2);
        node_set_int(&scene.model->arena, scene.node, "ignore_index", ignored);
        give(&scene, DTYPE_FLOAT, (struct shape){2, {ignored ? 1 : 2, 2}}, x);
        give(&scene, DTYPE_INT32, (struct shape){1, {ignored ? 1 : 2}}, target);
        end(&scene, (const double[]){ignored ? NAN : log(2)}, 1);
    }
}

static void bitwise(void **state)
{
    static const struct {
        const char *op_type;
        double wanted[2];
    } rows[] = {{"BitwiseAnd", {5, 0}}, {"BitwiseOr", {-1, 3}}, {"BitwiseXor", {-6, 3}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        begin(&scene, rows[i].op_type, 2);
        give(&scene, DTYPE_INT8, (struct shape){1, {2}}, (const double[]){-1, 1});
        give(&scene, DTYPE_INT8, (struct shape){1, {2}}, (const double[]){5, 2});
        end(&scene, rows[i].wanted, 2);
    }
}

static void tensor_scatter(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "TensorScatter", 3);
    node_set_string(&scene.model->arena, scene.node, "mode", "circular");
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 3, 1}}, (const double[]){1, 2, 3});
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 2, 1}}, (const double[]){8, 9});
    give(&scene, DTYPE_INT64, (struct shape){1, {1}}, (const double[]){2});
    end(&scene, (const double[]){9, 2, 8}, 3);
}

/* It came with opset 24, before the 2-bit types: ONNX 1.20 has no TensorScatter of them. */
static void tensor_scatter_types(void **state)
{
    dtype_set narrow = op_narrow_at(op_find("TensorScatter"), 25);
    (void)state;
    assert_true(dtype_in(DTYPE_INT4, narrow) && dtype_in(DTYPE_FLOAT8E8M0, narrow));
    assert_false(dtype_in(DTYPE_INT2, narrow) || dtype_in(DTYPE_UINT2, narrow));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rms_normalization),
        cmocka_unit_test(upsample_linear),
        cmocka_unit_test(swish),
        cmocka_unit_test(rotary_embedding),
        cmocka_unit_test(attention_masks),
        cmocka_unit_test(attention_past),
        cmocka_unit_test(attention_disputed),
        cmocka_unit_test(attention_heads),
        cmocka_unit_test(likelihood_loss),
        cmocka_unit_test(cross_entropy_loss),
        cmocka_unit_test(bitwise),
        cmocka_unit_test(tensor_scatter),
        cmocka_unit_test(tensor_scatter_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
