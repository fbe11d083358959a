#include "generate/block.h"

#include "base/file.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/operator_case.h"
#include "generate/planner.h"
#include "generate/subgraph.h"

#include <stdlib.h>
#include <string.h>

struct blocks {
    struct arena arena;
    struct map names;
    struct block **list;
    size_t count, capacity;
    struct subgraph **graphs; /* all that were read, including replaced ones */
    size_t n_graphs, graphs_capacity;
};

/* The number of inputs that other blocks can feed, at most four. */
static size_t data_inputs(const struct op *op)
{
    if (op->data != DATA_ALL)
        return 1;
    return op->inputs.most < 4 ? (size_t)op->inputs.most : 4;
}

static void add_block(struct blocks *blocks, struct block *block)
{
    size_t number;
    if (map_get(&blocks->names, block->name, &number)) {
        blocks->list[number] = block;
        return;
    }
    blocks->list = memory_grow(blocks->list, &blocks->capacity, blocks->count + 1, sizeof(struct block *));
    map_set(&blocks->names, block->name, blocks->count);
    blocks->list[blocks->count++] = block;
}

static void add_operator(struct blocks *blocks, const struct op *op)
{
    struct block *block = arena_alloc(&blocks->arena, sizeof *block);
    const struct op **ops = arena_copy(&blocks->arena, &op, sizeof op);
    *block = (struct block){.name = op->name,
                            .op = op,
                            .ops = ops,
                            .n_ops = 1,
                            .since = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST,
                            .until = OPSET_NEWEST,
                            .inputs = data_inputs(op)};
    add_block(blocks, block);
}

struct blocks *blocks_new(void)
{
    struct blocks *blocks = memory_zeroed(1, sizeof *blocks);
    arena_init(&blocks->arena);
    map_init(&blocks->names);
    for (size_t i = 0; i < op_count(); i++)
        if (op_at(i)->sample)
            add_operator(blocks, op_at(i));
    return blocks;
}

void blocks_free(struct blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->n_graphs; i++)
        subgraph_free(blocks->graphs[i]);
    free(blocks->graphs);
    free(blocks->list);
    map_release(&blocks->names);
    arena_release(&blocks->arena);
    free(blocks);
}

size_t blocks_count(const struct blocks *blocks)
{
    return blocks->count;
}

const struct block *blocks_at(const struct blocks *blocks, size_t index)
{
    return blocks->list[index];
}

const struct block *blocks_find(const struct blocks *blocks, const char *name)
{
    size_t number;
    return map_get(&blocks->names, name, &number) ? blocks->list[number] : NULL;
}

/* Keeps in *kept which blocks match the pattern; false when none does. */
static bool mark_matching(const struct blocks *blocks, const char *pattern, bool *kept)
{
    bool any = false;
    for (size_t i = 0; i < blocks->count; i++)
        if (glob_fits(pattern, strlen(pattern), blocks->list[i]->name))
            kept[i] = any = true;
    return any;
}

static void keep_marked(struct blocks *blocks, const bool *kept)
{
    size_t count = 0;
    map_release(&blocks->names);
    map_init(&blocks->names);
    for (size_t i = 0; i < blocks->count; i++)
        if (kept[i]) {
            map_set(&blocks->names, blocks->list[i]->name, count);
            blocks->list[count++] = blocks->list[i];
        }
    blocks->count = count;
}

int blocks_keep(struct blocks *blocks, const char *patterns, struct error *err)
{
    bool *kept = memory_zeroed(blocks->count + 1, sizeof *kept);
    char *copy = memory_strdup(patterns), *rest = copy;
    int status = 0;
    while (rest && !status) {
        char *pattern = rest + strspn(rest, " "), *comma = strchr(pattern, ',');
        rest = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
        if (!mark_matching(blocks, pattern, kept))
            status =
                error_set(err, ERROR_USAGE,
                          "no block is called '%.100s'; 'assay blocks list --operators' lists them, and * "
                          "stands for any letters",
                          pattern);
    }
    if (!status)
        keep_marked(blocks, kept);
    free(copy);
    free(kept);
    return status;
}

/* ---- Subgraphs ---- */

static void collect_ops(struct arena *arena, struct block *block)
{
    const struct subgraph *graph = block->graph;
    const struct op **ops = arena_array(arena, graph->n_nodes, sizeof(struct op *));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        size_t k = 0;
        while (k < block->n_ops && ops[k] != graph->nodes[i].op)
            k++;
        if (k == block->n_ops)
            ops[block->n_ops++] = graph->nodes[i].op;
    }
    block->ops = ops;
}

/* Whether the name can be part of a recipe. */
static bool good_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < 100 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.") == length;
}

/* Tries the block with each type at the oldest and the newest opset a few times: what fails here would fail
 * in a campaign. */
static int try_subgraph(const struct subgraph *graph, struct error *err)
{
    static const struct generate_options everything;
    static const struct plan plan;
    for (int type = 1; type < DTYPE_COUNT; type++)
        for (int i = 0; dtype_in((enum dtype)type, graph->types) && i < 4; i++) {
            int opset = i % 2 ? graph->until : graph->since;
            struct generate_options options = everything;
            options.types = DTYPE_BIT(type);
            struct planner g = {.plan = &plan, .options = &options};
            struct rng rng = rng_seed((uint64_t)i);
            size_t outputs[PLAN_OUTPUTS], count;
            if (type == DTYPE_BFLOAT16 && opset < 13)
                continue;
            maker_init(&g.m, opset, rng);
            str_init(&g.skip);
            int result = place_subgraph(&g, graph, rng, rng, rng, outputs, &count, err);
            str_release(&g.skip);
            maker_release(&g.m);
            if (result)
                return error_prefix(err, "as %s at opset %d", dtype_name((enum dtype)type), opset);
        }
    return 0;
}

static int add_subgraph(struct blocks *blocks, const char *name, const char *text, bool trusted,
                        struct error *err)
{
    struct subgraph *graph;
    if (!good_name(name))
        return error_set(err, ERROR_FORMAT,
                         "'%.100s' is not a valid name for a block: use letters, digits, - _ .", name);
    if (op_find(name))
        return error_set(err, ERROR_FORMAT, "'%s' is the name of an operator: give the block another name",
                         name);
    if (subgraph_read(&graph, text, err))
        return error_prefix(err, "block %s", name);
    if (!trusted && try_subgraph(graph, err)) {
        subgraph_free(graph);
        return error_prefix(err, "block %s", name);
    }
    blocks->graphs = memory_grow(blocks->graphs, &blocks->graphs_capacity, blocks->n_graphs + 1,
                                 sizeof(struct subgraph *));
    blocks->graphs[blocks->n_graphs++] = graph;
    struct block *block = arena_alloc(&blocks->arena, sizeof *block);
    *block = (struct block){.name = arena_strdup(&blocks->arena, name),
                            .graph = graph,
                            .text = arena_strdup(&blocks->arena, text),
                            .hash = hash_text(text),
                            .since = graph->since,
                            .until = graph->until};
    for (size_t i = 0; i < graph->n_inputs; i++)
        block->inputs += graph->inputs[i].data;
    collect_ops(&blocks->arena, block);
    add_block(blocks, block);
    return 0;
}

int blocks_add_text(struct blocks *blocks, const char *name, const char *text, struct error *err)
{
    return add_subgraph(blocks, name, text, false, err);
}

static const struct {
    const char *name, *text;
} builtin[] = {
#include "blocks.inc"
};

int blocks_add_builtin(struct blocks *blocks, struct error *err)
{
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
        if (add_subgraph(blocks, builtin[i].name, builtin[i].text, true, err))
            return -1;
    return 0;
}

static const char suffix[] = ".onnxtxt";

int blocks_add_file(struct blocks *blocks, const char *path, struct error *err)
{
    char *text = NULL, *name = memory_strdup(file_base(path));
    size_t size;
    int result = file_read(path, SUBGRAPH_TEXT, &text, &size, err);
    if (text_ends(name, suffix))
        name[strlen(name) - strlen(suffix)] = 0;
    if (!result && strlen(text) != size)
        result = error_set(err, ERROR_FORMAT, "%s is not a text file", path);
    if (!result && blocks_add_text(blocks, name, text, err))
        result = error_prefix(err, "%s", path);
    free(text);
    free(name);
    return result;
}

int blocks_add_dir(struct blocks *blocks, const char *path, struct error *err)
{
    char **names;
    size_t count;
    if (file_list(path, &names, &count, err))
        return -1;
    int result = 0;
    size_t found = 0;
    for (size_t i = 0; !result && i < count; i++) {
        if (!text_ends(names[i], suffix))
            continue;
        found++;
        char *file = file_join(path, names[i]);
        result = blocks_add_file(blocks, file, err);
        free(file);
    }
    file_names_free(names, count);
    if (!result && !found)
        return error_set(err, ERROR_NOT_FOUND, "%s contains no block: give a folder of NAME%s files", path,
                         suffix);
    return result;
}

int blocks_add_path(struct blocks *blocks, const char *folders, struct error *err)
{
    char *copy = memory_strdup(folders), *rest = NULL;
    int result = 0;
    for (char *path = strtok_r(copy, ":", &rest); path && !result; path = strtok_r(NULL, ":", &rest))
        result = blocks_add_dir(blocks, path, err);
    free(copy);
    return result;
}

int blocks_add_usual(struct blocks *blocks, struct error *err)
{
    const char *folders = getenv("ASSAY_BLOCKS");
    if (blocks_add_builtin(blocks, err))
        return -1;
    return folders ? blocks_add_path(blocks, folders, err) : 0;
}
