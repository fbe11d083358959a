#include "generate/block.h"

#include "base/map.h"
#include "base/memory.h"
#include "generate/onecase.h"

#include <stdlib.h>
#include <string.h>

struct blocks {
    struct arena arena;
    struct map names;
    struct block **list;
    size_t count, capacity;
};

/* Operators whose further inputs are data like the first, so that edges can meet in them. */
static const char *const meeting[] = {
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Concat",
    "Div",
    "Einsum",
    "Equal",
    "Gemm",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "MatMul",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "PRelu",
    "Pow",
    "Sub",
    "Sum",
    "Where",
    "Xor",
};

static size_t data_inputs(const struct op *op)
{
    for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++)
        if (strcmp(op->name, meeting[i]) == 0)
            return op->max_inputs < 4 ? (size_t)op->max_inputs : 4;
    return 1;
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
                            .since = op->since > OPSET_FIRST ? op->since : OPSET_FIRST,
                            .until = OPSET_LAST,
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
