/* The table of bugs that are written up, and findings of a store looked up in it. */
#include "findings/explained.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/onnx.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char rows[] = "# a comment\n"
                           "a-engine\twrong\tRelu opset=* :: *nan*\tdocs/relu\n"
                           "a-*\twrong\tFloor opset=13 * :: *\t-\n"
                           "a-*\twrong\tFloor * :: *\tdocs/floor\n";

static char folder[] = "/tmp/test-explained-XXXXXX";

static void read_table(struct explained *table, const char *text)
{
    char *path = file_join(folder, "table.tsv");
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    assert_int_equal(explained_read(table, path, NULL), 0);
    free(path);
}

static void the_first_row_counts(void **state)
{
    (void)state;
    struct explained table;
    read_table(&table, rows);
    assert_int_equal(table.count, 3);
    assert_string_equal(explained_find(&table, "a-engine", "wrong", "Relu opset=9", "is nan")->document,
                        "docs/relu");
    assert_null(explained_find(&table, "a-engine", "wrong", "Relu opset=9", "is 7"));
    assert_null(explained_find(&table, "b-engine", "wrong", "Floor opset=14 float32[2]", "is 7"));
    assert_string_equal(explained_find(&table, "a-b", "wrong", "Floor opset=14 float32[2]", "is 7")->document,
                        "docs/floor");
    assert_null(explained_find(&table, "a-b", "wrong", "Floor opset=13 float32[2]", "is 7"));
    explained_release(&table);
}

static void a_row_has_all_its_columns(void **state)
{
    (void)state;
    struct explained table;
    struct error err = {0};
    const char *text = "a-engine\twrong\tRelu * :: *\tdocs/relu\ntoo\tfew\tfields\n";
    char *path = file_join(folder, "table.tsv");
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    assert_int_equal(explained_read(&table, path, &err), -1);
    assert_non_null(strstr(err.message, "table.tsv: 'too'"));
    assert_non_null(strstr(err.message, "3 of the 4 columns"));
    explained_release(&table);
    free(path);
}

static int status_of(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    snprintf(context, 100, "%s", stored->status);
    return 0;
}

static void expect_status(struct store *store, const char *signature, const char *due)
{
    char status[100] = "";
    struct store_filter filter = {.signature = signature};
    assert_int_equal(store_list(store, &filter, status_of, status, NULL), 0);
    assert_string_equal(status, due);
}

/* A finding that no row has is looked up again when there is one. */
static void a_later_table_is_looked_at(void **state)
{
    (void)state;
    struct explained table, none = {0};
    struct store *store;
    uint8_t *bytes;
    size_t size;
    assert_int_equal(onnx_parse_text("<ir_version: 8, opset_import: [\"\" : 14]>\n"
                                     "g (float[2] x) => (float[2] y) { y = Floor (x) }",
                                     &bytes, &size, NULL),
                     0);
    struct test_case *test = test_case_from_bytes(bytes, size);
    const struct model *model = test_case_model(test, NULL);
    assert_int_equal(store_open(&store, folder, STORE_CREATE, NULL), 0);
    struct finding finding = {
        .signature = "wrong|a|Floor", .name = "wrong-floor", .kind = "wrong", .engine = "a-engine"};
    assert_int_equal(store_add(store, &finding, NULL, NULL), 0);
    struct explained_case which = {"wrong|a|Floor", "a-engine", "wrong", "y[0] is 7", model, test, NULL};
    assert_int_equal(explained_mark(&none, store, &which, NULL), 0);
    expect_status(store, finding.signature, "new");
    assert_int_equal(explained_again(&none, store, NULL), 0);
    expect_status(store, finding.signature, "new");
    read_table(&table, rows);
    assert_int_equal(explained_again(&table, store, NULL), 0);
    expect_status(store, finding.signature, "known: docs/floor");
    /* What nobody looked up before stays as it is. */
    finding.signature = "wrong|a|Other";
    assert_int_equal(store_add(store, &finding, NULL, NULL), 0);
    assert_int_equal(explained_again(&table, store, NULL), 0);
    expect_status(store, finding.signature, "new");
    explained_release(&table);
    store_close(store);
    test_case_free(test);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_counts),
        cmocka_unit_test(a_row_has_all_its_columns),
        cmocka_unit_test(a_later_table_is_looked_at),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
