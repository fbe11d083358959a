/*
 * A generated case in the form of found/ENGINE/NAME/case.txt: where writing up a finding starts.
 *
 *     found_text RECIPE >case.txt         e.g. found_text "one seed=1 index=486"
 *     found_text RECIPE FOLDER            model.onnx and the inputs, for `assay reduce` and the like
 *     found_text "variant illegal seed=3 number=4682 of one seed=3 index=780 max_opset=17"
 *                                         a variant (search/variant.h) of a generated case
 *
 * The model is printed in ONNX's text form, then a line "---" and the values of each input, so that
 * found_make reads it; make it smaller by hand.
 */
#include "base/file.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "findings/model_text.h"
#include "generate/operator_case.h"
#include "model/model.h"
#include "model/onnx.h"
#include "search/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_tensor(const struct tensor *tensor, const char *between)
{
    int digits = tensor->type == DTYPE_DOUBLE ? 17 : tensor->type == DTYPE_FLOAT ? 9 : 20;
    for (size_t i = 0; i < tensor->count; i++)
        printf("%s%.*Lg", i ? between : "", digits, tensor_get(tensor, i));
}

/* The printer leaves initialisers out; the parser wants them in front of the nodes. */
static int print_initializers(const Onnx__GraphProto *graph, struct error *err)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        char shape[SHAPE_TEXT_SIZE];
        if (model_tensor_read(graph->initializer[i], &tensor, err))
            return -1;
        printf("%s%s%s %s = {", i ? ", " : " <", model_text_type((int)tensor.type),
               tensor.shape.rank ? shape_text(&tensor.shape, shape) : "", graph->initializer[i]->name);
        print_tensor(&tensor, ", ");
        printf("}");
        tensor_release(&tensor);
    }
    printf("%s", graph->n_initializer ? ">" : "");
    return 0;
}

static int print_case(const struct test_case *test, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    const uint8_t *bytes;
    size_t size;
    char *text = NULL;
    int status = -1;
    if (!model || test_case_bytes(test, &bytes, &size, err) || onnx_print_text(bytes, size, &text, err))
        goto out;
    char *nodes = strstr(text, " {\n");
    nodes = nodes ? nodes : text;
    printf("%.*s", (int)(nodes - text), text);
    if ((status = print_initializers(model->graph, err)))
        goto out;
    printf("%s---\n", nodes);
    for (size_t i = 0; i < test->n_inputs; i++) {
        printf("%s ", test->inputs[i].name);
        for (size_t k = 0; k < test->inputs[i].count; k++)
            print_tensor(&test->inputs[i].tensors[k], " ");
        printf("\n");
    }
out:
    free(text);
    return status;
}

static int write_folder(const char *folder, const struct test_case *test, struct error *err)
{
    return suite_write_path(folder, test, err);
}

static int make_variant(const char *recipe, enum variant_law law, unsigned long long seed_number,
                        unsigned long long number, struct test_case **made, struct error *err)
{
    struct test_case *origin;
    struct variant_seed *seed;
    if (generate_recipe(recipe, &origin, err))
        return -1;
    int status = variant_seed_new(&seed, origin, err);
    if (!status) {
        status = variant_make(seed, law, seed_number, number, made, NULL, err);
        variant_seed_free(seed);
    }
    test_case_free(origin);
    return status;
}

static int make_case(const char *recipe, struct test_case **made, struct error *err)
{
    char law[8];
    unsigned long long seed, number;
    int length = 0;
    if (sscanf(recipe, "variant %7s seed=%llu number=%llu of %n", law, &seed, &number, &length) == 3 &&
        length)
        return make_variant(recipe + length, strcmp(law, "legal") ? VARIANT_ILLEGAL : VARIANT_LEGAL, seed,
                            number, made, err);
    return generate_recipe(recipe, made, err);
}

int main(int argc, char **argv)
{
    struct test_case *made;
    struct error err = {0};
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: found_text RECIPE [FOLDER]\n");
        return 2;
    }
    if (make_case(argv[1], &made, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    int status = argc == 3 ? write_folder(argv[2], made, &err) : print_case(made, &err);
    if (status)
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
    test_case_free(made);
    return status ? 1 : 0;
}
