/*
 * What the library says. Its C API gives a number and prints the text of the exception to std::cerr: from
 * messages_open on, what is printed there is kept as well, up to MESSAGES_SIZE bytes since messages_clear.
 */
#ifndef MIGRAPHX_MESSAGES_H
#define MIGRAPHX_MESSAGES_H

#ifdef __cplusplus
extern "C" {
#endif

enum { MESSAGES_SIZE = 8192 };

struct messages;
struct messages *messages_open(void);
void messages_clear(struct messages *messages);
const char *messages_text(const struct messages *messages); /* valid until the next call of the library */
void messages_close(struct messages *messages);             /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
