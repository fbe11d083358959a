#include "campaign/finding_buffer.h"

#include "base/memory.h"

#include <stdlib.h>

void finding_buffer_init(struct finding_buffer *buffer)
{
    *buffer = (struct finding_buffer){0};
    arena_init(&buffer->arena);
}

void finding_buffer_release(struct finding_buffer *buffer)
{
    arena_release(&buffer->arena);
    free(buffer->findings);
    free(buffer->numbers);
    free(buffer->hashes);
}

void finding_buffer_clear(struct finding_buffer *buffer)
{
    arena_release(&buffer->arena);
    arena_init(&buffer->arena);
    buffer->count = 0;
}

static size_t place_of(const struct finding_buffer *buffer, uint64_t signature)
{
    size_t at = 0;
    while (at < buffer->count && buffer->hashes[at] != signature)
        at++;
    return at;
}

bool finding_buffer_wants(const struct finding_buffer *buffer, uint64_t signature, size_t number)
{
    size_t at = place_of(buffer, signature);
    return at == buffer->count || number < buffer->numbers[at];
}

void finding_buffer_add(struct finding_buffer *buffer, const struct finding *finding, uint64_t signature,
                        size_t number)
{
    size_t at = place_of(buffer, signature), count = buffer->count + (at == buffer->count);
    buffer->findings = memory_grow(buffer->findings, &buffer->capacity, count, sizeof *buffer->findings);
    buffer->numbers = memory_grow(buffer->numbers, &buffer->numbers_capacity, count, sizeof *buffer->numbers);
    buffer->hashes = memory_grow(buffer->hashes, &buffer->hashes_capacity, count, sizeof *buffer->hashes);
    buffer->count = count;
    buffer->numbers[at] = number;
    buffer->hashes[at] = signature;
    struct finding *kept = &buffer->findings[at];
    *kept = *finding;
    const char **texts[] = {&kept->signature, &kept->name,    &kept->kind,  &kept->class,
                            &kept->engine,    &kept->version, &kept->title, &kept->operators,
                            &kept->recipe,    &kept->known,   &kept->facts};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i])
            *texts[i] = arena_strdup(&buffer->arena, *texts[i]);
}
