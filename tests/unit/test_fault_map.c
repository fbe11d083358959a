/* The map of a localisation: what is drawn, what is folded away, and names that try to break out of the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_read.h"
#include "base/memory.h"
#include "model/build.h"
#include "model/describe.h"
#include "report/fault_map.h"
#include "report/graph_drawing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char hostile[] = "</script><b>\\N\xff\"&]]>";

/* x -> Relu -> ... -> Relu -> y, node 0 with a hostile name, and a branch from node 1 to a second output. */
static struct model *chain(size_t count)
{
    struct model *model = model_new(17);
    struct shape shape = {.rank = 2, .dims = {2, 3}};
    char from[32] = "x", to[32];
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    for (size_t i = 0; i < count; i++) {
        snprintf(to, sizeof to, i + 1 == count ? "y" : "v%zu", i);
        model_add_node(model, "Relu", i ? NULL : hostile, 1, (const char *const[]){from}, 1,
                       (const char *const[]){to});
        snprintf(from, sizeof from, "%s", to);
    }
    model_add_node(model, "Neg", "branch", 1, (const char *const[]){"v1"}, 1, (const char *const[]){"z"});
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    model_add_output(model, "z", DTYPE_FLOAT, NULL);
    return model;
}

static struct localization result_of(const struct model *model, size_t culprit)
{
    struct localization result = {.engine = "a", .second = "b", .rate = true, .text = hostile};
    result.n_nodes = model->graph->n_node;
    result.nodes = memory_zeroed(result.n_nodes, sizeof *result.nodes);
    for (size_t i = 0; i < result.n_nodes; i++)
        result.nodes[i] = (struct localized_node){
            .delta = NAN, .rate = 1, .factor = i == culprit ? INFINITY : 0.25, .culprit = i == culprit};
    return result;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

static void test_page(void **state)
{
    (void)state;
    struct model *model = chain(60);
    struct localization result = result_of(model, 30);
    struct model_index index;
    struct error err = {0};
    struct str page;
    str_init(&page);
    assert_int_equal(model_index_init(&index, model, &err), 0);
    struct map_source source = {hostile, &index, &result, "engine bug: outside", "</script><b>it is wrong"};
    assert_int_equal(fault_map_html(&page, &source, &err), 0);
    /* Every node once in the whole drawing; three arrows around the culprit in the other. */
    assert_int_equal(occurrences(page.data, "id=\"whole_n"), 61);
    assert_int_equal(occurrences(page.data, "id=\"near_n"), 7);
    assert_non_null(strstr(page.data, "id=\"near_n27\""));
    assert_null(strstr(page.data, "id=\"near_n26\""));
    assert_int_equal(occurrences(page.data, "id=\"whole_i"), 1);
    assert_int_equal(occurrences(page.data, "id=\"whole_o"), 2);
    assert_int_equal(occurrences(page.data, "class=\"node op culprit\""), 2);
    assert_int_equal(occurrences(page.data, "</script>"), 2);
    assert_int_equal(occurrences(page.data, "<b>"), 0);
    /* The data is JSON and says what the result says. */
    const char *from = strstr(page.data, "application/json\">") + strlen("application/json\">");
    struct arena arena;
    const struct json_value *root;
    arena_init(&arena);
    assert_int_equal(json_read(&arena, from, (size_t)(strstr(from, "</script>") - from), &root, &err), 0);
    assert_int_equal(json_member(root, "nodes")->count, 61);
    assert_string_equal(json_member(root, "class")->text, "engine bug: outside");
    assert_string_equal(json_member(root, "answer")->text, "</script><b>it is wrong");
    arena_release(&arena);
    str_release(&page);
    free(result.nodes);
    model_index_release(&index);
    model_free(model);
}

static void test_neighbours(void **state)
{
    (void)state;
    struct model *model = chain(10);
    struct model_index index;
    struct error err = {0};
    bool shown[11] = {false};
    assert_int_equal(model_index_init(&index, model, &err), 0);
    shown[1] = true;
    drawing_neighbours(&index, shown, 1, 11);
    assert_true(shown[0] && shown[1] && shown[2] && shown[10]); /* before, after, and the branch */
    assert_false(shown[3]);
    drawing_neighbours(&index, shown, 5, 6);
    size_t marked = 0;
    for (size_t i = 0; i < 11; i++)
        marked += shown[i];
    assert_int_equal(marked, 6);
    model_index_release(&index);
    model_free(model);
}

static void test_describe(void **state)
{
    (void)state;
    struct model *model = model_new(17);
    struct arena *arena = &model->arena;
    Onnx__NodeProto *node =
        model_add_node(model, "Conv", NULL, 1, (const char *const[]){"x"}, 1, (const char *const[]){"y"});
    int64_t many[20] = {3, -1};
    node_set_ints(arena, node, "few", many, 2);
    node_set_ints(arena, node, "many", many, 20);
    node_set_float(arena, node, "f", 0.5f);
    node_set_string(arena, node, "s", "SAME\"");
    node_set_graph(arena, node, "g", graph_new(arena, "body"));
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < node->n_attribute; i++) {
        describe_attribute(&text, node->attribute[i]);
        str_add(&text, "; ");
    }
    struct shape shape = {.rank = 2, .dims = {3, -1}};
    describe_type(&text, type_make(arena, DTYPE_FLOAT, &shape));
    str_add(&text, "; ");
    describe_type(&text, NULL);
    assert_string_equal(text.data, "[3, -1]; [3, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, …]; 0.5; \"SAME\\\"\"; "
                                   "graph of 0 nodes; float32 [3,?]; unknown");
    str_release(&text);
    model_free(model);
}

/* Alone, for a bundle: the marked nodes and no numbers; of a large model what is near them. */
static void a_file_marks_what_is_at_fault(void **state)
{
    (void)state;
    struct str svg;
    str_init(&svg);
    struct model *model = chain(5), *large = chain(200);
    assert_int_equal(fault_map_svg(&svg, model, (const size_t[]){1, 3, 99}, 3, NULL), 0);
    assert_int_equal(occurrences(svg.data, "class=\"node op"), 6);
    assert_int_equal(occurrences(svg.data, "▶"), 2);
    assert_null(strstr(svg.data, "factor"));
    str_clear(&svg);
    assert_int_equal(fault_map_svg(&svg, large, (const size_t[]){100}, 1, NULL), 0);
    assert_int_equal(occurrences(svg.data, "class=\"node op"), 7);
    assert_int_equal(occurrences(svg.data, "▶"), 1);
    str_release(&svg);
    model_free(model);
    model_free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_marks_what_is_at_fault),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
