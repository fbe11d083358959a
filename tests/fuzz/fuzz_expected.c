/* Lists of expected failures: refused, or held and written again. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "conform/expected_failures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file file = fuzz_file(data, size);
    struct expected_failures *list;
    struct error err = {0};
    struct str text;
    str_init(&text);
    if (expected_failures_open(&list, file.path, "x86", &err)) {
        require(err.message[0] != '\0');
    } else {
        if (expected_failures_text(list, &text, &err) == 0)
            require(text.length == size && memcmp(text.data, data, size) == 0);
        expected_failures_hold(list, "node/test_add", true);
        expected_failures_hold(list, "node/test_abs", false);
        expected_failures_add(list, "test_relu", "wrong", true);
        str_clear(&text);
        expected_failures_text(list, &text, &err);
    }
    expected_failures_free(list);
    str_release(&text);
    close(file.descriptor);
    return 0;
}
