#include "base/arena.h"
#include "base/clean.h"
#include "base/markup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/glob.h"
#include "base/map.h"
#include "base/random.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *data = arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)data % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(data[i], 0);
        memset(data, 0xff, size);
    }
    arena_clear(&arena);
    unsigned char *again = arena_alloc(&arena, 64);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(again[i], 0);
    assert_string_equal(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_int_equal(strlen(arena_printf(&arena, "%0300d", 7)), 300);
    assert_string_equal(arena_numbered(&arena, "v", "", 0), "v0");
    assert_string_equal(arena_numbered(&arena, "Relu", "_", 1009), "Relu_1009");
    arena_release(&arena);
}

static void error_prefix_keeps_the_message(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(error_set(&err, ERROR_FORMAT, "bad %d", 3), -1);
    error_prefix(&err, "file %s", "a.onnx");
    assert_string_equal(err.message, "file a.onnx: bad 3");
    assert_int_equal(err.code, ERROR_FORMAT);
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void errors_know_the_next_step(void **state)
{
    (void)state;
    struct error err = {0};
    errno = EMFILE;
    error_errno(&err, "cannot make a pipe");
    error_prefix(&err, "engine");
    assert_int_equal(err.cause, EMFILE);
    assert_non_null(strstr(error_advice(&err), "ulimit -n"));
    error_set(&err, ERROR_FORMAT, "cut off");
    assert_int_equal(err.cause, 0);
    assert_non_null(strstr(error_advice(&err), "Repair"));
    error_set(&err, ERROR_USAGE, "give a model");
    assert_null(error_advice(&err));
}

static void map_finds_what_was_set(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    char names[500][12];
    for (size_t i = 0; i < 500; i++) {
        snprintf(names[i], sizeof names[i], "name%zu", i);
        assert_true(map_set(&map, names[i], i));
    }
    assert_false(map_set(&map, "name7", 99));
    size_t value;
    assert_true(map_get(&map, "name7", &value));
    assert_int_equal(value, 99);
    assert_true(map_get(&map, "name499", &value));
    assert_int_equal(value, 499);
    assert_false(map_get(&map, "name500", &value));
    map_release(&map);
}

static void patterns_fit_in_linear_time(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"**", "ab", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"Reduce*", "ReduceSum", true},
        {"*Sum", "ReduceSumSquare", false},
        {"a*b*c", "a--b--b-c", true},
        {"a*b*c", "a--c--b", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[!a-c]x", "ax", false},
        {"[]x]", "]", true},
        {"[a-]", "-", true},
        {"[ab", "[ab", true},
        {"a[", "a[", true},
        {"[]", "[]", true},
        {"[!]", "[!]", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (glob_fits(rows[i].pattern, strlen(rows[i].pattern), rows[i].text) != rows[i].fits)
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
    assert_true(glob_fits("a|b", 1, "a")); /* as far as the length says */
    char pattern[200], text[10000];
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    memset(text, 'a', sizeof text);
    pattern[198] = 'b';
    text[sizeof text - 1] = '\0';
    assert_false(glob_fits(pattern, sizeof pattern - 1, text));
}

static void streams_are_reproducible_and_independent(void **state)
{
    (void)state;
    struct rng a = rng_seed(1), b = rng_seed(1), c = rng_seed(2);
    assert_int_equal(rng_u64(&a), rng_u64(&b));
    assert_int_not_equal(rng_u64(&a), rng_u64(&c));
    struct rng parent = rng_seed(5);
    struct rng first = rng_split(&parent, 0), second = rng_split(&parent, 1), again = rng_split(&parent, 0);
    assert_int_not_equal(rng_u64(&first), rng_u64(&second));
    struct rng other = rng_split(&parent, 0);
    assert_int_equal(rng_u64(&other), rng_u64(&again));
    double sum = 0, squares = 0;
    for (int i = 0; i < 20000; i++) {
        double x = rng_normal(&parent);
        sum += x;
        squares += x * x;
        assert_in_range(rng_range(&parent, -3, 3) + 3, 0, 6);
    }
    assert_true(fabs(sum / 20000) < 0.05 && fabs(squares / 20000 - 1) < 0.05);
}

/* The golden stream: changing it would make every recorded case another one. */
static void stream_values_never_change(void **state)
{
    (void)state;
    struct rng rng = rng_seed(42);
    struct rng split = rng_split(&rng, 7);
    assert_int_equal(rng_u64(&rng), UINT64_C(0x29c9cbab10001bcd));
    assert_int_equal(rng_u64(&split), UINT64_C(0xb8610b870558346));
}

static void distances_count_letters(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {{"Conv", "Conv", 0},  {"conv", "Conv", 0}, {"Cnov", "Conv", 1},      {"Con", "Conv", 1},
                {"Convv", "Conv", 1}, {"", "Conv", 4},     {"kitten", "sitting", 3}, {"", "", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(text_distance(rows[i].a, rows[i].b), rows[i].distance);
        assert_int_equal(text_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
    char longer[100];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(text_distance(longer, longer), 99);
}

static void numbers_are_read_whole(void **state)
{
    (void)state;
    double value;
    assert_true(text_double("-5.4592494105516093e-309", &value)); /* a subnormal number */
    assert_true(value == -5.4592494105516093e-309);
    assert_true(text_double("inf", &value) && isinf(value));
    assert_false(text_double("1e400", &value));
    assert_false(text_double("1 ", &value));
    assert_false(text_double("", &value));
}

static void json_escapes_and_nests(void **state)
{
    (void)state;
    struct str out;
    str_init(&out);
    struct json json;
    json_init(&json, &out, false);
    json_object(&json, NULL);
    json_string(&json, "a", "q\"\\\n\x01\xff\xc3\xa9");
    json_array(&json, "b");
    json_int(&json, NULL, -3);
    json_double(&json, NULL, 0.1);
    json_double(&json, NULL, INFINITY);
    json_end(&json);
    json_object(&json, "c");
    json_end(&json);
    json_end(&json);
    assert_string_equal(
        out.data, "{\"a\": \"q\\\"\\\\\\n\\u0001\\ufffd\xc3\xa9\", \"b\": [-3, 0.1, \"inf\"], \"c\": {}}");
    str_release(&out);
}

static void control_characters_are_not_shown(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\tb\n", "a\tb\n"},
        {"\033[31mred\a\177", "?[31mred??"},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {"\xC2\x85\xC2\x9B", "??"},                  /* C1 */
        {"\xE2\x80\xAE\xE2\x81\xA6\xD8\x9C", "???"}, /* bidirectional */
        {"\xE2\x80\xA8\xEF\xBF\xBE", "??"},          /* line separator, no character */
        {"\xFF\xC3", "??"},                          /* no UTF-8 */
        {"\xEF\xBB\xBF\xE2\x80\x8F", "??"},          /* byte order mark, right-to-left mark */
        {"\xF3\xA0\x81\x81", "?"},                   /* a tag */
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str out;
        str_init(&out);
        clean_add(&out, cases[i][0]);
        assert_string_equal(out.data, cases[i][1]);
        str_release(&out);
    }
}

static void names_hide_nothing(void **state)
{
    (void)state;
    static const char *const good[] = {"", "x", "/conv/Conv_output_0", "caf\xC3\xA9", "a b`<>"};
    static const char *const bad[] = {"a\nb", "\t", "\033[1m", "\xC2\x9B", "\xFF", "a\xE2\x80\xAE"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(clean_find_hidden(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(clean_find_hidden(bad[i]));
}

static void add_block(struct str *out, const char *text)
{
    markdown_block(out, "c", text);
}

static void foreign_text_marks_up_nothing(void **state)
{
    (void)state;
    static const struct {
        void (*add)(struct str *, const char *);
        const char *text, *expected;
    } cases[] = {
        {clean_line, "a\nb\tc\033", "a b c?"},
        {markup_escape, "<a b=\"c\">&\n", "&lt;a b=&quot;c&quot;&gt;&amp;&#10;"},
        {markdown_text, "Conv [2,3] (x) `y` < 3", "Conv [2,3] (x) `y` < 3"},
        {markdown_text, "![i](u) [a][b] <b>\n# h", "![i]\\(u) [a]\\[b] \\<b> # h"},
        {markdown_text, "a\\<b> &lt; a_b _c_ *d* ~e", "a\\\\\\<b> \\&lt; a_b \\_c\\_ \\*d\\* \\~e"},
        {markdown_text, "  # 1", "\\# 1"},
        {markdown_text, "12. x", "12\\. x"},
        {markdown_text, "[a]: http://www.b", "[a]\\: http:\\//www\\.b"},
        {markdown_text, "`a*b` *c*", "`a*b` \\*c\\*"},
        {markdown_cell, "a|b `c`", "a\\|b \\`c\\`"},
        {markdown_text, "a ` b", "a \\` b"},
        {markdown_text, "a ``b``", "a \\`\\`b\\`\\`"},
        {markdown_code, "x", "`x`"},
        {markdown_code, "a``b\n", "``` a``b  ```"},
        {markdown_code, "", "`  `"},
        {add_block, "x", "```c\nx\n```\n\n"},
        {add_block, "a\n```\n# b\n", "````c\na\n```\n# b\n````\n\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str out;
        str_init(&out);
        cases[i].add(&out, cases[i].text);
        assert_string_equal(out.data, cases[i].expected);
        str_release(&out);
    }
}

static void strings_of_programs_hold_any_bytes(void **state)
{
    (void)state;
    struct str out;
    str_init(&out);
    clean_quoted(&out, "a\"\\\n\0001\xFF\xC3\xA9\xC2\x9B", 11);
    assert_string_equal(out.data, "\"a\\\"\\\\\\012\\0001\\377\xC3\xA9\\302\\233\"");
    str_release(&out);
}

static void files_are_written_whole_and_listed_in_order(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct error err = {0};
    char *deep = file_join(folder, "a/b/c");
    assert_int_equal(file_make_folders(deep, &err), 0);
    const char *names[] = {"input_10.pb", "input_2.pb", "input_1.pb"};
    for (int i = 0; i < 3; i++) {
        char *path = file_join(deep, names[i]);
        assert_int_equal(file_write(path, "hello", 5, &err), 0);
        char *data;
        size_t size;
        assert_int_equal(file_read(path, 5, &data, &size, &err), 0);
        assert_int_equal(size, 5);
        free(data);
        assert_int_equal(file_read(path, 4, &data, &size, &err), -1);
        assert_int_equal(err.code, ERROR_LIMIT);
        free(path);
    }
    char **listed;
    size_t count;
    assert_int_equal(file_list(deep, &listed, &count, &err), 0);
    assert_int_equal(count, 3);
    assert_string_equal(listed[0], "input_1.pb");
    assert_string_equal(listed[2], "input_10.pb");
    file_names_free(listed, count);
    free(deep);
    assert_int_equal(file_remove_tree(folder, &err), 0);
    assert_false(file_exists(folder));
    assert_string_equal(file_base("/a/b/"), "b/");
    assert_string_equal(file_base("x"), "x");
}

/* A pipe stays one (and so does /dev/null, which no test should put at risk). */
static void what_is_no_file_is_written_to_as_it_is(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-test-XXXXXX", got[6] = "";
    struct error err = {0};
    struct stat info;
    assert_non_null(mkdtemp(folder));
    char *path = file_join(folder, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(file_write(path, "hello", 5, &err), 0);
    assert_int_equal(read(fd, got, 5), 5);
    assert_string_equal(got, "hello");
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    close(fd);
    assert_int_equal(file_remove_tree(folder, &err), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(error_prefix_keeps_the_message),
        cmocka_unit_test(errors_know_the_next_step),
        cmocka_unit_test(map_finds_what_was_set),
        cmocka_unit_test(patterns_fit_in_linear_time),
        cmocka_unit_test(streams_are_reproducible_and_independent),
        cmocka_unit_test(stream_values_never_change),
        cmocka_unit_test(distances_count_letters),
        cmocka_unit_test(numbers_are_read_whole),
        cmocka_unit_test(json_escapes_and_nests),
        cmocka_unit_test(control_characters_are_not_shown),
        cmocka_unit_test(names_hide_nothing),
        cmocka_unit_test(foreign_text_marks_up_nothing),
        cmocka_unit_test(strings_of_programs_hold_any_bytes),
        cmocka_unit_test(files_are_written_whole_and_listed_in_order),
        cmocka_unit_test(what_is_no_file_is_written_to_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
