/*
 * The official ONNX backend tests as a corpus, where libonnx-testdata is installed (ASSAY_ONNX_TESTS names
 * another place). Tests that need it skip without it.
 */
#ifndef UNIT_CORPUS_H
#define UNIT_CORPUS_H

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>

struct corpus {
    char **paths; /* of model.onnx files */
    size_t count, capacity;
};

static void corpus_search(struct corpus *corpus, const char *folder, int depth)
{
    char **names;
    size_t count;
    if (depth > 4 || file_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char *path = file_join(folder, names[i]);
        if (text_equal(names[i], "model.onnx")) {
            corpus->paths =
                memory_grow(corpus->paths, &corpus->capacity, corpus->count + 1, sizeof *corpus->paths);
            corpus->paths[corpus->count++] = memory_strdup(path);
        } else if (file_is_folder(path)) {
            corpus_search(corpus, path, depth + 1);
        }
        free(path);
    }
    file_names_free(names, count);
}

static void corpus_open(struct corpus *corpus)
{
    const char *folder = getenv("ASSAY_ONNX_TESTS");
    *corpus = (struct corpus){0};
    corpus_search(corpus, folder ? folder : "/usr/include/onnx/backend/test/data", 0);
}

static void corpus_close(struct corpus *corpus)
{
    file_names_free(corpus->paths, corpus->count);
}

#endif
