/* The page of a campaign: every text of it is foreign, and none becomes markup. */
#include "campaign_store.h"

#include "diagnose/known_findings.h"
#include "model/build.h"
#include "report/campaign_page.h"

#define HOSTILE "</pre><script>alert('&\"1')</script>"

static void write_file(const struct folder *in, const char *name, const void *data, size_t size)
{
    struct error err = {0};
    if (folder_write(in, name, data, size, &err))
        fail_msg("%s", err.message);
}

/* A bundle whose files are as hostile as its names. */
static void write_bundle(const char *path)
{
    struct folder in;
    struct model *model = model_new(13);
    struct error err = {0};
    uint8_t *bytes;
    size_t size;
    char name[200];
    const char *input = "x" HOSTILE, *output = "y";
    model_add_node(model, "Relu", NULL, 1, &input, 1, &output);
    assert_int_equal(model_to_bytes(model, &bytes, &size, &err), 0);
    assert_int_equal(folder_open(&in, USERS_PATH, folder, &err), 0);
    assert_int_equal(folder_make_all(&in, path, &err), 0);
    snprintf(name, sizeof name, "%s/model.onnx", path);
    write_file(&in, name, bytes, size);
    snprintf(name, sizeof name, "%s/report.md", path);
    write_file(&in, name, HOSTILE, strlen(HOSTILE));
    snprintf(name, sizeof name, "%s/map.svg", path);
    write_file(&in, name, "<svg onload=\"alert(1)\"/>", 24);
    free(bytes);
    model_free(model);
    folder_close(&in);
}

static void add_classed(struct store *store, const char *signature, const char *name, const char *known,
                        const char *class)
{
    struct error err = {0};
    struct finding finding = {.signature = signature,
                              .name = name,
                              .kind = "wrong",
                              .class = class,
                              .engine = "engine" HOSTILE,
                              .version = HOSTILE,
                              .operators = "Relu+" HOSTILE,
                              .title = "title" HOSTILE,
                              .recipe = "it's " HOSTILE,
                              .nodes = 1,
                              .known = known};
    assert_int_equal(store_add(store, &finding, NULL, &err), 0);
    assert_int_equal(store_history(store, signature, "other" HOSTILE, HOSTILE, &err), 0);
}

static void add_finding(struct store *store, const char *signature, const char *name, const char *known)
{
    add_classed(store, signature, name, known, HOSTILE);
}

static int take(void *context, const struct stored *stored, struct error *err)
{
    struct campaign_page *page = context;
    return causes_add((struct finding_causes *)page->causes, page->store, stored,
                      stored->state == STATE_KNOWN ? stored->detail : NULL, err);
}

static void write_page(struct str *out, struct store *store)
{
    struct campaign_view view;
    struct folder in;
    struct finding_causes causes;
    struct error err = {0};
    struct campaign_page page = {.view = &view,
                                 .causes = &causes,
                                 .store = store,
                                 .folder = &in,
                                 .path = "a folder" HOSTILE,
                                 .options = "-E " HOSTILE};
    causes_init(&causes);
    assert_int_equal(folder_open(&in, USERS_PATH, folder, &err), 0);
    assert_int_equal(campaign_view_read_folder(&view, store, HOSTILE, &err), 0);
    assert_int_equal(store_list(store, &(struct store_filter){0}, take, &page, &err), 0);
    if (campaign_page_write(out, &page, &err))
        fail_msg("%s", err.message);
    causes_release(&causes);
    campaign_view_release(&view);
    folder_close(&in);
    store_close(store);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void test_hostile(void **state)
{
    struct store *store = open_store(STORE_CREATE);
    struct error err = {0};
    struct str out;
    (void)state;
    str_init(&out);
    add_finding(store, "wrong|e|Relu|f32||", "wrong-relu-1", NULL);
    add_finding(store, "wrong|e|Abs|f32||", "../" HOSTILE, NULL);
    add_finding(store, "wrong|e|Exp|f32||", "wrong-exp-1", "issue" HOSTILE);
    assert_int_equal(
        store_settle(store, "wrong|e|Relu|f32||",
                     &(struct settled){.state = STATE_BUNDLED, .bundle = "findings/wrong-relu-1"}, &err),
        0);
    assert_int_equal(store_set(store, "fuzz-options", HOSTILE, &err), 0);
    write_bundle("findings/wrong-relu-1");
    write_page(&out, store);
    /* The only elements are our own. */
    assert_int_equal(count_of(out.data, "<script"), 0);
    assert_int_equal(count_of(out.data, "<svg onload"), 0);
    assert_int_equal(count_of(out.data, "<pre>"), count_of(out.data, "</pre>"));
    assert_int_equal(count_of(out.data, "src="), 1);
    assert_int_equal(count_of(out.data, "src=\"data:image/svg+xml;base64,"), 1);
    assert_int_equal(count_of(out.data, "href=\"#"), count_of(out.data, "href="));
    assert_int_equal(count_of(out.data, "default-src 'none'"), 1);
    /* Yet all of it is shown: the model, the report, the issue, and commands that a shell takes as they are
     * meant. */
    static const char shown[] = "&lt;/pre&gt;&lt;script&gt;alert('&amp;&quot;1')&lt;/script&gt;";
    assert_true(count_of(out.data, shown) > 10);
    assert_non_null(strstr(out.data, "x&lt;/pre&gt;"));
    assert_non_null(strstr(out.data, "issue&lt;/pre&gt;"));
    assert_non_null(
        strstr(out.data, "--replay 'it'\\''s &lt;/pre&gt;&lt;script&gt;alert('\\''&amp;&quot;1'\\'')"));
    assert_non_null(strstr(out.data, "findings/wrong-relu-1"));
    assert_null(strstr(out.data, "findings/../"));
    /* What is known is folded away, behind what is not. */
    assert_true(strstr(out.data, "id=\"causes\"") < strstr(out.data, "id=\"known\">\n<details><summary>"));
    assert_int_equal(count_of(out.data, "<article"), 2);
    str_release(&out);
}

/* Limitations are no causes: they are listed at the end, and counted by themselves. */
static void test_apart(void **state)
{
    struct store *store = open_store(STORE_CREATE);
    struct str out;
    (void)state;
    str_init(&out);
    add_finding(store, "wrong|e|Relu|f32||", "wrong-relu-1", NULL);
    add_classed(store, "refused|e|MatMul|||vectors", "refused-matmul-1", NULL, "limitation");
    write_page(&out, store);
    assert_non_null(strstr(out.data, "<b class=\"bad\">1</b><span>causes that are not known</span>"));
    assert_non_null(strstr(out.data, "<b class=\"\">0</b><span>causes that are known</span>"));
    assert_non_null(strstr(out.data, "<b class=\"\">1</b><span>listed apart</span>"));
    assert_true(strstr(out.data, "id=\"known\"") < strstr(out.data, "id=\"apart\""));
    assert_int_equal(count_of(out.data, "<article"), 1);
    str_release(&out);
}

static void test_empty(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    write_page(&out, open_store(STORE_CREATE));
    assert_non_null(strstr(out.data, "The campaign has no findings."));
    assert_non_null(strstr(out.data, "kept no figures"));
    assert_int_equal(count_of(out.data, "<svg"), 0);
    str_release(&out);
}

/* Coverage and causes over time: as many points as were noted, the last causes at the end. */
static void test_course(void **state)
{
    struct store *store = open_store(STORE_CREATE);
    struct error err = {0};
    struct str out;
    (void)state;
    str_init(&out);
    assert_int_equal(store_engine(store, "engine", "1", 0, &err), 0);
    for (int i = 0; i < 3; i++) {
        struct coverage_point olc = {"OLC", 500 * i, 10.0 * i, 0.2 * i},
                              pairs = {"pairs", 500 * i, 10.0 * i, 0.1 * i};
        assert_int_equal(store_coverage(store, &olc, &err), 0);
        assert_int_equal(store_coverage(store, &pairs, &err), 0);
    }
    add_finding(store, "wrong|e|Relu|f32||", "wrong-relu-1", NULL);
    write_page(&out, store);
    assert_int_equal(count_of(out.data, "<svg"), 3);
    assert_int_equal(count_of(out.data, "<path class=\"b\""), 1);
    assert_non_null(strstr(out.data, "<b class=\"\">1,000</b><span>cases</span>"));
    assert_non_null(strstr(out.data, "<b class=\"\">50</b><span>cases a second</span>"));
    assert_non_null(strstr(out.data, "<b class=\"\">40.0 %</b>"));
    assert_non_null(strstr(out.data, "<b class=\"\">0:00:20</b><span>run time</span>"));
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hostile, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_apart, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_empty, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_course, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
