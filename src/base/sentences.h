/* The first sentences of a long text. */
#ifndef BASE_SENTENCES_H
#define BASE_SENTENCES_H

#include "base/str.h"

/* Appends them in one line, as long as they are not more than 400 letters together; the first in any case. */
void sentences_add(struct str *out, const char *text);

#endif
