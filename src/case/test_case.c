#include "case/test_case.h"

#include "base/memory.h"
#include "case/case_gradient.h"

#include <stdlib.h>

/* Of the two forms at least one is there. */
struct case_model {
    size_t cases; /* that have it */
    const struct model *tree;
    const uint8_t *bytes; /* packed, or those of the tree's own file */
    size_t size;
    /* Owners of the above. */
    struct model *own;
    uint8_t *packed;
};

static struct case_model *forms_of(struct model *tree)
{
    struct case_model *model = memory_zeroed(1, sizeof *model);
    model->tree = model->own = tree;
    model->cases = 1;
    return model;
}

/* Takes over one of the model's uses. */
static struct test_case *new_case(struct case_model *model)
{
    struct test_case *test = memory_zeroed(1, sizeof *test);
    test->model = model;
    test->name = memory_strdup("");
    test->recipe = memory_strdup("");
    test->note = memory_strdup("");
    return test;
}

struct test_case *test_case_new(struct model *model)
{
    return new_case(forms_of(model));
}

struct test_case *test_case_from_bytes(uint8_t *bytes, size_t size)
{
    struct case_model *model = forms_of(NULL);
    model->bytes = model->packed = bytes;
    model->size = size;
    return new_case(model);
}

struct test_case *test_case_same_model(const struct test_case *test)
{
    test->model->cases++;
    return new_case(test->model);
}

struct test_case *test_case_view(const struct model *model, const struct value *inputs, size_t count)
{
    struct test_case *test = new_case(forms_of(NULL));
    test->model->tree = model;
    test->inputs = (struct value *)(uintptr_t)inputs; /* never written to, as is_view says */
    test->n_inputs = count;
    test->is_view = true;
    return test;
}

struct test_case *test_case_share(struct test_case *test)
{
    test->shares++;
    return test;
}

static void give_up_model(struct case_model *model)
{
    if (--model->cases)
        return;
    model_free(model->own);
    free(model->packed);
    free(model);
}

static void equivalence_free(struct equivalence *equivalence)
{
    if (!equivalence)
        return;
    test_case_free(equivalence->origin);
    free(equivalence->rewriting);
    free(equivalence->knobs);
    free(equivalence);
}

struct equivalence *test_case_set_origin(struct test_case *test, struct test_case *origin,
                                         const char *rewriting)
{
    struct equivalence *equivalence = memory_zeroed(1, sizeof *equivalence);
    equivalence->origin = test_case_share(origin);
    equivalence->rewriting = memory_strdup(rewriting);
    equivalence->knobs = memory_strdup("");
    equivalence_free(test->equivalence);
    return test->equivalence = equivalence;
}

void test_case_free(struct test_case *test)
{
    if (!test)
        return;
    if (test->shares) {
        test->shares--;
        return;
    }
    give_up_model(test->model);
    if (!test->is_view)
        values_free(test->inputs, test->n_inputs);
    values_free(test->masks, test->masks ? test->n_outputs : 0);
    values_free(test->outputs, test->n_outputs);
    free(test->name);
    free(test->recipe);
    free(test->note);
    free(test->forbidden_why);
    free(test->forbidden_node);
    equivalence_free(test->equivalence);
    case_gradient_free(test->gradient);
    free(test);
}

void test_case_set_model(struct test_case *test, struct model *model)
{
    give_up_model(test->model);
    test->model = forms_of(model);
}

static void set_text(char **text, const char *to)
{
    char *copy = memory_strdup(to);
    free(*text);
    *text = copy;
}

void test_case_set_name(struct test_case *test, const char *name)
{
    set_text(&test->name, name);
}

void test_case_set_recipe(struct test_case *test, const char *recipe)
{
    set_text(&test->recipe, recipe);
}

int test_case_add_inputs(struct test_case *test, const struct value *inputs, size_t count, struct error *err)
{
    size_t capacity = test->n_inputs;
    test->inputs = memory_grow(test->inputs, &capacity, test->n_inputs + count, sizeof *inputs);
    for (size_t i = 0; i < count; i++) {
        value_init(&test->inputs[test->n_inputs]);
        if (value_copy(&test->inputs[test->n_inputs++], &inputs[i], err))
            return -1;
    }
    return 0;
}

const struct model *test_case_model(const struct test_case *test, struct error *err)
{
    struct case_model *model = test->model;
    if (!model->tree && !model_parse(&model->own, model->bytes, model->size, err))
        model->tree = model->own;
    return model->tree;
}

int test_case_bytes(const struct test_case *test, const uint8_t **bytes, size_t *size, struct error *err)
{
    struct case_model *model = test->model;
    if (!model->bytes)
        model->bytes = model_own_bytes(model->tree, &model->size);
    if (!model->bytes) {
        if (model_pack(model->tree, &model->packed, &model->size, err))
            return -1;
        model->bytes = model->packed;
    }
    *bytes = model->bytes;
    *size = model->size;
    return 0;
}
