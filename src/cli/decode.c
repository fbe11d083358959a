/* assay decode: greedy decoding of a language model on several engines, and where and why they part. */
#include "cli/decode.h"

#include "base/random.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_STEPS = 4096, MOST_PROMPT = 4096, DRAWN_TOKENS = 8, SMALLEST_VOCABULARY = 10 };

struct settings {
    struct common common;
    const char *prompt, *ids, *logits, *gguf;
    long long steps, judge;
    uint64_t seed;
};

struct work {
    const struct settings *settings;
    struct session session;
    struct model *model;
    struct decode decode;
    struct decode_options options;
    int64_t prompt[MOST_PROMPT];
    struct standing standing;
};

/* "3,17,4": tokens by their numbers. */
static int read_prompt(struct work *work, struct error *err)
{
    const char *at = work->settings->prompt;
    for (char *end; *at; at = *end ? end + 1 : end) {
        errno = 0;
        long long token = strtoll(at, &end, 10);
        if (end == at || errno || token < 0 || (*end && *end != ',') || (*end && !end[1]))
            return error_set(err, ERROR_USAGE, "--prompt takes numbers of tokens, such as 3,17,4, not '%s'",
                             work->settings->prompt);
        if (work->options.n_prompt == MOST_PROMPT)
            return error_set(err, ERROR_USAGE, "--prompt takes at most %d tokens", MOST_PROMPT);
        work->prompt[work->options.n_prompt++] = token;
    }
    if (!work->options.n_prompt)
        return error_set(err, ERROR_USAGE, "--prompt has no token");
    return 0;
}

/* Eight tokens of the model's vocabulary. */
static void draw_prompt(struct work *work, int64_t vocabulary)
{
    struct rng root = rng_seed(work->settings->seed);
    for (size_t i = 0; i < DRAWN_TOKENS; i++) {
        struct rng rng = rng_split(&root, i);
        work->prompt[i] =
            (int64_t)rng_below(&rng, (uint64_t)(vocabulary > 0 ? vocabulary : SMALLEST_VOCABULARY));
    }
    work->options.n_prompt = DRAWN_TOKENS;
}

/* What is wrong with the model or the prompt is said before any engine starts. */
static int prepare(struct work *work, const char *path, struct error *err)
{
    const struct settings *settings = work->settings;
    struct decoder decoder;
    if (settings->steps > MOST_STEPS)
        return error_set(err, ERROR_USAGE, "--steps takes 1 to %d, not %lld", MOST_STEPS, settings->steps);
    if (model_open(&work->model, path, err))
        return -1;
    int status = decoder_find(&decoder, work->model, settings->ids, settings->logits, err);
    if (status)
        error_prefix(err, "%s", path);
    else if (settings->prompt)
        status = read_prompt(work, err);
    else
        draw_prompt(work, decoder.vocabulary);
    for (size_t i = 0; i < work->options.n_prompt && !status; i++)
        if (decoder.vocabulary && work->prompt[i] >= decoder.vocabulary)
            status = error_set(err, ERROR_USAGE, "the model has the tokens 0 to %lld, and --prompt has %lld",
                               (long long)decoder.vocabulary - 1, (long long)work->prompt[i]);
    decoder_release(&decoder);
    work->options.prompt = work->prompt;
    work->options.steps = (size_t)settings->steps;
    work->options.judge = (size_t)settings->judge;
    work->options.progress = true;
    return status;
}

static void stand(struct work *work)
{
    const struct decode *decode = &work->decode;
    for (size_t e = 0; e < decode->engines; e++) {
        const struct decode_course *course = &decode->courses[e];
        const char *label = work->session.labels[e];
        if (course->fault.found)
            standing_finding(&work->standing);
        if (course->ended != OUTCOME_OK)
            standing_heard(&work->standing, label, verdict_row(verdict_of_outcome(course->ended))->heard, 1,
                           1, course->why);
        if (course->unjudged && !course->fault.found)
            standing_trouble(&work->standing, "%s was judged at %zu of the steps looked at: %s", label,
                             course->right, course->unjudged);
        else if (decode->pairs[e].kind == PARTING_UNKNOWN && !decode->courses[0].unjudged)
            standing_trouble(&work->standing,
                             "why %s parts from %s is not known, as steps before were not judged; "
                             "leave --judge out to judge all of them",
                             label, work->session.labels[0]);
    }
}

static int report(struct work *work, const char *path, struct error *err)
{
    struct str out;
    str_init(&out);
    stand(work);
    struct decode_report said = {.path = path,
                                 .labels = work->session.labels,
                                 .settings = &work->session.settings,
                                 .decode = &work->decode,
                                 .options = &work->options,
                                 .standing = &work->standing};
    if (work->settings->common.format == FORMAT_JSON)
        decode_write_json(&said, &out);
    else
        decode_write_text(&said, output_colour(&work->settings->common), &out);
    int status = output_result(&work->settings->common, said.settings, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&work->standing);
}

/* The model beside a GGUF file: the first engine runs the one, the second the other. */
static int run_beside(struct work *work, const char *path, struct error *err)
{
    const struct settings *settings = work->settings;
    struct beside beside;
    struct str out;
    struct beside_options options = {.file = settings->gguf,
                                     .steps = work->options.steps,
                                     .judge = work->options.judge,
                                     .n_prompt = work->options.n_prompt,
                                     .prompt = work->options.prompt,
                                     .progress = true};
    if (settings->ids || settings->logits)
        return error_set(err, ERROR_USAGE, "--gguf takes models with the names input_ids and logits");
    if (work->session.panel.count != 2)
        return error_set(err, ERROR_USAGE,
                         "--gguf takes two engines: the first runs the model, the second the file");
    str_init(&out);
    int status = beside_run(&beside, work->model, &work->session.panel, &options, err);
    if (!status) {
        beside_stand(&beside, work->session.labels, &work->standing);
        struct beside_report said = {path,    settings->gguf,          work->session.labels,
                                     &beside, &work->session.settings, &work->standing};
        if (settings->common.format == FORMAT_JSON)
            beside_write_json(&said, &out);
        else
            beside_write_text(&said, output_colour(&settings->common), &out);
        status = output_result(&settings->common, said.settings, &out, err);
    }
    beside_release(&beside);
    str_release(&out);
    return status ? -1 : standing_status(&work->standing);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct work work = {.settings = raw};
    if (check_one_model(&work.settings->common, words, err))
        return -1;
    int status = prepare(&work, words->items[0], err);
    if (!status)
        status = session_open(&work.session, &work.settings->common, 1, !work.settings->gguf, err);
    if (!status && work.settings->gguf)
        status = run_beside(&work, words->items[0], err);
    else if (!status)
        status = decode_run(&work.decode, work.model, work.settings->ids, work.settings->logits,
                            &work.session.panel, &work.options, err);
    if (!status && !work.settings->gguf)
        status = report(&work, words->items[0], err);
    decode_release(&work.decode);
    session_close(&work.session);
    model_free(work.model);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    {0, "steps", OPTION_SEVERAL, "N", offsetof(struct settings, steps),
     "decoding steps after the prompt (default 32)"},
    {0, "prompt", OPTION_TEXT, "IDS", offsetof(struct settings, prompt),
     "the prompt, as numbers of tokens: 3,17,4 (default: 8 tokens drawn by --seed)"},
    {0, "seed", OPTION_SEED, "S", offsetof(struct settings, seed), "seed of the prompt (default 1)"},
    {0, "judge", OPTION_SEVERAL, "N", offsetof(struct settings, judge),
     "steps that are judged besides the prompt, the last one and those at which engines part (default: all)"},
    {0, "ids", OPTION_TEXT, "NAME", offsetof(struct settings, ids),
     "the input that takes the tokens (default input_ids)"},
    {0, "logits", OPTION_TEXT, "NAME", offsetof(struct settings, logits),
     "the output with the scores of the next token (default logits)"},
    {0, "gguf", OPTION_TEXT, "FILE", offsetof(struct settings, gguf),
     "run the model on the first engine and FILE, a GGUF file of it, on the second (llama-cpp)"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

static const struct settings defaults = {.steps = 32, .seed = 1};

const struct command command_decode = {
    .name = "decode",
    .summary = "decode with a language model on engines, and tell where and why they part",
    .usage = "MODEL -e ENGINE [-e ENGINE...] [OPTION...]",
    .about =
        "Runs a language model with a key-value cache step by step on every engine: its outputs present.*\n"
        "are fed back to its inputs past*, and the token with the largest logit to input_ids. Each engine\n"
        "goes its own way. Tells which tokens they choose, and for each engine the first step at which it\n"
        "chooses another token than the first engine, and why:\n"
        "\n"
        "  fault      an operator of one engine is outside its error bounds: the node, its layer and heads\n"
        "  near tie   the two logits are so near that the last operator alone may round them either way\n"
        "  fewer bits one of them computes products in fewer bits than their type has, by a setting of it\n"
        "             that is documented to do so\n"
        "  rounding   they are not that near, but every operator is within its bounds up to here: rounding\n"
        "             added up\n"
        "\n"
        "The reference judges every operator on the inputs that the engine gave it, at the prompt, at the\n"
        "steps of --judge and where engines part. For large models take a small --judge; why engines part\n"
        "by more than a near tie is then not known (exit status 2).\n"
        "\n"
        "The exit status is 1 only for a fault: engines that part by rounding are both right.\n"
        "\n"
        "With --gguf the second engine runs a GGUF file of the same model. Told is at which layer the two\n"
        "part, and why: the file has other weights or settings than the model; an engine computes something\n"
        "else than what it was given says; or, where all of that is right, fewer bits as above; the format\n"
        "of the file, which keeps fewer bits of weights and of what they multiply; or rounding.\n",
    .examples = "  assay decode llama.onnx -e onnxruntime@1.30.0 -e onnxruntime@1.23.2\n"
                "  assay decode llama.onnx -e onnxruntime -e onnxruntime:opt=none --steps 100 --judge 5\n"
                "  assay decode gpt2.onnx -e onnxruntime --prompt 464,3290,318 --format json -o decode.json\n"
                "  assay decode llama.onnx --gguf llama-q8.gguf -e onnxruntime -e llama-cpp\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
