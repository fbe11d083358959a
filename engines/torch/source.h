/*
 * A program as lines of C++ that make its module, for the reports of bugs: weights as arrays, the text by
 * Module::define. Knob source says where they go.
 */
#ifndef TORCH_SOURCE_H
#define TORCH_SOURCE_H

#include "torch_face.h"

#include "base/str.h"

/* Declares `m`. False, and nothing of use in `out`, when a weight is too large to be written down. */
bool source_lines(struct str *out, const char *text, size_t n_buffers, const struct face_buffer *buffers);

#endif
