/*
 * Tolerances in the forms in which teams keep them: lists and overrides beside their test cases.
 */
#ifndef REPORT_TOLERANCE_FILES_H
#define REPORT_TOLERANCE_FILES_H

#include "base/str.h"
#include "tolerances/tolerances.h"

/* A case with its tolerances, finished. */
struct tolerance_case {
    const char *name; /* "test_conv_with_strides_padding" */
    struct tolerances *tolerances;
};

struct tolerance_list {
    size_t count;
    const struct tolerance_case *cases;
    double error; /* the errors that must be seen, as a share of the largest number */
};

/* Each appends a whole file. Values without any judged element are left out, and those with expected numbers
 * that are wrong. */
/* What data.json of a folder of ONNX's backend tests has: of one case, or of several by their names. */
void tolerance_write_backend_test(const struct tolerance_list *list, struct str *out);
/* ONNX Runtime's onnx_backend_test_series_overrides.jsonc: the cases for which its defaults (1e-3, 1e-5) are
 * too tight, or miss such errors where another tolerance would not. */
void tolerance_write_ort(const struct tolerance_list *list, struct str *out);
/* Flags of iree-run-module for each case. */
void tolerance_write_iree(const struct tolerance_list *list, struct str *out);
/* OpenCV's test_onnx_conformance_layer_filter*.inl.hpp: its norms. */
void tolerance_write_norms(const struct tolerance_list *list, struct str *out);
/* Parameters for pytest, one for each output. */
void tolerance_write_pytest(const struct tolerance_list *list, struct str *out);

/* What such a file cannot say, a line each: what is left out of it or must be left out of comparisons, and
 * what sees no errors of the given size. by_case: it has one tolerance for all outputs of a case. */
void tolerance_notes(const struct tolerance_list *list, bool by_case, struct str *out);

#endif
