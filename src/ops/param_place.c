/* Which input of an operator a parameter of kind PARAM_INPUT is. */
#include "ops/op.h"

#include <string.h>

struct place {
    const char *op, *name;
    size_t index;
};

/* Which input a parameter is: the names are ONNX's formal ones, and mean the same place wherever they occur
 * but for the exceptions, which come first. */
static const struct place places[] = {
    {"Slice", "axes", 3},     {"Pad", "axes", 3},   {NULL, "axes", 1},
    {NULL, "shape", 1},       {NULL, "repeats", 1}, {NULL, "k", 1},
    {NULL, "K", 1},           {NULL, "starts", 1},  {NULL, "ends", 2},
    {NULL, "steps", 4},       {NULL, "split", 1},   {NULL, "pads", 1},
    {NULL, "depth", 1},       {NULL, "delta", 2},   {"ConstantOfShape", "input", 0},
    {"OneHot", "indices", 0}, {NULL, "indices", 1}, {"CumSum", "axis", 1},
    {NULL, "M", 0},
};

/* The same for those that are never made illegal: recipes choose among the others. */
static const struct place other_places[] = {
    {NULL, "W", 1},
    {NULL, "Y", 1},
    {NULL, "x_scale", 1},
    {NULL, "x_zero_point", 2},
    {NULL, "y_scale", 1},
    {NULL, "sizes", 3},
    {NULL, "sequence_lens", 4},
    {NULL, "y_zero_point", 2},
    {"Resize", "scales", 2},
    {"Clip", "min", 1},
    {"Clip", "max", 2},
    {"Dropout", "ratio", 1},
    {"Dropout", "training_mode", 2},
};

static bool find_place(const struct place *list, size_t count, const struct op *op, const char *name,
                       size_t *index)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0 && (!list[i].op || strcmp(list[i].op, op->name) == 0)) {
            *index = list[i].index;
            return true;
        }
    return false;
}

bool param_place_changed(const struct op *op, const char *name, size_t *index)
{
    return find_place(places, sizeof places / sizeof *places, op, name, index);
}

bool param_place(const struct op *op, const char *name, size_t *index)
{
    return param_place_changed(op, name, index) ||
           find_place(other_places, sizeof other_places / sizeof *other_places, op, name, index);
}
