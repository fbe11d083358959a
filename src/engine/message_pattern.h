/*
 * Patterns for an engine's messages, as its registry section declares them (docs/engines.md).
 *
 * A pattern is text that occurs in a message, with words in braces for the parts that vary:
 *
 *     {}          any text, up to the first place where what follows in the pattern fits
 *     {*}         the same, up to the last such place
 *     {rest}      at the end: all that follows, which is not empty
 *     {place}     the same, when its first word is a source file with a line: "/src/x.cc:7"
 *     {operator}  an operator's name: letters, digits, '_' and '.'
 *     {name}      what the engine calls a node or a value, up to the character that follows in the pattern
 *
 * A '^' at the start of a pattern ties it to the start of the message; a space after a {} there is part of
 * the pattern. Matching never backtracks, so it takes time proportional to the message.
 */
#ifndef ENGINE_MESSAGE_PATTERN_H
#define ENGINE_MESSAGE_PATTERN_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What a pattern is used for, and what it must therefore contain. */
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

/* Adds a pattern at the end of the list, or fails and says what is wrong with it. The strings are copied. */
int pattern_add(struct message_pattern **list, struct arena *arena, enum pattern_use use, const char *text,
                const char *meaning, struct error *err);

/* PATTERN_CUT: the message without the beginning that the patterns cut off, each as often as it matches. The
 * result points into the message. */
const char *patterns_cut(const struct message_pattern *list, const char *message);

/*
 * PATTERN_OPERATOR: takes the first pattern that matches anywhere, and of it the last match, and gives the
 * operator's name without its domain. Returns the length of the name, 0 when no pattern matches; *name points
 * into the message.
 */
size_t patterns_operator(const struct message_pattern *list, const char *message, const char **name);

/* PATTERN_NAME: when `line` ends with the text that a pattern has before {name}, the character that ends the
 * name; else 0. */
char patterns_open(const struct message_pattern *list, const char *line);

/* PATTERN_TEXT: the meaning of the first pattern whose text occurs in the message; NULL when none does. */
const char *patterns_meaning(const struct message_pattern *list, const char *message);

#endif
