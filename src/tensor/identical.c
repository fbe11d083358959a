#include "tensor/identical.h"

bool values_identical(const struct value *a, size_t n_a, const struct value *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++) {
        if (a[i].kind != b[i].kind || a[i].count != b[i].count)
            return false;
        for (size_t k = 0; k < a[i].count; k++)
            if (!tensor_identical(&a[i].tensors[k], &b[i].tensors[k]))
                return false;
    }
    return true;
}
