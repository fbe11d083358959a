/* The form of llama's networks: found in the tiny models, and refused where one part of them is another. */
#include "base/file.h"
#include "gguf/llama_weights.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct model *open_model(void)
{
    struct model *model, *copy;
    char *path = file_join(getenv("ASSAY_TEST_DATA"), "../models/language/tiny/llama-23-float32.onnx");
    assert_int_equal(model_load(&model, path, NULL), 0);
    free(path);
    assert_int_equal(model_clone(&copy, model, NULL), 0);
    model_free(model);
    return copy;
}

/* The node of this operator with this number among those. */
static Onnx__NodeProto *node_of(struct model *model, const char *type, size_t number)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (strcmp(model->graph->node[i]->op_type, type) == 0 && number-- == 0)
            return model->graph->node[i];
    fail_msg("no %s", type);
    return NULL;
}

/* Finds the form, or fails with these words. */
static void expect(struct model *model, const char *words, bool halves)
{
    struct model_index index;
    struct llama_form form;
    struct error err = {0};
    assert_int_equal(model_index_init(&index, model, &err), 0);
    int status = llama_form_find(&form, &index, &err);
    if (words) {
        assert_int_equal(status, -1);
        if (!strstr(err.message, words))
            fail_msg("not '%s': %s", words, err.message);
    } else {
        assert_int_equal(status, 0);
        assert_true(form.halves == halves && form.epsilon == 1e-5F && form.base == 10000);
        assert_true(form.heads == 4 && form.kv_heads == 2 && form.size == 8 && form.inner == 64);
        assert_true(form.n_layers == 3 && form.vocabulary == 96 && form.hidden == 32 && form.context == 128);
    }
    llama_form_release(&form);
    model_index_release(&index);
    model_free(model);
}

static void the_form_is_found(void **state)
{
    (void)state;
    expect(open_model(), NULL, true);
}

static void other_pairs_are_found(void **state)
{
    (void)state;
    struct model *model = open_model();
    for (size_t i = 0; i < 6; i++)
        node_set_int(&model->arena, node_of(model, "RotaryEmbedding", i), "interleaved", 1);
    expect(model, NULL, false);
}

static void other_parts_are_refused(void **state)
{
    (void)state;
    struct model *model = open_model();
    node_set_float(&model->arena, node_of(model, "RMSNormalization", 3), "epsilon", 1e-6F);
    expect(model, "layer 1: its norms have an epsilon of 1e-05 and one of 1e-06", true);
    model = open_model();
    node_of(model, "RMSNormalization", 6)->op_type = (char *)"LayerNormalization";
    expect(model, "no RMS norm", true);
    model = open_model();
    node_set_int(&model->arena, node_of(model, "Attention", 2), "is_causal", 0);
    expect(model, "layer 2: between its products is no causal attention", true);
    model = open_model();
    node_set_float(&model->arena, node_of(model, "Attention", 1), "scale", 0.36F);
    expect(model, "layer 1: between its products is no causal attention", true);
    model = open_model();
    node_set_int(&model->arena, node_of(model, "RotaryEmbedding", 2), "interleaved", 1);
    expect(model, "layer 1: between its products is no causal attention", true);
    model = open_model();
    node_of(model, "Sigmoid", 0)->op_type = (char *)"Tanh";
    expect(model, "layer 0: its gate is not the SiLU", true);
}

/* Where a weight lies: rows of queries in another order, every number once. */
static void weights_are_placed_once(void **state)
{
    (void)state;
    struct model *model = open_model();
    struct model_index index;
    struct llama_form form;
    size_t count;
    assert_int_equal(model_index_init(&index, model, NULL), 0);
    assert_int_equal(llama_form_find(&form, &index, NULL), 0);
    const struct llama_weight *weights = llama_weights(&form, &form.arena, &count);
    assert_true(count == 3 * 9 + 3);
    for (size_t w = 0; w < count; w++) {
        size_t numbers = (size_t)(weights[w].rows * weights[w].width);
        char *seen = arena_array(&form.arena, numbers, 1);
        for (int64_t row = 0; row < weights[w].rows; row++)
            for (int64_t i = 0; i < weights[w].width; i++) {
                size_t at = llama_place(&form, &weights[w], row, i);
                assert_true(at < numbers && !seen[at]);
                seen[at] = 1;
            }
    }
    struct llama_weight turned = {.heads = 4};
    assert_true(llama_row(&form, &turned, 9) == 12 && llama_row(&form, &turned, 10) == 9);
    llama_form_release(&form);
    model_index_release(&index);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_form_is_found),
        cmocka_unit_test(other_pairs_are_found),
        cmocka_unit_test(other_parts_are_refused),
        cmocka_unit_test(weights_are_placed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
