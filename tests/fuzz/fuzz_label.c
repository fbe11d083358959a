/* Labels of engines: any text is one, and reads back as it was printed. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "engine/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct label label = label_parse(text);
    struct str printed;
    str_init(&printed);
    label_print(&printed, &label);
    struct label again = label_parse(printed.data);
    require(label_part_equal(label.name, again.name));
    struct label_knob knob;
    struct label_part rest = label.knobs;
    size_t length = strlen(text);
    for (int more; (more = label_next_knob(&rest, &knob)) > 0;)
        require(knob.name.length + knob.value.length <= length);
    char *other = label_at(text, "2"), *with = label_with(text, "opt", "none");
    require(strstr(with, "opt=none") || !label.name.length || label.knobs.text);
    free(other);
    free(with);
    str_release(&printed);
    free(text);
    return 0;
}
