#include "rules/rewriting.h"

#include "base/hash.h"
#include "base/markup.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/label.h"
#include "generate/operator_case.h"
#include "model/edit.h"
#include "model/valid.h"
#include "ops/op.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- Choosing rules --- */

/* The name of a rule, or of what several rules are about: "memory". */
static bool is_name(const char *text, size_t length)
{
    bool known = rule_named(text, length);
    for (int axis = AXIS_NONE + 1; axis < AXIS_COUNT && !known; axis++) {
        const char *word = rule_axis_row((enum rule_axis)axis)->word;
        known = strlen(word) == length && memcmp(word, text, length) == 0;
    }
    return known;
}

static int check_names(const char *list, struct error *err)
{
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        if (is_name(at, length))
            continue;
        char *name = memory_strdup(at);
        name[length] = '\0';
        const char *nearest = NULL;
        size_t least = 4;
        for (size_t i = 0; i < rules_count; i++)
            if (text_distance(name, rules_all[i]->name) < least) {
                nearest = rules_all[i]->name;
                least = text_distance(name, nearest);
            }
        error_set(err, ERROR_USAGE, "there is no rule '%.60s'; %s%s%s'assay rules' lists them", name,
                  nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "");
        free(name);
        return -1;
    }
    return 0;
}

int rule_choice_check(const struct rule_choice *choice, struct error *err)
{
    return check_names(choice->rules, err) || check_names(choice->without, err) ? -1 : 0;
}

static bool is_chosen(const struct rule_choice *choice, const struct rule *rule)
{
    if (rule->on_request && !(choice && choice->rules))
        return false;
    if (!choice)
        return true;
    return (!choice->rules || rule_is_listed(choice->rules, rule)) &&
           (!choice->without || !rule_is_listed(choice->without, rule)) &&
           !(choice->no_runs && rule->scope == RULE_RUN);
}

char *rule_choice_determinism(void)
{
    struct str names;
    str_init(&names);
    for (size_t i = 0; i < rules_count; i++)
        if (rules_all[i]->axis != AXIS_NONE)
            str_printf(&names, "%s%s", names.length ? "," : "", rules_all[i]->name);
    char *list = str_detach(&names);
    str_release(&names);
    return list;
}

/* --- Steps as text --- */

static void add_quoted(struct str *out, const char *text)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr("_./:=,-", *text))
            str_append(out, text, 1);
        else
            str_printf(out, "%%%02X", (unsigned char)*text);
}

static int hex_digit(char c)
{
    const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* A step in its parts. */
struct step {
    const struct rule *rule;
    char *site; /* heap; "": none */
    uint64_t variation;
    uint64_t hash;
};

static char *unquote(const char *text, size_t length)
{
    struct str out;
    str_init(&out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            str_append(&out, &text[i], 1);
            continue;
        }
        int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = i + 2 < length ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0 || (high | low) == 0) {
            str_release(&out);
            return NULL;
        }
        char c = (char)(high * 16 + low);
        str_append(&out, &c, 1);
        i += 2;
    }
    return str_detach(&out);
}

/* Reads the step at *text, up to a space or the end, and moves *text behind it. */
static int read_step(const char **text, struct step *step, struct error *err)
{
    const char *at = *text;
    size_t length = strcspn(at, " "), name = strcspn(at, " @#");
    *step = (struct step){.rule = rule_named(at, name), .hash = hash_bytes(1, at, length)};
    if (!step->rule)
        return error_set(err, ERROR_USAGE, "there is no rule '%.*s'; 'assay rules' lists them",
                         (int)(name < 60 ? name : 60), at);
    const char *mark = memchr(at, '#', length);
    size_t end = mark ? (size_t)(mark - at) : length;
    if (mark) {
        char number[20] = {0};
        long long variation;
        size_t digits = length - end - 1;
        if (digits < sizeof number)
            memcpy(number, mark + 1, digits);
        if (!text_int64(number, &variation) || variation < 0)
            return error_set(err, ERROR_USAGE, "'%.*s': after # a number is expected",
                             (int)(length < 100 ? length : 100), at);
        step->variation = (uint64_t)variation;
    }
    step->site = end > name ? unquote(at + name + 1, end - name - 1) : memory_strdup("");
    if (!step->site)
        return error_set(err, ERROR_USAGE, "'%.*s': after %% two hexadecimal digits are expected",
                         (int)(length < 100 ? length : 100), at);
    *text = at + length;
    *text += strspn(*text, " ");
    return 0;
}

const struct rule *rewriting_rule(const char *rewriting)
{
    const char *last = strrchr(rewriting, ' ');
    last = last ? last + 1 : rewriting;
    return rule_named(last, strcspn(last, "@#"));
}

size_t rewriting_depth(const char *rewriting)
{
    size_t count = 0;
    while (*rewriting) {
        count++;
        rewriting += strcspn(rewriting, " ");
        rewriting += strspn(rewriting, " ");
    }
    return count;
}

/* "knob(opt,threads)": what the settings are about, without their values. */
static void add_rule(struct str *out, const struct step *step)
{
    str_add(out, step->rule->name);
    if (!step->rule->each_knob)
        return;
    struct label_part knobs = label_part(step->site);
    struct label_knob knob;
    for (const char *before = "("; label_next_knob(&knobs, &knob) > 0; before = ",") {
        str_add(out, before);
        str_append(out, knob.name.text, knob.name.length);
    }
    str_add(out, ")");
}

void rewriting_rules(struct str *out, const char *rewriting)
{
    struct str all;
    str_init(&all);
    while (*rewriting) {
        struct step step;
        struct str one;
        if (read_step(&rewriting, &step, NULL)) {
            free(step.site);
            break;
        }
        str_init(&one);
        add_rule(&one, &step);
        if (!all.length || !rule_list_has(all.data, '+', one.data))
            str_printf(&all, "%s%s", all.length ? "+" : "", one.data);
        str_release(&one);
        free(step.site);
    }
    str_add(out, all.data);
    str_release(&all);
}

/* Takes the first step off a rewriting and gives its rule; NULL when there is none. */
static const struct rule *next_step(const char **rewriting, const char **step, size_t *length)
{
    *step = *rewriting;
    *length = strcspn(*step, " ");
    *rewriting += *length;
    *rewriting += strspn(*rewriting, " ");
    return rule_named(*step, strcspn(*step, " @#"));
}

char *rewriting_ways(const char *rewriting)
{
    struct str ways;
    str_init(&ways);
    while (*rewriting) {
        const char *step;
        size_t length;
        const struct rule *rule = next_step(&rewriting, &step, &length);
        if (!rule || rule->scope != RULE_RUN)
            continue;
        str_add(&ways, ways.length ? " " : "");
        str_append(&ways, step, length);
    }
    char *text = str_detach(&ways);
    str_release(&ways);
    return text;
}

void rewriting_describe(struct str *out, const char *rewriting)
{
    while (*rewriting) {
        const char *step;
        size_t length;
        const struct rule *rule = next_step(&rewriting, &step, &length);
        struct str text;
        str_init(&text);
        str_append(&text, step, length);
        str_add(out, "- ");
        markdown_code(out, text.data);
        str_printf(out, ": %s\n", rule ? rule->summary : "a rule of another release");
        str_release(&text);
    }
}

long rewriting_node(const char *rewriting, const struct model *original)
{
    const Onnx__GraphProto *graph = original->graph;
    struct step step;
    long number = -1;
    int status = read_step(&rewriting, &step, NULL);
    for (size_t i = 0; !status && !*rewriting && step.rule->scope == RULE_NODE && i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*step.site && strcmp(graph->node[i]->output[k], step.site) == 0)
                number = (long)i;
    free(step.site);
    return number;
}

/* --- Listing --- */

void rewriting_step(struct str *out, const char *rule, const char *site)
{
    str_add(out, rule);
    if (*site) {
        str_add(out, "@");
        add_quoted(out, site);
    }
}

static void add_step(struct rewriting_steps *list, const struct rule *rule, const char *site)
{
    struct str text;
    str_init(&text);
    rewriting_step(&text, rule->name, site);
    size_t capacity = list->capacity;
    list->rules = memory_grow(list->rules, &capacity, list->count + 1, sizeof *list->rules);
    list->steps = memory_grow(list->steps, &list->capacity, list->count + 1, sizeof *list->steps);
    list->rules[list->count] = rule;
    list->steps[list->count++] = str_detach(&text);
}

static const char *first_output(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "";
}

/* Rules name operators of ONNX; one of another domain that has the same name is another operator. */
static bool takes_node(const struct rule *rule, const Onnx__NodeProto *node)
{
    return rule_takes(rule, node->op_type) &&
           (!rule->operators || !node->domain || !*node->domain || text_equal(node->domain, "ai.onnx"));
}

static void list_sites(struct rewriting_steps *list, const struct rule *rule, const struct model_index *index,
                       const struct rule_choice *choice)
{
    const Onnx__GraphProto *graph = index->model->graph;
    if (rule->scope == RULE_NODE)
        for (size_t i = 0; i < graph->n_node; i++) {
            if (takes_node(rule, graph->node[i]) && *first_output(graph->node[i]))
                add_step(list, rule, first_output(graph->node[i]));
        }
    else if (rule->scope == RULE_VALUE)
        for (size_t i = 0; i < index->count; i++)
            add_step(list, rule, index->values[i].name);
    else if (rule->each_knob)
        for (size_t i = 0; choice && i < choice->n_knobs; i++)
            add_step(list, rule, choice->knobs[i]);
    else
        add_step(list, rule, "");
}

int rewriting_steps(struct rewriting_steps *list, const struct test_case *test,
                    const struct rule_choice *choice, struct error *err)
{
    struct model_index index;
    const struct model *model = test_case_model(test, err);
    *list = (struct rewriting_steps){0};
    if (!model || model_index_init(&index, model, err))
        return -1;
    for (size_t i = 0; i < rules_count; i++)
        if (is_chosen(choice, rules_all[i]))
            list_sites(list, rules_all[i], &index, choice);
    model_index_release(&index);
    return 0;
}

void rewriting_steps_free(struct rewriting_steps *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->steps[i]);
    free(list->steps);
    free(list->rules);
    *list = (struct rewriting_steps){0};
}

/* --- Applying --- */

static int find_site(const struct rewrite *rewrite, const struct step *step, struct rule_site *site)
{
    const struct index_value *value;
    *site = (struct rule_site){.knob = step->site};
    if (step->rule->scope == RULE_MODEL || step->rule->scope == RULE_RUN)
        return 1;
    value = model_index_find(&rewrite->index, step->site);
    if (!value)
        return 0;
    if (step->rule->scope == RULE_VALUE) {
        site->value = value;
        return 1;
    }
    if (value->source != SOURCE_NODE)
        return 0;
    site->node = rewrite->model->graph->node[value->number];
    return takes_node(step->rule, site->node);
}

static int not_here(const struct step *step, struct error *err)
{
    error_set(err, ERROR_NOT_FOUND, "the rule %s does not apply%s%.100s", step->rule->name,
              *step->site ? " at " : "", step->site);
    return 0;
}

/* What a step says about the whole rewriting. */
static void join(struct equivalence *way, const struct rule *rule)
{
    if (rule->relation == RELATION_BOUNDS)
        way->relation = RELATION_BOUNDS;
    way->nothing_new &= rule->nothing_new;
    way->memory |= rule->memory;
}

static int apply_rule(const struct rule *rule, struct rewrite *rewrite, const struct rule_site *site)
{
    if (!rule->knobs)
        return rule->apply(rewrite, site);
    rewrite_add_knobs(rewrite, rule->knobs);
    return 1;
}

static int apply_step(struct rewrite *rewrite, const struct step *step, struct error *err)
{
    struct rule_site site;
    if (model_index_init(&rewrite->index, rewrite->model, err))
        return -1;
    value_types_init_for(&rewrite->types, rewrite->model, rewrite->inputs, rewrite->n_inputs);
    rewrite->rng = rng_seed(step->hash);
    enum rows rows = rewrite->way->rows;
    int result = find_site(rewrite, step, &site);
    if (result == 1) {
        join(rewrite->way, step->rule);
        rewrite->way->rows = ROWS_ALL;
        rewrite->err = err;
        result = apply_rule(step->rule, rewrite, &site);
        /* Rows are added or turned round by one step only. */
        if (rows != ROWS_ALL && rewrite->way->rows != ROWS_ALL)
            result = 0;
        if (rows != ROWS_ALL)
            rewrite->way->rows = rows;
    }
    value_types_release(&rewrite->types);
    model_index_release(&rewrite->index);
    if (result == 0)
        return not_here(step, err);
    if (result == 1 && step->rule->scope != RULE_RUN && model_sort_nodes(rewrite->model, err))
        return -1;
    return result;
}

static int apply_steps(struct rewrite *rewrite, const char *rewriting, bool *runs_only, struct error *err)
{
    int result = 1;
    size_t depth = 0;
    *runs_only = true;
    while (result == 1 && *rewriting) {
        struct step step;
        if (depth++ == REWRITING_MAX_DEPTH)
            return error_set(err, ERROR_LIMIT, "a rewriting has at most %d steps", REWRITING_MAX_DEPTH);
        result = read_step(&rewriting, &step, err) ? -1 : apply_step(rewrite, &step, err);
        *runs_only &= !step.rule || step.rule->scope == RULE_RUN;
        free(step.site);
    }
    return depth ? result : error_set(err, ERROR_USAGE, "an empty rewriting");
}

static bool same_type(const struct bounded *a, const struct bounded *b)
{
    return !a || !b || a->type == DTYPE_NONE || b->type == DTYPE_NONE ||
           (a->type == b->type &&
            (a->shape.rank < 0 || b->shape.rank < 0 || shape_equal(&a->shape, &b->shape)));
}

/* The reference's types and shapes of the outputs, as far as they follow from those of the inputs, are those
 * of the original. */
static int check_outputs(const struct test_case *origin, const struct rewrite *rewrite, struct error *err)
{
    struct value_types before, after;
    const struct model *model = test_case_model(origin, err);
    const char *differs = NULL;
    value_types_init_for(&before, model, origin->inputs, origin->n_inputs);
    value_types_init_for(&after, rewrite->model, rewrite->inputs, rewrite->n_inputs);
    for (size_t i = 0; i < model->graph->n_output && !differs; i++) {
        const char *name = model->graph->output[i]->name;
        if (!same_type(value_types_find(&before, name), value_types_find(&after, name)))
            differs = name;
    }
    value_types_release(&before);
    value_types_release(&after);
    return differs ? error_set(err, ERROR_INVALID, "the output '%.100s' gets another type or shape", differs)
                   : 0;
}

static bool has_node(const struct model *model, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *other = model->graph->node[i];
        if (strcmp(other->op_type, node->op_type) == 0 &&
            strcmp(first_output(other), first_output(node)) == 0)
            return true;
    }
    return false;
}

/* Whether the operator takes this type only from a later opset on. ONNX's checker does not look at types, and
 * its own functions have such nodes. */
static bool is_too_early(const Onnx__NodeProto *node, enum dtype type, int opset)
{
    const struct op *op = op_of(node);
    if (!op || type == DTYPE_NONE || opset < OPSET_FIRST || dtype_in(type, op_types_at(op, opset)))
        return false;
    for (int later = opset + 1; later <= OPSET_LAST; later++)
        if (dtype_in(type, op_types_at(op, later)))
            return true;
    return false;
}

/* The nodes that were added take the types they get. */
static int check_types(const struct test_case *origin, const struct rewrite *rewrite, struct error *err)
{
    struct value_types types;
    const struct model *model = test_case_model(origin, err);
    const Onnx__GraphProto *graph = rewrite->model->graph;
    const Onnx__NodeProto *bad = NULL;
    value_types_init_for(&types, rewrite->model, rewrite->inputs, rewrite->n_inputs);
    for (size_t i = 0; i < graph->n_node && !bad; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        const struct bounded *first = node->n_input ? value_types_find(&types, node->input[0]) : NULL;
        if (first && is_too_early(node, first->type, model_opset(rewrite->model)) && !has_node(model, node))
            bad = node;
    }
    value_types_release(&types);
    return bad ? error_set(err, ERROR_INVALID, "%s does not take the type of '%.100s' at this opset",
                           bad->op_type, bad->input[0])
               : 0;
}

/* Returns 1 when the rewritten model may be used. */
static int check(const struct test_case *origin, const struct rewrite *rewrite, const char *rewriting,
                 struct error *err)
{
    if ((rewrite->way->rows == ROWS_ALL && check_outputs(origin, rewrite, err)) ||
        check_types(origin, rewrite, err) || model_valid(rewrite->model, err)) {
        error_prefix(err, "rewritten by %.150s", rewriting);
        return 0;
    }
    return 1;
}

static struct test_case *finish(struct test_case *origin, struct rewrite *rewrite, bool runs_only,
                                const char *rewriting)
{
    struct test_case *made;
    if (runs_only) {
        made = test_case_same_model(origin);
    } else {
        made = test_case_new(rewrite->model);
        rewrite->model = NULL;
    }
    made->inputs = rewrite->inputs;
    made->n_inputs = rewrite->n_inputs;
    rewrite->inputs = NULL;
    rewrite->n_inputs = 0;
    made->random = origin->random;
    made->first = origin->first;
    test_case_set_name(made, origin->name);
    struct equivalence *to = test_case_set_origin(made, origin, rewriting), *way = rewrite->way;
    free(to->knobs);
    to->knobs = way->knobs;
    way->knobs = NULL;
    to->relation = way->relation;
    to->rows = way->rows;
    to->nothing_new = way->nothing_new;
    to->fresh = way->fresh;
    to->again = way->again;
    to->others = way->others;
    to->bytes = way->bytes;
    to->memory = way->memory;
    to->by_path = way->by_path;
    if (*origin->recipe) {
        struct str recipe;
        str_init(&recipe);
        str_printf(&recipe, "%s | %s", origin->recipe, rewriting);
        free(made->recipe);
        made->recipe = str_detach(&recipe);
    }
    return made;
}

int rewriting_apply(struct test_case *origin, const char *rewriting, struct test_case **rewritten,
                    struct error *err)
{
    const struct model *model = test_case_model(origin, err);
    struct equivalence way = {.relation = RELATION_BITS, .nothing_new = true};
    struct rewrite rewrite = {.way = &way};
    bool runs_only;
    int result = -1;
    *rewritten = NULL;
    if (!model)
        return -1;
    way.knobs = memory_strdup("");
    rewrite.inputs = memory_zeroed(origin->n_inputs + 1, sizeof *rewrite.inputs);
    for (; rewrite.n_inputs < origin->n_inputs; rewrite.n_inputs++) {
        value_init(&rewrite.inputs[rewrite.n_inputs]);
        if (value_copy(&rewrite.inputs[rewrite.n_inputs], &origin->inputs[rewrite.n_inputs], err))
            goto out;
    }
    if (model_clone(&rewrite.model, model, err))
        goto out;
    result = apply_steps(&rewrite, rewriting, &runs_only, err);
    if (result == 1 && !runs_only)
        result = check(origin, &rewrite, rewriting, err);
    if (result == 1)
        *rewritten = finish(origin, &rewrite, runs_only, rewriting);
out:
    model_free(rewrite.model);
    values_free(rewrite.inputs, rewrite.n_inputs);
    free(way.knobs);
    return result;
}

int rewriting_recipe(const char *recipe, struct test_case **out, struct error *err)
{
    static const char divider[] = " | ";
    const char *at = strstr(recipe, divider);
    struct test_case *origin;
    *out = NULL;
    if (!at)
        return generate_recipe(recipe, out, err);
    char *first = memory_strdup(recipe);
    first[at - recipe] = '\0';
    int status = generate_recipe(first, &origin, err);
    free(first);
    if (status)
        return -1;
    status = rewriting_apply(origin, at + strlen(divider), out, err) == 1 ? 0 : -1;
    test_case_free(origin);
    return status;
}

/* --- Drawing --- */

/* Draws one of the rules that the list has, then one of its steps. */
static size_t draw_step(const struct rewriting_steps *list, struct rng *rng)
{
    size_t rules = 0, first = 0, count = 0;
    for (size_t i = 0; i < list->count; i++)
        rules += i == 0 || list->rules[i] != list->rules[i - 1];
    size_t chosen = (size_t)rng_below(rng, rules);
    rules = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool begins = i == 0 || list->rules[i] != list->rules[i - 1];
        rules += begins;
        if (rules != chosen + 1)
            continue;
        if (begins)
            first = i;
        count++;
    }
    return first + (size_t)rng_below(rng, count);
}

/* Appends one step to the rewriting of *best, the original or a rewritten form of it. */
static int draw_one(struct test_case *origin, const struct rule_choice *choice, size_t tries, struct rng *rng,
                    struct test_case **best, struct error *err)
{
    struct rewriting_steps list;
    int result = 0;
    if (rewriting_steps(&list, *best ? *best : origin, choice, err)) {
        rewriting_steps_free(&list);
        return -1;
    }
    for (size_t i = 0; result == 0 && list.count && i < tries; i++) {
        struct test_case *made;
        struct str text;
        str_init(&text);
        if (*best || choice->bytes)
            str_printf(&text, "%s ", *best ? (*best)->equivalence->rewriting : "bytes");
        str_printf(&text, "%s#%d", list.steps[draw_step(&list, rng)], (int)rng_below(rng, 1000));
        result = rewriting_apply(origin, text.data, &made, err);
        if (result == 1) {
            test_case_free(*best);
            *best = made;
        }
        str_release(&text);
    }
    rewriting_steps_free(&list);
    return result;
}

int rewriting_draw(struct test_case *origin, const struct rule_choice *choice, size_t depth, size_t tries,
                   struct rng *rng, struct test_case **rewritten, struct error *err)
{
    int result = 1;
    *rewritten = NULL;
    for (size_t i = 0; result == 1 && i < depth && i < REWRITING_MAX_DEPTH; i++)
        result = draw_one(origin, choice, tries, rng, rewritten, err);
    if (result < 0) {
        test_case_free(*rewritten);
        *rewritten = NULL;
        return -1;
    }
    return *rewritten != NULL;
}
