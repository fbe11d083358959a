/*
 * Whether what the generators make is valid: bench_validity [--seed S] [-e ENGINE]
 * [--checker PROGRAM [--only-newer]] [--from INDEX] [--ops A,B] [--types A,B] COUNT.
 *
 * Half of the cases are of one operator, a quarter graphs, a quarter plans over the whole corpus; with --ops
 * or
 * --types, which draw what is drawn on request only, all are of one operator. Each goes
 * through libonnx's checker and strict shape inference, whose types and shapes of all values must be those
 * that the reference computes; what is of a newer opset than libonnx knows goes to the checker of a newer
 * libonnx (tools/check_onnx.cc), with the reference's types and shapes of all values in it, or is counted
 * apart. With an engine each case is loaded and run there; a model that it refuses to load must be of a kind
 * it lacks, or in the known issues of share/known. At the end, the operators and parameters of the table
 * that were met. The last line is
 *
 *     cases N valid N invalid N unchecked N operators N parameters N of N refused N lacking N open N
 * explained N unexplained N
 */
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "engine/onnx_checker.h"
#include "eval/evaluate.h"
#include "findings/known_issues.h"
#include "generate/case_maker.h"
#include "generate/plan.h"
#include "guide/coverage_record.h"
#include "model/build.h"
#include "model/index.h"
#include "model/onnx.h"
#include "trial/trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 256, SHOWN = 20 };

struct bench {
    uint64_t seed, from;
    size_t count;
    const char *engine;
    struct generate_options wish; /* ops and types */
    const char *program;
    bool only_newer; /* opsets that this system's libonnx knows have been checked before */
    struct checker checker;
    struct pool *pool;
    int number; /* of the engine in the pool */
    struct blocks *blocks;
    struct known_issues known;
    struct coverage_record record;
    size_t met[MAX_OPS][COVERAGE_PARAMS]; /* times that a parameter was given */
    size_t left_out[MAX_OPS][COVERAGE_PARAMS];
    size_t nodes[MAX_OPS];
    size_t made, valid, died, newer, invalid, unchecked, by_kind[3];
    size_t refused, lacking, open, explained, unexplained, other;
};

static int make_case(struct bench *b, uint64_t i, struct test_case **c, struct error *err)
{
    struct generate_options options = b->wish;
    uint64_t index = b->from + i;
    options.record = &b->record;
    if (i % 4 < 2 || options.ops || options.types)
        return generate_one(b->seed, index, &options, c, err);
    if (i % 4 == 2)
        return generate_graph(b->seed, index, &options, c, err);
    struct rng root = rng_seed(b->seed), rng = rng_split(&root, index);
    struct plan plan;
    return plan_random(&plan, b->blocks, &rng, 1 + index / 4 % 8, NULL, err) ||
                   generate_plan(b->seed, index, &plan, &options, c, err)
               ? -1
               : 0;
}

static size_t op_number(const struct op *op)
{
    size_t i = 0;
    while (i < op_count() && op_at(i) != op)
        i++;
    return i;
}

static void note_coverage(struct bench *b)
{
    for (size_t i = 0; i < b->record.n_nodes; i++) {
        const struct coverage_node *node = &b->record.nodes[i];
        if (!node->row)
            continue;
        size_t op = op_number(node->row);
        b->nodes[op]++;
        for (size_t k = 0; k < COVERAGE_PARAMS && node->row->params && node->row->params[k].name; k++)
            ++*(node->classes[k] ? &b->met[op][k] : &b->left_out[op][k]);
    }
}

/* ---- libonnx against the reference ---- */

static bool has_no_elements(const Onnx__ValueInfoProto *info)
{
    const Onnx__TensorShapeProto *shape =
        info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type->shape
            : NULL;
    for (size_t i = 0; shape && i < shape->n_dim; i++)
        if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            shape->dim[i]->dim_value == 0)
            return true;
    return false;
}

static bool goes_backwards(const Onnx__GraphProto *graph, const char *steps)
{
    bool backwards = false;
    for (size_t k = 0; k < graph->n_initializer; k++) {
        struct tensor tensor;
        if (strcmp(graph->initializer[k]->name, steps) != 0 ||
            model_tensor_read(graph->initializer[k], &tensor, NULL))
            continue;
        for (size_t i = 0; i < tensor.count; i++)
            backwards |= tensor_get(&tensor, i) < 0;
        tensor_release(&tensor);
    }
    return backwards;
}

static bool slices_nothing_backwards(const Onnx__GraphProto *graph, const Onnx__NodeProto *node)
{
    if (strcmp(node->op_type, "Slice") != 0 || node->n_input < 5 || !goes_backwards(graph, node->input[4]))
        return false;
    for (size_t k = 0; k < graph->n_input; k++)
        if (strcmp(graph->input[k]->name, node->input[0]) == 0)
            return has_no_elements(graph->input[k]);
    for (size_t k = 0; k < graph->n_value_info; k++)
        if (strcmp(graph->value_info[k]->name, node->input[0]) == 0)
            return has_no_elements(graph->value_info[k]);
    return false;
}

/*
 * libonnx 1.12 infers ConvTranspose against the text: with output_shape it forgets batch and channels, with
 * SAME_UPPER and SAME_LOWER it adds output_padding. Everything behind one follows it. libonnx 1.17 reads the
 * axes of Pad as int64 though they may be int32 (found/onnxruntime/pad-axes-int32), and a Slice that
 * goes backwards takes one element from an axis of none.
 */
static bool inference_is_right(const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (strcmp(node->op_type, "ConvTranspose") == 0 || slices_nothing_backwards(graph, node))
            return false;
        for (size_t k = 0; strcmp(node->op_type, "Pad") == 0 && node->n_input > 3 && k < graph->n_initializer;
             k++)
            if (strcmp(graph->initializer[k]->name, node->input[3]) == 0 &&
                graph->initializer[k]->data_type == DTYPE_INT32)
                return false;
    }
    return true;
}

static int compare_value(const Onnx__ValueInfoProto *info, const struct bounded *ours, struct error *err)
{
    const Onnx__TypeProto__Tensor *type =
        info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? info->type->tensor_type
                                                                                    : NULL;
    char text[SHAPE_TEXT_SIZE];
    bool same = type && type->elem_type == (int)ours->type;
    if (same && type->shape)
        same = type->shape->n_dim == (size_t)ours->shape.rank;
    for (size_t k = 0; same && type->shape && k < type->shape->n_dim; k++)
        same = type->shape->dim[k]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ||
               type->shape->dim[k]->dim_value == ours->shape.dims[k];
    return same ? 0
                : error_set(err, ERROR_INVALID, "libonnx infers another type or shape of %s than %s%s",
                            info->name, dtype_name(ours->type), shape_text(&ours->shape, text));
}

/* Every value that libonnx has inferred, against what the reference makes of it. */
static int compare_shapes(const struct test_case *c, const struct model *model, const uint8_t *bytes,
                          size_t size, struct error *err)
{
    struct model *inferred = NULL;
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    const char **names = NULL;
    size_t count = 0, wanted = 0;
    int result = model_parse(&inferred, bytes, size, err);
    if (!result)
        result = evaluator_new(&evaluator, model, NULL, err);
    if (!result) {
        const Onnx__GraphProto *graph = inferred->graph;
        names = memory_zeroed(graph->n_value_info + graph->n_output + 1, sizeof *names);
        for (size_t i = 0; i < graph->n_value_info; i++)
            names[wanted++] = graph->value_info[i]->name;
        for (size_t i = 0; i < graph->n_output; i++)
            names[wanted++] = graph->output[i]->name;
        result = evaluator_run(evaluator, c->inputs, c->n_inputs, names, wanted, &results, &count, err);
        for (size_t i = 0; !result && i < count; i++)
            result = compare_value(i < graph->n_value_info ? graph->value_info[i]
                                                           : graph->output[i - graph->n_value_info],
                                   &results[i], err);
    }
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    free(names);
    evaluator_free(evaluator);
    model_free(inferred);
    return result;
}

/* 0 valid, -1 not, ONNX_UNCHECKABLE. */
static int check_case(const struct test_case *c, struct error *err)
{
    const struct model *model = test_case_model(c, err);
    const uint8_t *bytes;
    uint8_t *inferred = NULL;
    size_t size, inferred_size;
    if (!model || test_case_bytes(c, &bytes, &size, err))
        return -1;
    int result = onnx_check(bytes, size, err);
    if (result)
        return result;
    if (inference_is_right(model)) {
        result = onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, err);
        if (!result)
            result = compare_shapes(c, model, inferred, inferred_size, err);
    }
    free(inferred);
    return result;
}

/* A copy of the model that has every value's type and shape as the reference finds them. */
static int annotate(const struct test_case *c, struct model *model, struct error *err)
{
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    size_t wanted = 0, count = 0, room = 0;
    Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    const char **names = memory_zeroed(room + 1, sizeof *names);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k])
                names[wanted++] = graph->node[i]->output[k];
    int result = evaluator_new(&evaluator, model, NULL, err);
    if (!result)
        result = evaluator_run(evaluator, c->inputs, c->n_inputs, names, wanted, &results, &count, err);
    evaluator_free(evaluator);
    graph->value_info = arena_array(&model->arena, count + 1, sizeof *graph->value_info);
    for (size_t i = 0; i < count; i++) {
        Onnx__TypeProto *type = type_make(&model->arena, results[i].type, &results[i].shape);
        bool output = false;
        for (size_t k = 0; k < graph->n_output; k++)
            output |= strcmp(graph->output[k]->name, names[i]) == 0;
        if (!output)
            graph->value_info[graph->n_value_info++] = value_info_make(&model->arena, names[i], type);
        bounded_release(&results[i]);
    }
    free(results);
    free(names);
    return result;
}

/* libonnx follows the values of shapes, and takes an empty one (Shape with start = end) for a scalar. */
static bool has_empty_shape(const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; strcmp(graph->node[i]->op_type, "Shape") == 0 && k < graph->n_value_info; k++) {
            const Onnx__TensorShapeProto *shape = graph->value_info[k]->type->tensor_type->shape;
            if (strcmp(graph->value_info[k]->name, graph->node[i]->output[0]) == 0 && shape->n_dim == 1 &&
                shape->dim[0]->dim_value == 0)
                return true;
        }
    return false;
}

static int check_newer(struct bench *b, const struct test_case *c, struct error *err)
{
    struct model *model = NULL;
    uint8_t *bytes = NULL;
    size_t size;
    if (!b->checker.program)
        return ONNX_UNCHECKABLE;
    int result = model_clone(&model, test_case_model(c, err), err);
    if (!result)
        result = annotate(c, model, err);
    if (!result)
        result = model_pack(model, &bytes, &size, err);
    if (!result)
        result = onnx_checker_ask(&b->checker, bytes, size,
                                  !inference_is_right(model) ? CHECKER_ALONE
                                  : has_empty_shape(model)   ? CHECKER_FULL
                                                             : CHECKER_VALUES,
                                  err);
    /* libonnx 1.17 dies of Add and Mul on empty shapes, whose values it follows. */
    if (result == -1 && err->code == ERROR_IO) {
        b->died++;
        result = onnx_checker_ask(&b->checker, bytes, size, CHECKER_FULL, err);
    }
    b->newer += result == 0;
    free(bytes);
    model_free(model);
    return result;
}

/* ---- An engine ---- */

/* Integers divided by a constant 0: the text leaves open what comes of it, and the engine refuses to. */
static bool is_open(const struct model *model, const struct settlement *settlement)
{
    const char *op = settlement->count ? model->graph->node[settlement->nodes[0]]->op_type : "";
    return strcmp(op, "Div") == 0 || strcmp(op, "Mod") == 0;
}

/* Where the results are open whatever the engine does, nobody has looked for the part that it refuses. */
static void find_part(struct bench *b, const struct trial_done *done, struct settlement *settlement)
{
    struct settle_case which = {.pool = b->pool, .engine = b->number, .test = done->test};
    struct verdict verdict = done->judgement.verdicts[0];
    struct error err;
    verdict.kind = VERDICT_REJECTED;
    if (settle_refusal(settlement, &which, &verdict, &done->results[0], &err))
        settlement->count = 0;
    settlement->kind = VERDICT_REJECTED;
}

static void note_refusal(struct bench *b, const struct trial_done *done)
{
    const struct verdict *verdict = &done->judgement.verdicts[0];
    struct settlement found = {0}, *settlement = &done->settlements[0];
    const struct model *model = test_case_model(done->test, NULL);
    struct str node;
    if (!model)
        return;
    str_init(&node);
    if (!settlement->count && verdict->kind == VERDICT_OPEN) {
        find_part(b, done, &found);
        settlement = &found;
    }
    enum verdict_kind kind = settlement->count ? settlement->kind : verdict->kind;
    struct verdict judged = *verdict;
    judged.kind = VERDICT_REJECTED; /* also where the reference leaves open whether the model is valid */
    struct finding_facts facts;
    const struct engine_info *info = pool_engine(b->pool, b->number);
    facts_of(&facts, &(struct facts_source){.engine = info->label,
                                            .version = info->version,
                                            .profile = info->profile,
                                            .verdict = &judged,
                                            .settlement = settlement,
                                            .result = &done->results[0],
                                            .test = done->test});
    facts_nodes_text(&node, &facts);
    const char *text = settlement->count ? settlement->text : verdict->text;
    struct known_issue *issue = known_find(&b->known, &facts);
    facts_release(&facts);
    if (issue) {
        b->explained++;
        issue->met++;
    } else if (verdict->kind == VERDICT_OPEN && is_open(model, settlement)) {
        b->open++;
    } else if (b->unexplained++ < SHOWN) {
        printf("refused: %s\n  %s\n  %s\n  %s\n", verdict_name(kind), node.data, text, done->test->recipe);
    }
    str_release(&node);
    settlement_release(&found);
}

static void take(struct bench *b, struct trial_done *done)
{
    const struct result *r = &done->results[0];
    if (r->outcome == OUTCOME_UNSUPPORTED) {
        b->refused++;
        b->lacking++;
    } else if (r->outcome != OUTCOME_OK && r->stage <= STAGE_LOAD) {
        b->refused++;
        note_refusal(b, done);
    } else if (verdict_is_finding(done->judgement.verdicts[0].kind)) {
        b->other++;
    }
    trial_done_release(done);
}

/* ---- All of it ---- */

static int ended(const struct error *err)
{
    fprintf(stderr, "ended early: %s\n", err->message);
    return -1;
}

static int one_case(struct bench *b, uint64_t i, struct trials *trials)
{
    struct test_case *c;
    struct error err = {0};
    if (make_case(b, i, &c, &err)) {
        if (err.code ==
            ERROR_NOT_FOUND) /* blocks of which nothing fits, where a campaign draws the next case */
            return 0;
        fprintf(stderr, "case %llu is not made: %s\n", (unsigned long long)i, err.message);
        return -1;
    }
    b->made++;
    bool on_request = b->wish.ops || b->wish.types;
    b->by_kind[on_request || i % 4 < 2 ? 0 : i % 4 - 1]++;
    note_coverage(b);
    /* Of what newer releases brought, an older libonnx of the same opset has mistakes that were mended since.
     */
    bool known = model_opset(test_case_model(c, NULL)) <= onnx_max_opset();
    int result = on_request && b->program ? ONNX_UNCHECKABLE
                 : b->only_newer && known ? 0
                                          : check_case(c, &err);
    if (result == ONNX_UNCHECKABLE)
        result = check_newer(b, c, &err);
    if (result == -1 && b->invalid < SHOWN)
        printf("invalid: %s\n  %s\n", err.message, c->recipe);
    b->valid += result == 0;
    b->invalid += result == -1;
    b->unchecked += result == ONNX_UNCHECKABLE;
    if (trials)
        return trials_submit(trials, c, NULL, &err) ? ended(&err) : 0;
    test_case_free(c);
    return 0;
}

static int run_cases(struct bench *b, struct trials *trials)
{
    struct progress progress;
    struct trial_done done;
    struct error err = {0};
    progress_begin(&progress, "cases", b->count);
    for (uint64_t i = 0; i < b->count; i++) {
        while (trials && !trials_room(trials)) {
            if (trials_next(trials, &done, &err) != 1)
                return ended(&err);
            take(b, &done);
        }
        if (one_case(b, i, trials))
            return -1;
        progress_step(&progress, i + 1);
    }
    while (trials && trials_pending(trials)) {
        if (trials_next(trials, &done, &err) != 1)
            return ended(&err);
        take(b, &done);
    }
    progress_end(&progress);
    return 0;
}

static void print_coverage(const struct bench *b, size_t *operators, size_t *met, size_t *params)
{
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        *operators += b->nodes[i] > 0;
        if (!options_allow(&b->wish, op)) /* drawn on request only */
            continue;
        if (op->sample && !b->nodes[i])
            printf("never drawn: %s\n", op->name);
        for (size_t k = 0; op->sample && op->params && op->params[k].name && k < COVERAGE_PARAMS; k++) {
            if (op->params[k].since > OPSET_LAST && !b->met[i][k]) /* drawn on request only */
                continue;
            ++*params;
            *met += b->met[i][k] > 0;
            if (!b->met[i][k])
                printf("never given: %s of %s\n", op->params[k].name, op->name);
        }
    }
}

static int finish(const struct bench *b)
{
    size_t operators = 0, met = 0, params = 0;
    print_coverage(b, &operators, &met, &params);
    for (size_t i = 0; i < b->known.count; i++)
        if (b->known.items[i].met)
            printf("explained %zu: %s\n", b->known.items[i].met, known_document(&b->known.items[i]));
    printf("one operator %zu, graphs %zu, plans %zu; checked by the newer libonnx %zu, which died of %zu; "
           "findings of other "
           "kinds %zu\n",
           b->by_kind[0], b->by_kind[1], b->by_kind[2], b->newer, b->died, b->other);
    printf("cases %zu valid %zu invalid %zu unchecked %zu operators %zu parameters %zu of %zu refused %zu "
           "lacking %zu "
           "open %zu explained %zu unexplained %zu\n",
           b->made, b->valid, b->invalid, b->unchecked, operators, met, params, b->refused, b->lacking,
           b->open, b->explained, b->unexplained);
    bool on_request = b->wish.ops || b->wish.types;
    return b->invalid || b->unexplained || (!on_request && met < params);
}

static dtype_set read_types(char *text)
{
    dtype_set set = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
        set |= DTYPE_BIT(dtype_from_name(word));
    return set;
}

static int read_options(struct bench *b, int argc, char **argv, struct error *err)
{
    static const struct option options[] = {{"checker", 1, NULL, 'c'}, {"only-newer", 0, NULL, 'n'},
                                            {"seed", 1, NULL, 's'},    {"engine", 1, NULL, 'e'},
                                            {"from", 1, NULL, 'F'},    {"ops", 1, NULL, 'o'},
                                            {"types", 1, NULL, 't'},   {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "e:", options, NULL)) != -1) {
        if (c == 's')
            b->seed = strtoull(optarg, NULL, 10);
        else if (c == 'F')
            b->from = strtoull(optarg, NULL, 10);
        else if (c == 'e')
            b->engine = optarg;
        else if (c == 'o')
            b->wish.ops = optarg;
        else if (c == 't')
            b->wish.types = read_types(optarg);
        else if (c == 'n')
            b->only_newer = true;
        else if (c == 'c')
            b->program = optarg;
        else
            return -1;
    }
    b->count = optind < argc ? strtoull(argv[optind], NULL, 10) : 0;
    return b->count ? 0 : error_set(err, ERROR_USAGE, "see the head of bench/programs/validity.c");
}

static int add_engine(struct registry *registry, struct pool *pool, const char *label, struct error *err)
{
    const struct engine_spec *spec;
    return registry_find(registry, given_typed(registry_arena(registry), label), &spec, err)
               ? -1
               : pool_add(pool, spec);
}

int main(int argc, char **argv)
{
    struct bench *b = memory_zeroed(1, sizeof *b);
    struct registry *registry = NULL;
    struct pool *pool = NULL;
    struct panel panel;
    struct trials *trials = NULL;
    struct error err = {0};
    b->seed = 1;
    b->blocks = blocks_new();
    coverage_record_init(&b->record);
    if (read_options(b, argc, argv, &err) || known_open(&b->known, &(struct known_files){0}, &err) ||
        (b->program && onnx_checker_start(&b->checker, b->program, &err)) ||
        blocks_add_builtin(b->blocks, &err) || registry_open(&registry, NULL, 0, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    if (b->engine) {
        struct pool_options pool_options = {.deadline = 10};
        pool = pool_new(&pool_options);
        int reference = add_engine(registry, pool, "reference", &err),
            engine = add_engine(registry, pool, b->engine, &err);
        if (reference < 0 || engine < 0) {
            fprintf(stderr, "%s\n", err.message);
            return 2;
        }
        b->pool = pool;
        b->number = engine;
        panel = (struct panel){.pool = pool, .count = 1, .engines = &b->number, .reference = reference};
        trials = trials_new(&(struct trial_options){.panel = &panel, .settle = true});
    }
    int status = run_cases(b, trials);
    if (trials)
        trials_free(trials);
    pool_free(pool);
    registry_free(registry);
    int bad = finish(b);
    onnx_checker_stop(&b->checker);
    blocks_free(b->blocks);
    coverage_record_release(&b->record);
    known_release(&b->known);
    free(b);
    return status ? 2 : bad;
}
