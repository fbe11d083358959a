/* Known issues: refused with the line, or held against a finding. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "findings/known_issues.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char fact[] = "{\"engine\": \"a@1:opt=all\", \"version\": \"1.2\", \"symptom\": \"wrong\", "
                               "\"stage\": \"run\", \"message\": "
                               "\"bad kernel 7\", \"opset\": 13, \"nodes\": []}";
    struct fuzz_file file = fuzz_file(data, size);
    struct known_issues known;
    struct finding_facts facts;
    struct error err = {0};
    known_init(&known);
    if (known_read(&known, file.path, KNOWN_OF_CAMPAIGN, &err))
        require(err.message[0] != '\0');
    if (facts_read(&facts, fact, sizeof fact - 1, &err) == 0)
        known_find(&known, &facts);
    facts_release(&facts);
    known_release(&known);
    close(file.descriptor);
    return 0;
}
