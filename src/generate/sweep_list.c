/* The list of all sweeps: operators and types of the table, and the classes of attributes that samplers draw
 * (sweep_list_init of sweep.h). */
#include "generate/sweep.h"

#include "base/memory.h"
#include "generate/case_maker.h"
#include "generate/sweep_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is run first when time is short. */
enum phase {
    PHASE_FIRST,   /* one run of each operator and type */
    PHASE_TAILS,   /* vectors of all lengths */
    PHASE_CLASSES, /* runs with other attributes, and all classes of scales */
    PHASE_FORMS,   /* images */
    PHASE_OFFSETS, /* vectors that begin somewhere in others */
    PHASE_ZEROS,   /* all zero points */
};

/* How many draws a list of classes is read from, and how many of a class are taken: numbers such as a slope
 * or a scale differ between these. */
enum { DRAWS = 160, IMAGE_DRAWS = 64, CLASSES = 48, IMAGE_CLASSES = 8, TAIL_CLASSES = 3, MOST_OF_CLASS = 4 };

struct classes {
    size_t count;
    struct {
        char *key;
        int taken;
    } of[CLASSES];
};

/* What distinguishes draws: attributes but for real numbers, and which inputs there are, of which types and
 * ranks. */
static char *class_key(const struct draw *d)
{
    struct str key;
    str_init(&key);
    for (size_t i = 0; i < d->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = d->node->attribute[i];
        str_printf(&key, "%s=%lld", a->name, (long long)a->i);
        if (a->s.len)
            str_printf(&key, "%.*s", (int)a->s.len, (const char *)a->s.data);
        for (size_t k = 0; k < a->n_ints; k++)
            str_printf(&key, ",%lld", (long long)a->ints[k]);
        str_add(&key, " ");
    }
    for (size_t i = 1; i < d->n_inputs; i++)
        str_printf(&key, "%d/%d ", d->inputs[i].source == DRAWN_OMITTED ? 0 : (int)d->inputs[i].type,
                   i == d->op->each.second ? 0 : d->inputs[i].shape.rank);
    char *text = str_detach(&key);
    str_release(&key);
    return text;
}

/* Whether another draw of a class would make another case. */
static int most_of_class(const struct draw *d)
{
    size_t operands = d->op->each.second ? 2 : 1;
    bool numbers = d->n_inputs > operands || d->op->each.rule == EACH_PRODUCT;
    for (size_t i = 0; i < d->node->n_attribute; i++)
        numbers |= d->node->attribute[i]->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    for (size_t i = 0; i < d->n_inputs && operands == 2; i++)
        numbers |= sweep_patterns(i ? d->inputs[i].type : d->type) == 0;
    for (size_t i = 0; i < OP_DANGERS; i++)
        numbers |= operands == 2 && d->op->dangers[i].kind == DANGER_POLE;
    if (sweep_patterns(d->type) == 0 && operands == 1)
        return 2;
    return !numbers ? 1 : operands == 2 ? MOST_OF_CLASS : 2;
}

/* Whether the draw is to be taken: the first few of each class, and so many classes. */
static bool take(struct classes *classes, size_t most, const struct draw *d)
{
    char *key = class_key(d);
    size_t at = 0;
    while (at < classes->count && strcmp(classes->of[at].key, key) != 0)
        at++;
    if (at == classes->count && at < most) {
        classes->of[classes->count].key = key;
        classes->of[classes->count++].taken = 0;
        key = NULL;
    }
    free(key);
    return at < classes->count && classes->of[at].taken++ < most_of_class(d);
}

static void clear(struct classes *classes)
{
    for (size_t i = 0; i < classes->count; i++)
        free(classes->of[i].key);
    classes->count = 0;
}

static void add(struct sweep_list *list, struct sweep sweep, enum phase phase)
{
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    sweep.phase = (int)phase;
    list->items[list->count++] = sweep;
}

/* Patterns of a zero point that stand for the others. */
static int some_zero(size_t patterns, int number)
{
    const size_t some[] = {0, patterns / 2 - 1, patterns / 2, patterns - 1, 1, 7 % patterns};
    return (int)some[(size_t)number % (sizeof some / sizeof *some)];
}

/* All classes of scales with some zero points; all zero points with two scales. */
static void add_scales(struct sweep_list *list, struct sweep sweep, const struct draw *d, bool all_zeros)
{
    enum dtype type = d->n_inputs > 2 && dtype_is_integer(d->inputs[2].type) ? d->inputs[2].type : DTYPE_NONE;
    size_t patterns = type ? sweep_patterns(type) : 0;
    for (sweep.scale = 1; sweep.scale <= SWEEP_SCALES; sweep.scale++) {
        sweep.zero = patterns ? some_zero(patterns, sweep.scale) + 1 : 0;
        add(list, sweep, PHASE_CLASSES);
    }
    for (size_t zero = 0; all_zeros && patterns <= SWEEP_SAMPLES && zero < patterns; zero++)
        for (sweep.scale = 2; sweep.scale <= 3; sweep.scale++) {
            sweep.zero = (int)zero + 1;
            add(list, sweep, PHASE_ZEROS);
        }
}

/* The draws of a form, on small operands of the same rank: attributes do not depend on sizes. */
static int draw_small(struct draw *d, struct arena *arena, const struct sweep *sweep)
{
    static const struct shape vector = {1, {4}}, image = {4, {1, 4, 3, 2}}, matrix = {2, {4, 1}};
    struct drawn given = {.source = DRAWN_EXISTING, .type = sweep->type};
    given.shape = sweep->op->each.rule == EACH_PRODUCT ? matrix : sweep->form == SWEEP_RUN ? vector : image;
    return sweep_draw(d, arena, sweep, &given);
}

static void add_run(struct sweep_list *list, const struct sweep *sweep, const struct draw *d, size_t place,
                    bool all_zeros)
{
    bool quantizes = sweep->op->flags & (OP_QUANTIZES | OP_DEQUANTIZES);
    struct sweep tails = *sweep;
    add(list, *sweep, place ? PHASE_CLASSES : PHASE_FIRST);
    if (quantizes)
        add_scales(list, *sweep, d, all_zeros);
    tails.form = SWEEP_TAILS;
    if (place >= TAIL_CLASSES || sweep->op->each.rule == EACH_PRODUCT)
        return;
    add(list, tails, PHASE_TAILS);
    for (tails.offset = 1; !place && tails.offset <= SWEEP_LAST_OFFSET; tails.offset++)
        add(list, tails, PHASE_OFFSETS);
}

static void add_image(struct sweep_list *list, const struct sweep *sweep, size_t place)
{
    struct sweep turned = *sweep;
    turned.form = SWEEP_TURNED;
    add(list, *sweep, PHASE_FORMS);
    if (!place)
        add(list, turned, PHASE_FORMS);
    if (sweep->op->flags & (OP_QUANTIZES | OP_DEQUANTIZES)) {
        turned.form = SWEEP_IMAGE;
        turned.scale = turned.zero = 1;
        add(list, turned, PHASE_FORMS);
    }
}

static void add_form(struct sweep_list *list, struct sweep sweep, uint64_t draws, size_t most)
{
    struct classes classes = {0};
    dtype_set zeros = 0; /* types of zero points of which all were added */
    size_t place = 0;
    for (sweep.index = 0; sweep.index < draws; sweep.index++) {
        struct arena arena;
        struct draw d;
        arena_init(&arena);
        if (draw_small(&d, &arena, &sweep) == 0 && take(&classes, most, &d)) {
            dtype_set zero = d.n_inputs > 2 ? DTYPE_BIT(d.inputs[2].type) : 0;
            if (sweep.form == SWEEP_RUN)
                add_run(list, &sweep, &d, place, zero & ~zeros);
            else
                add_image(list, &sweep, place);
            zeros |= zero;
            place++;
        }
        draw_release(&d);
        arena_release(&arena);
        if (sweep.op->inputs.most == 1 && !sweep.op->params && sweep_patterns(sweep.type))
            break;
    }
    clear(&classes);
}

/* The opset at which the type of the operator is swept; 0: none. */
static int opset_for(const struct op *op, enum dtype type, const struct generate_options *options)
{
    int least = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST, best = 0;
    for (int opset = least; opset <= OPSET_NEWEST; opset++) {
        dtype_set narrow = op->flags & OP_FIRST_NOT_NARROW ? 0 : op_narrow_at(op, opset);
        bool there = dtype_in(type, op_types_at(op, opset) | narrow) &&
                     (!options->opset || opset == options->opset) &&
                     !(options->lacks && options->lacks(options->lacks_context, op, type, opset));
        if (there && (opset <= OPSET_LAST || !best))
            best = opset;
    }
    return best;
}

static void add_operator(struct sweep_list *list, const struct op *op, uint64_t seed,
                         const struct generate_options *options)
{
    for (int i = 1; i < DTYPE_COUNT; i++) {
        enum dtype type = (enum dtype)i;
        struct sweep sweep = {.op = op, .type = type, .seed = seed};
        if (!dtype_is_real(type) || (options->types && !dtype_in(type, options->types)) ||
            !(sweep.opset = opset_for(op, type, options)))
            continue;
        add_form(list, sweep, DRAWS, CLASSES);
        sweep.form = SWEEP_IMAGE;
        if (op->each.rule != EACH_PRODUCT)
            add_form(list, sweep, IMAGE_DRAWS, IMAGE_CLASSES);
    }
}

/* By phase, and as they were added. */
static void sort(struct sweep_list *list)
{
    struct sweep *sorted = memory_zeroed(list->count + 1, sizeof *sorted);
    size_t count = 0;
    for (int phase = PHASE_FIRST; phase <= PHASE_ZEROS; phase++)
        for (size_t i = 0; i < list->count; i++)
            if (list->items[i].phase == phase)
                sorted[count++] = list->items[i];
    free(list->items);
    list->items = sorted;
    list->capacity = list->count + 1;
}

void sweep_list_init(struct sweep_list *list, uint64_t seed, const struct generate_options *options)
{
    *list = (struct sweep_list){0};
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (op->each.rule != EACH_OTHER && op->sample && (!options->ops || op_list_has(options->ops, op)))
            add_operator(list, op, seed, options);
    sort(list);
}

void sweep_list_release(struct sweep_list *list)
{
    free(list->items);
    *list = (struct sweep_list){0};
}
