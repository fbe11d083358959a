/*
 * OpenCV's DNN module, whole ONNX models. The library knows neither types nor shapes of the model's outputs
 * in the sense of ONNX (4.x computes everything but 8-bit models in float32 and has no tensors of rank 0 or
 * 1), so the adapter reads them from the model itself and converts results back to them (values.c).
 */
#ifndef OPENCV_OPENCV_H
#define OPENCV_OPENCV_H

#include "adapter.h"
#include "model/model.h"
#include "opencv_face.h"

struct opencv {
    struct face_options options;
    struct face_net *net;
    struct model *model; /* the loaded model, for the types and shapes that it declares */
    int newest_opset;    /* that the release can be expected to know */
    bool all_types;      /* and tensors without elements: from 5.0 on */
    bool flat;           /* a graph input or output has rank 0 or 1 */
    size_t n_outputs;
    const char **outputs; /* wanted, in order; the texts live in model or names */
    char *names;          /* NUL-separated copies of the wanted names */
};

enum opencv_stage { OPENCV_STAGE_LOAD, OPENCV_STAGE_RUN };

/* Fails with the class that follows from the library's message. Returns -1. */
int opencv_fail(struct adapter_call *call, enum opencv_stage stage, const char *message);

/* The same at load, where the new engine spoke first, or "": what it lacks, the model needs, whatever then
 * stopped the older engine. Returns -1. */
int opencv_refuse(struct adapter_call *call, const char *first, const char *message);

/* Converts an input for the library, and output `number` back; see the table in engines/opencv/README.md. */
int opencv_input(struct adapter_call *call, const struct value *value);
int opencv_output(struct adapter_call *call, size_t number, struct value *value);

/* Tells the layers of the last run. */
void opencv_trace(struct adapter_call *call);

/* The graph input or output of that name, or NULL. */
const Onnx__ValueInfoProto *opencv_declared(Onnx__ValueInfoProto *const *infos, size_t count,
                                            const char *name);

#endif
