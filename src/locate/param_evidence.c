#include "locate/param_evidence.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct param_evidence *params_evidence_of(const struct params_evidence *evidence,
                                          const struct param_change *change)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (evidence->items[i].node == change->node && evidence->items[i].param == change->param)
            return &evidence->items[i];
    return NULL;
}

static struct param_evidence *add_row(struct params_evidence *evidence, struct examination *look,
                                      const struct param_change *change)
{
    struct param_evidence *one = &evidence->items[evidence->count++];
    *one = (struct param_evidence){.node = change->node, .param = change->param, .apart = INFINITY};
    one->present = param_present(look->sets[0], change->node, change->param, look->arena, &one->plain);
    return one;
}

static void weigh_change(struct params_evidence *evidence, struct examination *look, size_t number)
{
    const struct param_change *change = &look->changes.items[number];
    double apart = look->apart[number];
    struct param_evidence *one = params_evidence_of(evidence, change);
    if (!one)
        one = add_row(evidence, look, change);
    if (look->ends[number] == CHANGE_KEEPS)
        one->keeps++;
    if (look->ends[number] != CHANGE_CURES)
        return;
    one->cures++;
    one->by_default = one->by_default || (change->plain && !one->plain);
    one->by_synonym = one->by_synonym || (change->synonym && change->alone && apart <= 0);
    one->same_shape = one->same_shape || apart <= 1;
    bool plainer = apart <= one->apart && change->alone && !look->changes.items[one->best].alone;
    if (apart < one->apart || plainer) {
        one->apart = apart;
        one->best = number;
    }
}

void params_evidence_init(struct params_evidence *evidence, struct examination *look)
{
    *evidence = (struct params_evidence){.items = memory_zeroed(look->n_params + 1, sizeof *evidence->items)};
    for (size_t i = 0; i < look->n_params; i++)
        weigh_change(evidence, look, i);
}

void params_evidence_release(struct params_evidence *evidence)
{
    free(evidence->items);
}

/* The failure comes and goes with the parameter: every other value cures, the default among them. */
static bool is_switch(const struct param_evidence *one)
{
    return !one->plain && !one->keeps && one->by_default;
}

static bool is_change_of(const struct examination *look, size_t number, const struct param_evidence *one)
{
    const struct param_change *change = &look->changes.items[number];
    return change->param == one->param && change->node == one->node && change->way != WAY_RESPELLED &&
           look->ends[number] != CHANGE_INVALID;
}

/* Whether, after this change, every value of a gives the same answer. */
static bool is_idle_after(struct examination *look, const struct param_change *change,
                          const struct param_evidence *a)
{
    const struct param_change *both[2] = {change};
    struct expected one, two;
    size_t same = 0, other = 0;
    if (examination_expect(look, both, 1, &one))
        return false;
    for (size_t i = 0; i < look->n_params && !other; i++) {
        both[1] = &look->changes.items[i];
        if (!is_change_of(look, i, a) || examination_expect(look, both, 2, &two))
            continue;
        if (expected_apart(&one, &two) > 0)
            other++;
        else
            same++;
        expected_release(&two);
    }
    expected_release(&one);
    return same && !other;
}

/*
 * Whether a means something only for the present value of b: whenever b is cured, no value of a changes the
 * answer (nearest_mode without mode=nearest, dilations of a kernel of size 1). Then a says more of the
 * failure; but not a default, where another value only makes the wrong shape the right one (ceil_mode of
 * pads).
 */
static bool is_inside(struct examination *look, const struct param_evidence *a,
                      const struct param_evidence *b)
{
    size_t cures = 0;
    if (a->node != b->node || !(a->apart > 0) || (a->plain && !a->same_shape))
        return false;
    for (size_t i = 0; i < look->n_params; i++) {
        if (!is_change_of(look, i, b) || look->ends[i] != CHANGE_CURES)
            continue;
        if (!is_idle_after(look, &look->changes.items[i], a))
            return false;
        cures++;
    }
    return cures > 0;
}

/* The marks by which the cause is chosen among parameters with a cure, most important first. */
enum { MARKS = 7 };

static void marks_of(const struct param_evidence *one, bool marks[MARKS])
{
    const bool all[MARKS] = {
        one->by_synonym, /* the same node, spelled otherwise, cures */
        is_switch(one),
        !(one->apart > 0), /* the right answer stays the same: the value means the same, or happens to */
        one->by_default,
        !one->keeps && one->same_shape, /* every other value cures */
        one->same_shape,
        !one->plain,
    };
    memcpy(marks, all, sizeof all);
}

/* Whether a is more to blame than b; both have a cure. */
static bool outweighs(struct examination *look, const struct param_evidence *a,
                      const struct param_evidence *b)
{
    enum { EVERY = 1000 };
    bool x[MARKS], y[MARKS];
    marks_of(a, x);
    marks_of(b, y);
    if (x[0] != y[0])
        return x[0];
    bool inside = is_inside(look, a, b);
    if (inside != is_inside(look, b, a))
        return inside;
    for (size_t i = 1; i < MARKS; i++)
        if (x[i] != y[i])
            return x[i];
    if (fabs(a->apart - b->apart) > 0.05)
        return a->apart < b->apart;
    return a->cures * EVERY / (a->cures + a->keeps) > b->cures * EVERY / (b->cures + b->keeps);
}

static bool is_believed(const struct params_evidence *evidence, const struct param_evidence *one)
{
    return one->cures && (!evidence->size_matters || one->same_shape || (!one->keeps && one->by_default));
}

const struct param_evidence *param_to_blame(const struct params_evidence *evidence, struct examination *look)
{
    const struct param_evidence *chosen = NULL;
    for (size_t i = 0; i < evidence->count; i++)
        if (is_believed(evidence, &evidence->items[i]) &&
            (!chosen || outweighs(look, &evidence->items[i], chosen)))
            chosen = &evidence->items[i];
    return chosen;
}
