/*
 * Looks byte by byte for confidential texts and numbers in what is about to be given away.
 *
 * What counts:
 * - A text of 4 bytes and more, wherever it stands, except inside a word that may be there (leak_allow_text):
 * the names of operators and attributes, which a name of the model may repeat.
 * - A run of numbers: consecutive elements of one tensor, as they lie in memory, that are 8 bytes or more and
 * hold 48 bits or more. An element holds as many bits as the tensor's longest number has binary digits, and
 * one for the sign; a tensor too short for that counts as a whole from 8 bytes on. A run counts if one of its
 * elements at least is not plain. Plain are 0, infinities, NaN, the least and greatest of the type, numbers
 * of at most 4 binary digits (for types of 8 bits and less 0, 1 and -1), and what is a bool. Runs that stand
 * in data that may be there (leak_allow_tensor) do not count.
 */
#ifndef SCRAMBLE_LEAK_H
#define SCRAMBLE_LEAK_H

#include "tensor/tensor.h"

enum { LEAK_TEXT_LEAST = 4, LEAK_RUN_LEAST = 8, LEAK_RUN_BITS = 48 };

struct leak_search;
struct leak_search *leak_search_new(void);
void leak_search_free(struct leak_search *search); /* accepts NULL */

/* What must not be there. Everything is copied. `what` names it in messages. */
void leak_forbid_text(struct leak_search *search, const char *text, size_t length);
void leak_forbid_tensor(struct leak_search *search, const struct tensor *tensor, const char *what);

/* What may be there. Numbers are allowed before others are forbidden. */
void leak_allow_text(struct leak_search *search, const char *word);
void leak_allow_tensor(struct leak_search *search, const struct tensor *tensor);

/* How many texts and runs are looked for. */
void leak_counts(const struct leak_search *search, size_t *texts, size_t *runs);

/* Whether any of them stands in the bytes, or in a tensor as a file has it; *what then points to its name, or
 * is the text itself. */
bool leak_found(const struct leak_search *search, const void *bytes, size_t size, const char **what);
bool leak_in_tensor(const struct leak_search *search, const struct tensor *tensor, const char **what);

#endif
