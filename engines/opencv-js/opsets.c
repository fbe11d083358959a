/* Writes for each of ONNX's operators the opset that brought it, and the one that made its earlier form
 * invalid. The adapter, which has no table of operators, reads that to know what a release cannot have. */
#include "ops/op.h"

#include <stdio.h>

int main(void)
{
    const char *before = "{";
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        if (*op->domain)
            continue;
        printf("%s\n\"%s\": [%d, %d]", before, op->type, op->since, op->history.reformed);
        before = ",";
    }
    puts("\n}");
    return 0;
}
