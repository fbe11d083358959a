/* JSON, and a probe's result in it: what is accepted must be written and read back the same. */
#include "base/json_read.h"
#include "probe/probe_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void write(const struct probe_result *result, struct str *text)
{
    struct json json;
    str_init(text);
    json_init(&json, text, false);
    probe_write(result, &json, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_result result, again;
    struct error err = {0};
    if (probe_parse(&result, (const char *)data, size, &err)) {
        require(err.message[0] != '\0');
    } else {
        struct str first, second;
        write(&result, &first);
        require(probe_parse(&again, first.data, first.length, &err) == 0);
        write(&again, &second);
        require(strcmp(first.data, second.data) == 0);
        str_release(&first);
        str_release(&second);
        arena_release(&again.arena);
    }
    arena_release(&result.arena);
    return 0;
}
