#include "bare.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "tensor/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bare {
    struct adapter_call call;
    struct tensor samples;
    int64_t batch;
    const char *input;
};

static int prepare(struct bare *bare, char **argv, struct error *err)
{
    long long batch;
    if (!text_int64(argv[3], &batch) || batch < 1)
        return error_set(err, ERROR_USAGE, "'%s' is not a number of samples", argv[3]);
    bare->batch = batch;
    bare->input = argv[2];
    if (npy_read(USERS_PATH, argv[1], &bare->samples, err))
        return -1;
    return bare->samples.shape.rank < 1 || bare->samples.shape.dims[0] < 1
               ? error_set(err, ERROR_INVALID, "%s has no samples", argv[1])
               : 0;
}

/* Samples first ... of the array, as they lie there. */
static int run_once(struct bare *bare, int64_t first)
{
    struct tensor part = bare->samples;
    int64_t all = part.shape.dims[0], left = all - first, count = left < bare->batch ? left : bare->batch;
    size_t sample = part.size / (size_t)all;
    part.shape.dims[0] = count;
    part.count = part.count / (size_t)all * (size_t)count;
    part.size = sample * (size_t)count;
    part.data = (char *)part.data + sample * (size_t)first;
    char *name = strdup(bare->input);
    struct value input = {.name = name, .kind = VALUE_TENSOR, .count = 1, .tensors = &part};
    struct adapter_outputs outputs = {0};
    int status = bare->call.adapter->run(&bare->call, &input, 1, false, &outputs);
    adapter_outputs_release(&outputs);
    free(name);
    return status;
}

static int run_all(struct bare *bare, const char *model, size_t size)
{
    struct adapter_model loading = {.data = model, .size = size};
    struct adapter_loaded loaded;
    str_init(&loaded.inputs);
    str_init(&loaded.outputs);
    str_init(&loaded.borrowed);
    int status = bare->call.adapter->load(&bare->call, &loading, &loaded);
    for (int64_t first = 0; status == 0 && first < bare->samples.shape.dims[0]; first += bare->batch)
        status = run_once(bare, first);
    if (bare->call.adapter->unload)
        bare->call.adapter->unload(&bare->call);
    str_release(&loaded.inputs);
    str_release(&loaded.outputs);
    str_release(&loaded.borrowed);
    return status;
}

/* What the engine refuses is said, and the next model follows. */
static int run_model(struct bare *bare, const char *path, struct error *err)
{
    char *model;
    size_t size;
    if (file_read(path, (size_t)1 << 31, &model, &size, err))
        return -1;
    double start = clock_seconds();
    str_clear(&bare->call.message);
    int status = run_all(bare, model, size);
    printf("%s\t%.6f\t%s\n", path, clock_seconds() - start, status ? bare->call.message.data : "ok");
    free(model);
    return 0;
}

int adapter_bare(const struct adapter *adapter, int argc, char **argv)
{
    struct bare bare = {.call = {.adapter = adapter}};
    struct error err = {0};
    struct str version;
    str_init(&bare.call.message);
    str_init(&version);
    tensor_init(&bare.samples);
    int status = argc >= 5 ? prepare(&bare, argv, &err)
                           : error_set(&err, ERROR_USAGE, "--bare takes SAMPLES.npy INPUT BATCH MODEL...");
    if (status == 0 && adapter->start)
        status = adapter->start(&bare.call, &bare.call.engine, &version);
    bool started = status == 0;
    for (int i = 4; i < argc && status == 0; i++)
        status = run_model(&bare, argv[i], &err);
    if (status)
        fprintf(stderr, "%s: %s\n", adapter->name, err.message[0] ? err.message : bare.call.message.data);
    if (started && adapter->stop)
        adapter->stop(bare.call.engine);
    tensor_release(&bare.samples);
    str_release(&bare.call.message);
    str_release(&version);
    return status ? 1 : 0;
}
