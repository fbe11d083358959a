/*
 * How a model is handed to engines, as bytes or as a path. Only this file decides which.
 *
 * A model of up to HANDOVER_BYTES, including weights in other files, is sent as bytes that hold all of it, so
 * that engines that cannot read external data can run it too. A larger model is given as a path, and the
 * engines read its weights themselves. The path is the model's own file or, when the model was edited or cut,
 * a file that is written to a folder of the pool; files of external data get a second name there (a hard
 * link) or are copied when they lie on another file system than TMPDIR. Assay itself then never holds the
 * weights in memory. An engine that does not see this machine's file system (a launcher: ssh, docker) always
 * gets bytes, up to protobuf's 2 GB.
 *
 * In their sandboxes workers read the folders of handovers, and of models that go by path the file and its
 * external data, from handover_open to handover_close; they write only to their own scratch folders.
 */
#ifndef ENGINE_HANDOVER_H
#define ENGINE_HANDOVER_H

#include "engine/pool.h"
#include "case/test_case.h"

enum { HANDOVER_BYTES = 64 << 20 };

struct handover {
    const void *bytes; /* the serialised model, or NULL when `path` is set */
    size_t size;
    const char *path; /* absolute path of a file, or NULL */
    struct job_gradient gradient;
    bool asks_gradient; /* of a case that does */
    /* What owns the memory and the files above. */
    uint8_t *packed;
    char *file, *folder;
    struct view *view;
};

/* Fails with ERROR_LIMIT, and says which one it is, when a model of so many bytes is larger than an engine's
 * limit or than the memory of the machine. */
int handover_fits(size_t model, size_t limit, size_t machine, struct error *err);

/* Fails with ERROR_LIMIT when the model is larger than the memory that an engine may take, or than that of
 * this machine (handover_fits): the engine could not even map it, and would be blamed for that. Add the
 * engines to the pool first. The model must outlive the handover, and the handover must outlive all jobs made
 * from it. */
int handover_open(struct handover *handover, struct pool *pool, const struct model *model, struct error *err);

/* The same for the model of a case, whose bytes are serialised once for all handovers, with the gradients
 * that the case asks for. */
int handover_open_case(struct handover *handover, struct pool *pool, const struct test_case *test,
                       struct error *err);

/* Gives the model of a case as a file in any case, with its weights in another file beside it. Fails
 * when an engine does not see this machine's file system. */
int handover_open_file(struct handover *handover, struct pool *pool, const struct test_case *test,
                       struct error *err);
void handover_close(struct handover *handover); /* accepts a zeroed one, also after a failure */

/* The gradients that a case asks for; false when it asks for outputs. */
bool handover_gradient(const struct test_case *test, struct job_gradient *gradient);

/* Sets the gradients that a case asks for, where nothing else of it is handed over by these functions. */
void handover_ask(struct handover *handover, const struct test_case *test);

/* Sets the model of a job, and the gradients that are asked for. */
void handover_give(const struct handover *handover, struct job *job);

/* Runs a case once, by itself. The job says on which engine, and what else is asked for; model and inputs are
 * those of the case. forward: its outputs are asked for, whether or not it is about gradients. */
int handover_run_case(struct pool *pool, const struct test_case *test, bool forward, struct job *job,
                      struct result *result, struct error *err);

#endif
