/* The words of recipes: what the generators and the reader of recipes share. */
#ifndef GENERATE_RECIPE_H
#define GENERATE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a list "3,17" holds the number; NULL holds none. */
bool recipe_skips(const char *list, size_t number);

#endif
