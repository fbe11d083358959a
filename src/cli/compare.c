/* assay compare: runs models on several engines and tells which are right and which differ. */
#include "cli/compare_recorded.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/side_by_side.h"
#include "report/against_map.h"

#include <stdlib.h>
#include <string.h>

enum { COMPARE_HTML = FORMAT_JUNIT + 1 };

/* DATA/labels-MODEL.npy or .txt: labels of this model alone, when several share a data set. */
static int own_labels(struct inputs *inputs, const char *model, const char *data, struct error *err)
{
    const char *base = file_base(model), *dot = strrchr(base, '.');
    int stem = dot ? (int)(dot - base) : (int)strlen(base), status = 0;
    static const char *const endings[] = {"npy", "txt"};
    for (size_t i = 0; i < 2; i++) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/labels-%.*s.%s", data, stem, base, endings[i]);
        bool found = file_exists(path.data);
        if (found)
            status = inputs_labels(inputs, path.data, err);
        str_release(&path);
        if (found)
            break;
    }
    return status;
}

/* Appends ", with expected y and z". */
static int describe_expected(const struct inputs *inputs, struct str *out, struct error *err)
{
    struct inputs_expected expected;
    int status = inputs_expected(inputs, 0, &expected, err);
    for (size_t i = 0; i < expected.count && status == 0; i++)
        str_printf(out, "%s%s",
                   !i                       ? ", with expected "
                   : i + 1 < expected.count ? ", "
                                            : " and ",
                   expected.values[i].name);
    inputs_expected_release(&expected);
    return status;
}

/* Reads the model and its inputs before any engine starts: what is wrong with them is the user's mistake. */
static int open_model(struct compare_model *entry, const struct compare_settings *settings, struct error *err)
{
    entry->strict = settings->common.strict;
    if (model_open(&entry->model, entry->path, err))
        return -1;
    int status = inputs_from_settings(&entry->inputs, entry->model, entry->path, &settings->inputs, err);
    if (status == 0 && settings->inputs.data)
        status = own_labels(&entry->inputs, entry->path, settings->inputs.data, err);
    entry->classes = entry->inputs.classes != NULL;
    if (status == 0 && !entry->described) {
        struct str text;
        str_init(&text);
        inputs_describe(&entry->inputs, &text);
        status = describe_expected(&entry->inputs, &text, err);
        entry->described = str_detach(&text);
    }
    return status ? error_prefix(err, "%s", entry->path) : 0;
}

static int compare_one(struct compare_model *entry, const struct compare_settings *settings,
                       const struct known_issues *known, struct session *session, struct error *err)
{
    struct compare_options options = {
        .known = known,
        .thresholds = {.k = (int)settings->top,
                       .class = settings->class,
                       .mad = settings->mad,
                       .percent = settings->percent},
        .tolerance = {.rtol = settings->rtol, .atol = settings->atol, .scale = settings->scale},
        .together = settings->common.fresh ? 1 : 0,
        .batch = settings->common.fresh ? 1 : (size_t)settings->batch,
        .judge = (size_t)settings->judge,
        .operators = (size_t)settings->operators,
        .seconds = settings->seconds,
        .keep = settings->keep,
        .progress = true,
    };
    int status = compare_run(&entry->compare, entry->path, entry->model, &entry->inputs, &session->panel,
                             &options, err);
    return status && err->code == ERROR_INVALID ? error_prefix(err, "%s", entry->path) : status;
}

/* Writes the model with nodes kept in float32. */
static int write_kept(struct compare_model *entry, const struct compare_settings *settings, struct error *err)
{
    uint8_t *bytes;
    size_t size;
    if (!settings->model_out || !entry->kept->met)
        return 0;
    if (model_pack(entry->kept->model, &bytes, &size, err))
        return -1;
    int status = output_file_write(settings->model_out, bytes, size, settings->common.force, err);
    free(bytes);
    entry->written = status ? NULL : settings->model_out;
    return status;
}

static int find_kept(struct compare_model *entry, const struct model *other,
                     const struct compare_settings *settings, struct session *session, struct error *err)
{
    struct keep_float_options options = {.figure = settings->figure, .seconds = settings->seconds};
    entry->kept = memory_zeroed(1, sizeof *entry->kept);
    entry->figure = settings->figure;
    if (keep_float(entry->kept, entry->against, entry->model, other, &entry->inputs, &session->panel,
                   &options, err))
        return -1;
    return write_kept(entry, settings, err);
}

/* Holds the model against the one that it was made from. */
static int compare_other(struct compare_model *entry, const struct compare_settings *settings,
                         struct session *session, struct error *err)
{
    struct against_options options = {.seconds = settings->seconds};
    struct model *other;
    entry->other = settings->against;
    if (model_open(&other, entry->other, err))
        return -1;
    entry->against = memory_zeroed(1, sizeof *entry->against);
    int status =
        against_run(entry->against, entry->model, other, &entry->inputs, &session->panel, &options, err);
    if (status == 0 && settings->keep_float)
        status = find_kept(entry, other, settings, session, err);
    model_free(other);
    return status ? error_prefix(err, "%s against %s", entry->path, entry->other) : 0;
}

static void close_model(struct compare_model *entry)
{
    inputs_release(&entry->inputs);
    model_free(entry->model);
    entry->model = NULL;
}

static void stand(const struct compare_model *models, size_t count, const char *const *labels,
                  const struct compare_settings *settings, struct standing *standing)
{
    for (size_t m = 0; m < count; m++) {
        const struct compare *compare = &models[m].compare;
        compare_stands(compare, labels, standing);
        if (models[m].against && models[m].against->damaged)
            standing_finding(standing);
        if (models[m].kept && !models[m].kept->met)
            standing_trouble(standing, "no choice of nodes in float32 brings the loss to the figure of "
                                       "--keep-float; allow more, or give the search more time (--time)");
        compare_recorded_stands(&models[m], settings, standing);
        for (size_t i = 0; i < compare->pairs; i++)
            if (compare->pair[i].differs)
                standing_finding(standing);
    }
}

/* The map of the losses of --against. */
static int write_map(const struct compare_model *entry, const char *const *labels, struct str *out,
                     struct error *err)
{
    struct model *model;
    struct model_index index;
    struct against_scene scene = compare_against_scene(entry, labels);
    if (model_open(&model, entry->path, err))
        return -1;
    int status = model_index_init(&index, model, err);
    if (status == 0) {
        status = against_map_html(out, &scene, &index, err);
        model_index_release(&index);
    }
    model_free(model);
    return status;
}

static int report(const struct compare_model *models, size_t count, const struct session *session,
                  const struct compare_settings *settings, struct error *err)
{
    struct standing standing = {.strict = settings->common.strict};
    struct str out;
    str_init(&out);
    stand(models, count, session->labels, settings, &standing);
    int status = 0;
    if (settings->common.format == COMPARE_HTML)
        status = write_map(&models[0], session->labels, &out, err);
    else if (session->panel.count == 0)
        compare_recorded_alone(models, settings, &standing, &out);
    else if (settings->common.format == FORMAT_JSON)
        compare_write_json(models, count, session, settings, &standing, &out);
    else if (settings->common.format == FORMAT_JUNIT)
        compare_write_junit(models, count, session, settings, &out);
    else
        compare_write_text(models, count, session->labels, settings, output_colour(&settings->common), &out);
    if (status == 0)
        status = output_result(&settings->common, &session->settings, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

/* "0.1%", or 0.001. With it, -o names the model that is written, if it ends like one. */
static int read_keep_float(struct compare_settings *settings, struct error *err)
{
    if (!settings->keep_float)
        return 0;
    char *number = memory_strdup(settings->keep_float);
    size_t length = strlen(number);
    bool percent = length && number[length - 1] == '%';
    if (percent)
        number[length - 1] = '\0';
    bool read = text_double(number, &settings->figure) && settings->figure >= 0;
    settings->figure /= percent ? 100 : 1;
    free(number);
    if (!read)
        return error_set(err, ERROR_USAGE, "--keep-float takes a loss such as 0.1%% or 0.001, not '%s'",
                         settings->keep_float);
    if (!settings->against)
        return error_set(err, ERROR_USAGE,
                         "--keep-float needs the model that this one was made from: --against");
    if (settings->common.output && text_ends(settings->common.output, ".onnx")) {
        settings->model_out = settings->common.output;
        settings->common.output = NULL;
        return output_file_check(settings->model_out, settings->common.force, err);
    }
    return 0;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct compare_settings *settings = raw;
    side_by_side_use((size_t)settings->common.threads);
    if (read_keep_float(settings, err))
        return -1;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a model");
    if (settings->against && words->count > 1)
        return error_set(err, ERROR_USAGE, "--against holds one model against another; give one, not %zu",
                         words->count);
    if (settings->common.format == COMPARE_HTML && !settings->against)
        return error_set(err, ERROR_USAGE, "--format html draws what --against finds; name the other model");
    if (settings->top > 60)
        return error_set(err, ERROR_USAGE, "--top takes 1 to 60, not %lld", settings->top);
    if (settings->percent > 100)
        return error_set(err, ERROR_USAGE, "--percent takes 0 to 100, not %g", settings->percent);
    if ((settings->map || settings->precision || settings->party || settings->rounded > 0) &&
        !settings->expected)
        return error_set(err, ERROR_USAGE,
                         "--map, --precision, --recorded-by and --rounded-to are about --expected");
    if (settings->expected && words->count > 1)
        return error_set(err, ERROR_USAGE, "--expected is a recording of one model: give one");
    if (output_check(&settings->common, err))
        return -1;
    struct session session = {0};
    struct compare_model *models = memory_zeroed(words->count, sizeof *models);
    struct known_issues known;
    struct known_files files = {.named = settings->known, .none_installed = settings->no_known};
    int status = known_open(&known, &files, err);
    for (size_t i = 0; i < words->count && status == 0; i++) {
        models[i].path = words->items[i];
        status = open_model(&models[i], settings, err);
        if (status == 0)
            status = compare_recorded_run(&models[i], settings, err);
        close_model(&models[i]); /* one at a time in memory */
    }
    bool alone = settings->expected && !settings->against && settings->common.engines.count == 0;
    if (status == 0 && !alone)
        status = session_open(&session, &settings->common, settings->common.no_reference ? 2 : 1, true, err);
    for (size_t i = 0; i < words->count && status == 0 && !alone; i++) {
        status = open_model(&models[i], settings, err);
        if (status == 0)
            status = compare_one(&models[i], settings, &known, &session, err);
        if (status == 0 && settings->against)
            status = compare_other(&models[i], settings, &session, err);
        close_model(&models[i]);
    }
    if (status == 0)
        status = report(models, words->count, &session, settings, err);
    if (status < 0)
        trouble_junit(&settings->common, "compare", err);
    session_close(&session);
    for (size_t i = 0; i < words->count; i++) {
        compare_release(&models[i].compare);
        free(models[i].described);
        if (models[i].against)
            against_release(models[i].against);
        if (models[i].kept)
            kept_float_release(models[i].kept);
        free(models[i].against);
        free(models[i].kept);
        free(models[i].unused);
        if (models[i].has_recorded)
            recorded_release(&models[i].recorded);
    }
    known_release(&known);
    free(models);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct compare_settings),
    COMMON_THREADS(struct compare_settings),
    COMMON_REFERENCE(struct compare_settings),
    COMMON_STRICT(struct compare_settings),
    COMMON_INPUTS(struct compare_settings),
    COMMON_KNOWN(struct compare_settings),
    {0, "against", OPTION_TEXT, "OTHER.onnx", offsetof(struct compare_settings, against),
     "hold MODEL (quantised, in float16, optimised, exported again) against the one that it was made from: "
     "what is lost, in which layer, and whether it is the model's or the engine's"},
    {0, "keep-float", OPTION_TEXT, "LOSS", offsetof(struct compare_settings, keep_float),
     "with --against: find the fewest nodes to keep in float32 so that no more than LOSS (0.1%) of the "
     "answer "
     "is lost, verified by running the engines; -o FILE.onnx writes the model with these nodes"},
    {0, "expected", OPTION_TEXT, "FILE", offsetof(struct compare_settings, expected),
     "values of the model that were recorded elsewhere (a device, PyTorch): a .npz file with outputs and "
     "inner "
     "values by name, or a .npy or .pb file with the first output"},
    {0, "map", OPTION_TEXT, "FILE", offsetof(struct compare_settings, map),
     "what the recording's names are in the model: lines 'name in the recording = value or node'"},
    {0, "precision", OPTION_CHOICE, PRECISION_WORDS, offsetof(struct compare_settings, precision),
     "what the recording's device keeps values in (default: the model's own types)"},
    {0, "recorded-by", OPTION_CHOICE, PARTY_WORDS, offsetof(struct compare_settings, party),
     "whether the recording is of a device that ran this model, or of the framework it was exported from"},
    {0, "rounded-to", OPTION_NUMBER, "X", offsetof(struct compare_settings, rounded),
     "the recording's numbers were printed with digits down to X: 0.0001"},
    {0, "rtol", OPTION_NUMBER, "X", offsetof(struct compare_settings, rtol),
     "relative tolerance (default 1e-3)"},
    {0, "atol", OPTION_NUMBER, "X", offsetof(struct compare_settings, atol),
     "absolute tolerance (default 1e-5)"},
    {0, "scale", OPTION_NUMBER, "X", offsetof(struct compare_settings, scale),
     "absolute tolerance as a share of the output's largest magnitude, when larger than --atol (default "
     "1e-5)"},
    {0, "top", OPTION_SEVERAL, "K", offsetof(struct compare_settings, top),
     "how many of the top classes count for class distance and accuracy (default 5)"},
    {0, "class-threshold", OPTION_NUMBER, "T", offsetof(struct compare_settings, class),
     "class distance from which a sample counts as inconsistent (default 8)"},
    {0, "mad-threshold", OPTION_NUMBER, "T", offsetof(struct compare_settings, mad),
     "MAD distance from which a sample counts as inconsistent (default 0.2)"},
    {0, "percent", OPTION_NUMBER, "P", offsetof(struct compare_settings, percent),
     "percentage of inconsistent samples that makes two engines differ (default 0: one sample is enough)"},
    {0, "batch", OPTION_SEVERAL, "N", offsetof(struct compare_settings, batch),
     "samples in one batch, where the model's first dimension is open (default 100)"},
    {0, "judge", OPTION_COUNT, "N", offsetof(struct compare_settings, judge),
     "samples whose outputs are checked against the reference, besides the worst (default: all, as time "
     "allows)"},
    {0, "operators", OPTION_COUNT, "N", offsetof(struct compare_settings, operators),
     "of these, samples on which every operator is checked (default: all, as time allows; with --judge N of "
     "more samples, in a twentieth of the time that the engines take)"},
    {0, "time", OPTION_TIME, "T", offsetof(struct compare_settings, seconds),
     "time for these checks on each model, for what is not chosen by a number (default 20s)"},
    {0, "keep", OPTION_TEXT, "DIR", offsetof(struct compare_settings, keep),
     "keep the engines' answers in DIR, and do not run what already has an answer there"},
    {0, "metrics", OPTION_FLAG, NULL, offsetof(struct compare_settings, metrics),
     "also show each pair of engines with its largest differences and CRADLE's distances, and what they "
     "mean"},
    COMMON_OUTPUT(struct compare_settings, "text|json|junit|html"),
};

static const struct compare_settings defaults = {
    .inputs = {.seed = 1},
    .rtol = 1e-3,
    .atol = 1e-5,
    .scale = 1e-5,
    .top = 5,
    .class = 8,
    .mad = 0.2,
};

const struct command command_compare = {
    .name = "compare",
    .summary = "run models on several engines and compare their outputs",
    .usage = "MODEL|CASE-FOLDER... -e ENGINE -e ENGINE... [OPTION...]",
    .about =
        "Tells first, in a sentence, which engines compute the model correctly, and on what evidence: how "
        "many\n"
        "samples, of which sizes, how many output values were judged, and what could not be and why. Then\n"
        "tells for every engine whether it is right. The reference engine and its error bounds decide: "
        "which\n"
        "engine is wrong, at which operator, and by how much more than rounding can explain. Where the\n"
        "outputs agree every operator is checked on the values that the engine gave it, as the last "
        "operators\n"
        "may hide what is wrong. Where the reference does not know an operator the engines vote. With the\n"
        "reference, one engine is enough.\n"
        "\n"
        "Also compares every pair of engines on every sample: types, shapes and values of all outputs, and\n"
        "CRADLE's class and MAD distances between the first output and the labels in --data. Without labels\n"
        "the first engine's top class takes their place; such distances decide nothing. Pairs that differ "
        "are\n"
        "told in words, all numbers with --metrics.\n"
        "\n"
        "In a large data set the reference checks samples spread evenly over it, and those on which engines\n"
        "failed or differ most. Samples are run in batches where the model's first dimension is open and\n"
        "samples do not influence each other; every result is that of a single sample. The file\n"
        "labels-MODEL.npy in DIR has the labels of MODEL.onnx alone.\n"
        "\n"
        "Arrays and files in --data that are called as an output of the model (or output_0, output_1 ...) "
        "are\n"
        "expected outputs: a third party beside engines and reference. Where an engine does not meet them "
        "the\n"
        "reference tells who is wrong; no engine is wrong against outputs that it refutes, and the status "
        "is\n"
        "then 2.\n"
        "\n"
        "--expected FILE holds a recording against the model: outputs and inner values of a device, or of "
        "the\n"
        "framework that the model was exported from. It tells whether all is within rounding (of\n"
        "--precision), or else which layer is the first that differs by itself, or what explains it: inputs\n"
        "that were prepared in another way (BGR, 0 to 255, transposed, NHWC ...), another layout, another\n"
        "order of samples, another value of the model, fewer bits. No engine need be named for that.\n",
    .examples =
        "  assay compare model.onnx -e onnxruntime@1.30.0 -e onnxruntime@1.12.0\n"
        "  assay compare model.onnx -e onnxruntime -e onnxruntime:opt=none --data validation/\n"
        "  assay compare models/*/*.onnx -e onnxruntime@all -e opencv --data mnist/ --keep answers/\n"
        "  assay compare model-int8.onnx --against model.onnx -e onnxruntime --data validation/\n"
        "  assay compare model-int8.onnx --against model.onnx -e onnxruntime -n 20 --format html -o "
        "map.html\n"
        "  assay compare model-fp16.onnx --against model.onnx -e onnxruntime --keep-float 0.1% -o "
        "mixed.onnx\n"
        "  assay compare model.onnx --data x.npy --expected npu.npz --precision float16 --recorded-by "
        "device\n"
        "  assay compare *.onnx -e onnxruntime -e onnxruntime:opt=none -n 20 --format json -o result.json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct compare_settings),
    .run = run,
};
