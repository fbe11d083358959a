#include "ops/op.h"

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

enum { FAMILIES = sizeof families / sizeof *families };

const struct op *op_find(const char *name)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct op *op = families[f]; op->name; op++)
            if (op->name[0] == name[0] && strcmp(op->name, name) == 0)
                return op;
    return NULL;
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
