/*
 * cv::dnn behind C functions: all the C++ that the adapter needs. One source for OpenCV 4.5.1 to 5.0; what
 * differs between releases stays in opencv_face.cc.
 *
 * No exception leaves it: functions return 0, or -1 with the library's own words in the message. Element
 * types are those of enum dtype; face_takes says for which of them this release has matrices.
 */
#ifndef OPENCV_FACE_H
#define OPENCV_FACE_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FACE_MESSAGE_SIZE = 2000 };

enum face_engine { FACE_ENGINE_DEFAULT, FACE_ENGINE_CLASSIC, FACE_ENGINE_NEW };

struct face_options {
    bool fusion;
    bool winograd;
    enum face_engine engine;
};

/* What this release knows. */
const char *face_version(void);   /* "4.6.0" */
bool face_has_winograd(void);     /* Winograd can be switched off: from 4.7 on */
int face_newest_opset(void);      /* that came out half a year before the release, or earlier */
bool face_has_engines(void);      /* there is a choice of graph engines: from 5.0 on */
bool face_has_all_types(void);    /* a matrix for every number type, each computed in itself: from 5.0 on */
bool face_takes(enum dtype type); /* has a matrix of that type */
void face_start(int threads);     /* also silences the library's log */

struct face_net;

/* From bytes, or from the file when data is NULL. By default 5.0 tries its older engine on what the new one
 * cannot read: `first` is then what the new one said, and the message what the older one did; else "". */
int face_load(struct face_net **net, const void *data, size_t size, const char *path,
              const struct face_options *options, char first[FACE_MESSAGE_SIZE],
              char message[FACE_MESSAGE_SIZE]);
void face_free(struct face_net *net);

/* The tensor's memory is borrowed only during the call. */
int face_set_input(struct face_net *net, const char *name, const struct tensor *tensor,
                   char message[FACE_MESSAGE_SIZE]);

/* Computes the outputs of these names and keeps them until the next call. */
int face_forward(struct face_net *net, const char *const *names, size_t count,
                 char message[FACE_MESSAGE_SIZE]);

/* Output `number` of the last face_forward, as the library gives it: owned by the caller. */
int face_output(struct face_net *net, size_t number, struct tensor *tensor, char message[FACE_MESSAGE_SIZE]);

/* The library's drawing of the network as it ran, in the language of Graphviz; where the release has none,
 * the layers alone in the same form. Heap; NULL: neither can be had. */
char *face_draw(struct face_net *net);

#ifdef __cplusplus
}
#endif
#endif
