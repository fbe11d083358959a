/* What the commands that run engines share: options, opening the engines, writing the result. */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include "base/output.h"
#include "case/inputs.h"
#include "cli/cli.h"
#include "engine/panel.h"
#include "report/standing.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };

/* The first member of such a command's settings. */
struct common {
    struct cli_list engines;
    struct cli_list registries;
    int format;
    const char *output;
    double deadline;
    long long memory;
    long long workers;
    bool fresh;
    bool no_reference;
    bool force;
};

/* Rows for a command's option table; the settings must begin with a struct common named `common`. */
/* clang-format off */
#define COMMON_REGISTRY(type)                                                                       \
    {'E', "engines", OPTION_LIST, "FILE", offsetof(type, common.registries),                        \
     "read further engine definitions from FILE; repeatable"}
#define COMMON_ENGINES(type)                                                                        \
    {'e', "engine", OPTION_LIST, "ENGINE", offsetof(type, common.engines),                          \
     "an engine: name[@version][:knob=value,...]; name@all means every installed version; repeatable"},     \
    COMMON_REGISTRY(type),                                                                          \
    {0, "deadline", OPTION_TIME, "TIME", offsetof(type, common.deadline),                           \
     "time limit for each request to an engine (default 30s)"},                                                \
    {0, "memory", OPTION_SIZE, "SIZE", offsetof(type, common.memory),                               \
     "memory limit for each engine process (default 4G)"},                                                    \
    {0, "workers", OPTION_SEVERAL, "N", offsetof(type, common.workers),                               \
     "processes for each engine (default 1)"},                                                      \
    {0, "fresh", OPTION_FLAG, NULL, offsetof(type, common.fresh),                                   \
     "start a new process for every case, so that no case sees what another left in memory"}
#define COMMON_REFERENCE(type)                                                                      \
    {0, "no-reference", OPTION_FLAG, NULL, offsetof(type, common.no_reference),                     \
     "do not use the reference engine: engines are judged only by vote"}
#define COMMON_KNOWN(type)                                                                          \
    {0, "known", OPTION_TEXT, "FILE", offsetof(type, known),                                        \
     "read known issues from FILE besides those that Assay brings along (docs/known-issues.md)"},   \
    {0, "no-known", OPTION_FLAG, NULL, offsetof(type, no_known), "do not use the known issues that Assay brings along"}
#define COMMON_OUTPUT(type, formats)                                                                \
    {0, "format", OPTION_CHOICE, formats, offsetof(type, common.format), "how the result is written"}, \
    {'o', "output", OPTION_TEXT, "FILE", offsetof(type, common.output),                             \
     "write the result to FILE instead of stdout; an existing FILE must be a report that Assay wrote"},  \
    COMMON_FORCE(type, "overwrite FILE whatever it is, except when this command reads it")
#define COMMON_FORCE(type, help)                                                                    \
    {0, "force", OPTION_FLAG, NULL, offsetof(type, common.force), help}
/* clang-format on */

/* The engines of the command line, in its order; name@all stands for every version that is here, the oldest
 * first. */
struct session {
    struct arena arena;
    struct registry *registry;
    struct panel panel;
    const char *const *labels; /* one an engine of the panel */
    int referee; /* the reference's number in the pool, asked whether a case is valid; -1: not started yet */
};

/* `least` engines must be named; the workers start at once. arbiter: the healthy reference engine is added,
 * behind those of the command line, unless the user does without. */
int session_open(struct session *session, const struct common *common, size_t least, bool arbiter,
                 struct error *err);
void session_close(struct session *session); /* says which engines did not start, and the next step */

/* A model from the command line. One that breaks ONNX's rules is the user's mistake, told before any engine
 * starts (model/valid.h). */
int model_open(struct model **model, const char *path, struct error *err);

/* Of a command that ends with an error: JUnit, where it was asked for, that says so, so that no CI server
 * takes a file of an earlier run, or none at all, for success. */
void trouble_junit(const struct common *common, const char *command, const struct error *err);

/*
 * Fails, as the user's mistake, when the reference calls the case invalid: asked where an engine did not
 * answer, before it is blamed. job: the model and the inputs.
 */
int session_valid(struct session *session, const struct job *job, const struct inputs *inputs, size_t sample,
                  struct error *err);

/* Writes the result to the output file, as base/output.h says, or to stdout when there is none. A text for
 * people gets a first line in a file, by which it is known again; a plain one does not. */
int output_write(const struct common *common, const struct str *text, struct error *err);
int output_write_plain(const struct common *common, const struct str *text, struct error *err);

/* Before any work: the file can be written (where one is named). */
int output_check(const struct common *common, struct error *err);

/* The same for a command that puts a case or bundle of its own into the folder of -o: it can, and does not
 * hold what the command reads, `count` paths (NULL: none). */
int output_check_bundle(const struct common *common, const char *const *inputs, size_t count,
                        struct error *err);

/* Colour is for a terminal that does not object (NO_COLOR), never for a file. */
bool output_colour(const struct common *common);

/* Options about where inputs come from; see case/inputs.h. */
struct input_settings {
    const char *data;
    long long random, seed;
    struct cli_list dims;
};
/* clang-format off */
#define COMMON_INPUTS(type)                                                                         \
    {'d', "data", OPTION_TEXT, "DIR", offsetof(type, inputs.data), "read inputs (.pb, .npy) and labels from DIR"}, \
    {'n', "random", OPTION_SEVERAL, "N", offsetof(type, inputs.random), "use N random samples (default 1)"}, \
    {0, "seed", OPTION_COUNT, "S", offsetof(type, inputs.seed), "seed of the random samples (default 1)"}, \
    {0, "dim", OPTION_LIST, "NAME=SIZE", offsetof(type, inputs.dims),                               \
     "size of a symbolic dimension (default 1); repeatable"}
/* clang-format on */

int inputs_from_settings(struct inputs *inputs, const struct model *model,
                         const struct input_settings *settings, struct error *err);

#endif
