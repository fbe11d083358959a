/*
 * A model as TorchScript, for inputs of given types and shapes.
 *
 * Making a program walks the nodes in order and runs each as a step of its own, as soon as its lines are
 * written (emit.h): so the next node's row knows types, shapes and values of its inputs from the library
 * itself. In eager mode the steps are the program. In the other modes all lines together, weights as buffers,
 * are one module that freezing, optimisation or the fuser sees whole, and the steps serve to write it.
 */
#ifndef TORCH_PROGRAM_H
#define TORCH_PROGRAM_H

#include "cache.h"
#include "emit.h"
#include "model/index.h"

struct program;

/* source: a file that gets the program so far before each of its steps runs (source.h), or "".
 * Error codes tell: ERROR_UNSUPPORTED, ERROR_INVALID (the node breaks ONNX's rules), else a failure. */
int program_new(struct program **made, const struct model_index *index, enum face_mode mode,
                struct cache *cache, const struct value *inputs, size_t count, size_t n_outputs,
                const char *const *outputs, const char *source, struct error *err);
void program_free(struct program *program);

/* The whole as the text of one module, and the weights that it names, whose number is returned: room for
 * program_values is enough. Names and tensors stay the program's. */
size_t program_write(const struct program *program, struct str *text, struct face_buffer *buffers);
size_t program_values(const struct program *program);

/* Whether it is the program for these inputs, too. */
bool program_fits(const struct program *program, const struct value *inputs, size_t count);

/* Results are the caller's: n_outputs tensors, in the order asked for when it was made. */
int program_run(struct program *program, const struct value *inputs, size_t count, struct tensor *outputs,
                struct error *err);

#endif
