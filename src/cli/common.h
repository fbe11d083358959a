/*
 * What the commands that run engines share: their common options, starting the engines, reading models and
 * inputs, and writing the result.
 */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include "base/output.h"
#include "case/inputs.h"
#include "cli/cli.h"
#include "engine/panel.h"
#include "engine/sandbox.h"
#include "report/engine_settings.h"
#include "report/standing.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };

/* The values of the common options: the first member of the settings of every such command. */
struct common {
    struct given_labels engines;
    struct cli_list registries;
    int format;
    const char *output;
    double deadline;
    long long memory;
    long long workers;
    bool fresh;
    int sandbox; /* enum sandbox_mode */
    bool no_reference;
    long long threads; /* see COMMON_THREADS; 0: not given */
    bool second_opinion;
    bool force;
    bool strict;
};

/* Rows for a command's option table; the settings must begin with a struct common named `common`. */
/* clang-format off */
#define COMMON_REGISTRY(type)                                                                       \
    {'E', "engines", OPTION_LIST, "FILE", offsetof(type, common.registries),                        \
     "read further engine definitions from FILE; repeatable"}
#define COMMON_LIMITS(type)                                                                         \
    {0, "deadline", OPTION_TIME, "TIME", offsetof(type, common.deadline),                           \
     "time limit for each request to an engine and each evaluation by the reference (default 30s)"}, \
    {0, "memory", OPTION_SIZE, "SIZE", offsetof(type, common.memory),                               \
     "memory limit for each engine process and for what assay computes itself (default 4G)"}
#define COMMON_THREADS(type)                                                                        \
    {0, "threads", OPTION_SEVERAL, "N", offsetof(type, common.threads),                             \
     "judge up to N nodes at the same time, each on a core of its own (default: all cores but one, which the engine has)"}
#define COMMON_SANDBOX(type)                                                                        \
    {0, "sandbox", OPTION_CHOICE, SANDBOX_MODES, offsetof(type, common.sandbox),                    \
     "walls around engines: as far as the system allows, refuse to run without, or limits alone"}
#define COMMON_ENGINES(type)                                                                        \
    {'e', "engine", OPTION_LABELS, "ENGINE", offsetof(type, common.engines),                         \
     "an engine: name[@version][:knob=value,...]; name@all means every installed version, all every version of every engine; repeatable"},     \
    COMMON_REGISTRY(type),                                                                          \
    COMMON_LIMITS(type),                                                                            \
    {0, "workers", OPTION_SEVERAL, "N", offsetof(type, common.workers),                               \
     "processes for each engine (default 1)"},                                                      \
    {0, "fresh", OPTION_FLAG, NULL, offsetof(type, common.fresh),                                   \
     "start a new process for every case, so that no case sees what another left in memory"},       \
    COMMON_SANDBOX(type)
#define COMMON_REFERENCE(type)                                                                      \
    {0, "no-reference", OPTION_FLAG, NULL, offsetof(type, common.no_reference),                     \
     "do not use the reference engine: engines are judged only by vote"}
#define COMMON_STRICT(type)                                                                         \
    {0, "strict", OPTION_FLAG, NULL, offsetof(type, common.strict),                                 \
     "also count as findings what is listed apart: forms that an engine says it does not take, forbidden models that it answers, answers that are right by one reading of the ONNX text"}
#define COMMON_SECOND_OPINION(type)                                                                 \
    {0, "second-opinion", OPTION_FLAG, NULL, offsetof(type, common.second_opinion),                 \
     "before an answer is called wrong, ask onnx-reference too (engines/onnx-reference/README.md)"}
#define COMMON_KNOWN(type)                                                                          \
    {0, "known", OPTION_TEXT, "FILE", offsetof(type, known),                                        \
     "read known issues from FILE besides those that Assay brings along (docs/known-issues.md)"},   \
    {0, "no-known", OPTION_FLAG, NULL, offsetof(type, no_known), "do not use the known issues that Assay brings along"}
#define COMMON_EXPORT(type)                                                                         \
    {0, "junit", OPTION_TEXT, "FILE", offsetof(type, junit),                                        \
     "also write the findings to FILE as JUnit XML; known ones are skipped tests"},                 \
    {0, "sarif", OPTION_TEXT, "FILE", offsetof(type, sarif),                                        \
     "also write the findings to FILE as SARIF 2.1.0; known ones are suppressed"}
#define COMMON_OUTPUT(type, formats)                                                                \
    {0, "format", OPTION_CHOICE, formats, offsetof(type, common.format), "how the result is written"}, \
    {'o', "output", OPTION_TEXT, "FILE", offsetof(type, common.output),                             \
     "write the result to FILE instead of stdout; an existing FILE must be a report that Assay wrote"},  \
    COMMON_FORCE(type, "overwrite FILE whatever it is, except when this command reads it")
#define COMMON_FORCE(type, help)                                                                    \
    {0, "force", OPTION_FLAG, NULL, offsetof(type, common.force), help}
/* clang-format on */

/* The engines of the command line, in its order; name@all means every installed version, the oldest first,
 * and all those of every engine. */
struct session {
    struct arena arena;
    struct registry *registry;
    struct panel panel;
    const char *const *labels; /* one for each engine of the panel */
    bool everything;           /* `all` was named: every engine, in every version */
    size_t n_absent;
    const char *const *absent;       /* of these, those that do not start here; the panel is without them */
    struct engine_settings settings; /* that these run with */
    /* The number of the reference in the pool, which tells whether a case is valid; -1: not started yet. */
    int referee;
};

/*
 * Starts the workers of the engines; fails when fewer than `least` are named. arbiter: the reference, without
 * a planted bug, is added after them to judge, unless the user gave --no-reference.
 */
int session_open(struct session *session, const struct common *common, size_t least, bool arbiter,
                 struct error *err);
/* The same without starting any worker, for many engines, which work a few at a time. */
int session_open_idle(struct session *session, const struct common *common, size_t least, bool arbiter,
                      struct error *err);
/* Of every engine there is (`all`), those that were found not to start here are not at hand, which is
 * nobody's fault: the panel goes on without them. session_open does it. */
void session_leave_out_absent(struct session *session);
/* Stops the workers. Prints which engines did not start, and what to do about it. */
void session_close(struct session *session);

/*
 * Reads a model that the command line names. Fails for one that breaks ONNX's rules (model/valid.h): that is
 * the user's mistake, reported before any engine starts. A folder stands for the model.onnx in it.
 */
int model_open(struct model **model, const char *path, struct error *err);

/*
 * For a command that ends with an error: where JUnit was asked for, writes a file that holds the error, so
 * that no CI server takes the file of an earlier run, or a missing one, for success.
 */
void trouble_junit(const struct common *common, const char *command, const struct error *err);

/*
 * Fails when the reference says that the case is invalid, which is the user's mistake. To be called where an
 * engine did not answer, before it is blamed. job: the model and the inputs.
 */
int session_valid(struct session *session, const struct job *job, const struct inputs *inputs, size_t sample,
                  struct error *err);

/*
 * Writes the result to the output file, as base/output.h says, or to stdout when there is none. In a file,
 * output_write puts a first line before a text for people, by which Assay recognises its own reports, and on
 * a terminal it wraps the text (base/wrap.h); output_write_plain does neither.
 */
int output_write(const struct common *common, const struct str *text, struct error *err);
int output_write_plain(const struct common *common, const struct str *text, struct error *err);

/* output_write for the result of engines: a text for people ends with the line about their settings, which is
 * appended. JSON and JUnit have them inside. */
int output_result(const struct common *common, const struct engine_settings *settings, struct str *text,
                  struct error *err);

/* Begins the result of engines on one model as JSON; the caller ends the object. */
void output_answer(struct json *json, const char *answer, const struct standing *standing,
                   const struct engine_settings *settings, const char *path, struct str *out);

/* For a command that takes one model and nothing else: fails when the words are others, or the output file
 * cannot be written. */
int check_one_model(const struct common *common, const struct cli_list *words, struct error *err);

/* To be called before any work: fails when the output file, where one is named, cannot be written. */
int output_check(const struct common *common, struct error *err);

/*
 * The same for a command that writes a case or a bundle to the folder of -o: fails when it cannot, or when
 * the folder holds one of the `count` paths that the command reads. A NULL among them is skipped.
 */
int output_check_bundle(const struct common *common, const char *const *inputs, size_t count,
                        struct error *err);

/* Whether to use colour: on a terminal unless NO_COLOR is set, never in a file. */
bool output_colour(const struct common *common);

/* Options about where inputs come from; see case/inputs.h. */
struct input_settings {
    const char *data;
    long long random;
    uint64_t seed;
    struct cli_list dims;
    bool alike; /* all random samples have the same sizes */
};
/* clang-format off */
#define COMMON_INPUTS(type)                                                                         \
    {'n', "random", OPTION_SEVERAL, "N", offsetof(type, inputs.random), "use N random samples (default 1)"}, \
    COMMON_INPUTS_ONE(type)
#define COMMON_INPUTS_ONE(type) /* for a command that works on one sample */                        \
    {'d', "data", OPTION_TEXT, "PATH", offsetof(type, inputs.data), "read inputs and labels from PATH: a folder, a .npy, .npz or .pb file"}, \
    {0, "seed", OPTION_SEED, "S", offsetof(type, inputs.seed), "seed of what is drawn at random (default 1)"}, \
    {0, "dim", OPTION_LIST, "NAME=SIZE", offsetof(type, inputs.dims),                               \
     "size of an open dimension (default: 1, 2, 3, 7 and 16 in turn, where the model runs with them); repeatable"}
/* clang-format on */

/* The inputs of a model that the user named by `path`: those in it, where it is the folder of a case and the
 * settings name no others. */
int inputs_from_settings(struct inputs *inputs, const struct model *model, const char *path,
                         const struct input_settings *settings, struct error *err);

/* Whether the user gave a tolerance: --rtol or --atol, which are below 0 where they did not. */
bool tolerance_is_given(double rtol, double atol);

#endif
