/*
 * Makes cases of found/ from their text.
 *
 *     found_make [--into DIR] FOLDER...
 *
 * FOLDER, found/ENGINE/NAME, holds case.txt, and the rest is written there, or to DIR/ENGINE/NAME. case.txt
 * has the model in ONNX's text form, a line "---", and the values of each input: its name,
 * then numbers ("nan", "inf", "-inf" and "VALUE*COUNT" too); types and shapes are those of the model, so its
 * inputs need fixed dims. A first line "rewriting RULE@SITE" there is applied to the case
 * (rules/rewriting.h): the text form has no sparse tensors, for example. A line "gradient SEED" makes it a
 * case about gradients (case/case_gradient.h). Written are model.onnx and test_data_set_0 with the inputs and
 * the outputs that the reference finds, or `gradient` with its gradients; these are printed. Elements that
 * the ONNX text leaves open have no right value: such a case is kept without outputs and passes where it
 * runs.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "case/case_answers.h"
#include "case/case_gradient.h"
#include "model/onnx.h"
#include "rules/rewriting.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20 };

static int input_alloc(const Onnx__ValueInfoProto *info, struct tensor *tensor, struct error *err)
{
    const Onnx__TypeProto__Tensor *type = info->type ? info->type->tensor_type : NULL;
    if (!type || !type->shape || type->shape->n_dim > TENSOR_MAX_RANK)
        return error_set(err, ERROR_INVALID, "input %s needs a shape", info->name);
    struct shape shape = {(int)type->shape->n_dim, {0}};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = type->shape->dim[i]->dim_value;
    return tensor_alloc(tensor, (enum dtype)type->elem_type, &shape, MAX_TEXT, err);
}

/* "1.5", "nan", "-inf", "3*20" */
static int fill(struct tensor *tensor, const char *name, char *words, struct error *err)
{
    size_t at = 0;
    char *save = NULL;
    for (char *word = strtok_r(words, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        char *end;
        long double value = strtold(word, &end);
        size_t times = *end == '*' ? strtoull(end + 1, &end, 10) : 1;
        if (end == word || *end || times > tensor->count - at)
            return error_set(err, ERROR_INVALID, "input %s: %s is no value or one too many", name, word);
        while (times--)
            tensor_set(tensor, at++, value);
    }
    if (at != tensor->count)
        return error_set(err, ERROR_INVALID, "input %s: %zu values, %zu are needed", name, at, tensor->count);
    return 0;
}

static int read_input(struct value *value, const Onnx__ValueInfoProto *info, const char *lines,
                      struct error *err)
{
    struct tensor tensor;
    if (input_alloc(info, &tensor, err))
        return -1;
    value_set_name(value, info->name);
    value_set_tensor(value, &tensor);
    size_t length = strlen(info->name);
    while (lines && (strncmp(lines, info->name, length) || !strchr(" \t\n", lines[length]))) {
        lines = strchr(lines, '\n');
        lines = lines ? lines + 1 : NULL;
    }
    if (!lines)
        return error_set(err, ERROR_INVALID, "input %s has no values", info->name);
    char *words = memory_strdup(lines + length);
    words[strcspn(words, "\n")] = '\0';
    int status = fill(&value->tensors[0], info->name, words, err);
    free(words);
    return status;
}

static void print_output(const struct value *value)
{
    char shape[SHAPE_TEXT_SIZE];
    const struct tensor *tensor = &value->tensors[0];
    printf("%s %s%s", value->name, dtype_name(tensor->type), shape_text(&tensor->shape, shape));
    for (size_t i = 0; i < tensor->count && i < 32; i++)
        printf(" %.9Lg", tensor_get(tensor, i));
    printf("\n");
}

/* "gradient 7": with this seed of the weights. */
static int ask(struct test_case *test, const char *lines, struct error *err)
{
    static const char word[] = "gradient ";
    const char *at = strstr(lines, word);
    if (!at || (at > lines && at[-1] != '\n'))
        return 0;
    return test_case_ask_gradient(test, strtoull(at + strlen(word), NULL, 10), err);
}

static void forget_outputs(struct test_case *test)
{
    values_free(test->outputs, test->n_outputs);
    test->outputs = NULL;
    test->n_outputs = 0;
}

/* Writes the case, and its right answer where the ONNX text has one. A model that is invalid is written
 * without. */
static int make(const char *folder, struct test_case *test, const char *lines, struct error *err)
{
    bool open;
    struct error why = {0};
    int asked = ask(test, lines, err);
    int answered = asked ? -1 : test_case_add_answers(test, &open, &why);
    if (answered || open)
        forget_outputs(test);
    if (!answered && open)
        printf("an element is open: no outputs written\n");
    for (size_t i = 0; i < test->n_outputs; i++)
        print_output(&test->outputs[i]);
    int written = suite_write_path(folder, test, err);
    if (!asked && !written && answered)
        return error_set(err, why.code, "%s", why.message);
    return asked || written ? -1 : 0;
}

/* "rewriting sparse@w" on the first line; NULL when there is none. The caller frees it. */
static char *read_rewriting(const char *lines)
{
    static const char word[] = "rewriting ";
    if (strncmp(lines, word, strlen(word)))
        return NULL;
    char *text = memory_strdup(lines + strlen(word));
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static int make_from_lines(const char *folder, struct model *model, const char *lines, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    struct test_case *test = test_case_new(model), *rewritten = NULL;
    char *rewriting = read_rewriting(lines);
    int status = 0;
    test->inputs = memory_zeroed(graph->n_input + 1, sizeof *test->inputs);
    for (; test->n_inputs < graph->n_input && !status; test->n_inputs++)
        status = read_input(&test->inputs[test->n_inputs], graph->input[test->n_inputs], lines, err);
    if (!status && rewriting)
        status = rewriting_apply(test, rewriting, &rewritten, err) == 1 ? 0 : -1;
    if (!status)
        status = make(folder, rewritten ? rewritten : test, lines, err);
    free(rewriting);
    test_case_free(rewritten);
    test_case_free(test);
    return status;
}

/* DIR/ENGINE/NAME for found/ENGINE/NAME. The caller frees it. */
static char *target_of(const char *into, const char *folder)
{
    struct str path;
    str_init(&path);
    const char *name = strrchr(folder, '/'), *engine = name;
    while (engine && engine > folder && engine[-1] != '/')
        engine--;
    str_printf(&path, "%s/%s", into ? into : folder, into && engine ? engine : into ? folder : ".");
    return path.data;
}

static int make_folder(const char *folder, const char *target, struct error *err)
{
    char *path = file_join(folder, "case.txt"), *text = NULL, *lines = NULL;
    uint8_t *packed = NULL;
    struct model *model = NULL;
    size_t size;
    int status = file_read(path, MAX_TEXT, &text, &size, err);
    if (status)
        goto out;
    if (!(lines = strstr(text, "\n---\n"))) {
        status = error_set(err, ERROR_INVALID, "no line --- before the inputs");
        goto out;
    }
    *lines = '\0';
    status = onnx_parse_text(text, &packed, &size, err) || model_parse(&model, packed, size, err) ||
             file_make_folders(target, err);
    if (status)
        goto out;
    status = make_from_lines(target, model, lines + strlen("\n---\n"), err);
    /* A model that must be refused is written all the same, and the reason shown. */
    if (onnx_check(packed, size, err) < 0)
        status = -1;
out:
    free(packed);
    free(text);
    free(path);
    return status;
}

int main(int argc, char **argv)
{
    const char *into = argc > 2 && strcmp(argv[1], "--into") == 0 ? argv[2] : NULL;
    int first = into ? 3 : 1, failed = 0;
    if (argc <= first) {
        fprintf(stderr, "usage: found_make [--into DIR] FOLDER...\n");
        return 2;
    }
    for (int i = first; i < argc; i++) {
        struct error err = {0};
        char *target = target_of(into, argv[i]);
        if (make_folder(argv[i], target, &err)) {
            fprintf(stderr, "%s: %s\n", argv[i], err.message);
            failed = 1;
        }
        free(target);
    }
    return failed;
}
