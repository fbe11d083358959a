/* Folders that others may have filled: nothing in them leads elsewhere. */
#include "base/file.h"
#include "base/folder.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <setjmp.h>

#include <cmocka.h>

/*
 * In a scratch folder: `home/.bashrc`, which is the user's, and `theirs`, somebody else's folder, which has a
 * file, a folder and, in place of others, whatever leads elsewhere. `way` is a link to `theirs`.
 */
static const char mine[] = "alias ll='ls -l'\n";

static void put(const char *path, const char *text)
{
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

static int set_up(void **state)
{
    char *folder = strdup("/tmp/test-folder-XXXXXX");
    *state = folder;
    if (!mkdtemp(folder) || chdir(folder))
        return -1;
    mkdir("home", 0777);
    put("home/.bashrc", mine);
    mkdir("theirs", 0777);
    mkdir("theirs/inner", 0777);
    put("theirs/file", "theirs");
    put("theirs/inner/file", "inner");
    mkfifo("theirs/pipe", 0600);
    return symlink("../home/.bashrc", "theirs/link") | symlink("../home", "theirs/away") |
           symlink("../home/new", "theirs/dangling") | symlink(".", "theirs/round") |
           symlink("theirs", "way") | link("home/.bashrc", "theirs/twin");
}

static int tear_down(void **state)
{
    int status = chdir("/") | file_remove_tree(*state, NULL);
    free(*state);
    return status;
}

static void open_theirs(struct folder *folder)
{
    assert_int_equal(folder_open(folder, USERS_PATH, "way", NULL), 0); /* the user's path may be a link */
}

/* After all that was tried. */
static void assert_untouched(void)
{
    char *data, **names;
    size_t size, count;
    assert_int_equal(file_read("home/.bashrc", 1000, &data, &size, NULL), 0);
    assert_string_equal(data, mine);
    free(data);
    assert_int_equal(file_list("home", &names, &count, NULL), 0);
    assert_int_equal(count, 1);
    file_names_free(names, count);
}

static void assert_says(const struct error *err, const char *words)
{
    if (!strstr(err->message, words))
        fail_msg("'%s' does not say '%s'", err->message, words);
}

/* What one may do with a name that leads elsewhere: 0 where it was done. */
static int try_read(const struct folder *in, const char *name, struct error *err)
{
    char *data = NULL;
    size_t size;
    int status = folder_read(in, name, 1000, &data, &size, err);
    free(data);
    return status;
}

static int try_map(const struct folder *in, const char *name, struct error *err)
{
    struct file_map map;
    int status = folder_map(&map, in, name, err);
    file_map_close(&map);
    return status;
}

static int try_write(const struct folder *in, const char *name, struct error *err)
{
    return folder_write(in, name, "evil", 4, err);
}

static int try_append(const struct folder *in, const char *name, struct error *err)
{
    return folder_append(in, name, "evil", 4, err);
}

static int try_open(const struct folder *in, const char *name, struct error *err)
{
    struct folder inner;
    int status = folder_open(&inner, in, name, err);
    folder_close(&inner);
    return status;
}

static int try_move(const struct folder *in, const char *name, struct error *err)
{
    return folder_move(in, "file", in, name, err);
}

typedef int attempt(const struct folder *in, const char *name, struct error *err);

static void links_are_refused_by_name(void **state)
{
    (void)state;
    static attempt *const attempts[] = {try_read, try_map,  try_write,      try_append,
                                        try_open, try_move, folder_make_all};
    static const struct {
        const char *name, *words;
    } rows[] = {
        {"link", "way/link is a symbolic link"},
        {"dangling", "way/dangling is a symbolic link"},
        {"away/.bashrc", "way/away is a symbolic link"},
        {"away/new", "way/away is a symbolic link"},
        {"round/inner/file", "way/round is a symbolic link"},
        {"away", "way/away is a symbolic link"},
    };
    struct folder folder;
    open_theirs(&folder);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            struct error err = {0};
            assert_int_equal(attempts[i](&folder, rows[k].name, &err), -1);
            assert_says(&err, rows[k].words);
        }
    folder_close(&folder);
    assert_untouched();
}

static void names_stay_inside(void **state)
{
    (void)state;
    static attempt *const attempts[] = {try_read, try_map,  try_write,       try_append,
                                        try_open, try_move, folder_make_all, folder_remove};
    static const char *const names[] = {"../home/.bashrc",
                                        "inner/../../home/.bashrc",
                                        "..",
                                        ".",
                                        "",
                                        "/etc/passwd",
                                        "inner//file",
                                        "inner/",
                                        "/",
                                        "inner/.",
                                        "inner/.."};
    struct folder folder;
    open_theirs(&folder);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            struct error err = {0};
            assert_int_equal(attempts[i](&folder, names[k], &err), -1);
            assert_int_equal(err.code, ERROR_INVALID);
            assert_int_equal(folder_look(&folder, names[k]), ENTRY_OTHER);
        }
    assert_int_equal(try_read(&folder, "./inner/./file", NULL), 0);
    folder_close(&folder);
    assert_untouched();
}

/* Nobody waits for the other end of a pipe. */
static void pipes_are_refused(void **state)
{
    (void)state;
    static attempt *const attempts[] = {try_read, try_map, try_write, try_append, folder_check_in_place};
    struct folder folder;
    open_theirs(&folder);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        struct error err = {0};
        assert_int_equal(attempts[i](&folder, "pipe", &err), -1);
        assert_says(&err, "way/pipe is a pipe, where a regular file is expected");
        assert_int_equal(attempts[i](&folder, "inner", &err), -1);
        assert_says(&err, "Is a directory");
    }
    folder_close(&folder);
}

/* A file with a second name elsewhere may be replaced, which leaves that one alone, and is not changed. */
static void other_names_of_a_file_keep_their_content(void **state)
{
    (void)state;
    struct error err = {0};
    struct folder folder;
    open_theirs(&folder);
    assert_int_equal(try_append(&folder, "twin", &err), -1);
    assert_says(&err, "way/twin has other names");
    assert_int_equal(folder_check_in_place(&folder, "twin", &err), -1);
    assert_int_equal(folder_check_in_place(&folder, "file", &err), 0);
    assert_int_equal(folder_check_in_place(&folder, "none", &err), 0);
    assert_int_equal(folder_write(&folder, "twin", "evil", 4, &err), 0);
    folder_close(&folder);
    assert_untouched();
}

static void assert_text(const struct folder *folder, const char *name, const char *text)
{
    char *data;
    size_t size;
    assert_int_equal(folder_read(folder, name, 1000, &data, &size, NULL), 0);
    assert_string_equal(data, text);
    free(data);
}

static void files_are_made_changed_and_moved(void **state)
{
    (void)state;
    struct folder folder, deep;
    struct stat info;
    open_theirs(&folder);
    assert_int_equal(folder_make(&deep, &folder, "inner/a/b", NULL), 0);
    assert_int_equal(folder_write(&deep, "one", "1", 1, NULL), 0);
    assert_text(&folder, "inner/a/b/one", "1");
    assert_int_equal(folder_append(&deep, "log", "a", 1, NULL) | folder_append(&deep, "log", "b", 1, NULL),
                     0);
    assert_text(&deep, "log", "ab");
    assert_int_equal(chmod("theirs/inner/a/b/one", 0640), 0);
    assert_int_equal(folder_write(&folder, "inner/a/b/one", "2", 1, NULL), 0);
    assert_int_equal(stat("theirs/inner/a/b/one", &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(folder_move(&deep, "one", &folder, "two", NULL), 0);
    assert_text(&folder, "two", "2");
    assert_int_equal(folder_move(&deep, "log", &folder, "two", NULL), -1);
    assert_text(&folder, "two", "2");
    assert_int_equal(folder_exchange(&folder, "inner", "two", NULL), 0);
    assert_text(&folder, "inner", "2");
    assert_true(folder_look(&folder, "two/a") == ENTRY_FOLDER && !folder_has(&folder, "none/none"));
    folder_close(&deep);
    folder_close(&folder);
}

static void what_is_not_put_in_place_leaves_nothing(void **state)
{
    (void)state;
    struct folder folder, part;
    struct fresh_file file;
    char **names, *name;
    size_t before, after;
    open_theirs(&folder);
    assert_int_equal(folder_list(&folder, &names, &before, NULL), 0);
    file_names_free(names, before);
    assert_int_equal(folder_create(&file, &folder, "file", NULL), 0);
    fputs("half", file.stream);
    assert_text(&folder, "file", "theirs");
    folder_drop(&file);
    assert_text(&folder, "file", "theirs");
    assert_int_equal(folder_make_fresh(&part, &folder, "bundle.part", &name, NULL), 0);
    assert_true(folder_is_there(&part));
    assert_int_equal(folder_remove(&folder, name, NULL), 0);
    assert_false(folder_is_there(&part));
    folder_close(&part);
    free(name);
    assert_int_equal(folder_list(&folder, &names, &after, NULL), 0);
    file_names_free(names, after);
    assert_int_equal(before, after);
    folder_close(&folder);
}

static void names_are_listed_by_their_numbers(void **state)
{
    (void)state;
    static const char *const expected[] = {"case2", "case9", "case10", "case10a", "cases"};
    struct folder folder;
    char **names;
    size_t count;
    assert_int_equal(folder_make(&folder, USERS_PATH, "listed", NULL), 0);
    for (size_t i = sizeof expected / sizeof *expected; i-- > 0;)
        assert_int_equal(folder_write(&folder, expected[i], "", 0, NULL), 0);
    assert_int_equal(folder_list(&folder, &names, &count, NULL), 0);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(names[i], expected[i]);
    file_names_free(names, count);
    folder_close(&folder);
}

/* Only what makes something makes the folders on the way, and a file is none of them. */
static void reading_makes_no_folder(void **state)
{
    (void)state;
    struct folder folder;
    open_theirs(&folder);
    assert_int_equal(folder_open_file(&folder, "new/file", NULL), -1);
    assert_int_not_equal(folder_move(&folder, "old/file", &folder, "file", NULL), 0);
    assert_false(folder_has(&folder, "new"));
    assert_false(folder_has(&folder, "old"));
    assert_int_equal(folder_make_all(USERS_PATH, "theirs/file", NULL), -1);
    assert_int_equal(folder_make_all(USERS_PATH, "theirs/a/b", NULL), 0);
    assert_true(folder_has(&folder, "a/b"));
    folder_close(&folder);
}

static void removing_follows_nothing(void **state)
{
    (void)state;
    struct error err = {0};
    struct folder folder;
    open_theirs(&folder);
    assert_int_equal(folder_remove(&folder, "away/.bashrc", &err), -1);
    assert_says(&err, "way/away is a symbolic link");
    static const char *const names[] = {"link", "away", "dangling", "round", "pipe", "inner", "none/none"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(folder_remove(&folder, names[i], &err), 0);
        assert_false(folder_has(&folder, names[i]));
    }
    folder_close(&folder);
    assert_untouched();
}

/* The folder that is open is meant, whoever puts another one or a link at its path. */
static void an_open_folder_stays_the_same(void **state)
{
    (void)state;
    struct error err = {0};
    struct folder folder, inner;
    assert_int_equal(folder_open(&folder, USERS_PATH, "theirs", NULL), 0);
    assert_int_equal(folder_open(&inner, &folder, "inner", NULL), 0);
    assert_int_equal(rename("theirs/inner", "theirs/old") | symlink("../home", "theirs/inner"), 0);
    assert_int_equal(folder_write(&inner, ".bashrc", "evil", 4, NULL), 0);
    assert_text(&folder, "old/.bashrc", "evil");
    assert_false(folder_is_there(&inner));
    assert_null(folder_real_path(&inner, &err));
    assert_true(folder_is_there(&folder));
    char *path = folder_real_path(&folder, &err);
    assert_non_null(strstr(path, "/theirs"));
    free(path);
    folder_close(&inner);
    folder_close(&folder);
    assert_untouched();
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(links_are_refused_by_name),
        FOLDER_TEST(names_stay_inside),
        FOLDER_TEST(pipes_are_refused),
        FOLDER_TEST(other_names_of_a_file_keep_their_content),
        FOLDER_TEST(files_are_made_changed_and_moved),
        FOLDER_TEST(what_is_not_put_in_place_leaves_nothing),
        FOLDER_TEST(names_are_listed_by_their_numbers),
        FOLDER_TEST(reading_makes_no_folder),
        FOLDER_TEST(removing_follows_nothing),
        FOLDER_TEST(an_open_folder_stays_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
