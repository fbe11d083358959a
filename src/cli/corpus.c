/* assay corpus: writes an archive of cases with bounds for other people's runners. */
#include "base/file.h"
#include "base/memory.h"
#include "cli/common.h"
#include "config.h"
#include "corpus/corpus.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    const char *archive, *ops;
    uint64_t seed;
    bool none;
};

static void cases_table(const struct corpus *corpus, struct str *out, bool colour)
{
    struct table table;
    table_init(&table, "lrrrrrr");
    table_head(&table, "source|cases|corrected|left out|elements|judged|partly");
    for (size_t i = 0; i < corpus->count; i++) {
        const struct corpus_source *source = &corpus->sources[i];
        table_add(&table, STYLE_PLAIN, "%s", source->name);
        table_add(&table, STYLE_PLAIN, "%zu", source->cases);
        table_add(&table, source->corrected ? STYLE_WARN : STYLE_DIM, "%zu", source->corrected);
        table_add(&table, source->left_out ? STYLE_WARN : STYLE_DIM, "%zu", source->left_out);
        table_add(&table, STYLE_PLAIN, "%zu", source->elements);
        table_add(&table, STYLE_PLAIN, "%zu", source->judged);
        table_add(&table, STYLE_PLAIN, "%zu", source->masked);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
}

/* One column a source, and one for all together. */
static void coverage_table(const struct corpus *corpus, struct str *out, bool colour)
{
    struct table table;
    struct str align, head;
    str_init(&align);
    str_init(&head);
    str_add(&align, "lr");
    str_add(&head, "covered");
    for (size_t i = 0; i < corpus->count; i++) {
        str_add(&align, "r");
        str_printf(&head, "|%s", corpus->sources[i].name);
    }
    str_add(&head, "|together");
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (int kind = 0; kind < TALLY_KINDS; kind++) {
        table_add(&table, STYLE_PLAIN, "%s", tally_names[kind]);
        for (size_t i = 0; i < corpus->count; i++)
            table_add(&table, STYLE_PLAIN, "%zu",
                      tally_count(&corpus->sources[i].tally, (enum tally_kind)kind));
        table_add(&table, STYLE_HEAD, "%zu", tally_count(&corpus->tally, (enum tally_kind)kind));
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
    str_release(&align);
    str_release(&head);
}

static int report(const struct corpus *corpus, const struct settings *settings, size_t size,
                  struct error *err)
{
    struct str out;
    bool colour = output_colour(&settings->common);
    size_t cases = 0;
    for (size_t i = 0; i < corpus->count; i++)
        cases += corpus->sources[i].cases;
    str_init(&out);
    str_printf(&out, "%zu cases are in ", cases);
    text_print(&out, settings->archive, 0);
    str_printf(&out, ", %zu bytes.\n\n", size);
    cases_table(corpus, &out, colour);
    str_add(&out, "\n");
    coverage_table(corpus, &out, colour);
    int status = output_write(&settings->common, &out, err);
    str_release(&out);
    return status;
}

/* NAME=FOLDER */
static int add_folder(struct corpus *corpus, const char *word, struct error *err)
{
    const char *folder = strchr(word, '=');
    if (!folder || folder == word || !folder[1] || strcspn(word, "/_") < (size_t)(folder - word))
        return error_set(
            err, ERROR_USAGE,
            "'%s' is not NAME=FOLDER, such as onnx=/usr/include/onnx/backend/test/data/node: the "
            "name, without / and _, begins the names of its cases",
            word);
    char *name = memory_strdup(word);
    name[folder - word] = '\0';
    int status = corpus_add_folder(corpus, name, folder + 1, err);
    free(name);
    return status;
}

static int write_archive(struct corpus *corpus, const struct settings *settings, size_t *size,
                         struct error *err)
{
    struct str bytes;
    str_init(&bytes);
    int status = corpus_finish(corpus, !text_ends(settings->archive, ".tar"), &bytes, err);
    if (!status)
        status = output_file_write(settings->archive, bytes.data, bytes.length, settings->common.force, err);
    *size = bytes.length;
    str_release(&bytes);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    struct corpus corpus;
    size_t size;
    if (!text_ends(settings->archive, ".tar") && !text_ends(settings->archive, ".tar.zst"))
        return error_set(err, ERROR_USAGE, "-o takes a file that ends in .tar.zst or .tar, not %s",
                         settings->archive);
    if (settings->none && !words->count)
        return error_set(err, ERROR_USAGE, "with --no-generated, give a folder of cases as NAME=FOLDER");
    if (output_file_check(settings->archive, settings->common.force, err))
        return -1;
    corpus_init(&corpus);
    int status = 0;
    for (size_t i = 0; i < words->count && !status; i++)
        status = add_folder(&corpus, words->items[i], err);
    if (!status && !settings->none)
        status = corpus_add_drawn(&corpus, settings->seed, settings->ops, err);
    if (!status)
        status =
            write_archive(&corpus, settings, &size, err) || report(&corpus, settings, size, err) ? -1 : 0;
    corpus_release(&corpus);
    return status;
}

static const struct cli_option options[] = {
    {'o', "output", OPTION_TEXT, "FILE", offsetof(struct settings, archive),
     "the archive: .tar.zst, or .tar (default " CORPUS_NAME ".tar.zst)"},
    {0, "ops", OPTION_TEXT, "A,B,...", offsetof(struct settings, ops),
     "generate cases of these operators only"},
    {0, "no-generated", OPTION_FLAG, NULL, offsetof(struct settings, none), "only the cases of the folders"},
    {0, "seed", OPTION_SEED, "S", offsetof(struct settings, seed), "seed of the generated cases (default 1)"},
    COMMON_LIMITS(struct settings),
    COMMON_FORCE(struct settings, "overwrite FILE whatever it is"),
};

static const struct settings defaults = {.seed = 1, .archive = CORPUS_NAME ".tar.zst"};

const struct command command_corpus = {
    .name = "corpus",
    .summary = "write an archive of test cases with error bounds, for runners without Assay",
    .usage = "[NAME=FOLDER-OF-CASES...] [OPTION...]",
    .about =
        "Writes test cases in the layout of ONNX's backend tests, each with bound_K.pb, the largest error "
        "of\n"
        "each element of output_K.pb that rounding can explain, and mask_K.pb, where some elements are not\n"
        "judged; with an index for programs, and for every case where it comes from. docs/corpus.md shows "
        "how\n"
        "to read it in Python, C++ and Rust.\n"
        "\n"
        "Cases are generated until they cover every operator of ONNX's own domain that the reference knows, "
        "in\n"
        "each opset in which it changed, with each element type, parameter and class of its values, and at "
        "its\n"
        "edges. The cases of folders are added: ONNX's official ones, and those of found/. All expected "
        "outputs\n"
        "are the reference's; those of a folder that are outside the bounds are corrected, and listed in\n"
        "corrected.tsv. Cases without an answer that can be judged, and models that ONNX's newest checker "
        "at\n"
        "hand refuses, are left out and listed in left-out.tsv.\n"
        "\n"
        "The archive is the same byte for byte wherever it is made from the same cases by the same version "
        "of\n"
        "Assay, of libonnx and of Zstandard.\n",
    .examples = "  assay corpus\n"
                "  assay corpus onnx=/usr/include/onnx/backend/test/data/node found=build/tests/found/cases\n"
                "  assay corpus --ops Conv,Resize -o windows.tar.zst\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
