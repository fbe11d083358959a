/* 64-bit hashing for tables, signatures and derived random streams. Stable across machines and releases. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The finaliser of MurmurHash3: every input bit reaches every output bit. */
uint64_t hash_mix(uint64_t x);
uint64_t hash_combine(uint64_t seed, uint64_t value);
uint64_t hash_bytes(uint64_t seed, const void *data, size_t size);
uint64_t hash_text(const char *text);

#ifdef __cplusplus
}
#endif
#endif
