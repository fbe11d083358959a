#include "probe/probe_file.h"

#include "base/file.h"
#include "base/format.h"
#include "base/json_read.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/seed.h"
#include "engine/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_counts(struct json *json, const struct probe_counts *counts)
{
    json_object(json, "counts");
    for (int answer = PROBE_OK; answer < PROBE_ANSWERS; answer++)
        if (counts->of[answer])
            json_int(json, probe_answer_name((enum probe_answer)answer), (int64_t)counts->of[answer]);
    json_end(json);
}

/* A row is an array: type, rank, inputs, letters. Thousands of them make a file, so they are short. */
static void write_row(struct json *json, const struct probe_row *row)
{
    char inputs[33] = "";
    for (int i = 0; i < 32 && row->given >> i; i++)
        inputs[i] = row->given >> i & 1 ? '1' : '0';
    bool indent = json->indent;
    json_array(json, NULL);
    json->indent = false;
    json_string(json, NULL, dtype_name(row->type));
    json_int(json, NULL, row->rank);
    json_string(json, NULL, inputs);
    json_string(json, NULL, row->opsets);
    json_end(json);
    json->indent = indent;
}

static void write_find(struct json *json, const struct probe_find *find)
{
    json_object(json, NULL);
    json_string(json, "verdict", verdict_name(find->verdict));
    json_int(json, "count", (int64_t)find->count);
    json_string(json, "type", dtype_name(find->type));
    json_int(json, "opset", find->opset);
    json_string(json, "message", find->message);
    json_string(json, "recipe", find->recipe);
    json_end(json);
}

/* Those who asked for no traces have none. */
static void write_names(struct json *json, const struct probe_op *op)
{
    if (!op->n_names)
        return;
    json_array(json, "reached");
    for (size_t i = 0; i < op->n_names; i++)
        json_string(json, NULL, op->names[i]);
    json_end(json);
}

static void write_op(struct json *json, const struct probe_op *op)
{
    struct probe_counts counts = probe_count(op, DTYPE_NONE);
    json_object(json, NULL);
    json_string(json, "operator", op->name);
    json_string(json, "family", op->family);
    write_counts(json, &counts);
    json_array(json, "rows");
    for (size_t i = 0; i < op->n_rows; i++)
        write_row(json, &op->rows[i]);
    json_end(json);
    json_array(json, "first");
    for (size_t i = 0; i < op->n_finds; i++)
        write_find(json, &op->finds[i]);
    json_end(json);
    write_names(json, op);
    json_end(json);
}

/* What the engine says of itself, where it does. */
static void write_declared(struct json *json, const struct probe_result *result)
{
    struct str types;
    str_init(&types);
    for (int type = 1; type < DTYPE_COUNT; type++)
        if (dtype_in((enum dtype)type, result->types))
            str_printf(&types, "%s%s", types.length ? "," : "", dtype_name((enum dtype)type));
    if (result->declared)
        json_string(json, "declared", result->declared);
    if (types.length)
        json_string(json, "declared_types", types.data);
    str_release(&types);
}

void probe_write(const struct probe_result *result, struct json *json, const char *name)
{
    struct probe_counts counts = probe_count_all(result);
    json_object(json, name);
    json_int(json, "probe", FORMAT_PROBE);
    json_string(json, "engine", result->engine);
    json_string(json, "name", result->name);
    json_string(json, "version", result->version);
    seed_json(json, "seed", result->seed);
    json_bool(json, "complete", result->complete);
    json_int(json, "first_opset", OPSET_FIRST);
    write_counts(json, &counts);
    write_declared(json, result);
    json_array(json, "operators");
    for (size_t i = 0; i < result->n_ops; i++)
        write_op(json, &result->ops[i]);
    json_end(json);
    json_end(json);
}

static int bad(struct error *err, const char *what)
{
    return error_set(err, ERROR_FORMAT, "not a probe's result: %s", what);
}

static bool whole(const struct json_value *value, double low, double high)
{
    return value && value->kind == JSON_NUMBER && value->number >= low && value->number <= high &&
           value->number == floor(value->number);
}

/* As seed_json writes it. */
static bool read_seed(const struct json_value *value, uint64_t *seed)
{
    if (value && value->kind == JSON_STRING)
        return seed_parse(value->text, seed);
    bool good = whole(value, 0, 0x1p53);
    *seed = good ? (uint64_t)value->number : 0;
    return good;
}

static bool is_text(const struct json_value *value)
{
    return value && value->kind == JSON_STRING;
}

static int parse_row(const struct json_value *value, struct probe_row *row, struct error *err)
{
    const struct json_value *type = value->kind == JSON_ARRAY && value->count == 4 ? value->first : NULL;
    const struct json_value *rank = type ? type->next : NULL, *inputs = rank ? rank->next : NULL;
    const struct json_value *opsets = inputs ? inputs->next : NULL;
    if (!is_text(type) || !whole(rank, -1, TENSOR_MAX_RANK) || !is_text(inputs) || !is_text(opsets))
        return bad(err, "a row must be [type, rank, inputs, letters]");
    row->type = dtype_from_name(type->text);
    row->rank = (int)rank->number;
    if (row->type == DTYPE_NONE)
        return bad(err, "there is no such element type");
    size_t bits = strlen(inputs->text);
    if (bits > 32 || strspn(inputs->text, "01") != bits)
        return bad(err, "inputs must be at most 32 digits 0 or 1");
    for (size_t i = 0; i < bits; i++)
        row->given |= (uint32_t)(inputs->text[i] == '1') << i;
    if (strlen(opsets->text) != PROBE_OPSETS || strspn(opsets->text, ".o?urwch") != PROBE_OPSETS)
        return bad(err, "a row must have one letter for each opset");
    memcpy(row->opsets, opsets->text, PROBE_OPSETS);
    return 0;
}

static int parse_find(const struct json_value *value, struct probe_find *find, struct error *err)
{
    const struct json_value *count = json_member(value, "count"), *opset = json_member(value, "opset");
    const char *type = json_text_of(value, "type"), *verdict = json_text_of(value, "verdict");
    find->message = json_text_of(value, "message");
    find->recipe = json_text_of(value, "recipe");
    find->type = type ? dtype_from_name(type) : DTYPE_NONE;
    if (!verdict || !verdict_parse(verdict, &find->verdict) || !find->message || !find->recipe ||
        !find->type || !whole(count, 1, 1e9) || !whole(opset, 1, 1000))
        return bad(err, "a member of a first case is missing");
    find->count = (size_t)count->number;
    find->opset = (int)opset->number;
    return 0;
}

static const struct json_value *list_of(const struct json_value *object, const char *name)
{
    const struct json_value *list = json_member(object, name);
    return list && list->kind == JSON_ARRAY ? list : NULL;
}

static int parse_op(struct arena *arena, const struct json_value *value, struct probe_op *op,
                    struct error *err)
{
    const struct json_value *rows = list_of(value, "rows"), *finds = list_of(value, "first");
    op->name = json_text_of(value, "operator");
    op->family = json_text_of(value, "family");
    if (!op->name || !op->family || !rows || !finds)
        return bad(err, "a member of an operator is missing");
    op->rows = arena_array(arena, rows->count, sizeof *op->rows);
    op->finds = arena_array(arena, finds->count, sizeof *op->finds);
    for (const struct json_value *row = rows->first; row; row = row->next)
        if (parse_row(row, &op->rows[op->n_rows++], err))
            return -1;
    for (const struct json_value *find = finds->first; find; find = find->next)
        if (parse_find(find, &op->finds[op->n_finds++], err))
            return -1;
    return 0;
}

static int parse_declared(const struct json_value *root, struct probe_result *result, struct error *err)
{
    const char *types = json_text_of(root, "declared_types");
    char name[32];
    result->declared = json_text_of(root, "declared");
    for (const char *at = types; at && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), at);
        if (dtype_from_name(name) == DTYPE_NONE)
            return bad(err, "an element type has no such name");
        result->types |= DTYPE_BIT(dtype_from_name(name));
        at += length;
    }
    return 0;
}

int probe_parse(struct probe_result *result, const char *data, size_t size, struct error *err)
{
    const struct json_value *root, *operators, *seed, *complete;
    *result = (struct probe_result){.started = true};
    arena_init(&result->arena);
    if (size > PROBE_FILE_LIMIT)
        return error_set(err, ERROR_LIMIT, "a probe's result of %zu bytes is too large", size);
    if (json_read(&result->arena, data, size, &root, err))
        return -1;
    operators = list_of(root, "operators");
    seed = json_member(root, "seed");
    complete = json_member(root, "complete");
    result->engine = json_text_of(root, "engine");
    result->name = json_text_of(root, "name");
    result->version = json_text_of(root, "version");
    if (json_number_of(root, "probe", 0) != FORMAT_PROBE ||
        json_number_of(root, "first_opset", 0) != OPSET_FIRST)
        return bad(err, "it has another format; run 'assay probe' again");
    if (!result->engine || !result->name || !operators || !read_seed(seed, &result->seed))
        return bad(err, "a member is missing");
    result->complete = complete && complete->kind == JSON_BOOL && complete->truth;
    result->ops = arena_array(&result->arena, operators->count, sizeof *result->ops);
    for (const struct json_value *op = operators->first; op; op = op->next)
        if (parse_op(&result->arena, op, &result->ops[result->n_ops++], err))
            return -1;
    return parse_declared(root, result, err);
}

char *probe_folder(void)
{
    char *data = paths_data(), *folder = file_join(data, "probe");
    free(data);
    return folder;
}

char *probe_file(const char *engine)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@:=,+-_";
    struct str name;
    str_init(&name);
    for (const char *c = engine; *c; c++)
        if (strchr(plain, *c) || (*c == '.' && c != engine))
            str_append(&name, c, 1);
        else
            str_printf(&name, "%%%02X", (unsigned char)*c);
    str_add(&name, ".json");
    return name.data;
}

int probe_keep(const struct probe_result *result, const struct folder *in, const char *folder,
               struct error *err)
{
    struct folder place;
    struct str text;
    struct json json;
    str_init(&text);
    json_init(&json, &text, true);
    probe_write(result, &json, NULL);
    char *file = probe_file(result->engine);
    int status = folder_make(&place, in, folder, err);
    if (!status)
        status = output_own_write(&place, file, "{\n  \"probe\": ", text.data, text.length, err);
    folder_close(&place);
    free(file);
    str_release(&text);
    return status;
}

static int read_file(struct probe_result *result, const struct folder *folder, const char *engine,
                     struct error *err)
{
    char *file = probe_file(engine), *data = NULL;
    size_t size;
    int status = folder_read(folder, file, PROBE_FILE_LIMIT, &data, &size, err);
    if (!status) {
        arena_release(&result->arena);
        status = probe_parse(result, data, size, err);
        if (!status && strcmp(result->engine, engine) != 0)
            status = bad(err, "it is of another engine");
        if (status)
            folder_prefix(folder, file, err);
    }
    free(data);
    free(file);
    return status;
}

int probe_load(struct probe_result *result, const struct folder *in, const char *folder, const char *engine,
               struct error *err)
{
    struct folder place;
    *result = (struct probe_result){0};
    arena_init(&result->arena);
    int status = folder_open(&place, in, folder, err);
    if (!status)
        status = read_file(result, &place, engine, err);
    folder_close(&place);
    return status;
}

/* Bit n: opset OPSET_FIRST + n is lacking. */
struct probe_support {
    size_t n_ops, engines;
    const struct op **ops;            /* the table */
    uint32_t (*lacking)[DTYPE_COUNT]; /* by index in it and type */
};

struct probe_support *probe_support_new(void)
{
    struct probe_support *support = memory_zeroed(1, sizeof *support);
    support->n_ops = op_count();
    support->ops = memory_zeroed(support->n_ops, sizeof(struct op *));
    support->lacking = memory_zeroed(support->n_ops, sizeof *support->lacking);
    for (size_t i = 0; i < support->n_ops; i++)
        support->ops[i] = op_at(i);
    return support;
}

void probe_support_free(struct probe_support *support)
{
    if (!support)
        return;
    free(support->lacking);
    free(support->ops);
    free(support);
}

/* At which opsets the engine says that it lacks the operator for this element type. */
static uint32_t disclaimed(const struct probe_result *result, const struct op *op, enum dtype type)
{
    if ((result->declared && !op_list_has(result->declared, op)) ||
        (result->types && !dtype_in(type, result->types)))
        return UINT32_MAX;
    int before = op_list_since(result->declared, op) - OPSET_FIRST;
    return before <= 0 ? 0 : before >= PROBE_OPSETS ? UINT32_MAX : (UINT32_C(1) << before) - 1;
}

/* At which opsets it lacks what was tried. What was not is as the opset before where the engine declares what
 * it has, as operators change at few opsets; else it is there. said: at which it says so itself. */
static uint32_t lacking_opsets(const struct probe_op *op, enum dtype type, bool declares, uint32_t said)
{
    uint32_t unsupported = said, other = 0;
    for (size_t i = 0; op && i < op->n_rows; i++)
        for (int k = 0; op->rows[i].type == type && k < PROBE_OPSETS; k++) {
            enum probe_answer answer = probe_answer_of_letter(op->rows[i].opsets[k]);
            unsupported |= (uint32_t)(answer == PROBE_UNSUPPORTED) << k;
            other |= (uint32_t)(answer != PROBE_UNSUPPORTED && answer != PROBE_NONE) << k;
        }
    for (int k = 1; declares && k < PROBE_OPSETS; k++)
        if (!((unsupported | other) >> k & 1))
            *((unsupported & ~other & ~said) >> (k - 1) & 1 ? &unsupported : &other) |= UINT32_C(1) << k;
    return unsupported & ~other;
}

static const struct probe_op *find_op(const struct probe_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_ops; i++)
        if (strcmp(result->ops[i].name, name) == 0)
            return &result->ops[i];
    return NULL;
}

void probe_support_add(struct probe_support *support, const struct probe_result *result)
{
    for (size_t i = 0; i < support->n_ops; i++) {
        const struct probe_op *op = find_op(result, support->ops[i]->name);
        for (int type = 1; type < DTYPE_COUNT; type++) {
            uint32_t lacking = lacking_opsets(op, (enum dtype)type, result->declared != NULL,
                                              disclaimed(result, support->ops[i], (enum dtype)type));
            uint32_t *all = &support->lacking[i][type];
            *all = support->engines ? *all & lacking : lacking;
        }
    }
    support->engines++;
}

int probe_support_load(struct probe_support *support, const char *folder, const char *engine,
                       struct error *err)
{
    struct probe_result result;
    int status = probe_load(&result, USERS_PATH, folder, engine, err);
    if (!status)
        probe_support_add(support, &result);
    arena_release(&result.arena);
    return status;
}

bool probe_lacks(const struct probe_support *support, const struct op *op, enum dtype type, int opset)
{
    if (opset < OPSET_FIRST || opset > OPSET_NEWEST || (unsigned)type >= DTYPE_COUNT)
        return false;
    for (size_t i = 0; i < support->n_ops; i++)
        if (support->ops[i] == op)
            return support->lacking[i][type] >> (opset - OPSET_FIRST) & 1;
    return false;
}

bool probe_lacks_any(const void *support, const struct op *op, enum dtype type, int opset)
{
    return probe_lacks(support, op, type, opset);
}
