/*
 * Patterns for what an engine says, as its registry section declares them (docs/engines.md).
 *
 * A pattern is text that a message holds, with words in braces for what changes:
 *
 *     {}          any text, up to the first place where what follows in the pattern fits
 *     {*}         the same, up to the last such place
 *     {rest}      at the end: all that follows, which is not empty
 *     {place}     the same, when its first word is a source file with a line: "/src/x.cc:7"
 *     {operator}  an operator's name: letters, digits, '_' and '.'
 *     {name}      what the engine calls a node or a value, up to the character that follows in the pattern
 *
 * A '^' at the start ties the pattern to the start of the message, and {} there keeps a space that follows.
 * Matching never goes back on a choice, so that it takes time in proportion to the message.
 */
#ifndef ENGINE_MESSAGE_PATTERN_H
#define ENGINE_MESSAGE_PATTERN_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What a pattern is for decides what it must hold. */
enum pattern_use {
    PATTERN_CUT,      /* ends in {rest} or {place} */
    PATTERN_OPERATOR, /* text around one {operator} */
    PATTERN_NAME,     /* text, {name} and at least one more character */
    PATTERN_TEXT,     /* text alone */
};

/* Patterns of one use in the order of their declaration; NULL is the empty list. */
struct message_pattern {
    const char *text;
    const char *meaning; /* PATTERN_TEXT: the operator that the text stands for; else NULL */
    struct message_pattern *next;
};

/* Adds a pattern at the end of the list, or says what is wrong with it. The strings are copied. */
int pattern_add(struct message_pattern **list, struct arena *arena, enum pattern_use use, const char *text,
                const char *meaning, struct error *err);

/* PATTERN_CUT: the message without what the patterns cut off, each as often as it fits. Points into it. */
const char *patterns_cut(const struct message_pattern *list, const char *message);

/*
 * PATTERN_OPERATOR: the name at the last place where a pattern fits, without its domain, of the first pattern
 * that fits anywhere. Returns its length, 0 when none fits; *name points into the message.
 */
size_t patterns_operator(const struct message_pattern *list, const char *message, const char **name);

/* PATTERN_NAME: where `line` ends in the text before a {name}, the character that closes the name; else 0. */
char patterns_open(const struct message_pattern *list, const char *line);

/* PATTERN_TEXT: the meaning of the first that the message holds; NULL when it holds none. */
const char *patterns_meaning(const struct message_pattern *list, const char *message);

#endif
