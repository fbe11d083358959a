#include "findings/finding_facts.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"
#include "base/memory.h"
#include "eval/evaluate.h"
#include "findings/inlined_nodes.h"
#include "ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fact_mark_names[FACT_MARKS] = {"nan", "inf", "-inf", "zero", "fraction", "lowest"};

/* Seconds for all values together that the reference computes one by one. */
static const double seconds_alone = 10;

static const struct fact_value unknown = {.shape = {.rank = -1}, .least = NAN, .most = NAN};

/* A case that is being described. What its nodes make is computed when it is first asked for, all at once. */
struct scene {
    const struct model *model;
    const struct value *inputs;
    size_t n_inputs;
    struct map initializers; /* name -> number */
    struct map makers;       /* value -> the node that makes it */
    bool *constant;          /* by node: all that goes into it is constant */
    bool computed;
    size_t count;
    const char **names;
    struct map places;       /* name -> number in names and results */
    struct bounded *results; /* NULL: the reference cannot compute all of them */
    double until;            /* by the clock: until then they are computed one by one */
};

static int evaluate(const struct scene *scene, const char *const *names, size_t wanted,
                    struct bounded **results, size_t *count)
{
    struct evaluator *evaluator = NULL;
    int status = evaluator_new(&evaluator, scene->model, NULL, NULL);
    if (!status)
        status =
            evaluator_run(evaluator, scene->inputs, scene->n_inputs, names, wanted, results, count, NULL);
    evaluator_free(evaluator);
    return status;
}

static void compute(struct scene *scene)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    size_t room = 0, wanted = 0;
    scene->computed = true;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    scene->names = memory_zeroed(room + 1, sizeof *scene->names);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k]) {
                map_set(&scene->places, graph->node[i]->output[k], wanted);
                scene->names[wanted++] = graph->node[i]->output[k];
            }
    if (!wanted || evaluate(scene, scene->names, wanted, &scene->results, &scene->count)) {
        scene->results = NULL;
        scene->count = 0;
        scene->until = clock_seconds() + seconds_alone;
    }
}

/* The value is an initializer, or made of constants by a node that was looked at before. */
static bool is_constant(const struct scene *scene, const char *name)
{
    size_t number;
    return map_has(&scene->initializers, name) ||
           (map_get(&scene->makers, name, &number) && scene->constant[number]);
}

/* Whether all that goes into the node is constant. Bodies may read what they like, so theirs is not. */
static bool makes_constant(const struct scene *scene, const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    if (!op || op->flags & (OP_RANDOM | OP_RANDOM_IN_TRAINING))
        return false;
    if (op->work == WORK_SHAPE)
        return true;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            return false;
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i] && !is_constant(scene, node->input[i]))
            return false;
    return true;
}

static void scene_init(struct scene *scene, const struct model *model, const struct test_case *test)
{
    const Onnx__GraphProto *graph = model->graph;
    *scene = (struct scene){.model = model, .inputs = test->inputs, .n_inputs = test->n_inputs};
    map_init(&scene->initializers);
    map_init(&scene->makers);
    map_init(&scene->places);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&scene->initializers, graph->initializer[i]->name, i);
    scene->constant = memory_zeroed(graph->n_node + 1, sizeof *scene->constant);
    for (size_t i = 0; i < graph->n_node; i++) {
        scene->constant[i] = makes_constant(scene, graph->node[i]);
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            map_set(&scene->makers, graph->node[i]->output[k], i);
    }
}

static void scene_release(struct scene *scene)
{
    map_release(&scene->initializers);
    map_release(&scene->makers);
    map_release(&scene->places);
    for (size_t i = 0; i < scene->count; i++)
        bounded_release(&scene->results[i]);
    free(scene->results);
    free(scene->names);
    free(scene->constant);
}

static unsigned mark_of(enum dtype type, long double value)
{
    if (isnan(value))
        return FACT_NAN;
    if (isinf(value))
        return value > 0 ? FACT_PLUS_INFINITY : FACT_MINUS_INFINITY;
    if (value == 0)
        return FACT_ZERO;
    if (value != floorl(value))
        return FACT_FRACTION;
    bool lowest = dtype_is_integer(type) && dtype_is_signed(type) && value == dtype_lowest(type);
    return lowest ? FACT_LOWEST : 0;
}

static struct fact_value value_of(const struct bounded *from)
{
    struct fact_value value = {.type = from->type, .shape = from->shape, .least = NAN, .most = NAN};
    for (size_t i = 0; from->value && i < from->count; i++) {
        double element = (double)from->value[i];
        value.marks |= mark_of(from->type, from->value[i]);
        if (!isfinite(element))
            continue;
        value.least = isnan(value.least) || element < value.least ? element : value.least;
        value.most = isnan(value.most) || element > value.most ? element : value.most;
    }
    return value;
}

static struct fact_value value_of_tensor(const struct tensor *tensor)
{
    struct bounded exact;
    struct fact_value value = {.type = tensor->type, .shape = tensor->shape, .least = NAN, .most = NAN};
    if (tensor->type == DTYPE_STRING || bounded_from_tensor(&exact, tensor, NULL))
        return value;
    value = value_of(&exact);
    bounded_release(&exact);
    return value;
}

/* The value that a node makes, as the reference computes it; by itself where the reference cannot compute all
 * of them. */
static struct fact_value made_value(struct scene *scene, const char *name)
{
    struct fact_value value = unknown;
    struct bounded *results;
    size_t count, place;
    if (!scene->computed)
        compute(scene);
    if (map_get(&scene->places, name, &place) && place < scene->count)
        return value_of(&scene->results[place]);
    if (!scene->results && clock_seconds() < scene->until && !evaluate(scene, &name, 1, &results, &count)) {
        value = value_of(&results[0]);
        bounded_release(&results[0]);
        free(results);
    }
    return value;
}

static struct fact_value initializer_value(const Onnx__TensorProto *proto)
{
    struct tensor tensor;
    struct fact_value value = unknown;
    if (model_tensor_read(proto, &tensor, NULL)) {
        value.type = (enum dtype)proto->data_type;
    } else {
        value = value_of_tensor(&tensor);
        tensor_release(&tensor);
    }
    value.constant = true;
    return value;
}

static struct fact_value find_value(struct scene *scene, const char *name)
{
    size_t number;
    if (!*name)
        return unknown;
    for (size_t k = 0; k < scene->n_inputs; k++) {
        const struct value *input = &scene->inputs[k];
        if (input->kind == VALUE_TENSOR && input->name && text_equal(input->name, name))
            return value_of_tensor(&input->tensors[0]);
    }
    if (map_get(&scene->initializers, name, &number))
        return initializer_value(scene->model->graph->initializer[number]);
    struct fact_value value = made_value(scene, name);
    value.constant = is_constant(scene, name);
    return value;
}

static const char *attribute_text(struct arena *arena, const Onnx__AttributeProto *a)
{
    struct str text;
    str_init(&text);
    if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
        str_append(&text, a->s.data, a->s.len);
    else if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)
        str_printf(&text, "%g", (double)a->f);
    else if (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT)
        str_printf(&text, "%lld", (long long)a->i);
    for (size_t k = 0; k < a->n_ints; k++)
        str_printf(&text, "%s%lld", k ? "," : "", (long long)a->ints[k]);
    for (size_t k = 0; k < a->n_floats; k++)
        str_printf(&text, "%s%g", k ? "," : "", (double)a->floats[k]);
    for (size_t k = 0; k < a->n_strings; k++)
        str_printf(&text, "%s%.*s", k ? "," : "", (int)a->strings[k].len, (const char *)a->strings[k].data);
    const char *copy = arena_strdup(arena, text.data);
    str_release(&text);
    return copy;
}

static struct fact_value *values_of(struct finding_facts *facts, struct scene *scene, char *const *names,
                                    size_t count)
{
    struct fact_value *values = arena_array(&facts->arena, count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = find_value(scene, names[i]);
    return values;
}

static void describe_node(struct finding_facts *facts, struct scene *scene, size_t number,
                          struct fact_node *out)
{
    const Onnx__NodeProto *node = scene->model->graph->node[number];
    *out = (struct fact_node){
        .op = arena_strdup(&facts->arena, op_title(node)),
        .number = number,
        .n_attributes = node->n_attribute,
        .n_inputs = node->n_input,
        .n_outputs = node->n_output,
        .attributes = arena_array(&facts->arena, node->n_attribute, sizeof *out->attributes),
        .inputs = values_of(facts, scene, node->input, node->n_input),
        .outputs = values_of(facts, scene, node->output, node->n_output),
    };
    for (size_t i = 0; i < node->n_attribute; i++)
        out->attributes[i] = (struct fact_attribute){arena_strdup(&facts->arena, node->attribute[i]->name),
                                                     attribute_text(&facts->arena, node->attribute[i])};
}

static void init(struct finding_facts *facts)
{
    *facts = (struct finding_facts){.engine = "",
                                    .like = "",
                                    .version = "",
                                    .name = "",
                                    .cause = "",
                                    .place = "",
                                    .crash = "",
                                    .parameter = "",
                                    .needed = "",
                                    .stage = "",
                                    .message = "",
                                    .expected = NAN,
                                    .got = NAN};
    arena_init(&facts->arena);
}

void facts_of_nodes(struct finding_facts *facts, const struct test_case *test, const size_t *numbers,
                    size_t count, enum verdict_kind kind)
{
    const struct model *model = test_case_model(test, NULL);
    struct inlined_nodes blamed;
    init(facts);
    facts->gradient = test->gradient != NULL;
    if (!model)
        return;
    size_t *every = memory_zeroed(model->graph->n_node + 1, sizeof *every);
    for (size_t i = 0; i < model->graph->n_node; i++)
        every[i] = i;
    inlined_nodes_init(&blamed, model, count ? numbers : every, count ? count : model->graph->n_node, kind);
    struct scene scene;
    scene_init(&scene, blamed.model, test);
    facts->opset = model_opset(model);
    facts->nodes = arena_array(&facts->arena, blamed.count, sizeof *facts->nodes);
    for (size_t i = 0; i < blamed.count; i++)
        if (blamed.numbers[i] < blamed.model->graph->n_node) {
            struct fact_node *node = &facts->nodes[facts->n_nodes++];
            describe_node(facts, &scene, blamed.numbers[i], node);
            node->number = blamed.calls[i];
        }
    scene_release(&scene);
    inlined_nodes_release(&blamed);
    free(every);
}

void facts_release(struct finding_facts *facts)
{
    arena_release(&facts->arena);
    *facts = (struct finding_facts){0};
}

void fact_value_text(struct str *out, const struct fact_value *value)
{
    char shape[SHAPE_TEXT_SIZE];
    if (value->type == DTYPE_NONE)
        return;
    str_printf(out, "%s%s", dtype_name(value->type),
               value->shape.rank < 0 ? "" : shape_text(&value->shape, shape));
    str_add(out, value->constant ? " const" : "");
    for (int i = 0; i < FACT_MARKS; i++)
        if (value->marks & (1U << i))
            str_printf(out, " %s", fact_mark_names[i]);
    if (!isnan(value->least))
        str_printf(out, " least=%.17g most=%.17g", value->least, value->most);
}

void facts_nodes_text(struct str *out, const struct finding_facts *facts)
{
    char shape[SHAPE_TEXT_SIZE];
    for (size_t i = 0; i < facts->n_nodes; i++) {
        const struct fact_node *node = &facts->nodes[i];
        str_printf(out, "%s%s opset=%d", i ? " + " : "", node->op, facts->opset);
        for (size_t k = 0; k < node->n_inputs; k++) {
            const struct fact_value *value = &node->inputs[k];
            if (value->type != DTYPE_NONE)
                str_printf(out, " %s%s%s", value->constant ? "const:" : "", dtype_name(value->type),
                           value->shape.rank < 0 ? "" : shape_text(&value->shape, shape));
        }
        for (size_t k = 0; k < node->n_attributes; k++)
            str_printf(out, " %s=%s", node->attributes[k].name, node->attributes[k].text);
    }
}

static void write_values(struct json *json, const char *name, const struct fact_value *values, size_t count)
{
    struct str text;
    str_init(&text);
    json_array(json, name);
    for (size_t i = 0; i < count; i++) {
        str_clear(&text);
        fact_value_text(&text, &values[i]);
        json_string(json, NULL, text.data);
    }
    json_end(json);
    str_release(&text);
}

static void write_node(struct json *json, const struct fact_node *node)
{
    json_object(json, NULL);
    json_string(json, "op", node->op);
    json_int(json, "number", (int64_t)node->number);
    json_object(json, "attributes");
    for (size_t i = 0; i < node->n_attributes; i++)
        json_string(json, node->attributes[i].name, node->attributes[i].text);
    json_end(json);
    write_values(json, "inputs", node->inputs, node->n_inputs);
    write_values(json, "outputs", node->outputs, node->n_outputs);
    json_end(json);
}

void fact_node_write(struct str *out, const struct fact_node *node)
{
    struct json json;
    json_init(&json, out, false);
    write_node(&json, node);
}

void facts_write(struct str *out, const struct finding_facts *facts)
{
    struct json json;
    json_init(&json, out, false);
    json_object(&json, NULL);
    json_string(&json, "engine", facts->engine);
    if (*facts->like)
        json_string(&json, "like", facts->like);
    json_string(&json, "version", facts->version);
    if (facts->gradient)
        json_string(&json, "asked", "gradients");
    json_string(&json, "symptom", symptom_word(facts->symptom));
    json_string(&json, "stage", facts->stage);
    json_string(&json, "message", facts->message);
    json_int(&json, "signal", facts->signal);
    json_double(&json, "factor", facts->factor);
    if (facts->compared) {
        json_double(&json, "expected", facts->expected);
        json_double(&json, "got", facts->got);
    }
    json_int(&json, "opset", facts->opset);
    json_array(&json, "nodes");
    for (size_t i = 0; i < facts->n_nodes; i++)
        write_node(&json, &facts->nodes[i]);
    json_end(&json);
    json_end(&json);
}

/* "nan", "inf" and "-inf" are strings in JSON (base/json.h). */
static double read_number(const struct json_value *object, const char *name, double otherwise)
{
    double value;
    const char *text = json_text_of(object, name);
    return text && text_double(text, &value) ? value : json_number_of(object, name, otherwise);
}

static int read_shape(struct shape *shape, const char *text, struct error *err)
{
    char *end;
    *shape = (struct shape){0};
    if (*text++ != '[')
        return error_set(err, ERROR_FORMAT, "a shape must begin with [");
    while (*text != ']') {
        if (shape->rank == TENSOR_MAX_RANK)
            return error_set(err, ERROR_FORMAT, "a shape has more than %d dims", TENSOR_MAX_RANK);
        shape->dims[shape->rank++] = strtoll(text, &end, 10);
        if (end == text || (*end != ',' && *end != ']'))
            return error_set(err, ERROR_FORMAT, "a shape must end with ]");
        text = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int read_word(struct fact_value *value, const char *word, struct error *err)
{
    double number;
    bool least = text_starts(word, "least="), most = text_starts(word, "most=");
    if (text_equal(word, "const")) {
        value->constant = true;
        return 0;
    }
    if ((least || most) && text_double(strchr(word, '=') + 1, &number)) {
        *(least ? &value->least : &value->most) = number;
        return 0;
    }
    for (int i = 0; i < FACT_MARKS; i++)
        if (text_equal(word, fact_mark_names[i])) {
            value->marks |= 1U << i;
            return 0;
        }
    return error_set(err, ERROR_FORMAT, "'%.40s' is not a property of a value", word);
}

static int read_value(struct arena *arena, const char *from, struct fact_value *value, struct error *err)
{
    char *save = NULL, *text = arena_strdup(arena, from);
    *value = unknown;
    char *word = strtok_r(text, " ", &save);
    if (!word)
        return 0;
    char *bracket = strchr(word, '[');
    if (bracket && read_shape(&value->shape, bracket, err))
        return -1;
    if (bracket)
        *bracket = '\0';
    value->type = dtype_from_name(word);
    if (value->type == DTYPE_NONE)
        return error_set(err, ERROR_FORMAT, "'%.40s' is not an element type", word);
    while ((word = strtok_r(NULL, " ", &save)))
        if (read_word(value, word, err))
            return -1;
    return 0;
}

static int read_values(struct arena *arena, const struct json_value *from, struct fact_value **values,
                       size_t *count, struct error *err)
{
    size_t n = from && from->kind == JSON_ARRAY ? from->count : 0;
    *values = arena_array(arena, n, sizeof **values);
    *count = 0;
    for (const struct json_value *item = n ? from->first : NULL; item; item = item->next)
        if (item->kind != JSON_STRING)
            return error_set(err, ERROR_FORMAT, "a value must be a text");
        else if (read_value(arena, item->text, &(*values)[(*count)++], err))
            return -1;
    return 0;
}

static int read_node(struct arena *arena, const struct json_value *from, struct fact_node *node,
                     struct error *err)
{
    const struct json_value *attributes = json_member(from, "attributes");
    const char *op = json_text_of(from, "op");
    size_t n = attributes && attributes->kind == JSON_OBJECT ? attributes->count : 0;
    *node = (struct fact_node){.op = op, .attributes = arena_array(arena, n, sizeof *node->attributes)};
    if (!op)
        return error_set(err, ERROR_FORMAT, "a node has no operator");
    node->op = arena_strdup(arena, op);
    node->number = (size_t)fmin(fmax(read_number(from, "number", 0), 0), 1e9);
    for (const struct json_value *item = n ? attributes->first : NULL; item; item = item->next)
        node->attributes[node->n_attributes++] =
            (struct fact_attribute){arena_strdup(arena, item->name),
                                    item->kind == JSON_STRING ? arena_strdup(arena, item->text) : ""};
    return read_values(arena, json_member(from, "inputs"), &node->inputs, &node->n_inputs, err) ||
                   read_values(arena, json_member(from, "outputs"), &node->outputs, &node->n_outputs, err)
               ? -1
               : 0;
}

static const char *read_text(struct arena *arena, const struct json_value *object, const char *name)
{
    const char *text = json_text_of(object, name);
    return text ? arena_strdup(arena, text) : "";
}

int facts_from_json(struct finding_facts *facts, const struct json_value *from, struct error *err)
{
    init(facts);
    facts->engine = read_text(&facts->arena, from, "engine");
    facts->like = read_text(&facts->arena, from, "like");
    facts->version = read_text(&facts->arena, from, "version");
    facts->gradient = text_equal(read_text(&facts->arena, from, "asked"), "gradients");
    const char *symptom = read_text(&facts->arena, from, "symptom");
    if (!symptom_parse(symptom, strlen(symptom), &facts->symptom))
        return error_set(err, ERROR_FORMAT, "'%.40s' is not a symptom", symptom);
    facts->stage = read_text(&facts->arena, from, "stage");
    facts->message = read_text(&facts->arena, from, "message");
    facts->signal = (int)fmin(fmax(read_number(from, "signal", 0), 0), 255);
    facts->factor = read_number(from, "factor", 0);
    facts->compared = json_member(from, "expected") != NULL;
    facts->expected = read_number(from, "expected", NAN);
    facts->got = read_number(from, "got", NAN);
    facts->opset = (int)fmin(fmax(read_number(from, "opset", 0), 0), 1e6);
    const struct json_value *nodes = json_member(from, "nodes");
    size_t n = nodes && nodes->kind == JSON_ARRAY ? nodes->count : 0;
    facts->nodes = arena_array(&facts->arena, n, sizeof *facts->nodes);
    for (const struct json_value *item = n ? nodes->first : NULL; item; item = item->next)
        if (read_node(&facts->arena, item, &facts->nodes[facts->n_nodes++], err))
            return -1;
    return 0;
}

int facts_read(struct finding_facts *facts, const char *text, size_t size, struct error *err)
{
    struct arena arena;
    const struct json_value *top;
    arena_init(&arena);
    int status = json_read(&arena, text, size, &top, err);
    if (status)
        init(facts);
    else
        status = facts_from_json(facts, top, err);
    arena_release(&arena);
    return status;
}
