/*
 * One case from the command line: a folder in ONNX's backend-test layout (model.onnx, test_data_set_0/, a
 * finding's bundle), or a model file with inputs from --data or drawn at random.
 */
#ifndef CLI_CASEFILE_H
#define CLI_CASEFILE_H

#include "case/test_case.h"
#include "cli/common.h"

/*
 * Reads the case, whose name and recipe are the name of the folder or file. Fails when the folder holds
 * several cases, or inputs that the model does not want.
 */
int casefile_open(struct test_case **test, const char *path, const struct input_settings *settings,
                  struct error *err);

/* The same for another sample than the first. *samples, unless NULL, becomes the number that there are. */
int casefile_open_sample(struct test_case **test, const char *path, const struct input_settings *settings,
                         size_t sample, size_t *samples, struct error *err);

/*
 * For commands that need the whole model in one file. A model that is too large for that (2 GB) is replaced
 * by its part at fault, which is found by running it on engine number `engine` of the pool.
 */
int casefile_in_one_piece(struct test_case **test, struct pool *pool, int engine, struct error *err);

/* Where the folder is the bundle of a finding that takes a rewriting to show, replaces the case by its
 * rewritten form. */
int casefile_rewrite(struct test_case **test, const char *path, struct error *err);

#endif
