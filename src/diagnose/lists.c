#include "diagnose/lists.h"

#include "base/clock.h"
#include "base/str.h"
#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "findings/message_origin.h"
#include "judge/message.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/param_value.h"

#include <string.h>

enum { SECONDS = 60 };

static bool make_row(struct tensor *tensor)
{
    bool list = tensor->shape.rank == 1;
    if (list)
        tensor->shape = (struct shape){.rank = 2, .dims = {1, tensor->shape.dims[0]}};
    return list;
}

static bool make_column(struct tensor *tensor)
{
    bool list = tensor->shape.rank == 1;
    if (list)
        tensor->shape = (struct shape){.rank = 2, .dims = {tensor->shape.dims[0], 1}};
    return list;
}

/* Whether a node takes the value as a parameter. With but_indices, indices count as data, because some
 * operators need them to have as many dimensions as the data. */
static bool is_parameter(const struct model *model, const char *name, bool but_indices)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const struct op *op = op_of(node);
        if (op && op->work == WORK_ELEMENTS && op->data == DATA_ALL) /* the exponent of Pow is an operand */
            continue;
        const struct op_param *param = NULL;
        while ((param = param_taken(node, name, param)))
            if (!but_indices || !text_equal(param->name, "indices"))
                return true;
    }
    return false;
}

bool lists_is_parameter(const struct model *model, const char *name)
{
    return is_parameter(model, name, false);
}

static bool is_data(const struct model *model, const char *name)
{
    return !is_parameter(model, name, false);
}

static bool is_data_or_indices(const struct model *model, const char *name)
{
    return !is_parameter(model, name, true);
}

/* Whether all operands are lists: as rows they mean the same as before. */
static bool are_all_lists(const struct test_case *test, const struct model *model)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind != VALUE_TENSOR || test->inputs[i].tensors[0].shape.rank != 1)
            return false;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (model->graph->initializer[i]->n_dims != 1 &&
            !lists_is_parameter(model, model->graph->initializer[i]->name))
            return false;
    return true;
}

static struct test_case *finish_rows(const struct test_case *test, struct test_case *other,
                                     struct model *model, bool changed)
{
    if (changed)
        changed_name_rows(test, other, model);
    return changed_finish(other, changed);
}

static struct test_case *with_rows(const struct test_case *test, bool constants)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    bool changed = changed_inputs(other, model, is_data, make_row);
    if (constants)
        changed =
            are_all_lists(test, test_case_model(test, NULL)) && changed_constants(model, is_data, make_row);
    return finish_rows(test, other, model, changed);
}

struct test_case *lists_given_as_rows(const struct test_case *test)
{
    return with_rows(test, false);
}

struct test_case *lists_all_as_rows(const struct test_case *test)
{
    return with_rows(test, true);
}

/* Makes a matrix of one row, or column, of every list among inputs and constants. */
static bool make_matrices(struct test_case *other, struct model *model, bool columns)
{
    bool changed = changed_inputs(other, model, is_data, columns ? make_column : make_row);
    return changed_constants(model, is_data, columns ? make_column : make_row) || changed;
}

struct test_case *lists_as_rows(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    return other ? finish_rows(test, other, model, make_matrices(other, model, false)) : NULL;
}

struct test_case *lists_as_columns(const struct test_case *test, enum list_choice which, bool *computed)
{
    struct model *model;
    struct expected expected;
    choose_value *chosen = which == LISTS_INDICES ? is_data_or_indices : is_data;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    bool changed = changed_inputs(other, model, chosen, make_column);
    if (which != LISTS_INPUTS)
        changed |= changed_constants(model, chosen, make_column);
    if (!changed) {
        test_case_free(other);
        return NULL;
    }
    *computed = !expected_compute(&expected, model, NULL, other->inputs, other->n_inputs);
    if (*computed) {
        param_change_declare(other, expected.values, expected.count);
        expected_release(&expected);
    }
    return other;
}

/* Scalars are not changed: they may be at fault themselves. */
static bool add_last_dim(struct tensor *tensor)
{
    struct shape *shape = &tensor->shape;
    if (!shape->rank || shape->rank >= TENSOR_MAX_RANK)
        return false;
    shape->dims[shape->rank++] = 1;
    return true;
}

static bool add_first_dim(struct tensor *tensor)
{
    struct shape *shape = &tensor->shape;
    if (!shape->rank || shape->rank >= TENSOR_MAX_RANK)
        return false;
    memmove(shape->dims + 1, shape->dims, (size_t)shape->rank++ * sizeof *shape->dims);
    shape->dims[0] = 1;
    return true;
}

/* Whether some input or constant is a list and no parameter. */
static bool has_list(const struct test_case *test, const struct model *model)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && test->inputs[i].tensors[0].shape.rank == 1 &&
            !is_parameter(model, test->inputs[i].name, true))
            return true;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (model->graph->initializer[i]->n_dims == 1 &&
            !is_parameter(model, model->graph->initializer[i]->name, true))
            return true;
    return false;
}

struct test_case *lists_deeper(const struct test_case *test, bool first, bool indices)
{
    struct model *model;
    struct test_case *other =
        has_list(test, test_case_model(test, NULL)) ? changed_begin(test, &model) : NULL;
    choose_value *chosen = indices ? is_data_or_indices : is_data;
    if (!other)
        return NULL;
    bool changed = changed_inputs(other, model, chosen, first ? add_first_dim : add_last_dim);
    changed |= changed_constants(model, chosen, first ? add_first_dim : add_last_dim);
    other = changed_finish(other, changed);
    if (other && changed_mean_the_same(test, other))
        return other;
    test_case_free(other);
    return NULL;
}

static struct shape shape_as(enum made_form form, int64_t length)
{
    switch (form) {
    case MADE_ROWS:
        return (struct shape){.rank = 2, .dims = {1, length}};
    case MADE_COLUMNS:
        return (struct shape){.rank = 2, .dims = {length, 1}};
    case MADE_LISTS:
        break;
    }
    return (struct shape){.rank = 1, .dims = {length}};
}

/* The dimensions as a constant of the model, by its name. */
static const char *add_dims(struct model *model, const struct shape *shape, size_t number)
{
    struct tensor dims;
    const char *name = arena_printf(&model->arena, "made_lists_dims_%zu", number);
    struct shape length = {.rank = 1, .dims = {shape->rank}};
    if (tensor_alloc(&dims, DTYPE_INT64, &length, 0, NULL))
        return NULL;
    for (int i = 0; i < shape->rank; i++)
        tensor_set(&dims, (size_t)i, shape->dims[i]);
    model_add_initializer(model, name, &dims);
    tensor_release(&dims);
    return name;
}

static bool is_taken(const struct model *model, const char *value)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        for (size_t k = 0; k < model->graph->node[i]->n_input; k++)
            if (text_equal(model->graph->node[i]->input[k], value))
                return true;
    return false;
}

/* Appends a Reshape of the value, whose result the nodes take instead. False when the value is no list, or no
 * node takes it as data. */
static bool reshape(const struct node_values *values, struct model *model, const char *value,
                    enum made_form form)
{
    const struct tensor *list = node_values_find(values, value);
    size_t number = model->graph->n_node;
    if (!list || list->shape.rank != 1 || !list->count || lists_is_parameter(model, value) ||
        !is_taken(model, value))
        return false;
    struct shape shape = shape_as(form, list->shape.dims[0]);
    const char *inputs[] = {value, add_dims(model, &shape, number)};
    if (!inputs[1])
        return false;
    const char *other = arena_printf(&model->arena, "made_lists_%zu", number);
    graph_redirect(&model->arena, model->graph, value, other);
    model_add_node(model, "Reshape", other, 2, inputs, 1, &other);
    return true;
}

static bool reshape_all_of(const struct node_values *values, struct model *model, size_t node,
                           enum made_form form)
{
    const Onnx__NodeProto *maker = model->graph->node[node];
    bool changed = false;
    for (size_t i = 0; !node_values_constant(values, node) && i < maker->n_output; i++)
        changed |= reshape(values, model, maker->output[i], form);
    return changed;
}

struct test_case *lists_made_as(const struct node_values *values, size_t node, enum made_form form)
{
    const struct test_case *test = node_values_case(values);
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    bool changed = false;
    if (!other)
        return NULL;
    for (size_t i = 0, nodes = model->graph->n_node; i < nodes; i++)
        if (node == MADE_BY_ALL || node == MADE_OR_GIVEN || i == node)
            changed |= reshape_all_of(values, model, i, form);
    if (changed && node == MADE_OR_GIVEN && form != MADE_LISTS)
        make_matrices(other, model, form == MADE_COLUMNS);
    return changed_if_same_elements(test, changed_finish(other, changed && !model_sort_nodes(model, NULL)));
}

/* Agreement that is no evidence, such as all zeros, is enough, because it is compared with the answer to
 * lists. */
static bool is_right_of_columns(const struct experiment *how, const struct trial_done *done)
{
    const struct verdict *verdict = &done->judgement.verdicts[0];
    return verdict_is(verdict->kind, CLASS_AGREES) ||
           (!how->of_type && experiment_right_but_for_type(done)) ||
           (verdict_is(verdict->kind, CLASS_DOUBT) && verdict->no_evidence);
}

/* Whether the engine gave the same elements, in whatever shape. */
static bool same_answers(const struct result *a, const struct result *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct value *first = &a->outputs[i], *second = &b->outputs[i];
        if (first->kind != VALUE_TENSOR || second->kind != VALUE_TENSOR ||
            first->tensors[0].type != second->tensors[0].type ||
            first->tensors[0].count != second->tensors[0].count || first->tensors[0].type == DTYPE_STRING)
            return false;
        if (memcmp(first->tensors[0].data, second->tensors[0].data,
                   first->tensors[0].count * dtype_size(first->tensors[0].type)) != 0)
            return false;
    }
    return true;
}

/* The message without numbers and names. */
static void add_message(struct str *out, const struct experiment *how, const struct trial_done *done)
{
    const struct engine_profile *profile = panel_engine(how->panel, 0)->profile;
    message_normalise(out, origin_innermost(done->results[0].message, profile),
                      test_case_model(done->test, NULL), profile);
    out->length = message_length(out->data);
    out->data[out->length] = '\0';
}

static bool is_refused(const struct trial_done *done)
{
    enum outcome outcome = done->results[0].outcome;
    return done->results[0].message && (outcome == OUTCOME_REJECTED || outcome == OUTCOME_FAILED);
}

static bool are_refused_alike(const struct experiment *how, const struct trial_done *a,
                              const struct trial_done *b)
{
    struct str first, second;
    if (!is_refused(a) || !is_refused(b))
        return false;
    str_init(&first);
    str_init(&second);
    add_message(&first, how, a);
    add_message(&second, how, b);
    bool alike = text_equal(first.data, second.data);
    str_release(&first);
    str_release(&second);
    return alike;
}

/* Whether the engine treats rows differently. That it refuses them as well has another cause. */
static bool differs_with_rows(const struct experiment *how)
{
    const struct trial_done *lists = how->done;
    struct trial_done rows;
    if (!is_refused(lists) || !experiment_try(how, lists_as_rows(trial_done_subject(lists, 0)), false, &rows))
        return false;
    bool differs = !are_refused_alike(how, lists, &rows) && (experiment_answered(&rows) || is_refused(&rows));
    trial_done_release(&rows);
    return differs;
}

/* Some engines read constants correctly and only inputs as columns. A case that gives a scalar gives none
 * with columns, which alone may be why the engine does not refuse them. */
static bool explains(const struct experiment *how, enum list_choice which)
{
    const struct trial_done *done = how->done;
    const struct test_case *lists = trial_done_subject(done, 0);
    struct trial_done columns;
    bool computed = false, one = test_case_model(lists, NULL)->graph->n_node == 1;
    if (!experiment_try(how, lists_as_columns(lists, which, &computed), false, &columns))
        return false;
    bool proved = false;
    if (!computed)
        proved =
            is_refused(&columns) && (one || are_refused_alike(how, done, &columns)) && differs_with_rows(how);
    else if (is_right_of_columns(how, &columns))
        proved = experiment_answered(done)
                     ? same_answers(&done->results[0], &columns.results[0])
                     : !experiment_gives_scalar(done) && changed_mean_the_same(lists, columns.test);
    trial_done_release(&columns);
    return proved;
}

bool lists_taken_for_columns(const struct experiment *how)
{
    /* In models of several nodes indices may be computed, which would be another cause. */
    bool one = test_case_model(trial_done_subject(how->done, 0), NULL)->graph->n_node == 1;
    return explains(how, LISTS_CONSTANTS) || explains(how, LISTS_INPUTS) ||
           (one && explains(how, LISTS_INDICES));
}

/* Whether the cure is that lists made by nodes become rows or columns, and not the additional node that
 * reshapes them. */
static bool is_cured_of_lists(const struct experiment *how, const struct node_values *values, size_t node)
{
    if (!experiment_ask_right(how, lists_made_as(values, node, MADE_ROWS)) &&
        !experiment_ask_right(how, lists_made_as(values, node, MADE_COLUMNS)))
        return false;
    enum answer control = experiment_ask(how, lists_made_as(values, node, MADE_LISTS));
    return control != ANSWER_UNKNOWN && control != ANSWER_RIGHT;
}

/* All lists that nodes make, or those of one node where the others must stay as they are. */
bool lists_made_are_cured(const struct experiment *how)
{
    const struct test_case *test = how->done->test;
    size_t nodes = test_case_model(test, NULL)->graph->n_node;
    double start = clock_seconds();
    struct node_values *values = nodes > 1 ? node_values_new(test) : NULL;
    bool cured = values && (is_cured_of_lists(how, values, MADE_OR_GIVEN) ||
                            is_cured_of_lists(how, values, MADE_BY_ALL));
    for (size_t i = 0; values && !cured && i < nodes && clock_seconds() - start < SECONDS; i++)
        cured = is_cured_of_lists(how, values, i);
    node_values_free(values);
    return cured;
}

/* The case with parameters, such as indices, as constants instead of inputs, if it fails alike: that an
 * engine has no inputs of their type would be another cause. */
static struct test_case *without_given_parameters(const struct experiment *how, struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct test_case *base = test_case_share(test);
    for (size_t i = 0; i < test->n_inputs; i++) {
        if (!lists_is_parameter(model, test->inputs[i].name))
            continue;
        struct test_case *other = constants_rewritten(base, "input-as-initializer", test->inputs[i].name);
        if (other && experiment_ask(how, test_case_share(other)) == ANSWER_SAME) {
            test_case_free(base);
            base = other;
        } else
            test_case_free(other);
    }
    return base;
}

/* For wrong answers and for several nodes this proves too little, because broadcasting and fusing depend on
 * the number of dimensions as well. */
bool lists_cured_by_dimension(const struct experiment *how)
{
    struct test_case *test = how->done->test;
    if (!how->message || how->deadly || how->fed || (how->evidence->shown & EVIDENCE_CURES) ||
        test_case_model(test, NULL)->graph->n_node != 1 || experiment_gives_scalar(how->done))
        return false;
    struct test_case *base = without_given_parameters(how, test);
    bool cured = false;
    for (int way = 0; way < 4 && !cured; way++)
        cured = experiment_ask_right(how, lists_deeper(base, way % 2, way / 2));
    test_case_free(base);
    return cured;
}

bool lists_are_told(const struct experiment *how)
{
    const struct test_case *test = how->done->test;
    if (test_case_model(trial_done_subject(how->done, 0), NULL)->graph->n_node != 1 ||
        experiment_gives_scalar(how->done))
        return false;
    struct test_case *rows = changed_if_same_elements(test, lists_as_rows(test));
    bool same = rows;
    test_case_free(rows);
    return same;
}
