/*
 * How a primitive is described, picked and run: what forward (library.c) and backward (library_backward.c)
 * share. Descriptions live until library_end; a description that the library refuses is NULL, which the
 * primitive then refuses.
 */
#ifndef ONEDNN_LIBRARY_RUN_H
#define ONEDNN_LIBRARY_RUN_H

#include "api.h"
#include "library.h"

enum { MAX_ARGUMENTS = 16, MAX_DESCRIPTIONS = 64 };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LIBRARY_SCALE_SHIFT (dnnl_use_scale | dnnl_use_shift)

struct library {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    enum layout layout;
    char *impl;                                /* part of an implementation's name, or NULL */
    long long nth;                             /* or its number */
    char nothing;                              /* an address for tensors without elements */
    struct md *descriptions[MAX_DESCRIPTIONS]; /* of the call under way */
    size_t n_descriptions;
    library_teller *tell; /* may be NULL */
    void *tell_context;
};

struct argument {
    int arg;
    const struct view *view; /* NULL: left out */
    bool output;
};

/* Turns a status into an error about `what`. */
int library_check(dnnl_status_t status, const char *what, struct error *err);

const struct md *library_describe(struct library *lib, const struct view *view);
const struct md *library_describe_free(struct library *lib, const struct view *view);     /* in any layout */
const struct md *library_describe_channels(struct library *lib, const struct view *view); /* dim 1 */
const struct md *library_describe_image(struct library *lib, const struct view *view);    /* both of these */

/* Walks the implementations to the one that was asked for. */
int library_choose(const struct library *lib, struct pick *pick, const char *what, struct error *err);

/* Runs the primitive; arguments are reordered where it wants another layout. workspace may be NULL. */
int library_execute(struct library *lib, const struct pick *pick, dnnl_memory_t workspace, size_t count,
                    const struct argument *arguments, struct error *err);
void library_end(struct library *lib);

/* The window of n dimensions as the library takes it. */
struct api_window library_window(const struct window *window, int n);

#endif
