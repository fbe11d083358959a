/*
 * Makes a case of docs/found from its text.
 *
 *     found_make FOLDER
 *
 * FOLDER/case.txt holds the model in ONNX's text form, a line "---", and the values of each input: its name,
 * then numbers ("nan", "inf", "-inf" and "VALUE*COUNT" too); types and shapes are those of the model, so its
 * inputs need fixed dims. A first line "rewriting RULE@SITE" there is applied to the case
 * (rules/rewriting.h): the text form has no sparse tensors, for example. Written are FOLDER/model.onnx and
 * FOLDER/test_data_set_0 with the inputs and the outputs that the reference finds, and those outputs are
 * printed. Elements that the ONNX text leaves open have no right value: such a case is kept without outputs
 * and passes where it runs.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/data.h"
#include "model/onnx.h"
#include "rules/rewriting.h"

#include <math.h>
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

static void print_output(const char *name, const struct tensor *tensor)
{
    char shape[SHAPE_TEXT_SIZE];
    printf("%s %s%s", name, dtype_name(tensor->type), shape_text(&tensor->shape, shape));
    for (size_t i = 0; i < tensor->count && i < 32; i++)
        printf(" %.9Lg", tensor_get(tensor, i));
    printf("\n");
}

static bool is_open(const char *name, const struct bounded *result)
{
    for (size_t i = 0; i < result->count; i++)
        if (isinf(bounded_hard(result, i))) {
            printf("%s[%zu] is open: no outputs written\n", name, i);
            return true;
        }
    return false;
}

static int write_output(const char *folder, size_t number, const char *name, const struct bounded *result,
                        struct error *err)
{
    struct tensor tensor;
    if (bounded_to_tensor(result, &tensor, err))
        return -1;
    print_output(name, &tensor);
    struct value value;
    struct str path;
    value_init(&value);
    value_set_name(&value, name);
    value_set_tensor(&value, &tensor);
    str_init(&path);
    str_printf(&path, "%s/test_data_set_0/output_%zu.pb", folder, number);
    int status = data_write(path.data, &value, err);
    str_release(&path);
    value_release(&value);
    return status;
}

static int write_inputs(const char *folder, const struct model *model, const struct value *inputs,
                        struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/test_data_set_0", folder);
    int status = file_make_folders(path.data, err);
    for (size_t i = 0; i < model->graph->n_input && !status; i++) {
        str_clear(&path);
        str_printf(&path, "%s/test_data_set_0/input_%zu.pb", folder, i);
        status = data_write(path.data, &inputs[i], err);
    }
    str_clear(&path);
    str_printf(&path, "%s/model.onnx", folder);
    if (!status)
        status = model_save(model, path.data, err);
    str_release(&path);
    return status;
}

static int make(const char *folder, const struct model *model, const struct value *inputs, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    struct evaluate_options options = {0};
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    size_t count = 0;
    int status;
    if ((status = write_inputs(folder, model, inputs, err)) ||
        (status = evaluator_new(&evaluator, model, &options, err)) ||
        (status = evaluator_run(evaluator, inputs, graph->n_input, NULL, 0, &results, &count, err)))
        goto out;
    bool open = false;
    for (size_t i = 0; i < count && !open; i++)
        open = is_open(graph->output[i]->name, &results[i]);
    for (size_t i = 0; i < count && !open && !status; i++)
        status = write_output(folder, i, graph->output[i]->name, &results[i], err);
out:
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return status;
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

static int make_rewritten(const char *folder, const struct model *model, const struct value *inputs,
                          const char *rewriting, struct error *err)
{
    struct test_case *test = test_case_view(model, inputs, model->graph->n_input), *rewritten = NULL;
    int status = -1;
    if (rewriting_apply(test, rewriting, &rewritten, err) == 1) {
        const struct model *other = test_case_model(rewritten, err);
        status = other ? make(folder, other, rewritten->inputs, err) : -1;
    }
    test_case_free(rewritten);
    test_case_free(test);
    return status;
}

static int make_from_lines(const char *folder, const struct model *model, const char *lines,
                           struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    struct value *inputs = memory_zeroed(graph->n_input + 1, sizeof *inputs);
    char *rewriting = read_rewriting(lines);
    int status = 0;
    for (size_t i = 0; i < graph->n_input && !status; i++)
        status = read_input(&inputs[i], graph->input[i], lines, err);
    if (!status)
        status = rewriting ? make_rewritten(folder, model, inputs, rewriting, err)
                           : make(folder, model, inputs, err);
    free(rewriting);
    values_free(inputs, graph->n_input);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct str path;
    char *text = NULL, *lines = NULL;
    uint8_t *packed = NULL;
    struct model *model = NULL;
    size_t size;
    int status = -1;
    str_init(&path);
    if (argc != 2) {
        fprintf(stderr, "usage: found_make FOLDER\n");
        return 2;
    }
    str_printf(&path, "%s/case.txt", argv[1]);
    if (file_read(path.data, MAX_TEXT, &text, &size, &err))
        goto out;
    if (!(lines = strstr(text, "\n---\n"))) {
        error_set(&err, ERROR_INVALID, "no line --- before the inputs");
        goto out;
    }
    *lines = '\0';
    if (onnx_parse_text(text, &packed, &size, &err) || model_parse(&model, packed, size, &err))
        goto out;
    status = make_from_lines(argv[1], model, lines + strlen("\n---\n"), &err);
    /* A model that must be refused is written all the same, and the reason shown. */
    if (onnx_check(packed, size, &err) < 0)
        status = -1;
out:
    if (status)
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
    model_free(model);
    free(packed);
    free(text);
    str_release(&path);
    return status ? 1 : 0;
}
