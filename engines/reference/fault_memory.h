/* What planted faults keep from run to run and from model to model: the state that a careful engine does not
 * have. */
#ifndef REFERENCE_FAULT_MEMORY_H
#define REFERENCE_FAULT_MEMORY_H

#include "bounds/bounded.h"
#include "model/model.h"

struct fault_memory;

struct fault_memory *fault_memory_new(void);
void fault_memory_free(struct fault_memory *memory); /* accepts NULL */

/* Notes that a model was loaded and forgets the values kept for the one before. Returns how often this very
 * model was loaded before. */
size_t fault_memory_load(struct fault_memory *memory, const struct model *model);

/* A value kept under this name since the model was loaded; its type is DTYPE_NONE at first. */
struct bounded *fault_memory_value(struct fault_memory *memory, const char *name);

/* A mark that stays for as long as the process lives. */
bool *fault_memory_mark(struct fault_memory *memory);

#endif
