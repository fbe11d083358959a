/* Recipes: refused with a reason, or they make a case, and the same one again. */
#define _GNU_SOURCE
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
        const uint8_t *one, *other;
        size_t one_size, other_size;
        require(generate_recipe(text, &second, &err) == 0);
        require(!test_case_bytes(first, &one, &one_size, &err) &&
                !test_case_bytes(second, &other, &other_size, &err));
        require(one_size == other_size && memcmp(one, other, one_size) == 0);
        test_case_free(first);
        test_case_free(second);
    }
    free(text);
    return 0;
}
