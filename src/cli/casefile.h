/*
 * One case from the command line: a folder in ONNX's backend-test layout (model.onnx, test_data_set_0/, a
 * finding's bundle), or a model file with inputs from --data or drawn at random.
 */
#ifndef CLI_CASEFILE_H
#define CLI_CASEFILE_H

#include "case/backend_suite.h"
#include "case/test_case.h"
#include "cli/common.h"

struct casefile {
    const char *name; /* of the folder or file */
    struct model *model;
    size_t n_inputs, n_answers;
    struct value *inputs;
    const struct value *answers; /* the case's own, with a folder that has them */
    bool random;                 /* the model draws random numbers */
    /* Owners of the above. */
    struct suite suite;
    struct suite_loaded loaded;
    struct value *drawn;
};

int casefile_open(struct casefile *file, const char *path, const struct input_settings *settings,
                  struct error *err);
/*
 * The case on memory of its own, to be changed or bundled: whole, with weights that lie in other files. Of a
 * model that is too large for one file (2 GB) it is the part at fault on this engine of the pool.
 */
int casefile_copy(struct test_case **copy, const struct casefile *file, struct pool *pool, int engine,
                  struct error *err);
void casefile_close(struct casefile *file); /* also after a failure */

#endif
