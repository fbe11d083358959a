#include "findings/explained.h"

#include "base/file.h"
#include "base/memory.h"
#include "eval/evaluate.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LIMIT = 1 << 20, FIELDS = 4 };

/* A case that is being described. What its nodes make is computed when it is first asked for, all at once. */
struct scene {
    const struct model *model;
    const struct test_case *testcase;
    bool computed;
    size_t count;
    const char **names;
    struct bounded *results; /* NULL: the reference cannot compute all of them */
};

static void compute(struct scene *scene)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    const struct test_case *testcase = scene->testcase;
    struct evaluator *evaluator = NULL;
    size_t room = 0, wanted = 0;
    scene->computed = true;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    scene->names = memory_zeroed(room + 1, sizeof *scene->names);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k])
                scene->names[wanted++] = graph->node[i]->output[k];
    if (evaluator_new(&evaluator, scene->model, NULL, NULL) ||
        evaluator_run(evaluator, testcase->inputs, testcase->n_inputs, scene->names, wanted, &scene->results,
                      &scene->count, NULL)) {
        scene->results = NULL;
        scene->count = 0;
    }
    evaluator_free(evaluator);
}

static void scene_release(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        bounded_release(&scene->results[i]);
    free(scene->results);
    free(scene->names);
}

static void add_kind(struct str *text, const struct bounded *value)
{
    char shape[SHAPE_TEXT_SIZE];
    str_printf(text, " %s%s", dtype_name(value->type), shape_text(&value->shape, shape));
}

/* Type and shape of a value that a node makes, as the reference finds them; alone where it cannot make all.
 */
static void made_text(struct scene *scene, const char *name, struct str *text)
{
    const struct test_case *testcase = scene->testcase;
    struct evaluator *evaluator = NULL;
    struct bounded *results;
    size_t count;
    if (!scene->computed)
        compute(scene);
    for (size_t i = 0; i < scene->count; i++)
        if (text_equal(scene->names[i], name)) {
            add_kind(text, &scene->results[i]);
            return;
        }
    if (!evaluator_new(&evaluator, scene->model, NULL, NULL) &&
        !evaluator_run(evaluator, testcase->inputs, testcase->n_inputs, &name, 1, &results, &count, NULL)) {
        add_kind(text, &results[0]);
        bounded_release(&results[0]);
        free(results);
    }
    evaluator_free(evaluator);
}

static void value_text(struct scene *scene, const char *name, struct str *text)
{
    const struct model *model = scene->model;
    const struct test_case *testcase = scene->testcase;
    char shape[SHAPE_TEXT_SIZE];
    for (size_t k = 0; k < testcase->n_inputs; k++) {
        const struct value *input = &testcase->inputs[k];
        if (input->kind != VALUE_TENSOR || !text_equal(input->name, name))
            continue;
        str_printf(text, " %s%s", dtype_name(input->tensors[0].type),
                   shape_text(&input->tensors[0].shape, shape));
        return;
    }
    for (size_t k = 0; k < model->graph->n_initializer; k++) {
        const Onnx__TensorProto *tensor = model->graph->initializer[k];
        if (!text_equal(tensor->name, name))
            continue;
        struct shape dims = shape_make((int)tensor->n_dims, tensor->dims);
        str_printf(text, " const:%s%s", dtype_name((enum dtype)tensor->data_type), shape_text(&dims, shape));
        return;
    }
    made_text(scene, name, text);
}

static void node_text(struct scene *scene, const Onnx__NodeProto *node, struct str *text)
{
    str_printf(text, "%s opset=%d", node->op_type, model_opset(scene->model));
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i])
            value_text(scene, node->input[i], text);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = node->attribute[i];
        str_printf(text, " %s=", a->name);
        if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
            str_append(text, a->s.data, a->s.len);
        else if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)
            str_printf(text, "%g", (double)a->f);
        else if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT)
            str_printf(text, "%lld", (long long)a->i);
        for (size_t k = 0; k < a->n_ints; k++)
            str_printf(text, "%s%lld", k ? "," : "", (long long)a->ints[k]);
        for (size_t k = 0; k < a->n_floats; k++)
            str_printf(text, "%s%g", k ? "," : "", (double)a->floats[k]);
        for (size_t k = 0; k < a->n_strings; k++)
            str_printf(text, "%s%.*s", k ? "," : "", (int)a->strings[k].len,
                       (const char *)a->strings[k].data);
    }
}

void explained_nodes(struct str *out, const struct model *model, const struct test_case *testcase,
                     const struct settlement *settlement)
{
    struct scene scene = {.model = model, .testcase = testcase};
    bool blamed = settlement && settlement->count;
    size_t count = blamed ? settlement->count : model->graph->n_node;
    for (size_t i = 0; i < count; i++) {
        str_add(out, i ? " + " : "");
        node_text(&scene, model->graph->node[blamed ? settlement->nodes[i] : i], out);
    }
    scene_release(&scene);
}

static int add_row(struct explained *table, char *line, struct error *err)
{
    char *field[FIELDS] = {line};
    int n = 1;
    for (char *at = line; *at && n < FIELDS; at++)
        if (*at == '\t') {
            *at = '\0';
            field[n++] = at + 1;
        }
    if (*line == '#')
        return 0;
    if (n < FIELDS)
        return error_set(err, ERROR_FORMAT,
                         "%d of the %d columns engine, verdict, node and document, which tabs must separate",
                         n, FIELDS);
    table->rows = memory_grow(table->rows, &table->capacity, table->count + 1, sizeof *table->rows);
    table->rows[table->count++] = (struct explained_row){memory_strdup(field[0]), memory_strdup(field[1]),
                                                         memory_strdup(field[2]), memory_strdup(field[3]), 0};
    return 0;
}

int explained_read(struct explained *table, const char *path, struct error *err)
{
    char *data, *save = NULL;
    size_t size;
    int status = 0;
    *table = (struct explained){0};
    if (!path)
        return 0;
    if (file_read(path, TABLE_LIMIT, &data, &size, err))
        return -1;
    for (char *line = strtok_r(data, "\n", &save); line && !status; line = strtok_r(NULL, "\n", &save))
        if (add_row(table, line, err))
            status = error_prefix(err, "%s: '%.40s'", path, line);
    free(data);
    return status;
}

void explained_release(struct explained *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].engine);
        free(table->rows[i].verdict);
        free(table->rows[i].node);
        free(table->rows[i].document);
    }
    free(table->rows);
    *table = (struct explained){0};
}

struct explained_row *explained_find(const struct explained *table, const char *engine, const char *verdict,
                                     const char *node, const char *text)
{
    struct explained_row *found = NULL;
    struct str both;
    str_init(&both);
    str_printf(&both, "%s :: %s", node, text);
    for (size_t i = 0; i < table->count && !found; i++) {
        struct explained_row *row = &table->rows[i];
        if (!fnmatch(row->engine, engine, 0) && !fnmatch(row->verdict, verdict, 0) &&
            !fnmatch(row->node, both.data, 0))
            found = row;
    }
    str_release(&both);
    return found && strcmp(found->document, "-") ? found : NULL;
}

/* The names under which the store keeps what was looked up: node and text. */
static void key_of(struct str *key, const char *part, const char *signature)
{
    str_init(key);
    str_printf(key, "explained %s %s", part, signature);
}

static int keep_part(struct store *store, const char *part, const char *signature, const char *value,
                     struct error *err)
{
    struct str key;
    key_of(&key, part, signature);
    int status = store_set(store, key.data, value, err);
    str_release(&key);
    return status;
}

static int mark_known(struct store *store, const char *signature, const struct explained_row *row,
                      struct error *err)
{
    struct settled known = {.state = STATE_KNOWN, .detail = row ? row->document : NULL};
    return row ? store_settle(store, signature, &known, err) : 0;
}

int explained_mark(const struct explained *table, struct store *store, const struct explained_case *which,
                   struct error *err)
{
    struct str nodes;
    str_init(&nodes);
    explained_nodes(&nodes, which->model, which->testcase, which->settlement);
    int status =
        keep_part(store, "node", which->signature, nodes.data, err) ||
                keep_part(store, "text", which->signature, which->text, err)
            ? -1
            : mark_known(store, which->signature,
                         explained_find(table, which->engine, which->verdict, nodes.data, which->text), err);
    str_release(&nodes);
    return status;
}

/* Findings, read before any of them changes. */
struct findings {
    size_t count, capacity;
    struct {
        char *signature, *engine, *verdict;
    } * items;
};

static int note_finding(void *context, const struct stored *stored, struct error *err)
{
    struct findings *findings = context;
    (void)err;
    if (stored->state == STATE_KNOWN)
        return 0;
    findings->items =
        memory_grow(findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items);
    findings->items[findings->count].signature = memory_strdup(stored->signature);
    findings->items[findings->count].engine = memory_strdup(stored->engine);
    findings->items[findings->count++].verdict = memory_strdup(stored->kind);
    return 0;
}

static int look_again(const struct explained *table, struct store *store, const char *signature,
                      const char *engine, const char *verdict, struct error *err)
{
    struct str key, node, text;
    bool has_node = false, has_text = false;
    str_init(&node);
    str_init(&text);
    key_of(&key, "node", signature);
    int status = store_get(store, key.data, &node, &has_node, err);
    str_release(&key);
    key_of(&key, "text", signature);
    if (!status)
        status = store_get(store, key.data, &text, &has_text, err);
    str_release(&key);
    if (!status && has_node && has_text)
        status =
            mark_known(store, signature, explained_find(table, engine, verdict, node.data, text.data), err);
    str_release(&node);
    str_release(&text);
    return status;
}

int explained_again(const struct explained *table, struct store *store, struct error *err)
{
    struct findings findings = {0};
    if (!table->count)
        return 0;
    int status = store_list(store, &(struct store_filter){0}, note_finding, &findings, err);
    for (size_t i = 0; i < findings.count; i++) {
        if (!status)
            status = look_again(table, store, findings.items[i].signature, findings.items[i].engine,
                                findings.items[i].verdict, err);
        free(findings.items[i].signature);
        free(findings.items[i].engine);
        free(findings.items[i].verdict);
    }
    free(findings.items);
    return status;
}
