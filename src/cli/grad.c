/* assay grad: the gradients of a model on engines, judged by bounds, and training with them. */
#include "cli/grad.h"

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *loss;
    long long train;
    int rule;
    double rate;
};

struct work {
    const struct settings *settings;
    struct session session;
    struct model *model;
    struct inputs inputs;
    struct gradients gradients;
    struct train train;
    struct standing standing;
};

static struct train_options training_of(const struct settings *settings)
{
    return (struct train_options){
        .steps = (size_t)settings->train,
        .rule = settings->rule ? TRAIN_ADAM : TRAIN_SGD,
        .rate = settings->rate,
        .seed = settings->inputs.seed,
        .loss = settings->loss,
        .progress = true,
    };
}

static int differentiate(struct work *work, struct error *err)
{
    const struct settings *settings = work->settings;
    const struct panel *panel = &work->session.panel;
    struct gradients_options options = {
        .seed = settings->inputs.seed, .loss = settings->loss, .progress = true};
    struct train_options training = training_of(settings);
    int status = gradients_run(&work->gradients, work->model, &work->inputs, panel, &options, err);
    if (!status && settings->train)
        status = train_run(&work->train, work->model, &work->inputs, panel, &training, err);
    return status;
}

static void stand(struct work *work)
{
    for (size_t i = 0; i < work->gradients.engines; i++)
        engine_verdict_stands(&work->gradients.verdicts.engine[i], work->session.labels[i], &work->standing);
    for (size_t i = 0; i < work->train.engines; i++) {
        const struct train_course *course = &work->train.courses[i];
        if (course->departed)
            standing_finding(&work->standing);
        if (!*course->ended && !course->departed && course->judged < course->steps)
            standing_trouble(&work->standing,
                             "the gradients of %s could be judged at %zu of %zu steps of the training",
                             work->session.labels[i], course->judged, course->steps);
        if (*course->ended)
            standing_trouble(&work->standing, "the training on %s ended after %zu steps: %s",
                             work->session.labels[i], course->steps, course->ended);
    }
}

static int report(struct work *work, const char *path, struct error *err)
{
    const struct settings *settings = work->settings;
    struct train_options training = training_of(settings);
    struct str out, described;
    str_init(&out);
    str_init(&described);
    inputs_describe(&work->inputs, &described);
    struct grad_report said = {
        .path = path,
        .labels = work->session.labels,
        .settings = &work->session.settings,
        .gradients = &work->gradients,
        .train = settings->train ? &work->train : NULL,
        .training = &training,
        .seed = settings->inputs.seed,
        .loss = settings->loss,
        .standing = &work->standing,
        .described = described.data,
    };
    stand(work);
    if (settings->common.format == FORMAT_JSON)
        grad_write_json(&said, &out);
    else if (settings->common.format == FORMAT_JUNIT)
        grad_write_junit(&said, &out);
    else
        grad_write_text(&said, output_colour(&settings->common), &out);
    int status = output_result(&settings->common, said.settings, &out, err);
    str_release(&out);
    str_release(&described);
    return status ? -1 : standing_status(&work->standing);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct work work = {.settings = raw};
    if (check_one_model(&work.settings->common, words, err))
        return -1;
    int status = model_open(&work.model, words->items[0], err);
    if (!status)
        status = inputs_from_settings(&work.inputs, work.model, words->items[0], &work.settings->inputs, err);
    if (!status)
        status = session_open(&work.session, &work.settings->common, 1, true, err);
    if (!status)
        status = differentiate(&work, err);
    if (!status)
        status = report(&work, words->items[0], err);
    if (status < 0)
        trouble_junit(&work.settings->common, "grad", err);
    gradients_release(&work.gradients);
    train_release(&work.train);
    inputs_release(&work.inputs);
    session_close(&work.session);
    model_free(work.model);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_INPUTS(struct settings),
    {0, "loss", OPTION_TEXT, "OUTPUT", offsetof(struct settings, loss),
     "differentiate the sum of this output (default: the sum of all outputs, each element with a random "
     "weight)"},
    {0, "train", OPTION_SEVERAL, "N", offsetof(struct settings, train),
     "also train the model on every engine for N steps, and tell where they part"},
    {0, "optimizer", OPTION_CHOICE, "sgd|adam", offsetof(struct settings, rule),
     "how --train changes parameters (default sgd)"},
    {0, "rate", OPTION_NUMBER, "X", offsetof(struct settings, rate),
     "learning rate of --train (default 0.01)"},
    COMMON_OUTPUT(struct settings, "text|json|junit"),
};

static const struct settings defaults = {.inputs = {.seed = 1}, .rate = 0.01};

const struct command command_grad = {
    .name = "grad",
    .summary = "differentiate a model on engines and judge the gradients",
    .usage = "MODEL -e ENGINE [-e ENGINE...] [OPTION...]",
    .about =
        "Tells for every engine whether its gradients are right. One scalar is differentiated by all inputs\n"
        "and parameters: the sum of the outputs' elements with random weights, which --seed gives, or with\n"
        "--loss the sum of one output. The reference differentiates the model with error bounds: a gradient\n"
        "that is further off than rounding can explain is wrong. The node at fault is found by having the\n"
        "engine differentiate each node alone, from the last to the first. At kinks (Relu at 0, equal\n"
        "elements under a maximum) ONNX defines no derivative, and any from one side's to the other's is "
        "right.\n"
        "\n"
        "With --train every engine trains the model by itself: it computes outputs and gradients, while "
        "loss\n"
        "(half the mean square distance from random targets, or the output of --loss) and update are\n"
        "computed by Assay with the same arithmetic for all. At every step the gradient is judged; the "
        "first\n"
        "that is wrong is where the engine departs from the others.\n",
    .examples = "  assay grad model.onnx -e torch\n"
                "  assay grad model.onnx -e torch -e tfjs -n 10\n"
                "  assay grad model.onnx -e onednn --loss loss --data folder\n"
                "  assay grad lenet.onnx -e torch -e dlib --train 50 --optimizer adam --rate 0.001\n"
                "  assay grad model.onnx -e torch --format junit -o gradients.xml\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
