/* GGUF files: numbers in blocks and back, a file that is written and read, and files that are damaged. */
#include "own_folder.h"
#include "base/file.h"
#include "gguf/gguf_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 96 };

/* What a type keeps is within its step, and what it kept once it keeps. */
static void types_keep_what_they_promise(void **state)
{
    (void)state;
    float numbers[COUNT], kept[COUNT], again[COUNT];
    uint8_t bytes[COUNT * sizeof(float)];
    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = sinf((float)i * 1.7F) * (i < 32 ? 1e-3F : i < 64 ? 0 : 300);
    for (size_t t = 0; block_type_at(t); t++) {
        const struct block_type *type = block_type_at(t);
        block_type_write(type, numbers, COUNT, bytes);
        block_type_read(type, bytes, COUNT, kept);
        for (size_t i = 0; i < COUNT; i++) {
            float step = block_type_step(type, bytes + i / type->elements * type->bytes, kept[i]);
            assert_true(fabsf(kept[i] - numbers[i]) <= step);
        }
        block_type_write(type, kept, COUNT, bytes);
        block_type_read(type, bytes, COUNT, again);
        assert_true(memcmp(kept, again, sizeof kept) == 0);
        assert_true(block_type_of(type->number) == type);
    }
    assert_true(!block_type_of(12));
}

static char *write_file(size_t *size)
{
    struct gguf_draft draft;
    char *data = NULL;
    const uint64_t dims[] = {COUNT, 2};
    const float numbers[2 * COUNT] = {1, 2, 3};
    FILE *stream = open_memstream(&data, size);
    gguf_draft_init(&draft);
    gguf_add_text(&draft, "name", "of a file");
    gguf_add_whole(&draft, "whole", 7);
    gguf_add_real(&draft, "real", 0.5F);
    gguf_announce(&draft, "x", 2, dims, block_type_at(0));
    gguf_announce(&draft, "y", 1, dims, block_type_at(0));
    gguf_write_header(&draft, stream);
    gguf_write_data(numbers, sizeof numbers, stream);
    gguf_write_data(numbers, sizeof numbers / 2, stream);
    gguf_draft_release(&draft);
    fclose(stream);
    return data;
}

static int read_bytes(struct gguf_file *file, const char *folder, const void *data, size_t size,
                      struct error *err)
{
    char *path = file_join(folder, "x.gguf");
    assert_true(file_write(path, data, size, NULL) == 0);
    int status = gguf_file_open(file, path, err);
    free(path);
    return status;
}

static void a_file_is_read_as_written(void **state)
{
    size_t size;
    char *data = write_file(&size);
    struct gguf_file file;
    struct error err = {0};
    double number;
    const char *text;
    assert_true(read_bytes(&file, *state, data, size, &err) == 0);
    assert_true(gguf_number(&file, "whole", &number) && number == 7);
    assert_true(gguf_number(&file, "real", &number) && number == 0.5);
    assert_true(gguf_text(&file, "name", &text) && strcmp(text, "of a file") == 0);
    assert_true(!gguf_number(&file, "name", &number) && !gguf_text(&file, "whole", &text));
    const struct gguf_tensor *x = gguf_find(&file, "x"), *y = gguf_find(&file, "y");
    assert_true(x && y && !gguf_find(&file, "z"));
    assert_true(x->count == 2 * COUNT && x->dims[1] == 2 && y->dims[1] == 1);
    assert_true(((const float *)x->data)[2] == 3 && ((const float *)y->data)[1] == 2);
    gguf_file_close(&file);
    free(data);
}

/* A file that ends anywhere is refused, and one with any byte changed is read or refused. */
static void damaged_files_are_refused(void **state)
{
    size_t size, refused = 0;
    char *data = write_file(&size);
    struct gguf_file file;
    struct error err = {0};
    for (size_t length = 0; length < size; length += length < 300 ? 1 : 41) {
        assert_true(read_bytes(&file, *state, data, length, &err) == -1);
        gguf_file_close(&file);
    }
    for (size_t i = 0; i < 300; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            data[i] = (char)(data[i] ^ 1 << bit);
            refused += read_bytes(&file, *state, data, size, &err) != 0;
            gguf_file_close(&file);
            data[i] = (char)(data[i] ^ 1 << bit);
        }
    assert_true(refused > 50);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_keep_what_they_promise),
        cmocka_unit_test_setup_teardown(a_file_is_read_as_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(damaged_files_are_refused, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
