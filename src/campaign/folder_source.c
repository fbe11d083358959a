#include "campaign/folder_source.h"

#include "base/memory.h"
#include "campaign/kept_case.h"
#include "campaign/listed_source.h"
#include "campaign/other_rank.h"
#include "case/backend_suite.h"
#include "case/case_answers.h"
#include "case/case_gradient.h"
#include "generate/operator_case.h"
#include "model/retype.h"
#include "model/valid.h"

#include <stdio.h>
#include <stdlib.h>

/* How often a case comes: as it is, in each type, at each opset, in each rank. */
enum { OLDEST_OPSET = 7, FIRST_TYPE = 1, FIRST_OPSET = FIRST_TYPE + DTYPE_COUNT };
enum { FIRST_RANK = FIRST_OPSET + OPSET_NEWEST - OLDEST_OPSET + 1, FORMS = FIRST_RANK + RANK_CHANGES };

struct folder_source {
    struct case_source_kind kind;
    struct suite suite;
    uint64_t next; /* the first case that was not asked for yet */
};

/* The type of the first input that is a tensor and no weight: what the case computes with. */
static enum dtype main_type(const struct test_case *test)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR)
            return test->inputs[i].tensors[0].type;
    return DTYPE_NONE;
}

static bool of_one_kind(enum dtype a, enum dtype b)
{
    static const dtype_set kinds[] = {DTYPES_FLOAT, DTYPES_INTEGER};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (dtype_in(a, kinds[i]) && dtype_in(b, kinds[i]))
            return a != b;
    return false;
}

static int no_such_form(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "the case has no such form");
}

/* A case with this model, which it takes over, and the inputs of another in the types that it wants. */
static int with_model(const struct test_case *given, struct model *model, const struct retyping *retyping,
                      struct test_case **out, struct error *err)
{
    struct value *inputs = memory_zeroed(given->n_inputs, sizeof *inputs);
    struct test_case *test = test_case_new(model);
    int status = 0;
    for (size_t i = 0; i < given->n_inputs && !status; i++) {
        struct tensor tensor;
        if (given->inputs[i].kind != VALUE_TENSOR)
            status = no_such_form(err);
        else
            status = tensor_retype(&tensor, &given->inputs[i].tensors[0], retyping, err);
        if (status)
            break;
        value_init(&inputs[i]);
        value_set_name(&inputs[i], given->inputs[i].name);
        value_set_tensor(&inputs[i], &tensor);
    }
    if (!status)
        status = test_case_add_inputs(test, inputs, given->n_inputs, err);
    if (!status && given->gradient)
        status = test_case_ask_like(test, given, err);
    values_free(inputs, given->n_inputs);
    if (status)
        test_case_free(test);
    else
        *out = test;
    return status;
}

static int in_type(const struct test_case *given, enum dtype type, struct test_case **out, struct error *err)
{
    enum dtype from = main_type(given);
    struct retyping retyping = {DTYPE_BIT(from), type};
    const struct model *model = test_case_model(given, err);
    struct model *retyped;
    if (!model)
        return -1;
    if (!of_one_kind(from, type))
        return no_such_form(err);
    return model_retype(&retyped, model, &retyping, err) || with_model(given, retyped, &retyping, out, err)
               ? -1
               : 0;
}

/* At another opset: the same nodes, which are valid there or not. */
static int at_opset(const struct test_case *given, int opset, struct test_case **out, struct error *err)
{
    const struct model *model = test_case_model(given, err);
    struct model *changed;
    if (!model)
        return -1;
    if (model_opset(model) == opset)
        return no_such_form(err);
    if (model_clone(&changed, model, err))
        return -1;
    changed->path = NULL;
    for (size_t i = 0; i < changed->proto->n_opset_import; i++)
        if (!*changed->proto->opset_import[i]->domain)
            changed->proto->opset_import[i]->version = opset;
    struct model *like = model_new(opset);
    if (changed->proto->ir_version < like->proto->ir_version)
        changed->proto->ir_version = like->proto->ir_version;
    model_free(like);
    return with_model(given, changed, &(struct retyping){0}, out, err);
}

/* Nobody is judged on what ONNX does not allow, or on what the reference cannot evaluate. */
static int check(const struct test_case *test, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    struct test_case *trial = NULL;
    if (!model || model_valid(model, err))
        return -1;
    trial = test_case_same_model(test);
    int status = test_case_add_inputs(trial, test->inputs, test->n_inputs, err);
    if (!status)
        status = test_case_add_answers(trial, NULL, err);
    test_case_free(trial);
    return status;
}

/* The check decides on one form of a case, which it frees unless it passes. */
static int checked(struct test_case *test, struct test_case **out, struct error *err)
{
    if (check(test, err)) {
        test_case_free(test);
        return -1;
    }
    *out = test;
    return 0;
}

/* In the first reading that is valid. */
static int in_rank(const struct test_case *given, const struct rank_change *change, struct test_case **out,
                   struct error *err)
{
    int status = -1;
    for (enum rank_reading reading = 0; reading < RANK_READINGS && status; reading++) {
        struct test_case *test;
        status = case_in_other_rank(given, change, reading, &test, err) || checked(test, out, err) ? -1 : 0;
    }
    return status;
}

static int make_form(const struct test_case *given, size_t form, struct test_case **out, struct error *err)
{
    struct test_case *test;
    if (given->forbidden)
        return no_such_form(err); /* in another form ONNX may allow it, or forbid it for another reason */
    if (form >= FIRST_RANK)
        return in_rank(given, &rank_changes[form - FIRST_RANK], out, err);
    int status = form >= FIRST_OPSET ? at_opset(given, OLDEST_OPSET + (int)(form - FIRST_OPSET), &test, err)
                                     : in_type(given, (enum dtype)(form - FIRST_TYPE), &test, err);
    return status ? -1 : checked(test, out, err);
}

/* The form comes first, as a long name is cut. */
static void name_it(struct test_case *test, const struct suite_case *entry, size_t form, size_t number)
{
    char name[KEPT_NAME_SIZE], recipe[KEPT_NAME_SIZE + 20];
    struct str text;
    str_init(&text);
    if (form >= FIRST_RANK)
        str_printf(&text, "%s-", rank_changes[form - FIRST_RANK].name);
    else if (form >= FIRST_OPSET)
        str_printf(&text, "opset%d-", OLDEST_OPSET + (int)(form - FIRST_OPSET));
    else if (form)
        str_printf(&text, "%s-", dtype_name((enum dtype)(form - FIRST_TYPE)));
    str_add(&text, entry->name);
    kept_case_name(text.data, number, name);
    str_release(&text);
    snprintf(recipe, sizeof recipe, "case cases/%s", name);
    test_case_set_name(test, name);
    test_case_set_recipe(test, recipe);
}

/* What cannot be told in this form is left out; that a file is damaged is said where it comes as it is. */
static int make(void *raw, uint64_t index, size_t number, struct test_case **out, struct error *err)
{
    struct folder_source *source = raw;
    const struct suite_case *entry = &source->suite.cases[index % source->suite.count];
    struct suite_loaded loaded = {0};
    struct error why = {0};
    (void)number;
    source->next = index + 1;
    if (index / source->suite.count >= FORMS)
        return error_set(err, ERROR_NOT_FOUND, "the list ends before this case");
    size_t form = (size_t)(index / source->suite.count);
    int status = suite_load(entry, &loaded, &why);
    if (!status && (!loaded.sets || loaded.misfit))
        status = error_set(&why, ERROR_INVALID, "%s", loaded.misfit ? loaded.misfit : "it has no inputs");
    if (!status && form)
        status = make_form(loaded.tests[0], form, out, &why);
    else if (!status)
        *out = test_case_share(loaded.tests[0]);
    suite_unload(&loaded);
    if (status)
        return error_set(err, ERROR_NOT_FOUND, "%s", why.message);
    name_it(*out, entry, form, index % source->suite.count);
    return 0;
}

static bool over(const void *raw)
{
    const struct folder_source *source = raw;
    return source->next >= FORMS * source->suite.count;
}

static void release(void *raw)
{
    struct folder_source *source = raw;
    suite_release(&source->suite);
    free(source);
}

int folder_source_new(struct case_source *out, const char *folder, struct error *err)
{
    struct folder_source *source = memory_zeroed(1, sizeof *source);
    if (suite_open(&source->suite, &folder, 1, NULL, err)) {
        release(source);
        return -1;
    }
    source->kind = listed_source_kind();
    source->kind.bred = true; /* no line of text makes a case again: those of findings are kept */
    source->kind.make = make;
    source->kind.over = over;
    source->kind.free = release;
    *out = (struct case_source){&source->kind, source};
    return 0;
}
