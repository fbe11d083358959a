#include "base/heap.h"

#include <malloc.h>

#if defined __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

enum {
    BLOCK = 32 << 20, /* bytes: larger blocks are mapped and unmapped each time */
    END = 256 << 20,  /* free bytes that may lie at the heap's end */
};

void heap_keep_freed(void)
{
    mallopt(M_MMAP_THRESHOLD, BLOCK);
    mallopt(M_TRIM_THRESHOLD, END);
}

size_t heap_used(void)
{
#if defined __SANITIZE_ADDRESS__
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}
