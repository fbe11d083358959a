/* Monotonic time. Only deadlines, rates and reports use it; no generated case depends on it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int64_t clock_ns(void);
double clock_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
