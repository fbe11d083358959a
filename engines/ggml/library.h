/* A release of ggml, opened with dlopen, and what the knobs chose. */
#ifndef GGML_LIBRARY_H
#define GGML_LIBRARY_H

#include "adapter.h"
#include "api.h"

/* How Conv is computed: by ggml_conv_2d_direct; by ggml_im2col to float32 and ggml_mul_mat; by ggml_conv_2d.
 */
enum convolution { CONVOLUTION_AUTO, CONVOLUTION_DIRECT, CONVOLUTION_IM2COL, CONVOLUTION_PLAIN };

struct library {
    void *handle;
    struct api api;
    struct ggml_backend *backend;
    int weights; /* a TYPE_ */
    enum convolution convolution;
    int release[3]; /* of the package: 3, 14, 4; 999 where it is not known */
};

extern const char library_levels[]; /* the values of the knob cpu */

/* Opens the release that lies beside $ASSAY_LIBRARY. Fails through adapter_fail. */
int library_open(struct adapter_call *call, struct library **library, struct str *version);
void library_close(struct library *library);

/* Whether the package is of this release or a later one. */
bool library_since(const struct library *library, int major, int minor, int patch);

#endif
