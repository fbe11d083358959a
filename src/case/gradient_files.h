/*
 * What a case about gradients has on disk beside its model and inputs (case/backend_suite.h):
 *
 *     gradient.txt              the seed of the weights (case/case_gradient.h): that gradients are asked for
 *     gradient/weights_K.pb     the weights, for whoever has no Assay; they are not read
 *     gradient/expected_K.pb    the gradients that are expected, named by input or initialiser
 */
#ifndef CASE_GRADIENT_FILES_H
#define CASE_GRADIENT_FILES_H

#include "case/test_case.h"

/* Writes these files; nothing for a case that asks for outputs. */
int gradient_files_write(const struct folder *folder, const struct test_case *test, struct error *err);

/* Makes the case ask for gradients where the folder says so; those expected become its outputs. */
int gradient_files_read(const struct folder *folder, struct test_case *test, struct error *err);

#endif
