/*
 * Included before the library's sources: a counter of calls that no lock guards, which ThreadSanitizer must
 * notice. With the locks themselves taken away threads read each other's answers, and fail before that.
 */
#define _GNU_SOURCE
#include <pthread.h>

static __attribute__((unused)) unsigned planted_calls;
#define pthread_mutex_lock(mutex) (planted_calls++, (pthread_mutex_lock)(mutex))
