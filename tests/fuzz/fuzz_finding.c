/* finding.json and the facts of a finding: refused with a reason, or written and read back the same. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "base/file.h"
#include "findings/bundle.h"
#include "findings/finding_facts.h"

/* A folder in memory is not to be had, so the file is written to the same one each time. */
static const char *folder(void)
{
    static char path[] = "/tmp/assay-fuzz-XXXXXX";
    static bool made;
    if (!made)
        require(mkdtemp(path) != NULL);
    made = true;
    return path;
}

static void read_bundle(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct bundle bundle;
    struct error err = {0};
    char *path = file_join(folder(), "finding.json");
    arena_init(&arena);
    require(file_write(path, data, size, &err) == 0);
    if (bundle_read_path(&bundle, folder(), &arena, &err))
        require(err.message[0] != '\0');
    else
        require(bundle.name && bundle.engine && bundle.message);
    arena_release(&arena);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct finding_facts facts, again;
    struct error err = {0};
    if (facts_read(&facts, (const char *)data, size, &err)) {
        require(err.message[0] != '\0');
    } else {
        struct str first, second;
        str_init(&first);
        str_init(&second);
        facts_write(&first, &facts);
        require(facts_read(&again, first.data, first.length, &err) == 0);
        facts_write(&second, &again);
        require(strcmp(first.data, second.data) == 0);
        facts_release(&again);
        str_release(&first);
        str_release(&second);
    }
    facts_release(&facts);
    read_bundle(data, size);
    return 0;
}
