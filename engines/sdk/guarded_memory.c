/*
 * Memory that ends where a piece of it ends: preloaded into an engine in the setting guard=on, it takes the
 * place of the C library's malloc from the first model on. So whoever reads or writes behind an output, a
 * weight or scratch memory, or uses what was freed, is ended by the system there and then. A piece begins at
 * a multiple of its alignment, as memory of malloc does, so some bytes may follow it (up to 15, or what a
 * larger alignment leaves); they hold a pattern, and whoever changed it is ended when the piece is freed.
 * When many pieces are in use, further ones come from the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A process may have 65,530 mappings, of which a piece takes two. */
enum {
    LEAST = 8,
    MOST_PIECES = 1 << 14,
    BUCKETS = 1 << 15,
    USUAL_ALIGNMENT = 16,
    PAGE = 4096,
    PATTERN = 0xA5
};

/* The C library's own, under the names that it keeps for those who replace them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

struct piece {
    char *start, *area;
    size_t size, area_size;
    struct piece *next; /* in its bucket, or among those that are free */
};

static struct {
    pthread_mutex_t lock;
    bool begun;
    size_t used; /* of the array */
    struct piece *free, *buckets[BUCKETS], pieces[MOST_PIECES];
} guarded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The adapter calls it before it loads a model. */
__attribute__((visibility("default"))) void assay_guard_memory(void);
void assay_guard_memory(void)
{
    guarded.begun = true;
}

static struct piece **bucket_of(const void *memory)
{
    return &guarded.buckets[((uintptr_t)memory >> 4 ^ (uintptr_t)memory >> 12) % BUCKETS];
}

static struct piece *new_piece(void)
{
    struct piece *piece = guarded.free;
    if (piece)
        guarded.free = piece->next;
    else if (guarded.used < MOST_PIECES)
        piece = &guarded.pieces[guarded.used++];
    return piece;
}

static bool map_piece(struct piece *piece, size_t size, size_t alignment)
{
    size_t taken = (size + alignment - 1) / alignment * alignment;
    size_t pages = (taken + PAGE - 1) / PAGE * PAGE;
    char *area = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return false;
    if (mprotect(area + pages, PAGE, PROT_NONE)) {
        munmap(area, pages + PAGE);
        return false;
    }
    *piece =
        (struct piece){.start = area + pages - taken, .area = area, .size = size, .area_size = pages + PAGE};
    memset(piece->start + size, PATTERN, taken - size);
    return true;
}

/* NULL: the C library is to give it. Memory that is new is zero. */
static void *take(size_t size, size_t alignment)
{
    void *start = NULL;
    if (!guarded.begun || size < LEAST || size > SIZE_MAX / 4 || alignment > PAGE || !alignment ||
        (alignment & (alignment - 1)))
        return NULL;
    pthread_mutex_lock(&guarded.lock);
    struct piece *piece = new_piece();
    if (piece && map_piece(piece, size, alignment < USUAL_ALIGNMENT ? USUAL_ALIGNMENT : alignment)) {
        struct piece **bucket = bucket_of(piece->start);
        piece->next = *bucket;
        *bucket = piece;
        start = piece->start;
    } else if (piece) {
        piece->next = guarded.free;
        guarded.free = piece;
    }
    pthread_mutex_unlock(&guarded.lock);
    return start;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

static void check_end(const struct piece *piece)
{
    const char *end = piece->area + piece->area_size - PAGE;
    for (const char *at = piece->start + piece->size; at < end; at++)
        if ((unsigned char)*at != PATTERN) {
            say("guard=on: something was written behind a piece of memory\n");
            abort();
        }
}

/* The size of a piece of ours, or 0. */
static size_t size_of(const void *memory)
{
    size_t size = 0;
    pthread_mutex_lock(&guarded.lock);
    for (const struct piece *piece = *bucket_of(memory); piece && !size; piece = piece->next)
        size = piece->start == memory ? piece->size : 0;
    pthread_mutex_unlock(&guarded.lock);
    return size;
}

static bool give_back(void *memory)
{
    struct piece found = {0};
    pthread_mutex_lock(&guarded.lock);
    struct piece **at = bucket_of(memory);
    while (*at && (*at)->start != memory)
        at = &(*at)->next;
    if (*at) {
        struct piece *piece = *at;
        found = *piece;
        *at = piece->next;
        piece->next = guarded.free;
        guarded.free = piece;
    }
    pthread_mutex_unlock(&guarded.lock);
    if (!found.area)
        return false;
    check_end(&found);
    munmap(found.area, found.area_size);
    return true;
}

void *malloc(size_t size)
{
    void *memory = take(size, USUAL_ALIGNMENT);
    return memory ? memory : __libc_malloc(size);
}

void free(void *memory)
{
    int kept = errno;
    if (memory && !give_back(memory))
        __libc_free(memory);
    errno = kept;
}

void *calloc(size_t count, size_t size)
{
    void *memory = size && count > SIZE_MAX / size ? NULL : take(count * size, USUAL_ALIGNMENT);
    return memory ? memory : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    size_t before = memory ? size_of(memory) : 0;
    if (!memory)
        return malloc(size);
    if (!before)
        return __libc_realloc(memory, size);
    void *moved = size ? malloc(size) : NULL;
    if (moved)
        memcpy(moved, memory, before < size ? before : size);
    if (moved || !size)
        free(memory);
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    void *memory = take(size, alignment);
    return memory ? memory : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (!alignment || alignment % sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    void *given = memalign(alignment, size);
    if (given)
        *memory = given;
    return given ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *memory)
{
    size_t size = memory ? size_of(memory) : 0, (*usual)(void *);
    if (size || !memory)
        return size;
    void *symbol = dlsym(RTLD_NEXT, "malloc_usable_size");
    memcpy(&usual, &symbol, sizeof usual);
    return symbol ? usual(memory) : 0;
}
