#include "generate/case_maker.h"

#include "base/hash.h"
#include "base/str.h"
#include "generate/illegal.h"

#include <stdlib.h>
#include <string.h>

/* Whether cases of the operator can have a type that is asked for. */
static bool has_asked_types(const struct generate_options *options, const struct op *op)
{
    bool newer = (options->types & (dtype_set)DTYPES_NARROW) || op_drawn_since(op) > OPSET_LAST;
    return op_drawn_types(op, newer ? OPSET_NEWEST : OPSET_LAST, options->types) != 0;
}

/* Chooses one of the operators that the options allow, one with illegal values when these are asked for. */
static const struct op *choose_op(struct rng *rng, const struct generate_options *options)
{
    size_t allowed = 0;
    const struct op *chosen = NULL;
    for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
        bool allowed_here = options_allow(options, op) && (!options->types || has_asked_types(options, op));
        if (!allowed_here || (options->illegal && !illegal_exists(op)) ||
            (options->gradients && !op->gradient))
            continue;
        if (rng_below(rng, ++allowed) == 0)
            chosen = op;
    }
    return chosen;
}

static enum fill choose_fill(struct rng *rng, const struct generate_options *options)
{
    if (options->fill)
        return (enum fill)(options->fill - 1);
    return rng_chance(rng, 0.5) ? FILL_NORMAL : rng_chance(rng, 0.5) ? FILL_EXACT : FILL_SPECIAL;
}

/* The inputs that are present, as bits. */
static uint32_t given_inputs(const struct draw *d)
{
    uint32_t given = 0;
    for (size_t i = 0; i < d->n_inputs && i < 32; i++)
        if (d->inputs[i].source != DRAWN_OMITTED)
            given |= (uint32_t)1 << i;
    return given;
}

/* Whether the node has the rank and form that the options ask for. */
static bool fits(const struct draw *d, const struct generate_options *options)
{
    if (options->given && given_inputs(d) != options->given)
        return false;
    return !options->rank || (d->n_inputs && d->inputs[0].shape.rank == options->rank - 1);
}

/* The most attempts: a sampler gives up now and then, but never so many times in a row. */
enum { ATTEMPTS = 200, LACKING = 1 };

/* One attempt; LACKING when options->lacks says so, -1 when the sampler gives up or the operator has none of
 * the types. */
static int attempt(struct rng rng, const struct op *op, const struct generate_options *options,
                   struct test_case **out, struct str *note, struct error *err)
{
    int opset = draw_opset(&rng, options, op_drawn_since(op));
    dtype_set set = op_drawn_types(op, opset, options->types);
    if (options->gradients && (set & (dtype_set)DTYPES_FLOAT))
        set &= (dtype_set)DTYPES_FLOAT;
    if (!set)
        return error_set(err, ERROR_NOT_FOUND, "%s supports none of the requested types at opset %d",
                         op->name, opset);
    struct rng for_model = rng_split(&rng, 1);
    enum fill fill = choose_fill(&rng, options);
    struct rng for_draw = rng_split(&rng, 2);
    enum dtype type = draw_primary_type(&rng, set);
    if (options->lacks && options->lacks(options->lacks_context, op, type, opset)) {
        error_set(err, ERROR_UNSUPPORTED, "the engine does not support %s of %s at opset %d", op->name,
                  dtype_name(type), opset);
        return LACKING;
    }
    struct maker m;
    struct draw d;
    struct bounded outputs[64] = {0};
    maker_init(&m, opset, for_model);
    m.record = options->record;
    draw_init(&d, &m.model->arena, op, opset, type, fill, for_draw);
    d.rank = options->rank;
    d.sizes = options->sizes;
    d.constants = options->constants;
    d.narrow = options->types & op_narrow_at(op, opset);
    int result = draw_node(&d);
    if (result || d.n_outputs > 64 || !fits(&d, options))
        result = error_set(err, ERROR_NOT_FOUND, "%s: the sampler found no valid node", op->name);
    if (!result)
        result = maker_try(&m, &d, KNOW_SMALL, outputs, err);
    if (result && err->code == ERROR_UNSUPPORTED)
        result = maker_try(&m, &d, KNOW_ALL, outputs, err);
    if (!result && options->illegal)
        result = illegal_apply(&d, rng_split(&rng, 3), note, err);
    if (!result) {
        maker_keep(&m, &d, outputs);
        *out = maker_finish(&m, options->illegal, false);
    }
    for (size_t i = 0; i < 64; i++)
        bounded_release(&outputs[i]);
    draw_release(&d);
    maker_release(&m);
    return result;
}

int generate_one(uint64_t seed, uint64_t index, const struct generate_options *options,
                 struct test_case **out, struct error *err)
{
    static const struct generate_options everything;
    struct rng root = rng_seed(seed), rng = rng_split(&root, index);
    struct str note;
    *out = NULL;
    if (!options)
        options = &everything;
    const struct op *op = choose_op(&rng, options);
    if (!op)
        return error_set(err, ERROR_NOT_FOUND, "no operator can be drawn with these options");
    str_init(&note);
    struct error why = {0};
    int result = -1;
    for (uint64_t i = 0; result < 0 && i < ATTEMPTS; i++) {
        str_clear(&note);
        result = attempt(rng_split(&rng, i + 10), op, options, out, &note, &why);
        if (!result)
            result = maker_ask(out, seed, index, options, &why);
    }
    if (result) {
        error_set(err, why.code, "%s", why.message);
    } else {
        free((*out)->note);
        free((*out)->recipe);
        (*out)->note = str_detach(&note);
        (*out)->recipe = recipe_text("one", seed, index, options);
    }
    str_release(&note);
    return result ? -1 : 0;
}

static int compare_forms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The number of draws that find the forms: a form that is drawn once in twenty times is missed once in 600.
 */
enum { FORM_DRAWS = 128 };

size_t generate_forms(const struct op *op, int opset, uint32_t *forms, size_t max)
{
    size_t count = 0;
    dtype_set set = op_types_at(op, opset);
    if (op->inputs.most >= 32 || op->inputs.least == op->inputs.most) {
        forms[0] = 0;
        return max > 0;
    }
    struct rng root = rng_seed(hash_text(op->name));
    for (uint64_t i = 0; set && i < FORM_DRAWS; i++) {
        struct arena arena;
        struct draw d;
        struct rng rng = rng_split(&root, i);
        arena_init(&arena);
        draw_init(&d, &arena, op, opset, draw_primary_type(&rng, set), FILL_NORMAL, rng_split(&rng, 1));
        uint32_t form = draw_node(&d) ? 0 : given_inputs(&d);
        size_t known = 0;
        while (known < count && forms[known] != form)
            known++;
        if (form && known == count && count < max)
            forms[count++] = form;
        draw_release(&d);
        arena_release(&arena);
    }
    qsort(forms, count, sizeof *forms, compare_forms);
    return count;
}
