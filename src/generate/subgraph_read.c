/* Reads the text of a subgraph block (subgraph_read of subgraph.h). */
#include "generate/subgraph.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/expression.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "model/onnx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool subgraph_mark(const struct subgraph *graph, int64_t number, size_t *expression)
{
    if (number < SUBGRAPH_MARK)
        return false;
    *expression = (size_t)(number - SUBGRAPH_MARK);
    return *expression < graph->n_expressions;
}

/* ---- Expressions out of the text ---- */

/* The end of the expression behind a '$': a name, or what is in the parentheses. */
static const char *expression_end(const char *at, const char **start, size_t *length)
{
    *start = at;
    if (*at != '(') {
        while (isalnum((unsigned char)*at) || *at == '_')
            at++;
        *length = (size_t)(at - *start);
        return at;
    }
    int open = 0;
    do {
        open += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        at++;
    } while (open && *at && *at != '\n');
    *length = open ? 0 : (size_t)(at - *start);
    return at;
}

/* The most nested brackets: the parser of libonnx recurses as deep as the text does. A block has no bodies,
 * so few levels are enough. */
enum { NESTING = 8 };

static int check_nesting(const char *text, struct error *err)
{
    bool comment = false, string = false;
    int depth = 0;
    for (const char *at = text; *at; at++) {
        comment = *at == '\n' ? false : comment || (*at == '#' && !string);
        string = !comment && (*at == '"') != string;
        if (comment || string)
            continue;
        bool arrow = *at == '>' && at > text && at[-1] == '=';
        depth += strchr("{<([", *at) ? 1 : strchr("}>)]", *at) && !arrow ? -1 : 0;
        if (depth > NESTING)
            return error_set(err, ERROR_LIMIT, "brackets are nested more than %d deep", NESTING);
    }
    return 0;
}

/* Replaces expressions by marks; comments and strings stay as they are. */
static int take_expressions(struct subgraph *g, const char *text, struct str *plain, struct error *err)
{
    bool comment = false, string = false;
    for (const char *at = text; *at;) {
        comment = *at == '\n' ? false : comment || (*at == '#' && !string);
        string = !comment && (*at == '"') != string;
        if (comment || string || *at != '$') {
            str_append(plain, at++, 1);
            continue;
        }
        const char *start;
        size_t length;
        at = expression_end(at + 1, &start, &length);
        if (!length)
            return error_set(err, ERROR_FORMAT, "a '$' must be followed by a NAME or an (EXPRESSION)");
        if (g->n_expressions == SUBGRAPH_EXPRESSIONS)
            return error_set(err, ERROR_LIMIT, "a block has at most %d expressions", SUBGRAPH_EXPRESSIONS);
        str_printf(plain, "%lld", (long long)SUBGRAPH_MARK + (long long)g->n_expressions);
        g->expressions[g->n_expressions++] = arena_copy(&g->arena, start, length);
    }
    return 0;
}

/* ---- Sizes ---- */

enum { SYMBOL_HIGH = 6 };

static size_t find_symbol(const struct subgraph *g, const char *name, size_t length)
{
    for (size_t i = 0; i < g->n_symbols; i++)
        if (strlen(g->symbols[i].name) == length && strncmp(g->symbols[i].name, name, length) == 0)
            return i;
    return SUBGRAPH_NONE;
}

static int add_symbol(struct subgraph *g, const char *name, size_t *number, struct error *err)
{
    *number = find_symbol(g, name, strlen(name));
    if (*number != SUBGRAPH_NONE)
        return 0;
    if (g->n_symbols == SUBGRAPH_SYMBOLS)
        return error_set(err, ERROR_LIMIT, "a block has at most %d named sizes", SUBGRAPH_SYMBOLS);
    *number = g->n_symbols++;
    g->symbols[*number] = (struct subgraph_symbol){arena_strdup(&g->arena, name), 1, SYMBOL_HIGH, 1};
    return 0;
}

static bool lookup_low(const void *context, const char *name, size_t length, int64_t *value)
{
    const struct subgraph *g = context;
    size_t number = find_symbol(g, name, length);
    if (number == SUBGRAPH_NONE)
        return false;
    *value = g->symbols[number].low;
    return true;
}

static int check_expression(const struct subgraph *g, const char *text, struct error *err)
{
    int64_t value;
    return expression_eval(text, lookup_low, g, &value, err);
}

/* ---- Directives: "#: WORD ..." ---- */

static char *next_word(char **rest)
{
    return strtok_r(NULL, " ,\t\r", rest);
}

/* "2..8", or "4" for both. */
static int parse_range(const char *text, long long *low, long long *high)
{
    char first[32];
    const char *dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : strlen(text);
    if (length == 0 || length >= sizeof first)
        return -1;
    memcpy(first, text, length);
    first[length] = 0;
    if (!text_int64(first, low))
        return -1;
    *high = *low;
    return !dots || text_int64(dots + 2, high) ? 0 : -1;
}

static int read_opsets(struct subgraph *g, char *rest, struct error *err)
{
    char *word = next_word(&rest);
    long long low, high;
    if (!word || parse_range(word, &low, &high) || low < 1 || high < low || high > 1000)
        return error_set(err, ERROR_FORMAT, "'#: opsets' needs FIRST..LAST, as in '#: opsets 13..17'");
    g->since = low > OPSET_FIRST ? (int)low : OPSET_FIRST;
    g->until = high < OPSET_LAST ? (int)high : OPSET_LAST;
    return 0;
}

static int read_types(struct subgraph *g, char *rest, struct error *err)
{
    g->types = 0;
    for (char *word = next_word(&rest); word; word = next_word(&rest)) {
        enum dtype type = dtype_from_name(word);
        if (!dtype_is_float(type))
            return error_set(err, ERROR_FORMAT, "'#: types' needs float types, not '%.50s'", word);
        g->types |= DTYPE_BIT(type);
    }
    return g->types ? 0 : error_set(err, ERROR_FORMAT, "'#: types' names no type");
}

static int read_dim(struct subgraph *g, char *rest, struct error *err)
{
    char *name = next_word(&rest), *range = next_word(&rest), *word = next_word(&rest),
         *step = next_word(&rest);
    long long low, high, by = 1;
    size_t number;
    bool good = name && range && !parse_range(range, &low, &high) && low >= 1 && high >= low && high <= 4096;
    good = good && (!word || (strcmp(word, "step") == 0 && step && text_int64(step, &by) && by >= 1));
    if (!good)
        return error_set(err, ERROR_FORMAT,
                         "'#: dim' needs NAME LOW..HIGH [step N], as in '#: dim C 4..16 step 4'");
    if (add_symbol(g, name, &number, err))
        return -1;
    g->symbols[number].low = low;
    g->symbols[number].high = high;
    g->symbols[number].step = by;
    return 0;
}

static struct subgraph_input *find_input(struct subgraph *g, const char *name)
{
    for (size_t i = 0; i < g->n_inputs; i++)
        if (strcmp(g->inputs[i].name, name) == 0)
            return &g->inputs[i];
    return NULL;
}

static int read_data(struct subgraph *g, char *rest, struct error *err)
{
    for (size_t i = 0; i < g->n_inputs; i++)
        g->inputs[i].data = false;
    for (char *word = next_word(&rest); word; word = next_word(&rest)) {
        struct subgraph_input *input = find_input(g, word);
        if (!input || input->constant)
            return error_set(err, ERROR_FORMAT, "'#: data %.50s': there is no such input", word);
        input->data = true;
    }
    return 0;
}

static int read_fill(struct subgraph *g, char *rest, struct error *err)
{
    char *name = next_word(&rest), *range = next_word(&rest), *dots = range ? strstr(range, "..") : NULL;
    struct subgraph_input *input = name ? find_input(g, name) : NULL;
    if (!input || input->constant)
        return error_set(err, ERROR_FORMAT, "'#: fill %.50s': there is no such input", name ? name : "");
    if (!dots || dots == range || !dots[2])
        return error_set(err, ERROR_FORMAT, "'#: fill' needs NAME LOW..HIGH, as in '#: fill var 0.5..2'");
    input->filled = true;
    input->low = arena_copy(&g->arena, range, (size_t)(dots - range));
    input->high = arena_strdup(&g->arena, dots + 2);
    for (int i = 0; i < 2; i++) {
        const char *end = i ? input->high : input->low;
        double number;
        if (!text_double(end, &number) && check_expression(g, end, err))
            return -1;
    }
    return 0;
}

struct directive {
    const char *word;
    bool first; /* read before the inputs are known, so that sizes have their ranges */
    int (*read)(struct subgraph *g, char *rest, struct error *err);
};

static const struct directive directives[] = {
    {"opsets", true, read_opsets}, {"types", true, read_types}, {"dim", true, read_dim},
    {"data", false, read_data},    {"fill", false, read_fill},
};

static int read_directive(struct subgraph *g, char *line, bool first, struct error *err)
{
    char *rest = NULL, *word = strtok_r(line, " \t\r", &rest);
    for (size_t i = 0; word && i < sizeof directives / sizeof *directives; i++)
        if (strcmp(word, directives[i].word) == 0)
            return directives[i].first == first ? directives[i].read(g, rest, err) : 0;
    return error_set(err, ERROR_FORMAT, "'#: %.50s' is not one of opsets, types, dim, data and fill",
                     word ? word : "");
}

static int read_directives(struct subgraph *g, const char *text, bool first, struct error *err)
{
    char *copy = memory_strdup(text), *rest = NULL;
    int result = 0;
    for (char *line = strtok_r(copy, "\n", &rest); line && !result; line = strtok_r(NULL, "\n", &rest))
        if (line[0] == '#' && line[1] == ':')
            result = read_directive(g, line + 2, first, err);
    free(copy);
    return result;
}

/* ---- The graph ---- */

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return length && !isdigit((unsigned char)text[0]);
}

/* "$C" is "C". */
static const char *symbol_name(const struct subgraph *g, const Onnx__TensorShapeProto__Dimension *dim)
{
    size_t number;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param[0])
        return dim->dim_param;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        subgraph_mark(g, dim->dim_value, &number) && is_name(g->expressions[number]))
        return g->expressions[number];
    return NULL;
}

static int read_input_dim(struct subgraph *g, const Onnx__TensorShapeProto__Dimension *dim,
                          struct subgraph_dim *out, struct error *err)
{
    size_t number;
    const char *name = symbol_name(g, dim);
    if (name) {
        if (add_symbol(g, name, &number, err))
            return -1;
        *out = (struct subgraph_dim){DIM_SYMBOL, (int64_t)number};
    } else if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ||
               dim->dim_value < 0) {
        return error_set(err, ERROR_FORMAT,
                         "a dimension of an input must be a number, a NAME or an expression");
    } else if (subgraph_mark(g, dim->dim_value, &number)) {
        *out = (struct subgraph_dim){DIM_EXPRESSION, (int64_t)number};
    } else {
        *out = (struct subgraph_dim){DIM_NUMBER, dim->dim_value};
    }
    return 0;
}

static int read_input(struct subgraph *g, const Onnx__ValueInfoProto *info, struct error *err)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return error_set(err, ERROR_UNSUPPORTED, "input %.50s is not a tensor", info->name);
    const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
    if (g->n_inputs == SUBGRAPH_INPUTS)
        return error_set(err, ERROR_LIMIT, "a block has at most %d inputs", SUBGRAPH_INPUTS);
    if (dtype_check(type->elem_type, err))
        return -1;
    struct subgraph_input *input = &g->inputs[g->n_inputs];
    *input = (struct subgraph_input){.name = info->name, .type = (enum dtype)type->elem_type};
    if (input->type == DTYPE_STRING || input->type == DTYPE_COMPLEX64 || input->type == DTYPE_COMPLEX128)
        return error_set(err, ERROR_UNSUPPORTED, "input %.50s does not hold numbers", info->name);
    input->data = g->n_inputs == 0;
    input->any_rank = !type->shape;
    input->rank = type->shape ? (int)type->shape->n_dim : 0;
    if (input->rank > 6)
        return error_set(err, ERROR_LIMIT, "input %.50s has more than 6 dimensions", info->name);
    for (int i = 0; i < input->rank; i++)
        if (read_input_dim(g, type->shape->dim[i], &input->dims[i], err))
            return -1;
    g->n_inputs++;
    return 0;
}

static int read_constant(struct subgraph *g, const Onnx__TensorProto *tensor, struct error *err)
{
    struct subgraph_input *input = find_input(g, tensor->name);
    struct tensor value;
    if (model_tensor_read(tensor, &value, err))
        return -1;
    size_t count = value.count;
    enum dtype type = value.type;
    tensor_release(&value);
    if (count > SUBGRAPH_CONSTANT || type == DTYPE_STRING)
        return error_set(err, ERROR_LIMIT, "initialiser %.50s has more than %d numbers", tensor->name,
                         SUBGRAPH_CONSTANT);
    if (!input && g->n_inputs == SUBGRAPH_INPUTS)
        return error_set(err, ERROR_LIMIT, "a block has at most %d inputs", SUBGRAPH_INPUTS);
    if (!input)
        input = &g->inputs[g->n_inputs++];
    *input = (struct subgraph_input){.name = tensor->name, .type = type, .constant = tensor};
    return 0;
}

static bool tensor_patched(const struct subgraph *g, const Onnx__TensorProto *tensor)
{
    size_t unused;
    if (tensor->data_type == DTYPE_FLOAT)
        return true;
    for (size_t i = 0; i < tensor->n_int64_data; i++)
        if (subgraph_mark(g, tensor->int64_data[i], &unused))
            return true;
    return false;
}

/* Whether an attribute differs between instances of the block. */
static bool is_patched(const struct subgraph *g, const Onnx__NodeProto *node, const Onnx__AttributeProto *a)
{
    size_t unused;
    bool constant = node_is_constant(node);
    for (size_t i = 0; i < a->n_ints; i++)
        if (subgraph_mark(g, a->ints[i], &unused))
            return true;
    if (a->t && tensor_patched(g, a->t))
        return true;
    return subgraph_mark(g, a->i, &unused) ||
           (constant && (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT || a->n_floats));
}

static int read_node(struct subgraph *g, const Onnx__NodeProto *proto, struct map *names, struct error *err)
{
    struct subgraph_node *node = &g->nodes[g->n_nodes++];
    size_t number;
    *node = (struct subgraph_node){.proto = proto, .op = op_of(proto)};
    if (!node->op)
        return error_set(err, ERROR_UNSUPPORTED, "Assay does not support operator %.50s", proto->op_type);
    node->inputs = arena_array(&g->arena, proto->n_input + 1, sizeof *node->inputs);
    node->outputs = arena_array(&g->arena, proto->n_output + 1, sizeof *node->outputs);
    for (size_t i = 0; i < proto->n_input; i++) {
        node->inputs[i] = SUBGRAPH_NONE;
        if (*proto->input[i] && !map_get(names, proto->input[i], &node->inputs[i]))
            return error_set(err, ERROR_FORMAT, "%.50s uses %.50s, which no node before it produces",
                             proto->op_type, proto->input[i]);
    }
    for (size_t i = 0; i < proto->n_output; i++) {
        node->outputs[i] = SUBGRAPH_NONE;
        if (*proto->output[i] && map_get(names, proto->output[i], &number))
            return error_set(err, ERROR_FORMAT, "%.50s is defined twice", proto->output[i]);
        if (*proto->output[i]) {
            map_set(names, proto->output[i], g->n_values);
            node->outputs[i] = g->n_values++;
        }
    }
    for (size_t i = 0; i < proto->n_attribute; i++) {
        node->patched |= is_patched(g, proto, proto->attribute[i]);
        if (proto->attribute[i]->g || proto->attribute[i]->n_graphs)
            return error_set(err, ERROR_UNSUPPORTED, "%.50s has a body, which is not allowed in a block",
                             proto->op_type);
    }
    return 0;
}

static int read_graph(struct subgraph *g, struct map *names, struct error *err)
{
    const Onnx__GraphProto *proto = g->model->graph;
    if (proto->n_node == 0 || proto->n_node > SUBGRAPH_NODES || proto->n_sparse_initializer)
        return error_set(err, ERROR_FORMAT, "a block has 1 to %d nodes", SUBGRAPH_NODES);
    for (size_t i = 0; i < proto->n_input; i++)
        if (read_input(g, proto->input[i], err))
            return -1;
    for (size_t i = 0; i < proto->n_initializer; i++)
        if (read_constant(g, proto->initializer[i], err))
            return -1;
    g->n_values = g->n_inputs;
    for (size_t i = 0; i < g->n_inputs; i++)
        if (!map_set(names, g->inputs[i].name, i))
            return error_set(err, ERROR_FORMAT, "two inputs are named %.50s", g->inputs[i].name);
    g->nodes = arena_array(&g->arena, proto->n_node, sizeof *g->nodes);
    for (size_t i = 0; i < proto->n_node; i++)
        if (read_node(g, proto->node[i], names, err))
            return -1;
    g->n_outputs = proto->n_output;
    g->outputs = arena_array(&g->arena, proto->n_output + 1, sizeof *g->outputs);
    for (size_t i = 0; i < proto->n_output; i++)
        if (!map_get(names, proto->output[i]->name, &g->outputs[i]) || g->outputs[i] < g->n_inputs)
            return error_set(err, ERROR_FORMAT, "no node produces the output %.50s", proto->output[i]->name);
    if (!g->n_outputs || g->n_outputs > 32)
        return error_set(err, ERROR_FORMAT, "a block has 1 to 32 outputs");
    return 0;
}

static int read_text(struct subgraph *g, const char *text, struct error *err)
{
    struct str plain;
    struct map names;
    uint8_t *bytes = NULL;
    size_t size = 0;
    str_init(&plain);
    map_init(&names);
    int result = take_expressions(g, text, &plain, err);
    if (!result)
        result = check_nesting(plain.data, err);
    if (!result)
        result = onnx_parse_text(plain.data, &bytes, &size, err);
    if (!result)
        result = model_parse(&g->model, bytes, size, err);
    if (!result) {
        int opset = model_opset(g->model);
        g->since = opset > OPSET_FIRST ? opset : OPSET_FIRST;
        g->until = OPSET_LAST;
        result = read_directives(g, text, true, err);
    }
    if (!result)
        result = read_graph(g, &names, err);
    if (!result)
        result = read_directives(g, text, false, err);
    for (size_t i = 0; !result && i < g->n_expressions; i++)
        result = check_expression(g, g->expressions[i], err);
    free(bytes);
    map_release(&names);
    str_release(&plain);
    return result;
}

int subgraph_read(struct subgraph **graph, const char *text, struct error *err)
{
    struct subgraph *g = memory_zeroed(1, sizeof *g);
    arena_init(&g->arena);
    g->types = DTYPE_BIT(DTYPE_FLOAT);
    *graph = g;
    int result = strlen(text) > SUBGRAPH_TEXT
                     ? error_set(err, ERROR_LIMIT, "a block has at most %d bytes", SUBGRAPH_TEXT)
                     : read_text(g, text, err);
    if (result) {
        subgraph_free(g);
        *graph = NULL;
    }
    return result;
}

void subgraph_free(struct subgraph *graph)
{
    if (!graph)
        return;
    if (graph->model)
        model_free(graph->model);
    arena_release(&graph->arena);
    free(graph);
}
