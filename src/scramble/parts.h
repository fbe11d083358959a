/*
 * The data of a subject, part by part: its inputs, the initialisers of its graph and of bodies, the tensors,
 * lists of floats and texts in attributes of nodes, also of functions, and all values of Constant nodes. A
 * copy of a subject has the same parts in the same order.
 */
#ifndef SCRAMBLE_PARTS_H
#define SCRAMBLE_PARTS_H

#include "reduce/subject.h"

enum part_kind {
    PART_INPUT,  /* or one tensor of an input that is a sequence */
    PART_TENSOR, /* a TensorProto; of a sparse tensor the one that holds its values */
    PART_FLOAT,  /* attributes of one of these kinds */
    PART_INT,
    PART_STRING,
    PART_FLOATS,
    PART_INTS,
    PART_STRINGS,
};

struct part {
    enum part_kind kind;
    const char *name;                /* for people: of the input, the initialiser, or "node.attribute" */
    struct tensor *tensor;           /* of PART_INPUT */
    Onnx__TensorProto *proto;        /* of PART_TENSOR */
    Onnx__AttributeProto *attribute; /* of the others */
    bool parameter; /* operators read it as a setting (a shape, axes, limits), or it is a short list of
                       integers in the model: such values may have to stay as attributes do */
};

struct parts {
    struct arena arena;
    struct model *model;
    size_t count, capacity;
    struct part *items;
};

/* The subject must outlive the parts, and may not get another structure meanwhile. */
void data_parts_list(struct parts *parts, struct subject *subject);
void data_parts_release(struct parts *parts);

/* A tensor that the caller owns; a text is a tensor of texts. */
int part_read(const struct part *part, struct tensor *tensor, struct error *err);

/* Takes the tensor's values, which have the same type and shape; the tensor stays the caller's. Nothing of
 * how the values were stored stays but whether they are bytes or typed. */
int part_write(const struct parts *parts, const struct part *part, const struct tensor *tensor,
               struct error *err);

#endif
