/*
 * A program as lines of C++ that build its module, for bug reports: weights are arrays, the text is passed to
 * Module::define. The knob source names the file that they are written to.
 */
#ifndef TORCH_SOURCE_H
#define TORCH_SOURCE_H

#include "torch_face.h"

#include "base/str.h"

/* Writes the lines, which declare a module `m`. False, with nothing useful in `out`, when a weight is too
 * large to be written. */
bool source_lines(struct str *out, const char *text, size_t n_buffers, const struct face_buffer *buffers);

#endif
