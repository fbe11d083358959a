/* Helpers for recipes that the generators and the reader of recipes share. */
#ifndef GENERATE_RECIPE_H
#define GENERATE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a list such as "3,17" contains the number; NULL is an empty list. */
bool recipe_skips(const char *list, size_t number);

#endif
