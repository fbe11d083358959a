/*
 * A model as a TorchScript program, for inputs of given types and shapes.
 *
 * To make a program, the nodes are taken in order, and each is run as a step of its own as soon as its lines
 * are written (emit.h). So the row of the next node gets the types, shapes and values of its inputs from the
 * library itself. In eager mode the steps are the program. In the other modes, and with `reload`, all lines
 * together, with weights as buffers, become one module, so that freezing, optimisation, the fuser or symbolic
 * differentiation sees the whole; the steps only serve to write it.
 */
#ifndef TORCH_PROGRAM_H
#define TORCH_PROGRAM_H

#include "adapter.h"
#include "cache.h"
#include "emit.h"
#include "model/index.h"

struct program;

/* call: whom the program tells what the library does, or NULL. source: the path of a file to which the
 * program so far is written before each step runs (source.h), or "". Fails with ERROR_UNSUPPORTED, with
 * ERROR_INVALID when a node breaks ONNX's rules, or with another code when the library fails. */
int program_new(struct program **made, const struct model_index *index, enum face_mode mode, bool reload,
                struct cache *cache, const struct value *inputs, size_t count, size_t n_outputs,
                const char *const *outputs, const char *source, struct adapter_call *call, struct error *err);
void program_free(struct program *program);

/* Writes the program as the text of one module, and lists the weights that it uses in `buffers`, which must
 * have room for program_values of them. Returns their number. Names and tensors belong to the program. */
size_t program_write(const struct program *program, struct str *text, struct face_buffer *buffers);
size_t program_values(const struct program *program);

/* Whether the program can be used for these inputs: their types and shapes, and the values it was made for,
 * are the same. */
bool program_fits(const struct program *program, const struct value *inputs, size_t count);

/* Runs the program. The n_outputs tensors in `outputs`, in the order given to program_new, stay the
 * program's: they are valid until the program is used again, and as long as the inputs are. */
int program_run(struct program *program, const struct value *inputs, size_t count, struct tensor *outputs,
                struct error *err);

/* The gradients that are asked for, by autograd: in mode FACE_EAGER of the steps, else of the whole module,
 * whose profiled graph the JIT differentiates symbolically where it can. */
int program_gradient(struct program *program, const struct adapter_gradient *request,
                     struct adapter_outputs *outputs, struct error *err);

#endif
