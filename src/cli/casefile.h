/*
 * One case from the command line: a folder in ONNX's backend-test layout (model.onnx, test_data_set_0/, a
 * finding's bundle), or a model file with inputs from --data or drawn at random.
 */
#ifndef CLI_CASEFILE_H
#define CLI_CASEFILE_H

#include "case/test_case.h"
#include "cli/common.h"

/* The case's name, and its recipe, are that of the folder or file. */
int casefile_open(struct test_case **test, const char *path, const struct input_settings *settings,
                  struct error *err);

/* For who needs the model in one piece: a case whose model is too large for that (2 GB) gives way to the part
 * of it that is at fault on this engine of the pool. */
int casefile_in_one_piece(struct test_case **test, struct pool *pool, int engine, struct error *err);

#endif
