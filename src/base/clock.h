/* Monotonic time, and moments as dates. Only deadlines, rates and reports use it; no generated case depends
 * on it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int64_t clock_ns(void);
double clock_seconds(void);

int64_t clock_process_ns(void); /* processor time of this process so far, of all its threads */

/* A moment in seconds since 1970 as "2026-01-31 23:59:59Z", or "?". Returns the buffer. */
enum { CLOCK_DATE_SIZE = 32 };
const char *clock_date(int64_t seconds, char buffer[CLOCK_DATE_SIZE]);

#ifdef __cplusplus
}
#endif
#endif
