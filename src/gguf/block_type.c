#include "gguf/block_type.h"

#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

static const struct block_type types[] = {
    {"f32", 0, 1, 4, PRECISION_OWN},
    {"f16", 1, 1, 2, PRECISION_FLOAT16},
    {"bf16", 30, 1, 2, PRECISION_BFLOAT16},
    {"q8_0", 8, 32, 34, PRECISION_INT8},
};
enum { TYPES = sizeof types / sizeof *types, SCALE_BYTES = 2, MOST_LEVEL = 127 };

const struct block_type *block_type_at(size_t place)
{
    return place < TYPES ? &types[place] : NULL;
}

const struct block_type *block_type_of(uint32_t number)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}

const char *block_type_name(uint32_t number)
{
    static const char *const names[] = {"f32",  "f16",  "q4_0", "q4_1", NULL,   NULL,   "q5_0",
                                        "q5_1", "q8_0", "q8_1", "q2_K", "q3_K", "q4_K", "q5_K",
                                        "q6_K", "q8_K", NULL,   NULL,   NULL,   NULL,   "iq4_nl"};
    const struct block_type *type = block_type_of(number);
    return type ? type->name : number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* Elements of a type that tensors have as well, one after the other. */
static struct tensor view_of(const struct block_type *type, const void *data, size_t count)
{
    enum dtype dtype = type->number == 0 ? DTYPE_FLOAT : type->number == 1 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16;
    return (struct tensor){.type = dtype, .count = count, .size = count * type->bytes, .data = (void *)data};
}

static float half_read(const uint8_t *from)
{
    struct tensor view = view_of(&types[1], from, 1);
    return (float)tensor_get(&view, 0);
}

/* A block of q8_0: a scale of float16, and 32 signed bytes. */
static void write_levels(const float *from, uint8_t *to)
{
    float most = 0;
    struct tensor scale = view_of(&types[1], to, 1);
    for (size_t i = 0; i < types[3].elements; i++)
        most = fmaxf(most, fabsf(from[i]));
    float step = most / MOST_LEVEL;
    tensor_set(&scale, 0, (long double)step);
    for (size_t i = 0; i < types[3].elements; i++)
        to[SCALE_BYTES + i] = (uint8_t)(int8_t)(step > 0 ? roundf(from[i] / step) : 0);
}

void block_type_write(const struct block_type *type, const float *from, size_t count, uint8_t *to)
{
    if (type->elements > 1) {
        for (size_t i = 0; i < count; i += type->elements, to += type->bytes)
            write_levels(from + i, to);
        return;
    }
    struct tensor view = view_of(type, to, count);
    for (size_t i = 0; i < count; i++)
        tensor_set(&view, i, (long double)from[i]);
}

void block_type_read(const struct block_type *type, const uint8_t *from, size_t count, float *to)
{
    struct tensor view = view_of(type, from, count);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *block = from + i / type->elements * type->bytes;
        to[i] = type->elements > 1 ? half_read(block) * (float)(int8_t)block[SCALE_BYTES + i % type->elements]
                                   : (float)tensor_get(&view, i);
    }
}

/* Floats: a unit in the last place, as converters round to nearest or cut off. Blocks: half a step, and what
 * rounding the scale, or the weights on their way to it, to float16 makes of 127 steps. */
float block_type_step(const struct block_type *type, const uint8_t *from, float kept)
{
    switch (type->beside) {
    case PRECISION_FLOAT16:
        return fabsf(kept) * 0x1p-10F + 0x1p-24F;
    case PRECISION_BFLOAT16:
        return fabsf(kept) * 0x1p-7F;
    case PRECISION_INT8:
        return 0.75F * fabsf(half_read(from)) + MOST_LEVEL * 0x1p-24F;
    default:
        return 0;
    }
}
