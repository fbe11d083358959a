/* An engine in the setting memcheck=on runs in valgrind, whose memcheck follows which bytes were written. */
#ifndef SDK_MEMCHECK_H
#define SDK_MEMCHECK_H

#include "adapter.h"

/* Whether the environment asks for it. */
bool memcheck_wanted(void);

/* Fails when an element of an output was computed from memory that nobody wrote, or when memcheck cannot be
 * asked. */
int memcheck_outputs(struct adapter_call *call, const struct adapter_outputs *outputs);

#endif
