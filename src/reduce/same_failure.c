#include "reduce/same_failure.h"

#include "reduce/pass.h"

#include <string.h>

/* An operator that a signature names. */
struct named {
    const struct signature *signature;
    size_t number;
};

static struct signature_operator place_of(struct named named)
{
    return named.signature->named[named.number];
}

static const char *name_of(struct named named)
{
    return named.signature->operators + place_of(named).start;
}

static bool same_name(struct named a, struct named b)
{
    return place_of(a).length == place_of(b).length &&
           strncmp(name_of(a), name_of(b), place_of(a).length) == 0;
}

static bool is_plain(struct named named)
{
    return pass_is_plain(name_of(named), place_of(named).length);
}

/* Whether it is one of those in the body of `larger`. */
static bool stands_inside(struct named smaller, struct named larger)
{
    struct named other = {.signature = larger.signature};
    for (; other.number < other.signature->n_named; other.number++)
        if (place_of(other).outer == (long)larger.number && same_name(smaller, other))
            return true;
    return false;
}

/* The same operator with no more inside, or one from inside it: bodies get smaller and branches inlined. */
static bool operator_fits(struct named smaller, struct named larger)
{
    if (!same_name(smaller, larger))
        return stands_inside(smaller, larger);
    struct named inside = {.signature = smaller.signature};
    for (; inside.number < inside.signature->n_named; inside.number++)
        if (place_of(inside).outer == (long)smaller.number && !stands_inside(inside, larger) &&
            !is_plain(inside))
            return false;
    return true;
}

/* Whether it fits one of the operators to blame. */
static bool fits_any(struct named smaller, const struct signature *larger)
{
    struct named other = {.signature = larger};
    for (; other.number < larger->n_named; other.number++)
        if (place_of(other).outer < 0 && operator_fits(smaller, other))
            return true;
    return false;
}

/* Does every operator of the smaller group fit one of the larger's? Plain ones stand for any, but not all of
 * a group may. */
static bool part_of(const struct signature *smaller, const struct signature *larger)
{
    if (larger->blame == BLAME_GRAPH || larger->larger)
        return true; /* nobody could be blamed, or more than are named */
    if (smaller->blame != BLAME_OPERATORS || smaller->larger)
        return false;
    bool any = false;
    struct named one = {.signature = smaller};
    for (; one.number < smaller->n_named; one.number++) {
        if (place_of(one).outer >= 0)
            continue;
        bool found = fits_any(one, larger);
        if (!found && !is_plain(one))
            return false;
        any |= found;
    }
    return any;
}

bool same_message(const struct signature *a, const struct signature *b)
{
    return a->symptom == b->symptom && strcmp(a->message, b->message) == 0;
}

bool same_failure(const struct signature *candidate, const struct signature *keep)
{
    return signature_alike(candidate, keep) || (same_message(candidate, keep) && part_of(candidate, keep));
}
