#include "diagnose/constants.h"

#include "base/clock.h"
#include "base/memory.h"
#include "diagnose/changed_case.h"
#include "diagnose/lists.h"
#include "diagnose/single_node.h"
#include "diagnose/unrelated.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"
#include "rules/rewriting.h"

#include <stdlib.h>
#include <string.h>

/* What the names of added nodes begin with. */
#define ADDED "constants_"

enum {
    SECONDS = 60, /* seconds, ample for a machine that is busy */
    LARGE = 16,   /* nodes: a change that cures a larger model may have nothing to do with the cause */
};

/* Adds a node with one output, and returns the name of that. */
static const char *append(struct model *model, const char *op_type, const char *first, const char *second)
{
    const char *inputs[] = {first, second};
    const char *output = arena_printf(&model->arena, ADDED "%zu", model->graph->n_node);
    Onnx__NodeProto *node = model_add_node(model, op_type, output, second ? 2 : 1, inputs, 1, &output);
    if (!second)
        node_set_int(&model->arena, node, "to", (int64_t)DTYPE_FLOAT);
    return node->output[0];
}

bool constants_is_added(const Onnx__NodeProto *node)
{
    return strncmp(node->name, ADDED, sizeof ADDED - 1) == 0;
}

/* The output with this number becomes its sum with an input of zeros, in float32. */
static int add_variable(struct test_case *test, struct model *model, size_t number,
                        const struct bounded *output)
{
    struct tensor zeros;
    char *variable = arena_printf(&model->arena, "variable_%zu", number);
    const char *name = model->graph->output[number]->name;
    if (output->type == DTYPE_STRING || !output->count ||
        tensor_alloc(&zeros, DTYPE_FLOAT, &output->shape, 0, NULL))
        return -1;
    for (size_t i = 0; i < zeros.count; i++)
        tensor_set(&zeros, i, 0);
    if (output->type != DTYPE_FLOAT)
        name = append(model, "Cast", name, NULL);
    model->graph->output[number]->name = (char *)(uintptr_t)append(model, "Add", name, variable);
    int status = changed_add_input(test, model, variable, &zeros);
    tensor_release(&zeros);
    return status;
}

struct test_case *constants_with_variables(const struct test_case *test)
{
    struct model *model;
    struct expected expected;
    struct test_case *other = changed_begin(test, &model);
    bool added = other && !expected_compute(&expected, model, NULL, test->inputs, test->n_inputs);
    if (added) {
        for (size_t i = 0; added && i < expected.count && i < model->graph->n_output; i++)
            added = !add_variable(other, model, i, &expected.values[i]);
        expected_release(&expected);
    }
    return other ? changed_finish(other, added) : NULL;
}

/* Whether the value is a weight, or computed from constants alone. constant: of each node, whether it
 * computes on constants alone. */
static bool is_constant(const bool *constant, const struct index_value *value)
{
    return value->source == SOURCE_INITIALIZER || (value->source == SOURCE_NODE && constant[value->number]);
}

static bool takes_constants_alone(const struct model_index *index, const bool *constant, size_t node)
{
    bool all = true;
    for (size_t k = 0; k < index->n_uses[node]; k++)
        all &= is_constant(constant, &index->values[index->uses[node][k]]);
    return all;
}

bool *constants_find(const struct model_index *index)
{
    const Onnx__GraphProto *graph = index->model->graph;
    bool *constant = memory_zeroed(graph->n_node + 1, sizeof *constant);
    for (size_t i = 0; i < graph->n_node; i++) {
        size_t node = index->order[i];
        const struct op *op = op_of(graph->node[node]);
        constant[node] = takes_constants_alone(index, constant, node) || (op && op->work == WORK_SHAPE);
    }
    return constant;
}

static bool has_constants_alone(const struct model_index *index, size_t node)
{
    bool *constant = constants_find(index);
    bool all = index->n_uses[node] > 0 && takes_constants_alone(index, constant, node);
    free(constant);
    return all;
}

bool constants_alone(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct model_index index;
    bool alone = true;
    if (!model || model_index_init(&index, model, NULL))
        return false;
    bool *constant = constants_find(&index);
    for (size_t i = 0; i < model->graph->n_output; i++) {
        const struct index_value *value = model_index_find(&index, model->graph->output[i]->name);
        alone &= value && is_constant(constant, value);
    }
    free(constant);
    model_index_release(&index);
    return alone;
}

/* The value of this name, as the reference computes it. */
static int value_of(const struct test_case *test, const char *name, struct tensor *tensor)
{
    struct model *model;
    struct expected expected;
    if (model_clone(&model, test_case_model(test, NULL), NULL))
        return -1;
    int status = model_set_outputs(model, &name, 1, NULL) ||
                 expected_compute(&expected, model, NULL, test->inputs, test->n_inputs);
    if (!status) {
        status = bounded_to_tensor(&expected.values[0], tensor, NULL);
        expected_release(&expected);
    }
    model_free(model);
    return status;
}

/* The input becomes one of float32 with a Cast behind it; false when it is of float32 already. */
static bool cast_input(struct test_case *test, struct model *model, const char *name)
{
    Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < test->n_inputs; i++) {
        struct tensor *tensor = test->inputs[i].tensors, floats;
        if (!text_equal(test->inputs[i].name, name))
            continue;
        if (tensor->type == DTYPE_FLOAT || tensor->type == DTYPE_STRING ||
            tensor_alloc(&floats, DTYPE_FLOAT, &tensor->shape, 0, NULL))
            return false;
        for (size_t k = 0; k < tensor->count; k++)
            tensor_set(&floats, k, tensor_get(tensor, k));
        const char *fed = "constants_fed";
        Onnx__NodeProto *cast = model_add_node(model, "Cast", "constants_cast", 1, &fed, 1, &name);
        node_set_int(&model->arena, cast, "to", (int64_t)tensor->type);
        for (size_t k = 0; k < graph->n_input; k++)
            if (text_equal(graph->input[k]->name, name)) {
                graph->input[k]->name = arena_strdup(&model->arena, fed);
                graph->input[k]->type = type_make(&model->arena, DTYPE_FLOAT, &floats.shape);
            }
        tensor_release(tensor);
        *tensor = floats;
        free(test->inputs[i].name);
        test->inputs[i].name = memory_strdup(fed);
        return model_sort_nodes(model, NULL) == 0;
    }
    return false;
}

/* The part of the model that is computed from value `name`, which becomes its input. */
static struct test_case *cut_behind(const struct test_case *test, const struct model_index *index,
                                    const char *name, struct tensor *tensor, bool cast)
{
    const Onnx__GraphProto *graph = index->model->graph;
    const char **outputs = memory_zeroed(graph->n_output + 1, sizeof *outputs);
    const struct tensor *types[] = {tensor};
    struct model *part;
    for (size_t i = 0; i < graph->n_output; i++)
        outputs[i] = graph->output[i]->name;
    int status = model_cut_between(&part, index, &name, 1, outputs, graph->n_output,
                                   &(struct edit_types){.count = 1, .names = &name, .tensors = types}, NULL);
    free(outputs);
    if (status)
        return NULL;
    struct test_case *fed = test_case_new(part);
    for (size_t i = 0; i < part->graph->n_input && !status; i++) {
        const char *input = part->graph->input[i]->name;
        if (text_equal(input, name))
            status = changed_feed(fed, part->graph->input[i]->name, tensor);
        for (size_t k = 0; k < test->n_inputs && !status; k++)
            if (text_equal(input, test->inputs[k].name))
                status = test_case_add_inputs(fed, &test->inputs[k], 1, NULL);
    }
    if (status || (cast && !cast_input(fed, part, name))) {
        test_case_free(fed);
        return NULL;
    }
    return changed_finish(fed, true);
}

struct test_case *constants_fed(const struct test_case *test, size_t node, bool cast)
{
    const struct model *model = test_case_model(test, NULL);
    struct model_index index;
    struct tensor tensor;
    struct test_case *fed = NULL;
    if (!model || node >= model->graph->n_node || !model->graph->node[node]->n_input ||
        constants_is_added(model->graph->node[node]) || model_index_init(&index, model, NULL))
        return NULL;
    const char *name = model->graph->node[node]->input[0];
    if (*name && has_constants_alone(&index, node) && !value_of(test, name, &tensor)) {
        if (tensor.count)
            fed = cut_behind(test, &index, name, &tensor, cast);
        tensor_release(&tensor);
    }
    model_index_release(&index);
    return fed;
}

/* Whether the node is of this operator (NULL: of any) and does not compute on constants alone. */
static bool takes(const struct model_index *index, const bool *constant, size_t node,
                  const char *operator_name)
{
    const Onnx__NodeProto *taker = index->model->graph->node[node];
    return !constant[node] && (!operator_name || text_equal(op_title(taker), operator_name));
}

/* The first node that takes the value; NULL when there is none. */
static const Onnx__NodeProto *taker_of(const struct model_index *index, const bool *constant,
                                       const struct index_value *value, const char *operator_name)
{
    for (size_t i = 0; i < value->consumers; i++)
        if (takes(index, constant, value->consumer[i], operator_name))
            return index->model->graph->node[value->consumer[i]];
    return NULL;
}

/* Gives the constant to the nodes that take the value. */
static void give(const struct model_index *index, const bool *constant, const struct index_value *value,
                 const char *operator_name, struct model *model, const struct tensor *tensor)
{
    char *given = arena_printf(&model->arena, "%s_given", value->name);
    model_add_initializer(model, given, tensor);
    for (size_t i = 0; i < value->consumers; i++) {
        Onnx__NodeProto *node = model->graph->node[value->consumer[i]];
        for (size_t k = 0; takes(index, constant, value->consumer[i], operator_name) && k < node->n_input;
             k++)
            if (text_equal(node->input[k], value->name))
                node->input[k] = given;
    }
}

/* What nodes compute from constants alone, and other nodes take, becomes constants of the model. */
static int fold(const struct test_case *test, const struct model_index *index, const bool *constant,
                const char *operator_name, struct model *model, const char **taker)
{
    const Onnx__GraphProto *graph = index->model->graph;
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        struct tensor tensor;
        if (value->source != SOURCE_NODE || !constant[value->number])
            continue;
        const Onnx__NodeProto *node = taker_of(index, constant, value, operator_name);
        if (value->is_output && !operator_name)
            return -1;
        if (!node)
            continue;
        if (constants_is_added(node) || value_of(test, value->name, &tensor))
            return -1;
        if (!*taker && !node_is_constant(graph->node[value->number]))
            *taker = op_title(node);
        give(index, constant, value, operator_name, model, &tensor);
        tensor_release(&tensor);
    }
    return *taker ? 0 : -1;
}

/* Whether a result of the node is an output, or taken by a node that is left. */
static bool is_needed(const struct model_index *index, size_t node, const bool *gone)
{
    bool needed = false;
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        if (value->source != SOURCE_NODE || value->number != node)
            continue;
        needed |= value->is_output;
        for (size_t k = 0; k < value->consumers; k++)
            needed |= !gone[value->consumer[k]];
    }
    return needed;
}

/* Removes the nodes on constants whose results no node takes any more. */
static int drop_unused(struct model *model, const bool *constant)
{
    Onnx__GraphProto *graph = model->graph;
    struct model_index index;
    size_t left = 0;
    if (model_index_init(&index, model, NULL))
        return -1;
    bool *gone = memory_zeroed(graph->n_node + 1, sizeof *gone);
    for (size_t i = graph->n_node; i-- > 0;) {
        size_t node = index.order[i];
        gone[node] = constant[node] && !is_needed(&index, node, gone);
    }
    model_index_release(&index);
    for (size_t i = 0; i < graph->n_node; i++)
        if (!gone[i])
            graph->node[left++] = graph->node[i];
    graph->n_node = left;
    free(gone);
    return left ? 0 : -1;
}

struct test_case *constants_folded(const struct test_case *test, const char *operator_name,
                                   const char **taker)
{
    struct model_index index;
    struct model *model;
    struct test_case *folded = changed_begin(test, &model);
    *taker = NULL;
    if (!folded || model_index_init(&index, test_case_model(test, NULL), NULL)) {
        test_case_free(folded);
        return NULL;
    }
    bool *constant = constants_find(&index);
    int status = fold(test, &index, constant, operator_name, model, taker) || drop_unused(model, constant);
    free(constant);
    model_index_release(&index);
    return changed_finish(folded, !status);
}

/* Makes the constant an input of the case; false when it is not of float32, or has no elements. */
static bool open_one(struct test_case *test, struct model *model, size_t number)
{
    Onnx__GraphProto *graph = model->graph;
    const Onnx__TensorProto *constant = graph->initializer[number];
    struct tensor tensor;
    if (constant->data_type != (int32_t)DTYPE_FLOAT || model_tensor_read(constant, &tensor, NULL))
        return false;
    bool fed = tensor.count && !changed_feed(test, constant->name, &tensor);
    if (fed) {
        model_add_input(model, constant->name, DTYPE_FLOAT, &tensor.shape);
        memmove(graph->initializer + number, graph->initializer + number + 1,
                (--graph->n_initializer - number) * sizeof *graph->initializer);
    }
    tensor_release(&tensor);
    return fed;
}

struct test_case *constants_opened(const struct test_case *test)
{
    struct model *model;
    bool opened = false;
    struct test_case *other = test->n_inputs ? NULL : changed_begin(test, &model);
    for (size_t i = other ? model->graph->n_initializer : 0; i-- > 0;)
        opened |= open_one(other, model, i);
    return other ? changed_finish(other, opened) : NULL;
}

/* The case in an equivalent form, without a trace of the rewriting; NULL when the rule does not apply. */
static struct test_case *rewritten_alone(struct test_case *test, const char *step)
{
    struct test_case *rewritten = NULL, *alone = NULL;
    if (rewriting_apply(test, step, &rewritten, NULL) == 1) {
        alone = test_case_same_model(rewritten);
        if (test_case_add_inputs(alone, rewritten->inputs, rewritten->n_inputs, NULL)) {
            test_case_free(alone);
            alone = NULL;
        }
        test_case_free(rewritten);
    }
    return alone;
}

struct test_case *constants_rewritten(struct test_case *test, const char *rule, const char *value)
{
    struct str step;
    str_init(&step);
    rewriting_step(&step, rule, value);
    struct test_case *alone = rewritten_alone(test, step.data);
    str_release(&step);
    return alone;
}

/* The element type of the constant that a step "initializer-as-input@NAME" makes an input; "" of others. */
static const char *constant_type(const struct test_case *test, const char *step)
{
    static const char rule[] = "initializer-as-input@";
    const struct model *model = test_case_model(test, NULL);
    for (size_t i = 0; strncmp(step, rule, sizeof rule - 1) == 0 && i < model->graph->n_initializer; i++)
        if (text_equal(model->graph->initializer[i]->name, step + sizeof rule - 1))
            return dtype_name((enum dtype)model->graph->initializer[i]->data_type);
    return "";
}

/* Whether a step of the rule cures; which one is *cure, a text of the arena. */
static bool is_cured_by_rule(const struct experiment *how, const char *rule, const char **cure)
{
    struct rewriting_steps steps = {0};
    struct rule_choice choice = {.rules = rule, .no_runs = true};
    double start = clock_seconds();
    bool cured = false;
    if (rewriting_steps(&steps, how->base, &choice, NULL) == 0)
        for (size_t i = 0; i < steps.count && !cured && clock_seconds() - start < SECONDS; i++) {
            cured = experiment_ask_right(how, rewritten_alone(how->base, steps.steps[i]));
            *cure = cured ? arena_strdup(&how->evidence->arena, steps.steps[i]) : NULL;
        }
    rewriting_steps_free(&steps);
    return cured;
}

bool constants_as_inputs(const struct experiment *how)
{
    const char *cure;
    bool cured = is_cured_by_rule(how, "initializer-as-input", &cure);
    if (cured)
        how->evidence->constant = constant_type(how->base, cure);
    return cured;
}

bool constants_other_type(const struct experiment *how)
{
    const char *cure;
    return is_cured_by_rule(how, "other-type", &cure);
}

/* Whether the first node of the case fails only for lack of a variable: it is right with a variable in place
 * of its first constant. It does not count where rows in place of lists are right as well: then the lists are
 * what fails. */
static bool lacks_variable(const struct experiment *how, const struct test_case *alone)
{
    return (experiment_ask_right(how, constants_fed(alone, 0, false)) ||
            experiment_ask_right(how, constants_fed(alone, 0, true))) &&
           !experiment_ask_right(how, lists_as_rows(alone));
}

/* Whether the node by itself, on the right constants, gives no answer for lack of a variable. */
static bool fails_on_constants(const struct experiment *how, const struct node_values *values, size_t node)
{
    struct test_case *alone = node_alone(values, node, false);
    enum answer answer = alone ? experiment_ask(how, test_case_share(alone)) : ANSWER_UNKNOWN;
    bool fails = (answer == ANSWER_SAME || answer == ANSWER_FAILURE) && lacks_variable(how, alone);
    test_case_free(alone);
    return fails;
}

/* Whether the node by itself is wrong on constants alone, or fails there in another way than the case, and
 * not for lack of a variable. */
static bool folds_wrong_alone(const struct experiment *how, const struct node_values *values, size_t node)
{
    struct test_case *alone = node_alone(values, node, false);
    enum answer answer = alone ? experiment_ask(how, test_case_share(alone)) : ANSWER_UNKNOWN;
    bool wrong = answer == ANSWER_WRONG || (answer == ANSWER_FAILURE && !lacks_variable(how, alone));
    test_case_free(alone);
    return wrong;
}

/* Whether some node folds wrong alone. Then it is to blame, and not the lack of a variable: to feed a node
 * behind it only takes it out of the way. */
static bool folds_wrong(const struct experiment *how, const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    double start = clock_seconds();
    bool wrong = false;
    struct node_values *values = model->graph->n_node > 1 ? node_values_new(test) : NULL;
    for (size_t i = 0; values && !wrong && i < model->graph->n_node && clock_seconds() - start < SECONDS;
         i++) {
        if (!node_values_constant(values, i) || constants_is_added(model->graph->node[i]))
            continue;
        wrong = folds_wrong_alone(how, values, i);
    }
    node_values_free(values);
    return wrong;
}

/* Where the case gets no answer, any answer counts as cured, and so does another failure, which is another
 * bug. *proved: the node that is fed fails on constants alone by itself too, whatever the nodes in front of
 * it make. */
static bool is_cured_by_feeding(const struct experiment *how, const struct test_case *test, bool *proved)
{
    const struct model *model = test_case_model(test, NULL);
    double start = clock_seconds();
    bool cured = false;
    struct node_values *values = model->graph->n_node > 1 ? node_values_new(test) : NULL;
    for (size_t i = 0; !*proved && i < model->graph->n_node && clock_seconds() - start < SECONDS; i++) {
        bool fed = false;
        for (int cast = 0; cast < 2 && !fed; cast++) /* the engine may have no inputs of that type */
            fed = experiment_ask(how, constants_fed(test, i, cast)) >= ANSWER_FAILURE;
        cured |= fed;
        *proved = fed && values && fails_on_constants(how, values, i);
    }
    node_values_free(values);
    return cured;
}

static struct test_case *base_of(const struct experiment *how, struct test_case *test, bool *fed)
{
    struct test_case *with = constants_with_variables(test);
    enum answer answer = with ? experiment_ask(how, test_case_share(with)) : ANSWER_UNKNOWN;
    if (constants_alone(test) && (answer == ANSWER_WRONG || answer == ANSWER_RIGHT)) {
        test_case_free(with);
        return NULL;
    }
    bool proved = false, cured = is_cured_by_feeding(how, test, &proved) ||
                                 (answer == ANSWER_SAME && is_cured_by_feeding(how, with, &proved));
    /* A node on variables behind constants may fail for the values of these. */
    *fed = cured && (proved || (constants_alone(test) && !folds_wrong(how, test)));
    if (answer == ANSWER_SAME && !test->n_inputs)
        return with;
    test_case_free(with);
    return test_case_share(test);
}

struct test_case *constants_base(const struct experiment *how, bool *fed)
{
    struct test_case *test = how->done->test;
    *fed = false;
    if (!how->message || experiment_ask(how, unrelated_constant()) == ANSWER_SAME)
        return test_case_share(test);
    struct test_case *filled = constants_alone(test) ? changed_filled(test) : NULL;
    bool no_matter = filled && experiment_ask(how, test_case_share(filled)) == ANSWER_SAME;
    struct test_case *base =
        base_of(how, no_matter ? filled : test, fed); /* it does not matter that it is empty */
    test_case_free(filled);
    return base;
}

static bool is_of_integers(enum dtype type)
{
    return type == DTYPE_UINT8 || type == DTYPE_INT8 || type == DTYPE_UINT16 || type == DTYPE_INT16 ||
           type == DTYPE_INT32 || type == DTYPE_UINT32;
}

/* The numbers in float32. False when there are none, or when some are not exact there. */
static bool to_floats(const struct tensor *integers, struct tensor *floats)
{
    bool same = integers->count > 0;
    if (!same || tensor_alloc(floats, DTYPE_FLOAT, &integers->shape, 0, NULL))
        return false;
    for (size_t i = 0; i < integers->count; i++) {
        tensor_set(floats, i, tensor_get(integers, i));
        same &= tensor_get(floats, i) == tensor_get(integers, i);
    }
    if (!same)
        tensor_release(floats);
    return same;
}

/* The constant becomes one of float32, and a Cast in front of all other nodes gives it its former type. */
static struct test_case *by_cast(const struct test_case *test, const char *name, const struct tensor *floats,
                                 enum dtype type)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    Onnx__GraphProto *graph = model->graph;
    char *source = arena_printf(&model->arena, "%s_as_floats", name);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            graph->initializer[i]->name = source;
    bool changed = !model_replace_initializer(model, source, floats, NULL);
    Onnx__NodeProto *cast = model_add_node(model, "Cast", source, 1, (const char *const *)&source, 1, &name);
    node_set_int(&model->arena, cast, "to", (int64_t)type);
    return changed_finish(other, changed && !model_sort_nodes(model, NULL));
}

static bool is_right_by_cast(const struct experiment *how, const struct test_case *test, const char *name,
                             const struct tensor *floats, enum dtype type)
{
    struct trial_done done;
    if (!experiment_try(how, by_cast(test, name, floats, type), false, &done))
        return false;
    bool right =
        verdict_is(done.judgement.verdicts[0].kind, CLASS_AGREES) || experiment_right_but_for_type(&done);
    trial_done_release(&done);
    return right;
}

static bool is_misread(const struct experiment *how, const Onnx__TensorProto *constant)
{
    const struct test_case *subject = trial_done_subject(how->done, 0);
    bool misread = false;
    struct tensor integers, floats;
    if (!is_of_integers((enum dtype)constant->data_type) || model_tensor_read(constant, &integers, NULL))
        return false;
    if (to_floats(&integers, &floats)) {
        misread = is_right_by_cast(how, subject, constant->name, &floats, integers.type);
        tensor_release(&floats);
    }
    tensor_release(&integers);
    return misread;
}

bool constants_misread(const struct experiment *how)
{
    const struct model *model = test_case_model(trial_done_subject(how->done, 0), NULL);
    for (size_t i = 0; how->of_numbers && !*how->evidence->constant && i < model->graph->n_initializer; i++)
        if (is_misread(how, model->graph->initializer[i])) {
            how->evidence->constant = dtype_name((enum dtype)model->graph->initializer[i]->data_type);
            return true;
        }
    return false;
}

static bool is_given(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (text_equal(test->inputs[i].name, name))
            return true;
    return false;
}

bool constants_wanted(const struct experiment *how)
{
    const Onnx__GraphProto *graph = test_case_model(how->base, NULL)->graph;
    const Onnx__NodeProto *node = graph->n_node == 1 ? graph->node[0] : NULL;
    if (!node || !how->message || node->n_input < 2)
        return false;
    struct test_case *test = test_case_share(how->base), *base = test;
    if (!is_given(test, node->input[0])) {
        base = constants_rewritten(test, "initializer-as-input", node->input[0]);
        test_case_free(test);
    }
    bool open = base && is_given(base, node->input[1]) && !text_equal(node->input[1], node->input[0]);
    bool wanted =
        open && !experiment_ask_right(how, test_case_share(base)) &&
        experiment_ask_right(how, constants_rewritten(base, "input-as-initializer", node->input[1]));
    test_case_free(base);
    return wanted;
}

/* Whether the failure is gone when the engine is given constants that it would have to compute. To give them
 * to the nodes of one operator tells most; in a large model only that is tried. */
static bool fold_constants_of(const struct experiment *how, const struct test_case *test)
{
    const Onnx__GraphProto *graph = test_case_model(test, NULL)->graph;
    const char *taker = NULL, *last = NULL;
    double start = clock_seconds();
    bool found = false;
    for (size_t i = 0; graph->n_node > 1 && !found && i < graph->n_node && clock_seconds() - start < SECONDS;
         i++) {
        const char *title = op_title(graph->node[i]);
        if (last && text_equal(title, last))
            continue;
        last = title;
        found = experiment_ask_right(how, constants_folded(test, title, &taker));
    }
    if (!found && graph->n_node > 1 && graph->n_node <= LARGE)
        found = experiment_ask_right(how, constants_folded(test, NULL, &taker));
    if (found)
        how->evidence->computed = arena_strdup(&how->evidence->arena, taker);
    return found;
}

/* A model without inputs is looked at with its constants as inputs where it fails alike: only then are there
 * nodes that take constants and compute on something else as well. */
bool constants_computed(const struct experiment *how)
{
    const struct test_case *test = trial_done_subject(how->done, 0);
    bool found = fold_constants_of(how, test);
    struct test_case *opened = !found && how->message ? constants_opened(test) : NULL;
    if (opened && experiment_ask(how, test_case_share(opened)) == ANSWER_SAME)
        found = fold_constants_of(how, opened);
    test_case_free(opened);
    return found;
}
