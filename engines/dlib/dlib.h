/*
 * dlib's operators as rows of the walker's table. What ONNX means and dlib's functions cannot say is
 * unsupported: their documented conditions are checked here, because the library does not.
 */
#ifndef DLIB_DLIB_H
#define DLIB_DLIB_H

#include "face.h"
#include "walker.h"

/*
 * Adds an input of the node, or sets its first output, under four dimensions (whose product the caller
 * vouches for). Unsupported: what is not float32, and empty tensors, which dlib's matrices are not made for.
 */
int dlib_take(struct walk_call *call, struct face_call *face, size_t index, long long n, long long k,
              long long nr, long long nc);
int dlib_give(struct walk_call *call, struct face_call *face, long long n, long long k, long long nr,
              long long nc);
int dlib_run(struct walk_call *call, struct face_call *face);

/* out += factor * input, the input repeated as ONNX does. */
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
