/* Limits on what this process computes itself, on libonnx beside it, and on what files do meanwhile. */
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "bounds/bounded.h"
#include "model/isolated.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const double slack = 5;

static void time_is_limited(void **state)
{
    (void)state;
    struct error err = {0};
    assert_false(limits_late(1 << 20)); /* without limits nothing is late */
    limits_set((struct limits){.seconds = 0.1});
    assert_false(limits_late(1 << 20)); /* nor outside of work */
    double before = clock_seconds();
    limits_begin();
    limits_begin(); /* a part of it */
    while (!limits_late(1000) && clock_seconds() - before < slack)
        continue;
    limits_end();
    assert_true(clock_seconds() - before < slack);
    assert_int_equal(limits_check(&err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    limits_end();
    limits_begin(); /* other work has time of its own */
    assert_int_equal(limits_check(&err), 0);
    limits_end();
    limits_set((struct limits){0});
}

static void memory_is_limited(void **state)
{
    (void)state;
    struct error err = {0};
    struct bounded value, second;
    struct shape shape = shape_make(1, (int64_t[]){1 << 20});
    limits_set((struct limits){.bytes = 40 << 20});
    assert_int_equal(bounded_alloc(&value, DTYPE_FLOAT, &shape, false, &err), 0);
    for (size_t i = 0; i < value.count; i++)
        bounded_put(&value, i, 1, 1, 1);
    assert_int_equal(bounded_alloc(&second, DTYPE_FLOAT, &shape, false, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    bounded_release(&value);
    assert_int_equal(bounded_alloc(&second, DTYPE_FLOAT, &shape, false, &err), 0);
    bounded_release(&second);
    limits_set((struct limits){0});
}

static int sleep_on(void *context, uint8_t **out, size_t *size, struct error *err)
{
    (void)context, (void)out, (void)size, (void)err;
    sleep(60);
    return 0;
}

/* ASan gives up by itself when memory is refused. */
#ifdef __SANITIZE_ADDRESS__
static const bool memory_can_be_refused = false;
#else
static const bool memory_can_be_refused = true;
#endif

static int take_memory(void *context, uint8_t **out, size_t *size, struct error *err)
{
    (void)context;
    *size = (size_t)200 << 20;
    *out = malloc(*size);
    return *out ? 0 : error_set(err, ERROR_MEMORY, "no memory");
}

static void check_memory_of_forks(void)
{
    struct error err = {0};
    uint8_t *out;
    size_t size;
    limits_set((struct limits){.seconds = 30, .bytes = 50 << 20});
    assert_int_equal(isolated_run("libonnx", take_memory, NULL, &out, &size, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    assert_non_null(strstr(err.message, "more than the 50 MB"));
    limits_set((struct limits){.seconds = 30, .bytes = (size_t)1 << 30});
    assert_int_equal(isolated_run("libonnx", take_memory, NULL, &out, &size, &err), 0);
    free(out);
}

static void forks_are_limited(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t *out;
    size_t size;
    double before = clock_seconds();
    limits_set((struct limits){.seconds = 0.2, .bytes = 50 << 20});
    assert_int_equal(isolated_run("libonnx", sleep_on, NULL, &out, &size, &err), -1);
    assert_true(clock_seconds() - before < slack);
    assert_int_equal(err.code, ERROR_LIMIT);
    assert_non_null(strstr(err.message, "libonnx takes longer than the 0.2 s"));
    if (memory_can_be_refused)
        check_memory_of_forks();
    limits_set((struct limits){0});
}

static void a_file_may_be_cut_off(void **state)
{
    (void)state;
    char path[] = "/tmp/test-limits-XXXXXX";
    char page[4096];
    struct file_map map;
    struct error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    memset(page, 7, sizeof page);
    for (int i = 0; i < 3; i++)
        assert_int_equal(write(fd, page, sizeof page), sizeof page);
    file_guard_maps();
    assert_int_equal(file_map_open(&map, path, &err), 0);
    assert_int_equal(map.data[0], 7);
    assert_false(file_maps_were_cut());
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(((const volatile uint8_t *)map.data)[2 * sizeof page + 1], 0);
    assert_true(file_maps_were_cut());
    file_map_close(&map);
    close(fd);
    unlink(path);
}

static void only_regular_files_are_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/test-limits-XXXXXX";
    char path[64], *data;
    size_t size;
    struct error err = {0};
    struct file_map map;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_read(path, 100, &data, &size, &err), -1);
    assert_non_null(strstr(err.message, "pipe is a pipe"));
    assert_int_equal(file_map_open(&map, path, &err), -1);
    assert_int_equal(file_read("/dev/zero", 100, &data, &size, &err), -1);
    assert_non_null(strstr(err.message, "is a device"));
    assert_int_equal(file_read(folder, 100, &data, &size, &err), -1);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

/* Far deeper than a path can say, with files, links and closed folders on the way. */
static void deep_folders_are_removed(void **state)
{
    (void)state;
    enum { DEPTH = 3000 };
    char top[] = "/tmp/test-limits-XXXXXX";
    struct error err = {0};
    assert_non_null(mkdtemp(top));
    int at = open(top, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(at, "deeper", 0700), 0);
        assert_int_equal(symlinkat("/", at, "link"), 0);
        int file = openat(at, "file", O_WRONLY | O_CREAT, 0600), inner = openat(at, "deeper", O_RDONLY);
        assert_true(file >= 0 && inner >= 0);
        close(file);
        if (i % 10 == 5)
            assert_int_equal(fchmod(at, 0), 0);
        close(at);
        at = inner;
    }
    close(at);
    assert_int_equal(file_remove_tree(top, &err), 0);
    assert_false(file_exists(top));
    assert_true(file_exists("/"));
    assert_int_equal(file_remove_tree(top, &err), 0); /* what is not there is removed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(forks_are_limited),
        cmocka_unit_test(a_file_may_be_cut_off),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(deep_folders_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
