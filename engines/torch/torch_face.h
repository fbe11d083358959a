/*
 * libtorch behind C functions: all the C++ that the adapter needs. One source for 1.7.1 to 2.14; what differs
 * between releases stays in torch_face.cc.
 *
 * No exception leaves it: functions return 0, or -1 with the library's own words in the message.
 */
#ifndef TORCH_FACE_H
#define TORCH_FACE_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FACE_MESSAGE_SIZE = 2000 };

/* How a module is run; a mode beyond eager is applied when the module is made. */
enum face_mode {
    FACE_EAGER,    /* operator by operator as written: the optimising executor is off */
    FACE_FREEZE,   /* torch::jit::freeze: constants folded, BatchNorm into Conv ... */
    FACE_OPTIMIZE, /* freeze and optimize_for_inference: oneDNN layouts and fusions */
    FACE_NNC,      /* the TensorExpr fuser, after profiled runs */
    FACE_PROFILE   /* the optimising executor after profiled runs, which differentiates symbolically */
};

const char *face_version(void); /* "1.13.1" */
bool face_is_before(int major, int minor);
bool face_has_mode(enum face_mode mode); /* whether this release has it */
int face_scalar_type(enum dtype type);   /* the library's number of a type, for TorchScript text; -1: none */
void face_start(enum face_mode mode, int threads);

/* A tensor of the library. */
struct face_tensor;
int face_tensor_new(struct face_tensor **made, const struct tensor *from, char message[FACE_MESSAGE_SIZE]);
/* The same on the elements where they lie, which must stay there as long as somebody computes with it. They
 * are copied when they do not lie as the library's own memory would. */
int face_tensor_borrow(struct face_tensor **made, const struct tensor *from, char message[FACE_MESSAGE_SIZE]);
void face_tensor_free(struct face_tensor *tensor);
/* Makes a dense, row-major copy. Fails for a type or rank that struct tensor does not have. */
int face_tensor_read(const struct face_tensor *from, struct tensor *to, char message[FACE_MESSAGE_SIZE]);
/* The same without a copy: the tensor is made dense and row-major, and the elements, which must not be freed,
 * live as long as it. */
int face_tensor_lend(struct face_tensor *from, struct tensor *to, char message[FACE_MESSAGE_SIZE]);
/* The type (DTYPE_NONE when enum dtype does not have it) and shape, without the data. */
void face_tensor_meta(const struct face_tensor *tensor, enum dtype *type, struct shape *shape);

/* A wanted tensor is a leaf that gradients are asked for; a recorded one depends on such a leaf. */
void face_tensor_want(struct face_tensor *tensor, bool wanted);
bool face_tensor_is_recorded(const struct face_tensor *tensor);

/*
 * A module whose only method is the text `def forward(self, ...): ...`, which returns a list of tensors.
 * Buffers become its attributes, by name; they are shared, not copied. With `reload` the module is saved, and
 * what is loaded again takes its place: in mode FACE_FREEZE the frozen module, else the one that was written,
 * because an optimised one cannot be saved.
 */
struct face_module;
struct face_buffer {
    const char *name;
    const struct face_tensor *tensor;
};
int face_module_new(struct face_module **made, const char *text, size_t n_buffers,
                    const struct face_buffer *buffers, enum face_mode mode, bool reload,
                    char message[FACE_MESSAGE_SIZE]);
void face_module_free(struct face_module *module);

/*
 * From now on `tell` hears of each operator that runs, by the name that the library's profiler
 * has for it ("aten::mkldnn_convolution"), and, unless the module is run as written, of each that the
 * optimised graph puts into a group of its own ("aten::relu" of "prim::TensorExprGroup"), which the profiler
 * does not see. Runs that only warm a module up are left out. NULL: nobody.
 */
typedef void face_teller(void *context, const char *name, const char *group);
void face_tell(face_teller *tell, void *context);

/* Runs the module, which must return exactly n_outputs tensors. The caller owns them. */
int face_module_run(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs,
                    size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE]);

/* The same, once, with autograd recording what depends on wanted tensors. */
int face_module_record(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs,
                       size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE]);

/* torch::autograd::grad: from the derivatives by the outputs, all of which must be recorded, those by the
 * leaves: zeros where no output depends on a leaf. The record is used up. The caller owns the gradients. */
int face_gradient(size_t n_outputs, const struct face_tensor *const *outputs,
                  const struct face_tensor *const *upstream, size_t n_leaves,
                  const struct face_tensor *const *leaves, struct face_tensor **gradients,
                  char message[FACE_MESSAGE_SIZE]);

/* How many parts of the graph that the optimising executor ran last it differentiates symbolically. */
size_t face_symbolic_parts(void);

#ifdef __cplusplus
}
#endif
#endif
