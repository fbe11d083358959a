/* The operator table: the rows of all families, looked up by name (op.h). */
#include "ops/op.h"

#include "base/hash.h"
#include "base/str.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ops/families.inc is generated from the list in src/ops/meson.build: FAMILY(math) FAMILY(arithmetic) ... */
#define FAMILY(name) extern const struct op ops_##name[];
#include "ops/families.inc"
#undef FAMILY

static const struct op *const families[] = {
#define FAMILY(name) ops_##name,
#include "ops/families.inc"
#undef FAMILY
};

static const char *const family_names[] = {
#define FAMILY(name) #name,
#include "ops/families.inc"
#undef FAMILY
};

enum {
    FAMILIES = sizeof families / sizeof *families,
    SLOTS = 2048, /* a power of two, some four times as many as there are rows */
};

/* Rows by hash, in the order of the table: whoever makes models asks for them thousands of times a case. They
 * are the same in every process, and are written once. */
static const struct op *by_name[SLOTS], *by_type[SLOTS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void add_slot(const struct op **slots, const char *key, const struct op *op)
{
    size_t at = hash_text(key) % SLOTS;
    while (slots[at])
        at = (at + 1) % SLOTS;
    slots[at] = op;
}

static void fill_slots(void)
{
    size_t count = 0;
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct op *op = families[f]; op->name; op++, count++) {
            add_slot(by_name, op->name, op);
            add_slot(by_type, op->type, op);
        }
    assert(count < SLOTS / 2);
}

const struct op *op_find(const char *name)
{
    pthread_once(&filled, fill_slots);
    for (size_t at = hash_text(name) % SLOTS; by_name[at]; at = (at + 1) % SLOTS)
        if (strcmp(by_name[at]->name, name) == 0)
            return by_name[at];
    return NULL;
}

/* Whether the row is that of the node's operator. */
static bool is_row_of(const struct op *op, const Onnx__NodeProto *node)
{
    const char *domain = node->domain && strcmp(node->domain, "ai.onnx") != 0 ? node->domain : "";
    return strcmp(op->type, node->op_type) == 0 && strcmp(op->domain, domain) == 0;
}

const struct op *op_of(const Onnx__NodeProto *node)
{
    if (!node->op_type)
        return NULL;
    pthread_once(&filled, fill_slots);
    for (size_t at = hash_text(node->op_type) % SLOTS; by_type[at]; at = (at + 1) % SLOTS)
        if (is_row_of(by_type[at], node))
            return by_type[at];
    return NULL;
}

bool op_has(const Onnx__NodeProto *node, unsigned flag)
{
    const struct op *op = op_of(node);
    return op && op->flags & flag;
}

bool op_hides(const struct op *op)
{
    bool jumps = op->slope == SLOPE_NOWHERE && op->work != WORK_SHAPE && op->work != WORK_CREATES;
    bool chooses = op->dangers[0].kind == DANGER_TIE;
    return jumps || chooses || op->flags & (OP_LEVELS_OFF | OP_CASTS);
}

const char *op_title(const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    return op ? op->name : node->op_type;
}

/* Behind the name with which the entry begins; NULL: it begins with another. */
static const char *behind_name(const char *entry, const char *name, size_t length)
{
    return length > 0 && strncmp(entry, name, length) == 0 && strchr(",@", entry[length]) ? entry + length
                                                                                          : NULL;
}

/* Its entry in the list, from behind the name on; NULL: it has none. */
static const char *find_in_list(const char *names, const struct op *op)
{
    const size_t name = strlen(op->name), owner = strlen(op->owner);
    for (const char *at = names; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        const char *behind = behind_name(at, op->name, name);
        if (!behind)
            behind = behind_name(at, op->owner, owner);
        if (behind)
            return behind;
    }
    return NULL;
}

bool op_list_has(const char *names, const struct op *op)
{
    return find_in_list(names, op) != NULL;
}

int op_list_since(const char *names, const struct op *op)
{
    const char *rest = find_in_list(names, op);
    return rest && *rest == '@' ? atoi(rest + 1) : 0;
}

/* The operator with the most similar name, if it is similar enough to be meant. */
static const struct op *op_near(const char *name)
{
    const struct op *nearest = NULL;
    name += strspn(name, " ");
    size_t least = strlen(name) < 4 ? 2 : 3;
    for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
        size_t distance = text_distance(name, op->name);
        if (distance < least && op->sample) {
            nearest = op;
            least = distance;
        }
    }
    return nearest;
}

/* Whether it is a domain other than ONNX's own, which stands for all its operators. */
static bool is_domain(const char *name)
{
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (*name && strcmp(op->owner, name) == 0)
            return true;
    return false;
}

static int check_name(const char *name, struct error *err)
{
    const struct op *op = op_find(name), *near = op ? NULL : op_near(name);
    if ((op && op->sample) || is_domain(name))
        return 0;
    if (op)
        return error_set(err, ERROR_NOT_FOUND, "Assay cannot generate cases of the operator %s", name);
    if (near)
        return error_set(err, ERROR_NOT_FOUND, "there is no operator '%.60s'; did you mean %s?", name,
                         near->name);
    return error_set(err, ERROR_NOT_FOUND,
                     "there is no operator '%.60s'; 'assay blocks list --operators' lists them", name);
}

/* Weights (the W of Conv) are in the table of parameters too, but without values to choose from. */
static bool is_parameter(const struct op *op, size_t input)
{
    bool all_data = op && op->data == DATA_ALL;
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (param->kind == PARAM_INPUT && param->input == input && param->legal && !all_data)
            return true;
    return false;
}

/* Statistics of other data: libtorch refuses to differentiate by them, oneDNN takes them as constants. */
static bool is_statistics(const Onnx__NodeProto *node, size_t input)
{
    return input >= 3 && text_equal(node->op_type, "BatchNormalization");
}

bool op_reads_as_data(const Onnx__NodeProto *node, const char *name)
{
    const struct op *op = op_of(node);
    for (size_t i = 0; i < node->n_input; i++)
        if (text_equal(node->input[i], name) && !is_parameter(op, i) && !is_statistics(node, i))
            return true;
    return false;
}

int op_check_names(const char *names, struct error *err)
{
    int status = names && !names[strspn(names, ",")]
                     ? error_set(err, ERROR_USAGE, "no operator is named; 'Conv,Relu' would name two")
                     : 0;
    for (const char *at = names; at && *at && !status; at += strcspn(at, ","), at += *at == ',') {
        struct str name;
        str_init(&name);
        str_append(&name, at, strcspn(at, ","));
        status = check_name(name.data, err);
        str_release(&name);
    }
    return status;
}

size_t op_count(void)
{
    size_t count = 0;
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct op *op = families[f]; op->name; op++)
            count++;
    return count;
}

const struct op *op_at(size_t index)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct op *op = families[f]; op->name; op++)
            if (index-- == 0)
                return op;
    return NULL;
}

const struct op *op_after(const struct op *op)
{
    size_t next = 0; /* family */
    if (op && op[1].name)
        return op + 1;
    for (size_t f = 0; op && f < FAMILIES; f++) {
        const struct op *last = families[f];
        while (last[1].name)
            last++;
        if (last == op)
            next = f + 1;
    }
    return next < FAMILIES ? families[next] : NULL;
}

const char *op_family(const struct op *op)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct op *row = families[f]; row->name; row++)
            if (row == op)
                return family_names[f];
    return "";
}

dtype_set op_types_at(const struct op *op, int opset)
{
    dtype_set set = 0;
    if (opset < op->since)
        return 0;
    for (size_t i = 0; i < sizeof op->types / sizeof *op->types && op->types[i].set; i++)
        if (opset >= op->types[i].since)
            set = op->types[i].set;
    return set;
}

/* The narrow types that ONNX has at an opset. */
static dtype_set narrow_at(int opset)
{
    static const struct op_types since[] = {
        {19, DTYPES_FLOAT8},         {21, DTYPES_INT4}, {23, 1 << DTYPE_FLOAT4E2M1},
        {24, 1 << DTYPE_FLOAT8E8M0}, {25, DTYPES_INT2},
    };
    dtype_set set = 0;
    for (size_t i = 0; i < sizeof since / sizeof *since; i++)
        if (opset >= since[i].since)
            set |= since[i].set;
    return set;
}

dtype_set op_narrow_at(const struct op *op, int opset)
{
    return op->narrow.set && opset >= op->narrow.since ? op->narrow.set & narrow_at(opset) : 0;
}

dtype_set op_drawn_types(const struct op *op, int opset, dtype_set asked)
{
    dtype_set usual = op_types_at(op, opset), narrow = op_narrow_at(op, opset) & asked;
    if (!asked)
        return usual;
    bool only_narrow = !(asked & ~(dtype_set)DTYPES_NARROW);
    dtype_set set = only_narrow && narrow && op->flags & OP_MAKES_NARROW ? usual : usual & asked;
    return op->flags & OP_FIRST_NOT_NARROW ? set : set | narrow;
}

int op_drawn_since(const struct op *op)
{
    return op->types[0].since > op->since ? op->types[0].since : op->since;
}
