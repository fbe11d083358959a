#include "rules/knob_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static Assay__KnobInfo info(const char *name, const char *values, const char *otherwise,
                            Assay__KnobInfo__Kind kind)
{
    Assay__KnobInfo knob = ASSAY__KNOB_INFO__INIT;
    knob.name = (char *)name;
    knob.values = (char *)values;
    knob.default_value = (char *)otherwise;
    knob.kind = kind;
    return knob;
}

static struct knob_settings settings_of(struct arena *arena, Assay__KnobInfo *knobs, size_t count,
                                        const struct engine_spec *spec)
{
    Assay__Welcome welcome = ASSAY__WELCOME__INIT;
    Assay__KnobInfo *list[8];
    for (size_t i = 0; i < count; i++)
        list[i] = &knobs[i];
    welcome.n_knobs = count;
    welcome.knobs = list;
    return knob_settings(arena, spec, &welcome);
}

static void check_list(size_t count, const char *const *texts, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i]; i++) {
        assert_true(i < count);
        assert_string_equal(texts[i], expected[i]);
    }
    assert_int_equal(count, i);
}

static void others_than_the_present(void **state)
{
    const char *names[] = {"opt"}, *values[] = {"basic"};
    struct engine_spec spec = {.knobs = 1, .knob_names = names, .knob_values = values};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    Assay__KnobInfo knobs[] = {
        info("opt", "none|basic|all", "all", ASSAY__KNOB_INFO__KIND__GRAPH),
        info("threads", "N", "1", ASSAY__KNOB_INFO__KIND__SCHEDULE),
        info("disable", "PassA+PassB", "", ASSAY__KNOB_INFO__KIND__GRAPH),
        info("save", "PATH", "", ASSAY__KNOB_INFO__KIND__SCHEDULE),
        info("few", "2..3", "2", ASSAY__KNOB_INFO__KIND__SCHEDULE),
        info("many", "1..256", "8", ASSAY__KNOB_INFO__KIND__SCHEDULE),
        info("impl", "none|NAME|ref", "none", ASSAY__KNOB_INFO__KIND__KERNELS),
    };
    struct knob_settings found = settings_of(&arena, knobs, 7, &spec);
    check_list(found.count, found.settings,
               (const char *const[]){"opt=none", "opt=all", "threads=4", "many=1", "many=4",
                                     "opt=none,threads=4", "opt=none,many=1", "opt=none,many=4",
                                     "opt=all,threads=4", "opt=all,many=1", "opt=all,many=4",
                                     "threads=4,many=1", "threads=4,many=4", "disable=PassA", "disable=PassB",
                                     NULL});
    check_list(found.n_kernels, found.kernels, (const char *const[]){"impl=ref", NULL});
    arena_release(&arena);
}

static void pairs_are_few(void **state)
{
    struct engine_spec spec = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    Assay__KnobInfo knobs[] = {
        info("a", "0|1|2|3|4|5|6|7|8", "0", ASSAY__KNOB_INFO__KIND__GRAPH),
        info("b", "0|1|2|3|4|5|6|7|8", "0", ASSAY__KNOB_INFO__KIND__GRAPH),
    };
    struct knob_settings found = settings_of(&arena, knobs, 2, &spec);
    assert_int_equal(found.count, 16 + KNOB_PAIRS);
    assert_string_equal(found.settings[16], "a=1,b=1");
    assert_string_equal(found.settings[17], "a=1,b=3");
    assert_string_equal(found.settings[16 + KNOB_PAIRS - 1], "a=8,b=7");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_than_the_present),
        cmocka_unit_test(pairs_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
