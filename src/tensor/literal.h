/* Tensor elements as literals of C, C++ and Python, for programs that reproduce a finding. */
#ifndef TENSOR_LITERAL_H
#define TENSOR_LITERAL_H

#include "base/str.h"
#include "tensor/tensor.h"

/* Appends element i. A float literal reads back as the same number (NAN and INFINITY are those of math.h);
 * 16-bit floats are written as their bits. */
void tensor_literal(struct str *out, const struct tensor *tensor, size_t i);

/* Appends elements `from` to before `to` as a list of Python, "[1.0, -0.0, nan]"; nan and inf are names
 * there. */
void tensor_python_list(struct str *out, const struct tensor *tensor, size_t from, size_t to);

#endif
