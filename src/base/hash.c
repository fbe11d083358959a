#include "base/hash.h"

#include <string.h>

uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x;
}

uint64_t hash_combine(uint64_t seed, uint64_t value)
{
    return hash_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + hash_mix(value + UINT64_C(0x632be59bd9b4e019)));
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t h = hash_combine(seed, size);
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word = 0;
        for (int i = 0; i < 8; i++)
            word |= (uint64_t)at[i] << (8 * i);
        h = hash_combine(h, word);
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < size; i++)
        tail |= (uint64_t)at[i] << (8 * i);
    return hash_combine(h, tail);
}

uint64_t hash_text(const char *text)
{
    return hash_bytes(0, text, strlen(text));
}
