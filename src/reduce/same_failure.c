#include "reduce/same_failure.h"

#include "reduce/pass.h"

#include <string.h>

static bool same_part(const struct signature *a, const struct signature *b, enum signature_part part)
{
    const char *x, *y;
    size_t n = signature_part(a->text, part, &x), m = signature_part(b->text, part, &y);
    return n == m && strncmp(x, y, n) == 0;
}

/* A piece of text; those of lists are divided by one character. */
struct piece {
    const char *text;
    size_t length;
};

static bool next_piece(struct piece *rest, char divider, struct piece *piece)
{
    if (!rest->length)
        return false;
    const char *end = memchr(rest->text, divider, rest->length);
    piece->text = rest->text;
    piece->length = end ? (size_t)(end - rest->text) : rest->length;
    size_t used = piece->length + (end != NULL);
    rest->text += used;
    rest->length -= used;
    return true;
}

static bool same_piece(struct piece a, struct piece b)
{
    return a.length == b.length && strncmp(a.text, b.text, a.length) == 0;
}

/* "If(Abs,Concat)": its own name, and what stands inside. */
static struct piece piece_inside(struct piece *name)
{
    const char *open = memchr(name->text, '(', name->length);
    if (!open)
        return (struct piece){name->text, 0};
    struct piece inside = {open + 1, (size_t)(name->text + name->length - open - 2)};
    name->length = (size_t)(open - name->text);
    return inside;
}

static bool list_has(struct piece list, struct piece wanted)
{
    struct piece piece;
    while (next_piece(&list, ',', &piece))
        if (same_piece(piece, wanted))
            return true;
    return false;
}

/* The same operator with no more inside, or one from inside it: bodies get smaller and branches inlined. */
static bool operator_fits(struct piece smaller, struct piece larger)
{
    struct piece inside = piece_inside(&smaller), outer = piece_inside(&larger), piece;
    if (!same_piece(smaller, larger))
        return list_has(outer, smaller);
    while (next_piece(&inside, ',', &piece))
        if (!list_has(outer, piece) && !pass_is_plain(piece.text, piece.length))
            return false;
    return true;
}

/* A group too large to be named whole. */
static bool is_cut(struct piece group)
{
    return group.length >= SIGNATURE_PART_SIZE ||
           (group.length > 3 && strncmp(group.text + group.length - 3, "...", 3) == 0);
}

/* Does every operator of the smaller group ("Add+Mul") fit one of the larger's? Plain ones stand for any, but
 * not all of a group may. */
static bool part_of(const struct signature *smaller, const struct signature *larger)
{
    struct piece few, all, one;
    few.length = signature_part(smaller->text, SIGNATURE_OPERATORS, &few.text);
    all.length = signature_part(larger->text, SIGNATURE_OPERATORS, &all.text);
    if (same_piece(all, (struct piece){"graph", 5}) || is_cut(all))
        return true; /* nobody could be blamed, or more than are named */
    bool any = false;
    while (next_piece(&few, '+', &one)) {
        struct piece rest = all, other;
        bool found = false;
        while (!found && next_piece(&rest, '+', &other))
            found = operator_fits(one, other);
        if (!found && !pass_is_plain(one.text, one.length))
            return false;
        any |= found;
    }
    return any;
}

bool same_failure(const struct signature *candidate, const struct signature *keep)
{
    if (signature_alike(candidate, keep))
        return true;
    return same_part(candidate, keep, SIGNATURE_SYMPTOM) && same_part(candidate, keep, SIGNATURE_MESSAGE) &&
           part_of(candidate, keep);
}

bool same_message(const struct signature *a, const struct signature *b)
{
    return same_part(a, b, SIGNATURE_SYMPTOM) && same_part(a, b, SIGNATURE_MESSAGE);
}
