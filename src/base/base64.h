/* Bytes as text (RFC 4648, section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

void base64_write(struct str *out, const void *data, size_t size);

/* The bytes on the heap, with a zero behind them; NULL when the text is not base64. */
uint8_t *base64_read(const char *text, size_t *size);

#endif
