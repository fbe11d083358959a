/* What a row asks of its call. */
#include "walker.h"

#include "model/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int walk_unsupported(struct walk_call *call, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(call->err, ERROR_UNSUPPORTED, "%s: %s", call->node->op_type, text);
}

const struct tensor *walk_input(const struct walk_call *call, size_t index)
{
    return index < call->n_inputs ? call->inputs[index] : NULL;
}

bool walk_wants(const struct walk_call *call, size_t index)
{
    return index < call->node->n_output && *call->node->output[index];
}

bool walk_text_is(const struct walk_call *call, const char *name, const char *otherwise, const char *text)
{
    const char *value;
    size_t size;
    if (!node_string(call->node, name, &value, &size))
        return strcmp(otherwise, text) == 0;
    return size == strlen(text) && memcmp(value, text, size) == 0;
}

int walk_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

size_t walk_axes(const struct walk_call *call, const int64_t **axes)
{
    const struct tensor *input = walk_input(call, 1);
    size_t count = 0;
    *axes = input ? input->data : NULL;
    if (!input)
        node_ints(call->node, "axes", axes, &count);
    return input ? input->count : count;
}
