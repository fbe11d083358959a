/*
 * Memory that ends where a piece of it ends: preloaded into an engine in the setting guard=on, it takes the
 * place of the C library's malloc from the first model on. So whoever reads or writes behind an input, an
 * output, a weight or scratch memory is ended by the system there and then; with guard=before, whoever
 * reaches in front of it. What was freed stays out of reach for a while, so that its use ends the process,
 * too. assay_guard_tell says for the report which piece it was.
 *
 * A piece begins at a multiple of its alignment, as memory of malloc does, so some bytes may follow it (up to
 * 15, or what a larger alignment leaves). They and what lies on the other side, up to the end of its page,
 * hold a pattern: whoever changed it is ended when the piece is freed, and whoever reads it gets other
 * numbers with another pattern (the knob perturb). When many pieces are in use, further ones come from the C
 * library.
 */
#define _GNU_SOURCE
#include "engine/everyones_knobs.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A process may have 65,530 mappings: a piece in use takes two, a freed one takes one. */
enum {
    MOST_PIECES = 1 << 14,
    MOST_FREED = 1 << 12,
    BUCKETS = 1 << 15,
    USUAL_ALIGNMENT = 16,
    PAGE = 4096,
    PATTERN = 0xA5,
    NAME = 80
};
static const size_t most_freed_bytes = (size_t)1 << 26;

/* The C library's own, under the names that it keeps for those who replace them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

struct piece {
    char *start, *area;
    size_t size, area_size;
    bool freed;
    char name[NAME];    /* "input x"; "": nobody named it */
    struct piece *next; /* in its bucket, or among those that are free */
};

static struct {
    pthread_mutex_t lock;
    bool begun, before; /* before: what may not be reached lies in front of a piece */
    unsigned char pattern;
    size_t used; /* of the array */
    struct piece *free, *buckets[BUCKETS], pieces[MOST_PIECES];
    struct piece *freed[MOST_FREED]; /* the last ones, as a ring */
    size_t first_freed, n_freed, freed_bytes;
} guarded = {.lock = PTHREAD_MUTEX_INITIALIZER, .pattern = PATTERN};

#define FOR_ADAPTER __attribute__((visibility("default")))
FOR_ADAPTER void assay_guard_memory(void);
FOR_ADAPTER void assay_guard_name(const void *memory, const char *what, const char *name);
FOR_ADAPTER bool assay_guard_tell(const void *address, const char *reaches, char *text, size_t size);

/* The adapter calls it before it loads a model. */
void assay_guard_memory(void)
{
    const char *side = getenv("ASSAY_GUARD"), *pattern = getenv("MALLOC_PERTURB_");
    guarded.before = side && strcmp(side, "before") == 0;
    if (pattern && atoi(pattern)) /* of new memory, as the C library fills it */
        guarded.pattern = (unsigned char)~atoi(pattern);
    guarded.begun = true;
}

static struct piece **bucket_of(const void *memory)
{
    return &guarded.buckets[((uintptr_t)memory >> 4 ^ (uintptr_t)memory >> 12) % BUCKETS];
}

static void forget_oldest(void)
{
    struct piece *piece = guarded.freed[guarded.first_freed];
    guarded.first_freed = (guarded.first_freed + 1) % MOST_FREED;
    guarded.n_freed--;
    guarded.freed_bytes -= piece->area_size;
    munmap(piece->area, piece->area_size);
    *piece = (struct piece){.next = guarded.free};
    guarded.free = piece;
}

static struct piece *new_piece(void)
{
    if (!guarded.free && guarded.used < MOST_PIECES)
        return &guarded.pieces[guarded.used++];
    if (!guarded.free && guarded.n_freed)
        forget_oldest();
    struct piece *piece = guarded.free;
    if (piece)
        guarded.free = piece->next;
    return piece;
}

/* What of its pages is readable: all but the one that ends it or, with guard=before, begins it. */
static char *readable(const struct piece *piece)
{
    return piece->area + (guarded.before ? PAGE : 0);
}

static bool map_piece(struct piece *piece, size_t size, size_t alignment)
{
    size_t taken = (size + alignment - 1) / alignment * alignment;
    size_t pages = (taken + PAGE - 1) / PAGE * PAGE;
    char *area = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return false;
    if (mprotect(guarded.before ? area : area + pages, PAGE, PROT_NONE)) {
        munmap(area, pages + PAGE);
        return false;
    }
    *piece = (struct piece){.area = area, .size = size, .area_size = pages + PAGE};
    char *from = readable(piece), *end = from + pages;
    piece->start = guarded.before ? from : end - taken;
    memset(from, guarded.pattern, (size_t)(piece->start - from));
    memset(piece->start + size, guarded.pattern, (size_t)(end - piece->start) - size);
    return true;
}

/* NULL: the C library is to give it. Memory that is new is zero. */
static void *take(size_t size, size_t alignment)
{
    void *start = NULL;
    if (!guarded.begun || !size || size > SIZE_MAX / 4 || alignment > PAGE || !alignment ||
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

static const char *name_of(const struct piece *piece)
{
    return *piece->name ? piece->name : "memory that the engine allocated";
}

static bool is_untouched(const char *from, const char *end)
{
    while (from < end && (unsigned char)*from == guarded.pattern)
        from++;
    return from == end;
}

static void check_sides(const struct piece *piece)
{
    const char *from = readable(piece), *end = from + piece->area_size - PAGE,
               *behind = piece->start + piece->size;
    bool before = is_untouched(from, piece->start);
    char text[NAME + 100];
    if (before && is_untouched(behind, end))
        return;
    snprintf(text, sizeof text, GUARD_SAYS "writes %s the %zu bytes of %s\n",
             before ? "behind" : "in front of", piece->size, name_of(piece));
    say(text);
    abort();
}

static struct piece *find(const void *memory)
{
    struct piece *piece = *bucket_of(memory);
    while (piece && piece->start != memory)
        piece = piece->next;
    return piece;
}

/* The size of a piece of ours, or 0. */
static size_t size_of(const void *memory)
{
    pthread_mutex_lock(&guarded.lock);
    const struct piece *piece = find(memory);
    size_t size = piece ? piece->size : 0;
    pthread_mutex_unlock(&guarded.lock);
    return size;
}

/* Takes the piece's memory away, but keeps its place for a while. */
static void set_aside(struct piece *piece)
{
    mmap(piece->area, piece->area_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
    piece->freed = true;
    while (guarded.n_freed && (guarded.n_freed == MOST_FREED || guarded.freed_bytes > most_freed_bytes))
        forget_oldest();
    guarded.freed[(guarded.first_freed + guarded.n_freed++) % MOST_FREED] = piece;
    guarded.freed_bytes += piece->area_size;
}

static bool give_back(void *memory)
{
    pthread_mutex_lock(&guarded.lock);
    struct piece **at = bucket_of(memory);
    while (*at && (*at)->start != memory)
        at = &(*at)->next;
    struct piece *piece = *at;
    if (piece) {
        check_sides(piece);
        *at = piece->next;
        set_aside(piece);
    }
    pthread_mutex_unlock(&guarded.lock);
    return piece;
}

/* What a piece holds, for the report: "input", "x". */
void assay_guard_name(const void *memory, const char *what, const char *name)
{
    pthread_mutex_lock(&guarded.lock);
    struct piece *piece = find(memory);
    if (piece)
        snprintf(piece->name, sizeof piece->name, "%s %s", what, name);
    pthread_mutex_unlock(&guarded.lock);
}

/* Whether the address is out of reach beside a piece or in a freed one; says so: `reaches` is "reads". It is
 * called when the process is about to end, so it waits for nobody. */
bool assay_guard_tell(const void *address, const char *reaches, char *text, size_t size)
{
    const char *at = address;
    for (size_t i = 0; i < guarded.used; i++) {
        const struct piece *piece = &guarded.pieces[i];
        if (!piece->area || at < piece->area || at >= piece->area + piece->area_size)
            continue;
        const char *where = at < piece->start                  ? "in front of "
                            : at >= piece->start + piece->size ? "behind "
                                                               : "";
        snprintf(text, size, GUARD_SAYS "%s %s%s%zu bytes of %s\n", reaches, where,
                 piece->freed ? "freed memory, the " : "the ", piece->size, name_of(piece));
        return piece->freed || *where;
    }
    return false;
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
