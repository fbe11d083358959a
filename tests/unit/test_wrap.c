/* Text for a terminal: wrapped lines, and messages that lose their middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/wrap.h"

#include <string.h>

static void expect(const char *text, size_t width, const char *expected)
{
    struct str out;
    str_init(&out);
    wrap_text(&out, text, width);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void lines_are_broken_between_words(void **state)
{
    (void)state;
    expect("", 20, "");
    expect("\n\n", 20, "\n\n");
    expect("short\n", 20, "short\n");
    expect("just twenty letters.\n", 20, "just twenty letters.\n");
    expect("one two three four five six\n", 20, "one two three four\n  five six\n");
    expect("  one two three four five six\n", 20, "  one two three four\n    five six\n");
    expect("no newline at the end of it", 20, "no newline at the\n  end of it");
    /* Too narrow to be of use, and no terminal. */
    expect("one two three four five six\n", 10, "one two three four five six\n");
    expect("one two three four five six\n", 0, "one two three four five six\n");
}

/* What others bring moves no cursor; the colours of our own tables are for terminals. */
static void only_own_colours_pass(void **state)
{
    (void)state;
    expect("\033[31mwrong\033[0m \033[2J\033[5m\xC2\x9B\n", 40, "\033[31mwrong\033[0m ?[2J?[5m?\n");
    expect("\033[31mwrong\033[0m\r\n", 0, "?[31mwrong?[0m?\n");
}

/* What cannot be broken stays whole. */
static void long_words_stay_whole(void **state)
{
    (void)state;
    expect("/a/very/long/path/to/some/model.onnx is it\n", 20,
           "/a/very/long/path/to/some/model.onnx\n  is it\n");
    expect("see /a/very/long/path/to/some/model.onnx now\n", 20,
           "see\n  /a/very/long/path/to/some/model.onnx\n  now\n");
    expect("    12345678901234567890123\n", 20, "    12345678901234567890123\n");
}

/* In a table the last column goes on under its beginning. */
static void columns_go_on_under_themselves(void **state)
{
    (void)state;
    expect("  FAILED  runs it: the value y is no tensor at all\n", 30,
           "  FAILED  runs it: the value y\n          is no tensor at all\n");
    expect("  FAILED  one\n          To mend: answer each run by values\n", 30,
           "  FAILED  one\n          To mend: answer each\n            run by values\n");
    /* A column that begins too far to the right is none to go on under. */
    expect("a long name of an engine  and what it says of it\n", 30,
           "a long name of an engine  and\n  what it says of it\n");
    expect("word    \n", 20, "word    \n");
    expect("exactly twenty cols.   \n", 20, "exactly twenty cols.\n");
}

static void colours_and_letters_take_their_columns(void **state)
{
    (void)state;
    expect("\033[31mone two three four\033[0m five\n", 20, "\033[31mone two three four\033[0m\n  five\n");
    expect("äöü äöü äöü äöü äöü äöü\n", 20, "äöü äöü äöü äöü äöü\n  äöü\n");
    expect("\033[", 20, "?[");
    expect("\xc3", 20, "?");
}

/* Whatever the text: but for spaces and newlines it is all there, in order, and no line with two words is too
 * long. */
static void nothing_is_lost(void **state)
{
    (void)state;
    struct rng rng = rng_seed(7);
    for (int round = 0; round < 2000; round++) {
        char text[200];
        size_t length = (size_t)rng_below(&rng, sizeof text), width = 20 + (size_t)rng_below(&rng, 40);
        for (size_t i = 0; i < length; i++)
            text[i] = "abcdefgh   \n.;"[rng_below(&rng, 14)];
        text[length] = '\0';
        struct str out;
        str_init(&out);
        wrap_text(&out, text, width);
        const char *a = text, *b = out.data;
        for (;;) {
            a += strspn(a, " \n");
            b += strspn(b, " \n");
            assert_int_equal(*a, *b);
            if (!*a)
                break;
            a++, b++;
        }
        for (const char *line = out.data; *line;) {
            size_t own = strcspn(line, "\n"), lead = strspn(line, " ");
            bool words = lead < own && memchr(line + lead, ' ', own - lead);
            size_t columns = 0;
            for (size_t i = 0; i < own; i++)
                columns += ((unsigned char)line[i] & 0xC0) != 0x80;
            while (own && columns && line[own - 1] == ' ')
                own--, columns--;
            if (words && memchr(line + lead, ' ', own > lead ? own - lead : 0))
                assert_true(columns <= width);
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
        str_release(&out);
    }
}

static void the_reason_at_the_end_is_kept(void **state)
{
    (void)state;
    char to[24];
    text_fit(to, sizeof to, "all of it");
    assert_string_equal(to, "all of it");
    text_fit(to, sizeof to, "at load: a/long/path/model.cc:12 no kernel");
    assert_string_equal(to, "at load:  ... no kernel");
    text_fit(to, sizeof to, "ääääääääääääääääääääää");
    assert_non_null(strstr(to, " ... "));
    for (const char *c = to; *c; c++) /* whole letters only */
        assert_true((unsigned char)*c < 0x80 ||
                    ((unsigned char)c[0] == 0xC3 && (unsigned char)c[1] == 0xA4) ||
                    (unsigned char)*c == 0xA4);
    char tiny[4];
    text_fit(tiny, sizeof tiny, "longer");
    assert_true(strlen(tiny) < sizeof tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_broken_between_words),
        cmocka_unit_test(only_own_colours_pass),
        cmocka_unit_test(long_words_stay_whole),
        cmocka_unit_test(columns_go_on_under_themselves),
        cmocka_unit_test(colours_and_letters_take_their_columns),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(the_reason_at_the_end_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
