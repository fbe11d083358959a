#include "search/variant.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/onnx.h"
#include "model/valid.h"
#include "search/illegal_value.h"
#include "search/refit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 3, TRIES = 8 };

struct site {
    size_t node, param; /* numbers in the graph and in `params` */
};

struct variant_seed {
    struct test_case *origin;
    struct model *model; /* the original with constants as initialisers */
    struct value_types types;
    bool varies; /* some parameter does */
    size_t n_params, params_capacity, n_sites, sites_capacity;
    struct variant_param *params;
    struct site *sites;
};

/* --- A working copy --- */

/* Does nothing for one that was not set up. */
static void work_free(struct rewrite *work)
{
    if (!work->index.model)
        return;
    model_free(work->model);
    values_free(work->inputs, work->n_inputs);
    model_index_release(&work->index);
    value_types_release(&work->types);
    *work = (struct rewrite){.n_inputs = 0};
}

static int work_init(struct rewrite *work, const struct model *model, const struct test_case *origin,
                     struct error *err)
{
    int result = 0;
    *work = (struct rewrite){.n_inputs = 0};
    struct model *copy;
    if (model_clone(&copy, model, err))
        return -1;
    if (model_index_init(&work->index, copy, err)) {
        model_free(copy);
        *work = (struct rewrite){.n_inputs = 0};
        return -1;
    }
    work->model = copy;
    work->inputs = memory_zeroed(origin->n_inputs + 1, sizeof *work->inputs);
    for (; !result && work->n_inputs < origin->n_inputs; work->n_inputs++)
        result = value_copy(&work->inputs[work->n_inputs], &origin->inputs[work->n_inputs], err);
    value_types_init_for(&work->types, work->model, work->inputs, work->n_inputs);
    if (result)
        work_free(work);
    return result;
}

/* Constant nodes become initialisers, so that there is one kind of constants only. */
static int gather_constants(struct rewrite *work, struct error *err)
{
    Onnx__GraphProto *graph = work->model->graph;
    for (size_t i = graph->n_node; i-- > 0;) {
        Onnx__NodeProto *node = graph->node[i];
        const Onnx__TensorProto *value = node_is_constant(node) ? node_tensor(node, "value") : NULL;
        struct tensor tensor;
        if (!value || node->n_output != 1 || work->model->proto->ir_version < MODEL_IR_FREE_INITIALIZERS)
            continue;
        if (model_tensor_read(value, &tensor, err))
            return -1;
        model_add_initializer(work->model, node->output[0], &tensor);
        tensor_release(&tensor);
        rewrite_remove(work, node);
    }
    return refit_refresh(work, err);
}

/* --- The seed --- */

static size_t number_of_param(struct variant_seed *seed, const struct op *op, const struct op_param *param)
{
    size_t i = 0;
    while (i < seed->n_params && !(seed->params[i].op == op && seed->params[i].param == param))
        i++;
    if (i == seed->n_params) {
        seed->params = memory_grow(seed->params, &seed->params_capacity, i + 1, sizeof *seed->params);
        seed->params[seed->n_params++] = (struct variant_param){.op = op, .param = param};
    }
    return i;
}

/* Of the table or, for sizes, near the present one. */
static bool has_legal_values(const Onnx__NodeProto *node, const struct op_param *param)
{
    bool number = param->kind == PARAM_INT || param->kind == PARAM_INTS;
    return param->legal || (number && node_attribute(node, param->name));
}

static void find_sites(struct variant_seed *seed, const struct rewrite *work)
{
    const Onnx__GraphProto *graph = work->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        bool standard = !*node->domain || text_equal(node->domain, "ai.onnx");
        const struct op *op = standard ? op_of(node) : NULL;
        for (const struct op_param *p = op ? op->params : NULL; p && p->name; p++) {
            if (!can_set_param(work, node, p))
                continue;
            size_t param = number_of_param(seed, op, p);
            seed->params[param].sites++;
            seed->params[param].varies |= has_legal_values(node, p);
            seed->varies |= seed->params[param].varies;
            seed->sites =
                memory_grow(seed->sites, &seed->sites_capacity, seed->n_sites + 1, sizeof *seed->sites);
            seed->sites[seed->n_sites++] = (struct site){i, param};
        }
    }
}

int variant_seed_new(struct variant_seed **out, struct test_case *origin, struct error *err)
{
    struct rewrite work;
    *out = NULL;
    const struct model *model = test_case_model(origin, err);
    if (!model || work_init(&work, model, origin, err))
        return -1;
    if (gather_constants(&work, err)) {
        work_free(&work);
        return -1;
    }
    struct variant_seed *seed = memory_zeroed(1, sizeof *seed);
    seed->origin = test_case_share(origin);
    find_sites(seed, &work);
    seed->model = work.model;
    seed->types = work.types;
    model_index_release(&work.index);
    values_free(work.inputs, work.n_inputs);
    *out = seed;
    if (seed->n_sites)
        return 0;
    variant_seed_free(seed);
    *out = NULL;
    return error_set(err, ERROR_NOT_FOUND, "no node of the model has a parameter that can be changed");
}

void variant_seed_free(struct variant_seed *seed)
{
    if (!seed)
        return;
    value_types_release(&seed->types);
    model_free(seed->model);
    test_case_free(seed->origin);
    free(seed->params);
    free(seed->sites);
    free(seed);
}

size_t variant_params(const struct variant_seed *seed, const struct variant_param **params)
{
    *params = seed->params;
    return seed->n_params;
}

/* Each parameter of an operator is as likely as any other, however many nodes have it. */
static struct site draw_site(const struct variant_seed *seed, struct rng *rng, bool legal)
{
    size_t param;
    do
        param = (size_t)rng_below(rng, seed->n_params);
    while (legal && !seed->params[param].varies);
    uint64_t skip = rng_below(rng, seed->params[param].sites);
    size_t i = 0;
    while (seed->sites[i].param != param || skip--)
        i++;
    return seed->sites[i];
}

/* --- Legal --- */

/* A value near the present one, for parameters of which the table names no values: sizes. */
static bool draw_near(struct rng *rng, const Onnx__NodeProto *node, const struct op_param *param,
                      char word[PARAM_WORD])
{
    const Onnx__AttributeProto *old = param->kind == PARAM_INPUT ? NULL : node_attribute(node, param->name);
    bool list = old && old->n_ints;
    size_t count = list ? old->n_ints : 1, one = (size_t)rng_below(rng, count), length = 0;
    uint64_t how = rng_below(rng, 4);
    bool all = rng_chance(rng, 0.6);
    if (!old || (param->kind != PARAM_INT && param->kind != PARAM_INTS) || count > PARAM_LIST)
        return false;
    for (size_t i = 0; i < count; i++) {
        int64_t value = list ? old->ints[i] : old->i;
        if (value < 1 || value > 1 << 20)
            return false;
        int64_t near[] = {value + 1, value > 1 ? value - 1 : 1, value * 2, value > 1 ? value / 2 : 1};
        length += (size_t)snprintf(word + length, PARAM_WORD - length, "%s%lld", i ? "," : "",
                                   (long long)(all || i == one ? near[how] : value));
        if (length >= PARAM_WORD - 24)
            return false;
    }
    return true;
}

/* ONNX: pads "cannot be used simultaneously with auto_pad". Whichever of the two is set, the other goes. */
static void part_paddings(Onnx__NodeProto *node, const struct op_param *param)
{
    const char *word;
    size_t size;
    static const char none[] = "NOTSET";
    bool given = node_string(node, "auto_pad", &word, &size) && size;
    bool automatic = given && !(size == sizeof none - 1 && memcmp(word, none, size) == 0);
    if (automatic && text_equal(param->name, "auto_pad"))
        node_remove_attribute(node, "pads");
    else if (automatic && text_equal(param->name, "pads"))
        node_remove_attribute(node, "auto_pad");
}

/* A legal value that is not the present one, set. */
static int change_legally(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param,
                          struct rng *rng, struct str *note, struct error *err)
{
    struct str before, after;
    char word[PARAM_WORD];
    int result = -1;
    str_init(&before);
    str_init(&after);
    show_param(work, node, param, &before);
    for (int i = 0; i < TRIES && result; i++) {
        bool drawn = param->legal ? param_draw(rng, param->legal, param->kind == PARAM_FLOAT, word)
                                  : draw_near(rng, node, param, word);
        if (!drawn || set_param(work, node, param, false, rng, word, err) || refit_refresh(work, err))
            break;
        part_paddings(node, param);
        str_clear(&after);
        show_param(work, node, param, &after);
        result = text_equal(before.data, after.data) ? -1 : 0;
    }
    if (result)
        error_set(err, ERROR_NOT_FOUND, "no other legal value of %s was drawn", param->name);
    else
        str_printf(note, "%s%s %.60s: %s %s -> %s", note->length ? "; " : "", op_title(node),
                   model_node_name(node), param->name, before.data, after.data);
    str_release(&before);
    str_release(&after);
    return result;
}

static int run_reference(const struct rewrite *work, struct error *err)
{
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    struct evaluate_options options = {0};
    size_t count = 0;
    int result = evaluator_new(&evaluator, work->model, &options, err);
    if (!result)
        result = evaluator_run(evaluator, work->inputs, work->n_inputs, NULL, 0, &results, &count, err);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return result;
}

/* What libonnx's inference says against the model; a crash of libonnx says nothing. */
static int infer_strictly(const struct model *model, struct error *err)
{
    uint8_t *bytes = NULL, *inferred = NULL;
    size_t size, inferred_size;
    struct error why = {0};
    int result = model_pack_thin(model, &bytes, &size, &why);
    if (!result)
        result = onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, &why);
    free(inferred);
    free(bytes);
    return result < 0 && why.code == ERROR_INVALID ? error_set(err, ERROR_NOT_FOUND, "%s", why.message) : 0;
}

static int accepted_by_all(const struct rewrite *work, bool complete, struct error *err)
{
    struct error why = {0};
    if ((!complete && run_reference(work, &why)) || model_valid(work->model, &why))
        return error_set(err, ERROR_NOT_FOUND, "%s", why.message);
    return infer_strictly(work->model, err);
}

/* One to three changes. `restore`: what the changed nodes make gets its former shape. */
static int change_some(const struct variant_seed *seed, struct rewrite *work, struct rng *rng, bool restore,
                       struct str *note, struct variant_facts *facts, struct error *err)
{
    bool complete, *changed = memory_zeroed(seed->model->graph->n_node + 1, sizeof *changed);
    size_t wanted = 1;
    int result = 0;
    *facts = (struct variant_facts){0};
    while (wanted < MOST_CHANGES && rng_chance(rng, 0.3))
        wanted++;
    for (; !result && facts->changes < wanted; facts->changes++) {
        struct site site = draw_site(seed, rng, true);
        if (facts->changes == 0)
            facts->param = site.param;
        changed[site.node] = true;
        result = change_legally(work, work->model->graph->node[site.node], seed->params[site.param].param,
                                rng, note, err);
    }
    if (!result)
        result = refit(work, seed->model, &seed->types, restore ? changed : NULL, &complete, err);
    free(changed);
    return result ? -1 : accepted_by_all(work, complete, err);
}

/* First with whatever shapes follow, where the rest of the network can be made to fit; else with the former
 * shapes behind the changed nodes. */
static int make_legal(const struct variant_seed *seed, struct rewrite *work, struct rng *rng,
                      struct str *note, struct variant_facts *facts, struct error *err)
{
    struct rng again = *rng;
    if (change_some(seed, work, rng, false, note, facts, err) == 0)
        return 0;
    if (err && err->code != ERROR_NOT_FOUND)
        return -1;
    work_free(work);
    str_clear(note);
    if (work_init(work, seed->model, seed->origin, err))
        return -1;
    return change_some(seed, work, &again, true, note, facts, err);
}

/* --- Illegal --- */

/* Who forbids the variant, why, and the name of the changed node, which points into the model. */
struct ban {
    enum forbidden_by by;
    struct error why;
    const char *node;
};

static int make_illegal(const struct variant_seed *seed, struct rewrite *work, struct rng *rng,
                        struct str *note, struct variant_facts *facts, struct ban *ban, struct error *err)
{
    struct site site = draw_site(seed, rng, false);
    const struct op_param *param = seed->params[site.param].param;
    Onnx__NodeProto *node = work->model->graph->node[site.node];
    facts->param = site.param;
    facts->changes = 1;
    refit_forget_shapes(work->model);
    str_printf(note, "%s %.60s: %s ", op_title(node), model_node_name(node), param->name);
    show_param(work, node, param, note);
    str_add(note, " -> ");
    if (illegal_value_apply(work, node, param, rng, note, err) || refit_refresh(work, err))
        return -1;
    ban->by = illegal_value_proof(work, node, &ban->why);
    ban->node = model_node_name(node);
    if (ban->by == FORBIDDEN_BY_NOBODY)
        return error_set(err, ERROR_NOT_FOUND, "it is not certain that ONNX forbids %s", note->data);
    return 0;
}

/* --- Both --- */

static const char *law_word(enum variant_law law)
{
    return law == VARIANT_LEGAL ? "legal" : "illegal";
}

/* The case takes over the model and the inputs. */
static struct test_case *finish(const struct variant_seed *seed, struct rewrite *work, enum variant_law law,
                                uint64_t seed_number, uint64_t number, struct str *note)
{
    struct test_case *test = test_case_new(work->model);
    struct str recipe;
    str_init(&recipe);
    str_printf(&recipe, "variant %s seed=%llu number=%llu of %s", law_word(law),
               (unsigned long long)seed_number, (unsigned long long)number,
               *seed->origin->recipe ? seed->origin->recipe : seed->origin->name);
    test->inputs = work->inputs;
    test->n_inputs = work->n_inputs;
    test_case_set_recipe(test, recipe.data);
    test_case_set_name(test, seed->origin->name);
    free(test->note);
    test->note = memory_strdup(note->data);
    str_release(&recipe);
    work->model = NULL;
    work->inputs = NULL;
    work->n_inputs = 0;
    return test;
}

int variant_make(const struct variant_seed *seed, enum variant_law law, uint64_t seed_number, uint64_t number,
                 struct test_case **made, struct variant_facts *facts, struct error *err)
{
    struct rng root = rng_seed(seed_number), stream = rng_split(&root, (uint64_t)law),
               rng = rng_split(&stream, number);
    struct variant_facts unasked, *known = facts ? facts : &unasked;
    struct ban ban = {0};
    struct rewrite work;
    struct str note;
    *made = NULL;
    *known = (struct variant_facts){0};
    if (law == VARIANT_LEGAL && !seed->varies)
        return error_set(err, ERROR_NOT_FOUND, "no parameter of the model has another legal value");
    if (work_init(&work, seed->model, seed->origin, err))
        return -1;
    str_init(&note);
    int result = law == VARIANT_LEGAL ? make_legal(seed, &work, &rng, &note, known, err)
                                      : make_illegal(seed, &work, &rng, &note, known, &ban, err);
    if (!result)
        *made = finish(seed, &work, law, seed_number, number, &note);
    if (!result && ban.by) {
        (*made)->forbidden = ban.by;
        (*made)->forbidden_why = memory_strdup(ban.why.message);
        (*made)->forbidden_node = memory_strdup(ban.node);
    }
    str_release(&note);
    work_free(&work);
    return result;
}
