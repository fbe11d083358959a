/*
 * A program as lines of C++ and of Python that build its module, for bug reports: weights are arrays, the
 * text is passed to Module::define, in Python by a function `define` of the program around them. The knob
 * source names the file that they are written to; a line "@cpp" and a line "@python" begin them.
 */
#ifndef TORCH_SOURCE_H
#define TORCH_SOURCE_H

#include "torch_face.h"

#include "base/str.h"

/* Writes the lines, which declare a module `m`. False, with nothing useful in `out`, when a weight is too
 * large to be written. */
bool source_lines(struct str *out, const char *text, size_t n_buffers, const struct face_buffer *buffers);

#endif
