/*
 * For programs that call an operator library directly: one case taken apart by hand, as far as needed (one
 * node, float32 inputs in raw_data), so that nothing is shared with the adapters that they vouch for.
 */
#ifndef TESTS_ENGINES_DIRECT_H
#define TESTS_ENGINES_DIRECT_H

#include <stddef.h>
#include <stdint.h>

enum { DIRECT_RANK = 12, DIRECT_INPUTS = 6, DIRECT_ATTRIBUTES = 12, DIRECT_INTS = 16 };

struct direct_tensor {
    int rank;
    int64_t dims[DIRECT_RANK];
    size_t count;
    float *data; /* 64 spare bytes behind it; NULL for other types than float32 */
};

struct direct_attribute {
    char name[40];
    float number;
    int64_t integer, ints[DIRECT_INTS];
    int n_ints;
};

struct direct_case {
    char op[40];
    int n_attributes, n_inputs;
    struct direct_attribute attributes[DIRECT_ATTRIBUTES];
    struct direct_tensor inputs[DIRECT_INPUTS], output; /* the expected output: its shape */
};

/* Ends the program with status 2 on anything unexpected. */
void direct_read(struct direct_case *c, const char *folder);
void direct_write(const char *folder, const void *data, size_t size);
void direct_fail(const char *text);

float direct_float(const struct direct_case *c, const char *name, float otherwise);
int64_t direct_int(const struct direct_case *c, const char *name, int64_t otherwise);

/* Element i of an attribute of ints. */
int64_t direct_at(const struct direct_case *c, const char *name, int i, int64_t otherwise);

#endif
