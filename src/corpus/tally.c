#include "corpus/tally.h"

#include "base/memory.h"
#include "eval/value_types.h"
#include "generate/operator_case.h"
#include "guide/coverage_param.h"
#include "model/build.h"
#include "model/describe.h"

const char *const tally_names[TALLY_KINDS] = {
    [TALLY_OPERATORS] = "operators",
    [TALLY_FORMS] = "operators x opsets at which they changed",
    [TALLY_TYPES] = "the same x element types",
    [TALLY_ATTRIBUTES] = "the same x parameters that are given",
    [TALLY_VALUES] = "the same x classes of their values",
    [TALLY_INPUTS] = "operators x which inputs are given",
    [TALLY_RANKS] = "operators x ranks",
};

void tally_init(struct tally *tally)
{
    arena_init(&tally->arena);
    for (int kind = 0; kind < TALLY_KINDS; kind++)
        map_init(&tally->seen[kind]);
}

void tally_release(struct tally *tally)
{
    for (int kind = 0; kind < TALLY_KINDS; kind++)
        map_release(&tally->seen[kind]);
    arena_release(&tally->arena);
}

size_t tally_count(const struct tally *tally, enum tally_kind kind)
{
    return tally->seen[kind].count;
}

static bool begins_form(const struct op *op, int opset)
{
    const struct op_param *param = op->params;
    if (op_types_at(op, opset) != op_types_at(op, opset - 1) ||
        op_narrow_at(op, opset) != op_narrow_at(op, opset - 1))
        return true;
    for (; param && param->name; param++)
        if (param->since == opset || (param->until && param->until == opset - 1))
            return true;
    return false;
}

int tally_form(const struct op *op, int opset)
{
    int form = opset, first = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST;
    while (form > first && !begins_form(op, form))
        form--;
    return form;
}

/* One thing that a node covers. */
struct item {
    enum tally_kind kind;
    const char *key;  /* what distinguishes it */
    const char *word; /* the same for people */
    const char *part; /* the parameter, or "" */
};

/* The nodes of one case, and what is done with each of their items. */
struct walk {
    const struct model *model;
    struct value_types types;
    struct coverage_record record;
    struct arena arena; /* of keys and words */
    void (*take)(void *context, const struct item *item);
    void *context;
};

static bool find_shape(const void *context, const char *name, enum dtype *type, struct shape *shape)
{
    const struct bounded *known = value_types_find(context, name);
    if (!known || known->type == DTYPE_NONE || known->shape.rank < 0)
        return false;
    *type = known->type;
    *shape = known->shape;
    return true;
}

static const char *type_of(const struct walk *walk, char *const *names, size_t count)
{
    const struct bounded *known = count ? value_types_find(&walk->types, names[0]) : NULL;
    return known ? dtype_name(known->type) : dtype_name(DTYPE_NONE);
}

static void give(struct walk *walk, enum tally_kind kind, const char *key, const char *word, const char *part)
{
    walk->take(walk->context, &(struct item){kind, key, word, part});
}

static const char *value_word(struct walk *walk, const struct op_param *param, const Onnx__NodeProto *node,
                              unsigned class)
{
    struct str text;
    const Onnx__AttributeProto *attribute = node_attribute(node, param->name);
    str_init(&text);
    if (param->kind == PARAM_INPUT)
        str_add(&text, class == PARAM_INPUT_CONSTANT ? "constant" : "computed");
    else if (attribute)
        describe_attribute(&text, attribute);
    const char *word = !class ? arena_printf(&walk->arena, "without %s", param->name)
                              : arena_printf(&walk->arena, "%s=%s", param->name, text.data);
    str_release(&text);
    return word;
}

static void give_params(struct walk *walk, const struct coverage_node *node, const Onnx__NodeProto *proto,
                        int form)
{
    const struct op_param *params = node->row->params;
    for (size_t i = 0; params && params[i].name && i < COVERAGE_PARAMS; i++) {
        unsigned class = node->classes[i];
        if ((params[i].since && form < params[i].since) || (params[i].until && form > params[i].until))
            continue;
        const char *name = params[i].name, *word = value_word(walk, &params[i], proto, class);
        if (class)
            give(walk, TALLY_ATTRIBUTES, arena_printf(&walk->arena, "%s@%d %s", node->row->name, form, name),
                 word, name);
        give(walk, TALLY_VALUES,
             arena_printf(&walk->arena, "%s@%d %s=%u", node->row->name, form, name, class), word, name);
    }
}

static void give_inputs(struct walk *walk, const struct op *op, const Onnx__NodeProto *proto)
{
    const struct bounded *first = proto->n_input ? value_types_find(&walk->types, proto->input[0]) : NULL;
    struct str given;
    str_init(&given);
    for (size_t i = 0; i < proto->n_input && i < 32; i++)
        str_add(&given, *proto->input[i] ? "x" : "-");
    const char *word = arena_printf(&walk->arena, "inputs %s", proto->n_input ? given.data : "none");
    give(walk, TALLY_INPUTS, arena_printf(&walk->arena, "%s %s", op->name, given.data), word, "");
    if (first && first->type != DTYPE_NONE && first->shape.rank >= 0) {
        word = arena_printf(&walk->arena, "rank %d", first->shape.rank);
        give(walk, TALLY_RANKS, arena_printf(&walk->arena, "%s %d", op->name, first->shape.rank), word, "");
    }
    str_release(&given);
}

static void give_node(struct walk *walk, size_t number)
{
    const struct coverage_node *node = &walk->record.nodes[number];
    const Onnx__NodeProto *proto = walk->model->graph->node[number];
    if (!node->row || *node->row->owner)
        return;
    const char *name = node->row->name;
    int form = tally_form(node->row, model_opset(walk->model));
    const char *word = arena_printf(&walk->arena, "opset %d", form);
    give(walk, TALLY_OPERATORS, name, name, "");
    give(walk, TALLY_FORMS, arena_printf(&walk->arena, "%s@%d", name, form), word, "");
    word = arena_printf(&walk->arena, "%s to %s", type_of(walk, proto->input, proto->n_input),
                        type_of(walk, proto->output, proto->n_output));
    give(walk, TALLY_TYPES, arena_printf(&walk->arena, "%s@%d %s", name, form, word), word, "");
    give_params(walk, node, proto, form);
    give_inputs(walk, node->row, proto);
}

static int walk_case(struct walk *walk, const struct test_case *test, struct error *err)
{
    walk->model = test_case_model(test, err);
    if (!walk->model)
        return -1;
    arena_init(&walk->arena);
    value_types_init_for(&walk->types, walk->model, test->inputs, test->n_inputs);
    coverage_record_init(&walk->record);
    coverage_record_model(&walk->record, walk->model, &(struct coverage_shapes){find_shape, &walk->types});
    for (size_t i = 0; i < walk->record.n_nodes; i++)
        give_node(walk, i);
    coverage_record_release(&walk->record);
    value_types_release(&walk->types);
    arena_release(&walk->arena);
    return 0;
}

static void take_in(void *context, const struct item *item)
{
    struct tally *tally = context;
    if (!map_has(&tally->seen[item->kind], item->key))
        map_set(&tally->seen[item->kind], arena_strdup(&tally->arena, item->key), 0);
}

int tally_add(struct tally *tally, const struct test_case *test, struct error *err)
{
    return walk_case(&(struct walk){.take = take_in, .context = tally}, test, err);
}

struct peek {
    const struct tally *tally;
    struct str *out;
    const char *part, *last;
};

static void look(void *context, const struct item *item)
{
    struct peek *peek = context;
    if (map_has(&peek->tally->seen[item->kind], item->key))
        return;
    /* The parameter and its value have the same words. */
    if (!(peek->last && text_equal(peek->last, item->word)))
        str_printf(peek->out, "%s\n", item->word);
    peek->last = item->word;
    if (!peek->part && *item->part)
        peek->part = item->part;
}

int tally_peek(const struct tally *tally, const struct test_case *test, struct str *out, const char **part,
               struct error *err)
{
    struct peek peek = {.tally = tally, .out = out};
    int status = walk_case(&(struct walk){.take = look, .context = &peek}, test, err);
    if (part)
        *part = peek.part ? peek.part : "";
    return status;
}
