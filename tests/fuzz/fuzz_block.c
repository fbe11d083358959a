/* The text of a block: refused with a reason, or good for a case that can be made again. */
#include "../unit/same_bytes.h"
#include "generate/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blocks *blocks = blocks_new();
    struct error err = {0};
    char *text = malloc(size + 1);
    require(text);
    memcpy(text, data, size);
    text[size] = 0;
    if (blocks_add_text(blocks, "block", text, &err)) {
        require(err.message[0] != '\0');
    } else {
        struct plan plan = {.blocks = {blocks_find(blocks, "Relu"), blocks_find(blocks, "block")},
                            .n_blocks = 2,
                            .rates = {0.5, 0.5, 0.5, 0.5}};
        struct test_case *first, *second;
        require(!generate_plan(1, 1, &plan, NULL, &first, &err));
        require(!generate_plan(1, 1, &plan, NULL, &second, &err));
        require(same_bytes(first, second));
        test_case_free(first);
        test_case_free(second);
    }
    free(text);
    blocks_free(blocks);
    return 0;
}
