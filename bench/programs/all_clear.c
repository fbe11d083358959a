/*
 * Whether an all-clear is earned.
 *
 *     bench_all_clear healthy SEED COUNT ENGINE...
 *     bench_all_clear hidden SEED COUNT SAMPLES.npy MODEL.onnx...
 *
 * healthy: COUNT generated graphs on each engine, judged as `compare` judges a sample: outputs, then every
 * operator. One line for each wrong answer that no known issue explains; then
 *
 *     comparisons N findings N explained N hidden N unexplained N complete N
 *
 * hidden: findings of the operators where the outputs agree; complete: every operator was judged.
 *
 * hidden: each planted fault of the reference in models that hide it. A base is a model of the zoo, one of
 * COUNT generated graphs, or a generated node of the fault's operators; the node at fault is the first whose
 * value differs from the healthy reference's where all values are shown, and the fault counts where that
 * value is outside its bound. The base's first output of numbers then gets each of twelve ends that leave
 * nothing of an error in it (hiding_ends.h), and the sample is judged as above. One line for each fault:
 *
 *     FAULT  BASE  OPERATOR  tried N hidden N named N cleared N
 *
 * tried: ends with which the engine answers; hidden: those whose outputs agree with the reference; named:
 * those on which the engine is called wrong with that node, or another one that the fault is in, named;
 * cleared: those on which it is called right.
 */
#include "hiding_ends.h"
#include "judged_sample.h"
#include "planted.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "findings/known_issues.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "model/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_NODE ((size_t)-1)

enum { DRAWS = 40 }; /* of one node, until a fault shows */

/* Engines that are right, as far as is known. */
struct tally {
    size_t comparisons, findings, explained, hidden, unexplained, complete;
};

static void count_verdict(struct tally *tally, const struct engine_verdict *overall, const char *label,
                          bool hidden, const char *recipe)
{
    struct str sentence;
    tally->comparisons++;
    tally->complete += overall->evidence.complete;
    /* An engine that refuses or crashes gave no answer that could be cleared. */
    if (!verdict_is(overall->verdict.kind, CLASS_WRONG_ANSWER))
        return;
    tally->findings++;
    tally->hidden += hidden;
    tally->explained += overall->known != NULL;
    if (overall->known)
        return;
    tally->unexplained++;
    str_init(&sentence);
    engine_verdict_sentence(overall, &sentence);
    printf("%s%s %s\n    %s\n", hidden ? "hidden: " : "", label, sentence.data, recipe);
    str_release(&sentence);
}

static int healthy(uint64_t seed, size_t count, const char *const *labels, size_t n_engines)
{
    struct registry *registry;
    struct panel panel;
    struct known_issues known;
    struct tally tally = {0};
    struct error err = {0};
    if (registry_open(&registry, NULL, 0, &err) ||
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), labels, n_engines),
                   &(struct pool_options){.deadline = 60}, &err) ||
        panel_add_reference(&panel, registry, &err) || known_open(&known, &(struct known_files){0}, &err))
        planted_die("engines", &err);
    bool *hidden = memory_zeroed(n_engines, sizeof *hidden);
    struct generate_options options = {.min_nodes = 2, .max_nodes = 16};
    for (uint64_t index = 0; index < count; index++) {
        struct test_case *test;
        struct arena arena;
        struct sample_verdicts verdicts;
        if (generate_graph(seed, index, &options, &test, &err))
            planted_die("graph", &err);
        arena_init(&arena);
        sample_verdicts_init(&verdicts, &arena, &panel);
        verdicts.look_up = known_look_up;
        verdicts.known = &known;
        judge_sample(&verdicts, &panel, test, hidden);
        for (size_t i = 0; i < n_engines; i++)
            count_verdict(&tally, &verdicts.engine[i], labels[i], hidden[i], test->recipe);
        sample_verdicts_release(&verdicts);
        arena_release(&arena);
        test_case_free(test);
        fflush(stdout);
    }
    printf("comparisons %zu findings %zu explained %zu hidden %zu unexplained %zu complete %zu\n",
           tally.comparisons, tally.findings, tally.explained, tally.hidden, tally.unexplained,
           tally.complete);
    free(hidden);
    known_release(&known);
    panel_close(&panel);
    registry_free(registry);
    return tally.unexplained ? 1 : 0;
}

/* What is known of a fault in a base. */
struct place {
    const struct test_case *base;
    char *node, *operator;
    char output[200]; /* the first output of numbers, floating-point ones before others */
    enum dtype type;
    int64_t count; /* its elements */
};

/* The model with all values shown, or with those of one node. */
static struct test_case *show(const struct test_case *base, const struct model_index *index, size_t node)
{
    struct error err = {0};
    struct model *shown;
    const char **names = memory_zeroed(index->count, sizeof *names);
    size_t count = 0;
    if (model_clone(&shown, index->model, &err))
        planted_die("model", &err);
    for (size_t i = 0; i < index->count; i++)
        if (index->values[i].source == SOURCE_NODE && (node == EVERY_NODE || index->values[i].number == node))
            names[count++] = index->values[i].name;
    if (model_expose(shown, names, count, &err))
        planted_die("model", &err);
    free(names);
    struct test_case *test = test_case_new(shown);
    if (test_case_add_inputs(test, base->inputs, base->n_inputs, &err))
        planted_die("inputs", &err);
    return test;
}

static const struct tensor *value_of(const struct result *result, const struct test_case *test,
                                     const char *name)
{
    for (size_t i = 0; i < result->count; i++)
        if (text_equal(result->outputs[i].name, name) && result->outputs[i].kind == VALUE_TENSOR)
            return &result->outputs[i].tensors[0];
    for (size_t i = 0; i < test->n_inputs; i++)
        if (text_equal(test->inputs[i].name, name) && test->inputs[i].kind == VALUE_TENSOR)
            return &test->inputs[i].tensors[0];
    return NULL;
}

/* Whether the faulty value of a node is outside the node's bound on the inputs that both engines gave it. */
static bool is_outside(const struct test_case *base, const struct model_index *index, size_t number,
                       const struct result *sane, const struct result *faulty)
{
    const Onnx__NodeProto *node = index->model->graph->node[number];
    const struct tensor **inputs = memory_zeroed(node->n_input, sizeof *inputs);
    struct tensor *weights = memory_zeroed(node->n_input, sizeof *weights);
    struct bounded *expected = memory_zeroed(node->n_output, sizeof *expected);
    struct verdict verdict = {.kind = VERDICT_AGREES};
    bool known = true, outside = false;
    for (size_t i = 0; i < node->n_input && known; i++) {
        const struct index_value *value = *node->input[i] ? model_index_find(index, node->input[i]) : NULL;
        if (value && value->source == SOURCE_INITIALIZER &&
            !model_weight(index->model, value->number, &weights[i], NULL))
            inputs[i] = &weights[i];
        else if (value)
            inputs[i] = value_of(sane, base, node->input[i]);
        known = !value || inputs[i];
    }
    if (known &&
        !evaluate_node(index->model, node, inputs, NULL, 0, NULL, NULL, expected, node->n_output, NULL)) {
        for (size_t i = 0; i < node->n_output; i++) {
            const struct tensor *got = *node->output[i] ? value_of(faulty, base, node->output[i]) : NULL;
            struct value view = got ? value_view(NULL, got) : (struct value){0};
            if (got && expected[i].type != DTYPE_NONE)
                verdict_output(&verdict, i, &expected[i], &view);
        }
        outside = verdict_is_finding(verdict.kind);
    }
    for (size_t i = 0; i < node->n_output; i++)
        bounded_release(&expected[i]);
    for (size_t i = 0; i < node->n_input; i++)
        tensor_release(&weights[i]);
    free(expected);
    free(weights);
    free(inputs);
    return outside;
}

/* The first node whose value differs; n_node: none does. */
static size_t first_difference(const struct model_index *index, const struct result *a,
                               const struct result *b, const struct test_case *base)
{
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        const Onnx__NodeProto *node = index->model->graph->node[index->order[p]];
        for (size_t i = 0; i < node->n_output; i++) {
            const struct tensor *x = value_of(a, base, node->output[i]),
                                *y = value_of(b, base, node->output[i]);
            if (x && y && !tensor_identical(x, y))
                return index->order[p];
        }
    }
    return index->model->graph->n_node;
}

/* Whether an end can stand behind it. */
static bool is_fit(const struct tensor *tensor, bool floating)
{
    bool single = tensor && tensor->type == DTYPE_FLOAT;
    bool other = tensor && (tensor->type == DTYPE_BOOL || dtype_is_float(tensor->type) ||
                            dtype_is_integer(tensor->type));
    return (floating ? single : other) && tensor->count >= 2 && tensor->count <= 4096;
}

static bool find_output(struct place *place, const struct model_index *index, const struct result *sane)
{
    const Onnx__GraphProto *graph = index->model->graph;
    for (size_t i = 0; i < 2 * graph->n_output; i++) {
        const char *name = graph->output[i % graph->n_output]->name;
        const struct tensor *tensor = value_of(sane, place->base, name);
        if (!is_fit(tensor, i < graph->n_output))
            continue;
        snprintf(place->output, sizeof place->output, "%s", name);
        place->type = tensor->type;
        place->count = (int64_t)tensor->count;
        return true;
    }
    return false;
}

/* The node that is at fault where this node's values are shown, or all; n_node: none. */
static size_t faulty_node(struct planted *planted, const struct test_case *base,
                          const struct model_index *index, size_t shown_node, struct place *place)
{
    struct result sane, faulty, all;
    struct test_case *shown = show(base, index, shown_node), *every = show(base, index, EVERY_NODE);
    size_t none = index->model->graph->n_node, number = none;
    run_case(planted->pool, HEALTHY, every, false, &all);
    run_case(planted->pool, HEALTHY, shown, false, &sane);
    run_case(planted->pool, FAULTY, shown, false, &faulty);
    if (all.outcome == OUTCOME_OK && sane.outcome == OUTCOME_OK && faulty.outcome == OUTCOME_OK)
        number = first_difference(index, &sane, &faulty, base);
    if (number < none &&
        !(find_output(place, index, &sane) && is_outside(base, index, number, &all, &faulty)))
        number = none;
    result_release(&all);
    result_release(&sane);
    result_release(&faulty);
    test_case_free(shown);
    test_case_free(every);
    return number;
}

/* Finds out whether the fault shows in the base, and where: also when nothing but that node is shown. */
static bool find_place(struct planted *planted, const struct test_case *base, struct place *place)
{
    struct model_index index;
    const struct model *model = test_case_model(base, NULL);
    if (!model || model_index_init(&index, model, NULL))
        return false;
    *place = (struct place){.base = base};
    size_t number = faulty_node(planted, base, &index, EVERY_NODE, place);
    bool found = number < model->graph->n_node &&
                 (text_equal(planted->operators, "any") ||
                  planted_is_among(op_title(model->graph->node[number]), planted->operators)) &&
                 faulty_node(planted, base, &index, number, place) == number;
    if (found) {
        place->node = memory_strdup(model_node_name(model->graph->node[number]));
        place->operator= memory_strdup(op_title(model->graph->node[number]));
    }
    model_index_release(&index);
    return found;
}

/* The base with an end in place of its outputs. */
static struct test_case *hide(const struct place *place, const struct hiding_end *end)
{
    struct error err = {0};
    struct model *model;
    struct tensor shape;
    if (model_clone(&model, test_case_model(place->base, NULL), &err) ||
        tensor_alloc(&shape, DTYPE_INT64, &(struct shape){1, {2}}, 0, &err))
        planted_die("model", &err);
    tensor_set(&shape, 0, 1);
    tensor_set(&shape, 1, -1);
    model_add_initializer(model, "end_shape", &shape);
    tensor_release(&shape);
    const char *flat = "end_flat", *out = "end_out", *from = place->output, *single = "end_float";
    if (place->type != DTYPE_FLOAT) {
        Onnx__NodeProto *cast = model_add_node(model, "Cast", "end_cast", 1, &from, 1, &single);
        node_set_int(&model->arena, cast, "to", DTYPE_FLOAT);
        from = single;
    }
    model_add_node(model, "Reshape", "end_reshape", 2, (const char *[]){from, "end_shape"}, 1, &flat);
    end->add(model, "end_flat", "end_out", place->count);
    model->graph->n_output = 0;
    struct shape open = {2, {-1, -1}};
    model_add_output(model, out, end->type, &open);
    struct test_case *test = test_case_new(model);
    if (test_case_add_inputs(test, place->base->inputs, place->base->n_inputs, &err))
        planted_die("inputs", &err);
    return test;
}

/* Whether that node is blamed, or another one that the fault is in: the ends have some. */
static bool names(const struct planted *planted, const struct engine_verdict *overall, const char *node)
{
    for (size_t i = 0; i < overall->n_nodes; i++)
        if (text_equal(overall->nodes[i], node) || text_equal(planted->operators, "any") ||
            planted_is_among(overall->operators[i], planted->operators))
            return true;
    return false;
}

struct score {
    size_t faults, tried, hidden, named, cleared;
};

static void try_ends(struct planted *planted, const char *fault, const char *base, const struct place *place,
                     struct score *score)
{
    int faulty = FAULTY;
    struct panel panel = {.pool = planted->pool, .count = 1, .engines = &faulty, .reference = SECOND};
    size_t tried = 0, hidden = 0, named = 0, cleared = 0;
    for (size_t i = 0; i < HIDING_ENDS; i++) {
        struct test_case *test = hide(place, &hiding_ends[i]);
        struct arena arena;
        struct sample_verdicts verdicts;
        bool agrees = false;
        arena_init(&arena);
        sample_verdicts_init(&verdicts, &arena, &panel);
        bool answered = judge_sample(&verdicts, &panel, test, &agrees);
        const struct engine_verdict *overall = &verdicts.engine[0];
        bool right = verdict_is_finding(overall->verdict.kind) && names(planted, overall, place->node);
        tried += answered;
        hidden += answered && agrees;
        named += answered && right;
        cleared += answered && !right && verdict_is(overall->verdict.kind, CLASS_AGREES) &&
                   overall->evidence.complete;
        if (answered && !right) {
            struct str sentence;
            str_init(&sentence);
            engine_verdict_sentence(overall, &sentence);
            printf("  missed: %s in %s before %s, %s %s: %s\n", fault, base, hiding_ends[i].name,
                   place->operator, place->node, sentence.data);
            str_release(&sentence);
        }
        sample_verdicts_release(&verdicts);
        arena_release(&arena);
        test_case_free(test);
    }
    printf("%-24s %-12s %-24s tried %zu hidden %zu named %zu cleared %zu\n", fault, base, place->operator,
           tried, hidden, named, cleared);
    fflush(stdout);
    score->faults++;
    score->tried += tried;
    score->hidden += hidden;
    score->named += named;
    score->cleared += cleared;
}

/* The bases that all faults share. */
struct bases {
    size_t n_zoo, n_graphs;
    struct test_case **zoo, **graphs;
    char **names;
};

static void place_free(struct place *place)
{
    free(place->node);
    free(place->operator);
}

static bool has_operator(const struct test_case *base, const char *operators)
{
    const struct model *model = test_case_model(base, NULL);
    struct subject subject = {.model = (struct model *)model};
    return text_equal(operators, "any") || planted_concerns(&subject, operators);
}

/* Tries bases in turn until the fault shows in one. */
static bool try_bases(struct planted *planted, const struct planted_row *row, struct test_case **bases,
                      size_t count, char **base_names, struct score *score)
{
    for (size_t i = 0; i < count; i++) {
        struct place place;
        if (!has_operator(bases[i], row->operators) || !find_place(planted, bases[i], &place))
            continue;
        try_ends(planted, row->name, base_names ? base_names[i] : "graph", &place, score);
        place_free(&place);
        return true;
    }
    return false;
}

static bool try_single(struct planted *planted, const struct planted_row *row, struct score *score)
{
    struct str list;
    bool found = false;
    str_init(&list);
    str_add(&list, row->operators);
    for (size_t i = 0; i < list.length; i++)
        list.data[i] = list.data[i] == '|' ? ',' : list.data[i];
    struct generate_options options = {.ops = text_equal(row->operators, "any") ? NULL : list.data};
    for (uint64_t index = 0; index < DRAWS && !found; index++) {
        struct test_case *test;
        struct place place;
        if (generate_one(7, index, &options, &test, NULL))
            continue;
        found = find_place(planted, test, &place);
        if (found) {
            try_ends(planted, row->name, "node", &place, score);
            place_free(&place);
        }
        test_case_free(test);
    }
    str_release(&list);
    return found;
}

static void open_bases(struct bases *bases, uint64_t seed, size_t count, struct planted *planted,
                       char **paths, size_t n_paths)
{
    struct error err = {0};
    struct generate_options options = {.min_nodes = 3, .max_nodes = 10};
    bases->zoo = memory_zeroed(n_paths, sizeof *bases->zoo);
    bases->names = memory_zeroed(n_paths, sizeof *bases->names);
    bases->graphs = memory_zeroed(count, sizeof *bases->graphs);
    for (size_t i = 0; i < n_paths; i++) {
        struct model *model;
        if (model_load(&model, paths[i], &err))
            planted_die(paths[i], &err);
        struct value input = value_view(model->graph->input[0]->name, &planted->sets[0]);
        const char *slash = strrchr(paths[i], '/');
        bases->names[i] = memory_strdup(slash ? slash + 1 : paths[i]);
        bases->names[i][strcspn(bases->names[i], ".")] = '\0';
        bases->zoo[bases->n_zoo++] = test_case_new(model);
        if (test_case_add_inputs(bases->zoo[i], &input, 1, &err))
            planted_die(paths[i], &err);
    }
    for (uint64_t i = 0; i < count; i++)
        if (!generate_graph(seed, i, &options, &bases->graphs[bases->n_graphs], &err))
            bases->n_graphs++;
}

static int hidden_faults(uint64_t seed, size_t count, const char *samples, char **paths, size_t n_paths)
{
    struct planted planted = {0};
    struct bases bases = {0};
    struct score score = {0};
    struct error err = {0};
    size_t n_rows, unseen = 0;
    if (registry_open(&planted.registry, NULL, 0, &err))
        planted_die("engines", &err);
    planted_samples(&planted, samples);
    open_bases(&bases, seed, count, &planted, paths, n_paths);
    struct planted_row *rows = planted_all_rows(&planted, &n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        planted_open(&planted, &rows[i], NULL);
        bool zoo = try_bases(&planted, &rows[i], bases.zoo, bases.n_zoo, bases.names, &score);
        bool graph = try_bases(&planted, &rows[i], bases.graphs, bases.n_graphs, NULL, &score);
        bool node = try_single(&planted, &rows[i], &score);
        unseen += !zoo && !graph && !node;
        if (!zoo && !graph && !node)
            printf("%-24s shows in no base, or ends the engine\n", rows[i].name);
        planted_close(&planted);
    }
    printf("faults %zu unseen %zu places %zu tried %zu hidden %zu named %zu cleared %zu\n", n_rows - unseen,
           unseen, score.faults, score.tried, score.hidden, score.named, score.cleared);
    return score.cleared ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && text_equal(argv[1], "healthy"))
        return healthy(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                       (const char *const *)argv + 4, (size_t)argc - 4);
    if (argc > 4 && text_equal(argv[1], "hidden"))
        return hidden_faults(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4], argv + 5,
                             (size_t)argc - 5);
    fprintf(stderr, "usage: bench_all_clear healthy SEED COUNT ENGINE... | "
                    "hidden SEED COUNT SAMPLES.npy MODEL.onnx...\n");
    return 2;
}
