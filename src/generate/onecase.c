#include "generate/maker.h"

#include "base/hash.h"
#include "base/str.h"
#include "generate/illegal.h"

#include <stdlib.h>
#include <string.h>

void gencase_release(struct gencase *c)
{
    testcase_release(&c->test);
    free(c->note);
    *c = (struct gencase){0};
}

/* One of the operators that the options allow, and that has something illegal to offer when that is asked. */
static const struct op *choose_op(struct rng *rng, const struct generate_options *options)
{
    size_t count = op_count(), allowed = 0;
    const struct op *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct op *op = op_at(i);
        bool fits =
            options_allow(options, op) && (!options->types || op_types_at(op, OPSET_LAST) & options->types);
        if (!fits || (options->illegal && !illegal_exists(op)))
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

/* One attempt; -1 when the sampler gives up or the operator has none of the types. */
static int attempt(struct rng rng, const struct op *op, const struct generate_options *options,
                   struct gencase *out, struct str *note, struct error *err)
{
    int opset = draw_opset(&rng, options, op->since);
    dtype_set set = op_types_at(op, opset) & (options->types ? options->types : ~(dtype_set)0);
    if (!set)
        return error_set(err, ERROR_NOT_FOUND, "%s has none of the types at opset %d", op->name, opset);
    struct maker m;
    struct draw d;
    struct bounded outputs[64] = {0};
    maker_init(&m, opset, rng_split(&rng, 1));
    enum fill fill = choose_fill(&rng, options);
    draw_init(&d, &m.model->arena, op, opset, draw_primary_type(&rng, set), fill, rng_split(&rng, 2));
    d.special_ok = fill == FILL_SPECIAL;
    int result = draw_node(&d);
    if (result || d.n_outputs > 64)
        result = error_set(err, ERROR_NOT_FOUND, "%s: the sampler gave up", op->name);
    if (!result)
        result = maker_try(&m, &d, KNOW_SMALL, outputs, err);
    if (result && err->code == ERROR_UNSUPPORTED)
        result = maker_try(&m, &d, KNOW_ALL, outputs, err);
    if (!result && options->illegal)
        result = illegal_apply(&d, rng_split(&rng, 3), note, err);
    if (!result) {
        maker_keep(&m, &d, outputs);
        result = maker_finish(&m, options->illegal, out, err);
    }
    for (size_t i = 0; i < 64; i++)
        bounded_release(&outputs[i]);
    draw_release(&d);
    maker_release(&m);
    return result;
}

/* A sampler gives up now and then; more than this many times in a row it never does. */
enum { ATTEMPTS = 200 };

int generate_one(uint64_t seed, uint64_t index, const struct generate_options *options, struct gencase *out,
                 struct error *err)
{
    static const struct generate_options everything;
    struct rng root = rng_seed(seed), rng = rng_split(&root, index);
    struct str note;
    *out = (struct gencase){0};
    if (!options)
        options = &everything;
    const struct op *op = choose_op(&rng, options);
    if (!op)
        return error_set(err, ERROR_NOT_FOUND, "no operator fits the options");
    str_init(&note);
    struct error why = {0};
    int result = -1;
    for (uint64_t i = 0; result && i < ATTEMPTS; i++) {
        str_clear(&note);
        result = attempt(rng_split(&rng, i + 10), op, options, out, &note, &why);
    }
    if (result) {
        error_set(err, why.code, "%s", why.message);
    } else {
        out->first = op;
        out->note = str_detach(&note);
        out->test.recipe = recipe_text("one", seed, index, options);
    }
    str_release(&note);
    return result;
}
