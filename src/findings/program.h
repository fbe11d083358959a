/*
 * The ten lines of a report: a program that shows the fault with the engine's own API. One file an engine,
 * and one row in program.c; here is what they share.
 *
 * Every program prints what is wrong with its case: "elements from N: ..." or "type T shape D D ...". It ends
 * with status 1, and the library's own words, where the library refuses.
 */
#ifndef FINDINGS_PROGRAM_H
#define FINDINGS_PROGRAM_H

#include "findings/bundle.h"

enum { PROGRAM_ELEMENTS = 20 }; /* of the output that are printed */

/* An element type as the engines' C and C++ APIs have it; the short floats travel as their bits. */
struct program_type {
    enum dtype type;
    const char *name, *format;
    const char *onnxruntime;
    const char *opencv;
    bool opencv_5;     /* not before */
    const char *torch; /* NULL: none */
};
const struct program_type *program_type(enum dtype type); /* NULL when there is none */

/* Declares an array xK with the values of input K, which larger cases read from their file. */
void program_data(struct str *out, const struct test_case *testcase, size_t k);

/* "3, 1, 4" */
void program_dims(struct str *out, const struct shape *shape);

/* The output that is wrong, the first of its elements to print so that the worst is seen, and its type: as
 * the engine gave it, else as the model says. */
size_t program_output(const struct bundle_case *which, const struct model *model);
size_t program_from(const struct bundle_case *which);
enum dtype program_output_type(const struct bundle_case *which, const struct model *model);

/* With fences and what has to be said around them. False, and nothing appended, when it cannot be written. */
typedef bool program_writer(struct str *out, const struct bundle_case *which, const struct model *model);
program_writer program_onnxruntime, program_opencv, program_torch;

#endif
