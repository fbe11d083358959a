/*
 * Findings of a range that are kept back until the range is returned, each signature once: that of the case
 * with the lowest number, so that it does not matter which case ended first.
 */
#ifndef CAMPAIGN_FINDING_BUFFER_H
#define CAMPAIGN_FINDING_BUFFER_H

#include "base/arena.h"
#include "findings/store.h"

struct finding_buffer {
    struct arena arena;
    size_t count, capacity;
    struct finding *findings; /* texts in the arena */
    size_t *numbers;          /* of their cases */
    uint64_t *hashes;         /* of their signatures */
    size_t numbers_capacity, hashes_capacity;
};

void finding_buffer_init(struct finding_buffer *buffer);
void finding_buffer_release(struct finding_buffer *buffer);
void finding_buffer_clear(struct finding_buffer *buffer);

/* Whether a finding of this case would be kept. */
bool finding_buffer_wants(const struct finding_buffer *buffer, uint64_t signature, size_t number);

/* Keeps it, in place of one of a later case. Copies all texts. */
void finding_buffer_add(struct finding_buffer *buffer, const struct finding *finding, uint64_t signature,
                        size_t number);

#endif
