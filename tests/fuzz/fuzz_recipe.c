/* Recipes: refused with a reason, or they make a case, and the same one again. */
#define _GNU_SOURCE
#include "../unit/same_bytes.h"
#include "fuzz_file.h"

#include "generate/operator_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct test_case *first = NULL, *second = NULL;
    struct error err = {0};
    if (generate_recipe(text, &first, &err)) {
        require(err.message[0] != '\0');
    } else {
        require(generate_recipe(text, &second, &err) == 0);
        require(same_bytes(first, second));
        test_case_free(first);
        test_case_free(second);
    }
    free(text);
    return 0;
}
