#include "base/heap.h"

#include <malloc.h>

enum {
    BLOCK = 32 << 20, /* bytes: larger blocks are mapped and unmapped each time */
    END = 64 << 20,   /* free bytes that may lie at the heap's end */
};

void heap_keep_freed(void)
{
    mallopt(M_MMAP_THRESHOLD, BLOCK);
    mallopt(M_TRIM_THRESHOLD, END);
}
