/*
 * dlib's operators as rows of the walker's table. A node that dlib's functions cannot express is unsupported.
 * Their documented conditions are checked here, because the library does not check them.
 */
#ifndef DLIB_DLIB_H
#define DLIB_DLIB_H

#include "face.h"
#include "walker.h"

/*
 * dlib_take adds an input of the node to the call, dlib_give sets its first output, both with four dimensions
 * whose product must be the number of elements. Tensors that are not float32 are unsupported, and so are
 * empty ones, which dlib's matrices cannot represent.
 */
int dlib_take(struct walk_call *call, struct face_call *face, size_t index, long long n, long long k,
              long long nr, long long nc);
int dlib_give(struct walk_call *call, struct face_call *face, long long n, long long k, long long nr,
              long long nc);
int dlib_run(struct walk_call *call, struct face_call *face);

/* out += factor * input, with the input broadcast by ONNX's rules. */
int dlib_add_input(struct walk_call *call, size_t index, float factor);

int dlib_softmax(struct walk_call *call);
int dlib_matmul(struct walk_call *call);
int dlib_gemm(struct walk_call *call);
int dlib_conv(struct walk_call *call);
int dlib_conv_transpose(struct walk_call *call);
int dlib_pool(struct walk_call *call);
int dlib_global_pool(struct walk_call *call);
int dlib_batch_normalization(struct walk_call *call);
int dlib_reorg(struct walk_call *call);

#endif
