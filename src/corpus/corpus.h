/*
 * An archive of cases that any engine's own runner can run, without Assay: each in ONNX's backend-test
 * layout, with the hard bound of each element. share/corpus/README.md, which the archive brings along, says
 * what is in it and how to read it.
 *
 * Cases come from folders (ONNX's official ones, those of found/) and from the generator. The answers of all
 * are the reference's; where a folder's own are others, they are corrected and listed. What has no answer
 * with bounds, and what ONNX's checker refuses, is left out and listed. Equal cases give equal bytes.
 */
#ifndef CORPUS_CORPUS_H
#define CORPUS_CORPUS_H

#include "corpus/archive.h"
#include "corpus/drawn_cases.h"
#include "engine/onnx_checker.h"
#include "base/json.h"

/* The name of the archive, and of the folder in it. */
#define CORPUS_NAME "assay-conformance-" ASSAY_VERSION

struct corpus_source {
    const char *name;
    size_t cases, corrected, left_out, masked;
    size_t elements, judged;
    struct tally tally;
};

enum { CORPUS_SOURCES = 8 };

struct corpus {
    struct archive archive;
    struct arena arena;
    struct map names; /* of the cases */
    struct str index, corrected, left_out;
    struct json json; /* into `index` */
    struct checker checker;
    size_t count;
    struct corpus_source sources[CORPUS_SOURCES];
    struct tally tally; /* of all */
};

void corpus_init(struct corpus *corpus);
void corpus_release(struct corpus *corpus);

/* Adds the cases in and below a folder; `name` says where they come from. */
int corpus_add_folder(struct corpus *corpus, const char *name, const char *folder, struct error *err);

/* Adds drawn cases, of the named operators or, NULL, of all. */
int corpus_add_drawn(struct corpus *corpus, uint64_t seed, const char *ops, struct error *err);

/* The archive's bytes, appended to *out; nothing can be added afterwards. */
int corpus_finish(struct corpus *corpus, bool packed, struct str *out, struct error *err);

#endif
