/* Nothing is removed or overwritten that Assay did not make. */
#include "base/file.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/str.h"
#include "report/junit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct output_layout layout = {
    .what = "thing",
    .marks = (const char *const[]){"mark.json", NULL},
    .files = (const char *const[]){"model", "data/in_*.pb", NULL},
    .folders = (const char *const[]){"data", NULL},
};

/* A folder of the test's own, which is the current one. */
static int enter(void **state)
{
    char folder[] = "/tmp/assay-output-XXXXXX";
    *state = mkdtemp(folder) ? memory_strdup(folder) : NULL;
    return *state ? chdir(*state) : -1;
}

static int leave(void **state)
{
    int status = chdir("/");
    file_remove_tree(*state, NULL);
    free(*state);
    return status;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_text(const char *path, const char *text)
{
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 1 << 20, &data, &size, NULL), 0);
    assert_string_equal(data, text);
    free(data);
}

static void assert_entries(const char *folder, size_t expected)
{
    char **names;
    size_t count;
    assert_int_equal(file_list(folder, &names, &count, NULL), 0);
    if (count != expected)
        fail_msg("%s has %zu entries, not %zu", folder, count, expected);
    file_names_free(names, count);
}

/* 0, or -1 with the message in *err; the content tells who wrote it. */
static int write_thing(const char *path, const char *content, bool force, struct error *err)
{
    struct output_folder folder;
    int status = output_folder_begin(&folder, USERS_PATH, path, &layout, force, err);
    if (!status) {
        char *model = file_join(folder.part.path, "model"), *data = file_join(folder.part.path, "data"),
             *mark = file_join(folder.part.path, "mark.json"), *in = file_join(data, "in_0.pb");
        assert_int_equal(mkdir(data, 0777), 0);
        put(model, content);
        put(mark, "{}");
        put(in, content);
        free(model);
        free(data);
        free(mark);
        free(in);
        status = output_folder_put(&folder, err);
    }
    output_folder_release(&folder);
    return status;
}

static void assert_refused(const char *path, bool force, const char *words)
{
    struct error err = {0};
    assert_int_equal(output_folder_check(path, &layout, force, &err), -1);
    assert_int_equal(write_thing(path, "new", force, &err), -1);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void a_new_or_empty_folder_is_written(void **state)
{
    (void)state;
    const char *const paths[] = {"one", "deep/er/two/", "empty", "link", "three//"};
    struct error err = {0};
    assert_int_equal(mkdir("empty", 0777) | mkdir("target", 0777) | symlink("target", "link"), 0);
    put("one.part", "mine");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (output_folder_check(paths[i], &layout, false, &err) || write_thing(paths[i], "new", false, &err))
            fail_msg("%s: %s", paths[i], err.message);
        char *model = file_join(paths[i], "model"), *in = file_join(paths[i], "data/in_0.pb");
        assert_text(model, "new");
        assert_text(in, "new");
        assert_entries(paths[i], 3);
        free(model);
        free(in);
    }
    assert_text("target/model", "new"); /* the link is one still */
    assert_text("one.part", "mine");
    assert_entries(".", 7); /* and nothing is left over */
    assert_int_equal(mkdir("here", 0777) | chdir("here"), 0);
    assert_int_equal(write_thing(".", "new", false, &err), 0);
    assert_text("model", "new");
}

static void a_folder_of_others_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("photos", 0777) | mkdir("photos/marked", 0777), 0);
    put("photos/one.jpg", "mine");
    put("file", "mine");
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    const char *const paths[] = {"photos", "photos/", "./photos/../photos", ".", "./"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (int force = 0; force < 2; force++)
            assert_refused(paths[i], force, "is not empty and is not a thing of Assay; name a new folder");
    /* A test that goes wrong shall not empty these. */
    assert_int_equal(output_folder_check("..", &layout, true, NULL), -1);
    assert_int_equal(output_folder_check("/", &layout, true, NULL), -1);
    for (int force = 0; force < 2; force++) {
        assert_refused("file", force, "exists and is not a folder");
        assert_refused("file/", force, "Not a directory");
        assert_refused("file/below", force, "Not a directory");
        assert_refused("dangling", force, "symbolic link to a folder that does not exist");
        assert_refused("missing/..", force, "there is no folder");
        assert_refused("", force, "empty");
    }
    put("photos/marked/mark.json", "{}"); /* one of ours, in which somebody works */
    put("photos/marked/notes.txt", "mine");
    assert_refused("photos/marked", true, "contains notes.txt, which was not made by Assay");
    assert_text("photos/marked/notes.txt", "mine");
    assert_text("photos/one.jpg", "mine");
    assert_text("file", "mine");
    assert_entries("photos", 2);
    assert_entries(".", 3);
}

static void ours_is_replaced_by_force(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(write_thing("one", "old", false, &err), 0);
    assert_refused("one", false, "use --force to replace it");
    assert_text("one/model", "old");
    assert_int_equal(write_thing("one/", "new", true, &err), 0);
    assert_text("one/model", "new");
    assert_entries("one", 3);
    assert_entries(".", 1);
    assert_int_equal(symlink("/etc", "one/data/in_1.pb"), 0);
    assert_refused("one", true, "contains data/in_1.pb, which was not made by Assay");
    assert_int_equal(unlink("one/data/in_1.pb") | chdir("one/data"), 0);
    assert_refused("..", true, "is the current folder or contains it");
    assert_text("../model", "new");
}

/* What came in while the new one was written stays, and the new one goes. */
static void what_came_meanwhile_stays(void **state)
{
    (void)state;
    struct error err = {0};
    struct output_folder folders[3];
    assert_int_equal(write_thing("ours", "old", false, &err) | mkdir("empty", 0777), 0);
    static const char *const names[] = {"ours", "empty", "new"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(output_folder_begin(&folders[i], USERS_PATH, names[i], &layout, true, &err), 0);
    assert_int_equal(mkdir("new", 0777), 0);
    for (size_t i = 0; i < 3; i++) {
        char *mine = file_join(names[i], "model"), *theirs = file_join(folders[i].part.path, "model");
        char *notes = file_join(names[i], "notes"), *first = file_join(folders[i].part.path, "alpha");
        put(mine, "mine");
        put(notes, "mine");
        put(theirs, "theirs");
        put(first, "theirs"); /* moves, and moves back */
        assert_int_equal(output_folder_put(&folders[i], &err), -1);
        output_folder_release(&folders[i]);
        assert_text(mine, "mine");
        assert_text(notes, "mine");
        free(mine);
        free(theirs);
        free(notes);
        free(first);
    }
    assert_entries("empty", 2);
    assert_entries("new", 2);
    assert_entries(".", 3);
}

/* What a child that shall have fewer rights or less room says: 0 when all was as it should. */
static void assert_in_child(bool (*check)(void))
{
    pid_t child = fork();
    if (child == 0)
        _exit(check() ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A kernel, or a file system, that has no renameat2. */
static bool forbid_renameat2(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool writes_without_an_exchange(void)
{
    struct error err = {0};
    return forbid_renameat2() && mkdir("empty", 0777) == 0 && write_thing("one", "old", false, &err) == 0 &&
           write_thing("one", "new", true, &err) == 0 && write_thing("empty", "new", false, &err) == 0 &&
           write_thing("one", "x", false, &err);
}

static void without_an_exchange_it_is_the_same(void **state)
{
    (void)state;
    assert_in_child(writes_without_an_exchange);
    assert_text("one/model", "new");
    assert_text("empty/model", "new");
    assert_entries("one", 3);
    assert_entries("empty", 3);
    assert_entries(".", 2);
}

static void only_reports_are_overwritten(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool report;
    } rows[] = {
        {"{\n  \"assay\": \"1.2.3\",\n", true},
        {"{\"assay\":\"1.2.3\"}", true},
        {OUTPUT_TEXT_MARK "1.2.3\n\nall agree\n", true},
        {"<!doctype html>\n<html>\n<title>Assay map</title>", true},
        {"", true},
        {"{\n  \"name\": \"assay\"\n}", false},
        {"{", false},
        {"<!doctype html>\n<title>My page</title>", false},
        {"<?xml version=\"1.0\"?>\n<testsuites name=\"mine\">", false},
        {"assay results of May\n", false},
        {"\x08\x07\x12", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("file", rows[i].text);
        struct error err = {0};
        assert_int_equal(output_file_check("file", false, &err), rows[i].report ? 0 : -1);
        assert_int_equal(output_file_write("file", "new", 3, false, &err), rows[i].report ? 0 : -1);
        assert_text("file", rows[i].report ? "new" : rows[i].text);
        if (!rows[i].report)
            assert_non_null(strstr(err.message, "not a report of Assay; name another file, or use --force"));
    }
    put("file", "mine");
    assert_int_equal(output_file_write("file", "new", 3, true, NULL), 0);
    assert_text("file", "new");
}

/* What the writers write is what is known again. */
static void reports_are_known_again(void **state)
{
    (void)state;
    struct str text;
    struct json json;
    struct junit junit;
    for (int indent = 0; indent < 2; indent++) {
        str_init(&text);
        output_json(&json, &text, indent);
        json_end(&json);
        assert_true(output_is_report(text.data, text.length));
        str_release(&text);
    }
    str_init(&text);
    junit_init(&junit);
    junit_suite(&junit, "engine");
    junit_write(&junit, &text);
    assert_true(output_is_report(text.data, text.length));
    junit_release(&junit);
    str_release(&text);
}

static void files_that_cannot_be_written_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *path, *words;
    } rows[] = {
        {"", "is empty"},
        {".", "is a folder; name a file"},
        {"nowhere/file", "there is no folder nowhere"},
        {"new/", "name a file"},
        {"dangling", "symbolic link to a file that does not exist"},
        {"file/below", "Not a directory"},
    };
    put("file", "mine");
    assert_int_equal(symlink("nothing", "dangling"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        assert_int_equal(output_file_check(rows[i].path, true, &err), -1);
        if (!strstr(err.message, rows[i].words))
            fail_msg("'%s' does not say '%s'", err.message, rows[i].words);
    }
    assert_entries(".", 2);
}

/* Links stay links, permissions stay, names that look like ours are not taken, devices stay devices. */
static void a_file_is_written_whole(void **state)
{
    (void)state;
    struct stat info;
    struct str taken;
    put("target", "old");
    assert_int_equal(symlink("target", "link") | chmod("target", 0640), 0);
    str_init(&taken);
    str_printf(&taken, "%s/target.tmp%ld-0", (char *)*state, (long)getpid());
    put(taken.data, "mine");
    assert_int_equal(file_write("link", "new", 3, NULL), 0);
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat("target", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_text("target", "new");
    assert_text(taken.data, "mine");
    assert_entries(".", 3);
    assert_int_equal(output_file_write("/dev/null", "new", 3, false, NULL), 0);
    assert_true(file_is_special("/dev/null"));
    str_release(&taken);
}

static bool is_told_when_closed(void)
{
    struct error err = {0};
    if (geteuid() == 0 && setuid(65534))
        return false;
    return output_file_check("closed/new", true, &err) && strstr(err.message, "is not writable") &&
           output_folder_check("closed/new", &layout, true, &err) && strstr(err.message, "is not writable") &&
           output_folder_check("closed/empty", &layout, true, &err) &&
           strstr(err.message, "is not writable") && output_file_check("read-only", true, &err) &&
           strstr(err.message, "Permission denied");
}

static void closed_places_are_told(void **state)
{
    (void)state;
    put("read-only", OUTPUT_TEXT_MARK);
    assert_int_equal(mkdir("closed", 0755) | mkdir("closed/empty", 0555) | chmod("closed", 0555) |
                         chmod("read-only", 0444) | chmod(".", 0755),
                     0);
    assert_in_child(is_told_when_closed);
    assert_int_equal(chmod("closed", 0755), 0);
    assert_entries("closed/empty", 0);
}

/* A file may grow to so much and no more. */
static bool fails_when_full(void)
{
    static const char much[100000];
    struct rlimit limit = {1000, 1000};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && output_file_write("report", much, sizeof much, true, NULL);
}

static void a_failure_leaves_the_old_file(void **state)
{
    (void)state;
    put("report", OUTPUT_TEXT_MARK);
    assert_in_child(fails_when_full);
    assert_text("report", OUTPUT_TEXT_MARK);
    assert_entries(".", 1);
}

static void own_files_begin_like_ours(void **state)
{
    (void)state;
    assert_int_equal(output_own_write(USERS_PATH, "list", "# List", "# List 1", 8, NULL), 0);
    assert_int_equal(output_own_write(USERS_PATH, "list", "# List", "# List 2", 8, NULL), 0);
    assert_text("list", "# List 2");
    put("list", "# Lis");
    assert_int_equal(output_own_write(USERS_PATH, "list", "# List", "# List 3", 8, NULL), -1);
    assert_text("list", "# Lis");
}

static void within_follows_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0777) | mkdir("ab", 0777) | symlink("a", "link"), 0);
    put("a/x", "");
    assert_true(output_is_within("a/x", "a") && output_is_within("link/x", "a"));
    assert_true(output_is_within("a", "a/") && output_is_within("a/x", "/"));
    assert_false(output_is_within("ab", "a") || output_is_within("a", "a/x") || output_is_within("a/y", "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_or_empty_folder_is_written),
        TEST(a_folder_of_others_is_refused),
        TEST(ours_is_replaced_by_force),
        TEST(what_came_meanwhile_stays),
        TEST(without_an_exchange_it_is_the_same),
        TEST(only_reports_are_overwritten),
        TEST(reports_are_known_again),
        TEST(files_that_cannot_be_written_are_told),
        TEST(a_file_is_written_whole),
        TEST(closed_places_are_told),
        TEST(a_failure_leaves_the_old_file),
        TEST(own_files_begin_like_ours),
        TEST(within_follows_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
