#include "engine/handover.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/views.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Engines work in folders of their own. Links in the path stay: external data lies beside the name given. */
static char *absolute(const char *path, struct error *err)
{
    if (path[0] == '/')
        return memory_strdup(path);
    char *here = getcwd(NULL, 0);
    char *joined = here ? file_join(here, path) : NULL;
    if (!here)
        error_errno(err, "cannot tell the current folder");
    free(here);
    return joined;
}

static int write_out(struct handover *handover, struct pool *pool, const struct model *model,
                     struct error *err)
{
    if (pool_folder(pool, &handover->folder, err))
        return -1;
    handover->file = file_join(handover->folder, "model.onnx");
    return model_save_linked(model, USERS_PATH, handover->file, err);
}

static bool goes_as_bytes(struct pool *pool, const struct model *model)
{
    return model_size(model) <= HANDOVER_BYTES || !pool_is_local(pool);
}

/* Lets the engines see the model and the files of its external data, which lie below its folder, and nothing
 * else there. */
static void show_files(struct handover *handover, struct pool *pool, const struct model *model)
{
    size_t count = 0, room = 0;
    const char *location, *slash = strrchr(handover->file, '/');
    char **paths = memory_grow(NULL, &room, 2, sizeof *paths);
    paths[count++] = memory_strdup(handover->file);
    while ((location = model_external_file(model, count - 1))) {
        struct str path;
        str_init(&path);
        str_append(&path, handover->file, (size_t)(slash - handover->file) + 1);
        str_add(&path, location);
        paths = memory_grow(paths, &room, count + 2, sizeof *paths);
        paths[count++] = str_detach(&path);
    }
    paths[count] = NULL;
    handover->view = pool_view_open(pool, (const char *const *)paths);
    while (count--)
        free(paths[count]);
    free(paths);
}

int handover_fits(size_t model, size_t limit, size_t machine, struct error *err)
{
    const double gb = 1e9;
    if (model > machine)
        return error_set(err, ERROR_LIMIT,
                         "with its weights the model has %.2f GB, which an engine takes at least, and this "
                         "machine has %.2f GB of memory",
                         (double)model / gb, (double)machine / gb);
    if (model > limit)
        return error_set(
            err, ERROR_LIMIT,
            "with its weights the model has %.2f GB, which an engine takes at least; it may take "
            "%.2f GB (--memory), and this machine has %.2f GB",
            (double)model / gb, (double)limit / gb, (double)machine / gb);
    return 0;
}

static size_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX;
}

static int open_path(struct handover *handover, struct pool *pool, const struct model *model,
                     struct error *err)
{
    if (handover_fits(model_size(model), pool_memory(pool), machine_memory(), err))
        return -1;
    if (model->path)
        handover->file = absolute(model->path, err);
    else if (write_out(handover, pool, model, err))
        return -1;
    if (model->path && handover->file)
        show_files(handover, pool, model);
    handover->path = handover->file;
    return handover->path ? 0 : -1;
}

int handover_open(struct handover *handover, struct pool *pool, const struct model *model, struct error *err)
{
    *handover = (struct handover){0};
    if (!goes_as_bytes(pool, model))
        return open_path(handover, pool, model, err);
    handover->bytes = model_own_bytes(model, &handover->size);
    if (!handover->bytes && model_pack(model, &handover->packed, &handover->size, err))
        return -1;
    if (!handover->bytes)
        handover->bytes = handover->packed;
    return 0;
}

bool handover_gradient(const struct test_case *test, struct job_gradient *gradient)
{
    const struct case_gradient *from = test->gradient;
    if (from)
        *gradient = (struct job_gradient){.n_upstream = from->n_upstream,
                                          .upstream = from->upstream,
                                          .n_wanted = from->n_wanted,
                                          .wanted = from->wanted};
    return from != NULL;
}

void handover_ask(struct handover *handover, const struct test_case *test)
{
    handover->asks_gradient = handover_gradient(test, &handover->gradient);
}

int handover_open_case(struct handover *handover, struct pool *pool, const struct test_case *test,
                       struct error *err)
{
    *handover = (struct handover){0};
    handover_ask(handover, test);
    const struct model *model = test_case_model(test, err);
    const uint8_t *bytes;
    if (!model)
        return -1;
    if (!goes_as_bytes(pool, model))
        return open_path(handover, pool, model, err);
    if (test_case_bytes(test, &bytes, &handover->size, err))
        return -1;
    handover->bytes = bytes;
    return 0;
}

int handover_open_file(struct handover *handover, struct pool *pool, const struct test_case *test,
                       struct error *err)
{
    *handover = (struct handover){0};
    handover_ask(handover, test);
    const struct model *model = test_case_model(test, err);
    if (!model)
        return -1;
    if (!pool_is_local(pool))
        return error_set(err, ERROR_NOT_FOUND, "an engine does not see files of this machine");
    if (pool_folder(pool, &handover->folder, err))
        return -1;
    handover->file = file_join(handover->folder, "model.onnx");
    handover->path = handover->file;
    return model_save_apart(model, USERS_PATH, handover->file, err);
}

void handover_close(struct handover *handover)
{
    if (handover->folder)
        file_remove_tree(handover->folder, NULL);
    view_close(handover->view);
    free(handover->packed);
    free(handover->file);
    free(handover->folder);
    *handover = (struct handover){0};
}

void handover_give(const struct handover *handover, struct job *job)
{
    job->model = handover->bytes;
    job->model_size = handover->size;
    job->path = handover->path;
    if (handover->asks_gradient)
        job->gradient = &handover->gradient;
}

int handover_run_case(struct pool *pool, const struct test_case *test, bool forward, struct job *job,
                      struct result *result, struct error *err)
{
    struct handover handover;
    job->n_inputs = test->n_inputs;
    job->inputs = test->inputs;
    int status = handover_open_case(&handover, pool, test, err);
    if (!status) {
        handover_give(&handover, job);
        job->gradient = forward ? NULL : job->gradient;
        status = pool_run_one(pool, job, result, err);
    }
    handover_close(&handover);
    return status;
}
