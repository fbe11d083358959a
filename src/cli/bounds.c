/* assay bounds: tolerances at which no right engine can fail, and what they see. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/wrap.h"
#include "case/backend_suite.h"
#include "cli/common.h"
#include "report/text_table.h"
#include "report/tolerance_files.h"

#include <math.h>
#include <stdlib.h>

enum as { AS_TABLE, AS_JSON, AS_BACKEND_TEST, AS_ORT, AS_IREE, AS_NORMS, AS_PYTEST };

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *match;
    int precision;
    bool nodes;
    double error, rtol, atol;
};

struct work {
    const struct settings *settings;
    struct arena arena; /* of names */
    size_t count, capacity;
    struct tolerance_case *cases;
    struct standing standing;
};

/* Takes over the tolerances, which are finished here. */
static void keep(struct work *work, const char *name, struct tolerances *tolerances)
{
    work->cases = memory_grow(work->cases, &work->capacity, work->count + 1, sizeof *work->cases);
    tolerances_finish(tolerances);
    struct tolerances *kept = memory_zeroed(1, sizeof *kept);
    *kept = *tolerances;
    kept->model = NULL; /* it does not live as long */
    work->cases[work->count++] = (struct tolerance_case){arena_strdup(&work->arena, name), kept};
}

/* What the reference lacks, or a model that is not valid, is no reason to leave the other cases out. */
static void skip(struct work *work, const char *name, struct error *err)
{
    standing_trouble(&work->standing, "%s: %s", name, err->message);
    *err = (struct error){0};
}

static int of_model(struct work *work, const char *path, struct error *err)
{
    struct inputs inputs = {0};
    struct tolerances tolerances = {0};
    struct model *model = NULL;
    if (model_open(&model, path, err))
        return -1;
    int status = inputs_from_settings(&inputs, model, path, &work->settings->inputs, err);
    if (!status)
        status = tolerances_init(&tolerances, model, (enum precision)work->settings->precision,
                                 work->settings->nodes, err);
    for (size_t i = 0; i < inputs.samples && !status; i++) {
        struct value *values = NULL;
        struct inputs_expected expected = {0};
        status = inputs_get(&inputs, i, &values, err);
        if (!status)
            status = inputs_expected(&inputs, i, &expected, err);
        bool all = expected.count == model->graph->n_output;
        if (!status)
            status = tolerances_add(&tolerances, values, inputs.count, expected.values,
                                    all ? expected.count : 0, err);
        inputs_expected_release(&expected);
        values_free(values, inputs.count);
    }
    if (!status)
        keep(work, file_base(path), &tolerances);
    else
        tolerances_release(&tolerances);
    inputs_release(&inputs);
    model_free(model);
    return status ? error_prefix(err, "%s", path) : 0;
}

static int of_sets(struct work *work, const char *name, const struct suite_loaded *loaded, struct error *err)
{
    struct tolerances tolerances = {0};
    const struct model *model = loaded->sets ? test_case_model(loaded->tests[0], err) : NULL;
    if (!model)
        return -1;
    int status = tolerances_init(&tolerances, model, (enum precision)work->settings->precision,
                                 work->settings->nodes, err);
    for (size_t i = 0; i < loaded->sets && !status; i++) {
        const struct test_case *test = loaded->tests[i];
        status =
            tolerances_add(&tolerances, test->inputs, test->n_inputs, test->outputs, test->n_outputs, err);
    }
    if (!status)
        keep(work, file_base(name), &tolerances);
    else
        tolerances_release(&tolerances);
    return status;
}

static int of_suite(struct work *work, const char *folder, struct error *err)
{
    struct suite suite;
    struct progress progress;
    int status = suite_open(&suite, &folder, 1, work->settings->match, err);
    progress_begin(&progress, "cases", suite.count);
    for (size_t i = 0; i < suite.count && !status; i++) {
        struct suite_loaded loaded = {0};
        struct error why = {0};
        if (suite_load(&suite.cases[i], &loaded, &why) || of_sets(work, suite.cases[i].name, &loaded, &why))
            skip(work, suite.cases[i].name, &why);
        suite_unload(&loaded);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    suite_release(&suite);
    return status;
}

static struct tolerance own_of(const struct settings *settings)
{
    return (struct tolerance){settings->rtol > 0 ? settings->rtol : 0,
                              settings->atol > 0 ? settings->atol : 0};
}

/* What is to be said of the user's own tolerance: too tight where a right engine may fail it, too loose where
 * it misses errors that another would not. */
static const char *own_word(const struct settings *settings, struct tolerance_row *row)
{
    struct tolerance own = own_of(settings);
    struct tolerance_choice choice = tolerances_choose(row, settings->error);
    if (!tolerance_holds(&row->fits[choice.basis], own))
        return "too tight";
    bool sees = tolerance_passes(&row->fits[choice.basis], own) <= settings->error;
    return sees ? "right" : choice.passes <= settings->error ? "too loose" : "loose";
}

/* Expected numbers are wrong, and not only printed with a few digits. */
static bool is_wrong(const struct settings *settings, struct tolerance_row *row)
{
    return row->refuted && !tolerances_has_choice(row, settings->error);
}

static void stand(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        for (size_t k = 0; k < work->cases[i].tolerances->count; k++) {
            struct tolerance_row *row = &work->cases[i].tolerances->rows[k];
            if (is_wrong(work->settings, row))
                standing_mistake(&work->standing,
                                 "%s: %zu of %zu expected numbers of %s are not what the model gives",
                                 work->cases[i].name, row->refuted, row->values, row->name);
            else if (row->output && row->unjudged && row->unjudged == row->values)
                standing_trouble(&work->standing, "%s: no value of %s can be bounded", work->cases[i].name,
                                 row->name);
            if (tolerances_has_choice(row, work->settings->error) &&
                tolerance_is_given(work->settings->rtol, work->settings->atol) &&
                text_starts(own_word(work->settings, row), "too"))
                standing_finding(&work->standing);
        }
}

static void add_number(struct table *table, double number)
{
    if (number < 0)
        table_add(table, STYLE_DIM, "none");
    else
        table_add(table, STYLE_PLAIN, "%.2g", number);
}

static void table_row(const struct settings *settings, const char *name, struct tolerance_row *row,
                      struct table *table)
{
    struct tolerance_choice choice = tolerances_choose(row, settings->error);
    table_add(table, STYLE_PLAIN, "%s", name);
    table_add(table, STYLE_PLAIN, "%s", row->name);
    table_add(table, STYLE_DIM, "%s", row->op);
    table_add(table, STYLE_PLAIN, "%zu", row->values);
    if (row->unjudged)
        table_add(table, STYLE_WARN, "%zu", row->unjudged);
    else
        table_add(table, STYLE_DIM, "0");
    bool judged = tolerances_has_choice(row, settings->error);
    if (is_wrong(settings, row))
        table_add(table, STYLE_BAD, "wrong");
    else
        table_add(table, STYLE_DIM, "%s", !judged ? "-" : choice.basis == BASIS_HARD ? "any" : "likely");
    add_number(table, judged ? choice.least.rtol : -1);
    add_number(table, judged ? choice.least.atol : -1);
    add_number(table, judged ? choice.most : -1);
    add_number(table, judged ? choice.passes : -1);
    if (tolerance_is_given(settings->rtol, settings->atol)) {
        const char *word = judged ? own_word(settings, row) : "-";
        table_add(table, text_starts(word, "too") ? STYLE_BAD : STYLE_PLAIN, "%s", word);
    }
}

static void explain(const struct work *work, struct str *out)
{
    const struct settings *settings = work->settings;
    str_printf(
        out,
        "A test passes where |got - expected| <= atol + rtol * |expected|. With rtol and atol no right "
        "engine fails on this data%s%s; an atol up to \"atol to\" still sees every error of %g of an "
        "output's largest number, and \"sees\" is the share from which on errors always fail.\n",
        settings->precision ? ", computed in " : "",
        settings->precision ? precision_name((enum precision)settings->precision) : "", settings->error);
    str_add(out,
            "by any: whatever the rounding; by likely: 16 standard deviations of it, where the worst case "
            "is too wide to see such errors; by wrong: expected numbers are not what the model gives. Values "
            "in \"open\" cannot be bounded: a test must leave them out.\n\n");
}

static void write_table(struct work *work, bool colour, struct str *out)
{
    struct table table;
    bool own = tolerance_is_given(work->settings->rtol, work->settings->atol);
    table_init(&table, own ? "lllrrlrrrrl" : "lllrrlrrrr");
    table_head(&table, own ? "case|value|operator|numbers|open|by|rtol|atol|atol to|sees|yours"
                           : "case|value|operator|numbers|open|by|rtol|atol|atol to|sees");
    for (size_t i = 0; i < work->count; i++)
        for (size_t k = 0; k < work->cases[i].tolerances->count; k++)
            if (work->cases[i].tolerances->rows[k].type != DTYPE_NONE)
                table_row(work->settings, work->cases[i].name, &work->cases[i].tolerances->rows[k], &table);
    standing_print(&work->standing, out, colour);
    explain(work, out);
    table_print(&table, out, colour, 0);
    table_release(&table);
}

static void json_pair(struct json *json, const char *name, struct tolerance_fit *fit)
{
    struct tolerance least = tolerance_least(fit), norms = tolerance_norms(fit);
    json_object(json, name);
    json_double(json, "rtol", least.rtol);
    json_double(json, "atol", least.atol);
    json_double(json, "sees", tolerance_passes(fit, least));
    json_double(json, "mean", norms.rtol);
    json_double(json, "most", norms.atol);
    json_end(json);
}

/* The tolerance of one output, or of all outputs of a case together. */
static void json_tolerance(const struct settings *settings, struct tolerance_row *row, struct json *json)
{
    struct tolerance_choice choice = tolerances_choose(row, settings->error);
    json_string(json, "by", choice.basis == BASIS_HARD ? "any" : "likely");
    json_double(json, "rtol", choice.least.rtol);
    json_double(json, "atol", choice.least.atol);
    if (choice.most >= 0)
        json_double(json, "atol_to", choice.most);
    json_double(json, "sees", choice.passes);
    json_pair(json, "any", &row->fits[BASIS_HARD]);
    json_pair(json, "likely", &row->fits[BASIS_LIKELY]);
    if (tolerance_is_given(settings->rtol, settings->atol))
        json_string(json, "yours", own_word(settings, row));
}

static void json_row(const struct settings *settings, struct tolerance_row *row, struct json *json)
{
    json_object(json, NULL);
    json_string(json, "name", row->name);
    json_string(json, "operator", row->op);
    json_bool(json, "output", row->output);
    json_string(json, "type", dtype_name(row->type));
    json_int(json, "values", (int64_t)row->values);
    json_int(json, "open", (int64_t)row->unjudged);
    json_int(json, "refuted", (int64_t)row->refuted);
    json_double(json, "largest", row->fits[BASIS_HARD].largest);
    if (tolerances_has_choice(row, settings->error))
        json_tolerance(settings, row, json);
    json_end(json);
}

static void json_together(const struct settings *settings, struct tolerances *tolerances, struct json *json)
{
    if (!tolerances_has_common_choice(tolerances, settings->error))
        return;
    json_object(json, "together");
    json_tolerance(settings, &tolerances->all, json);
    json_end(json);
}

static void write_json(struct work *work, struct str *out)
{
    struct json json;
    output_json(&json, out, true);
    json_string(&json, "precision", precision_name((enum precision)work->settings->precision));
    json_double(&json, "error", work->settings->error);
    standing_json(&work->standing, &json);
    json_array(&json, "cases");
    for (size_t i = 0; i < work->count; i++) {
        const struct tolerances *tolerances = work->cases[i].tolerances;
        json_object(&json, NULL);
        json_string(&json, "case", work->cases[i].name);
        json_int(&json, "samples", (int64_t)tolerances->samples);
        json_array(&json, "values");
        for (size_t k = 0; k < tolerances->count; k++)
            if (tolerances->rows[k].type != DTYPE_NONE)
                json_row(work->settings, &tolerances->rows[k], &json);
        json_end(&json);
        json_together(work->settings, work->cases[i].tolerances, &json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

static void write_list(const struct work *work, struct str *out)
{
    static void (*const writers[])(const struct tolerance_list *list, struct str *out) = {
        [AS_BACKEND_TEST] = tolerance_write_backend_test,
        [AS_ORT] = tolerance_write_ort,
        [AS_IREE] = tolerance_write_iree,
        [AS_NORMS] = tolerance_write_norms,
        [AS_PYTEST] = tolerance_write_pytest,
    };
    struct tolerance_list list = {work->count, work->cases, work->settings->error};
    struct str notes;
    str_init(&notes);
    writers[work->settings->common.format](&list, out);
    tolerance_notes(&list, work->settings->common.format != AS_PYTEST, &notes);
    wrap_print(stderr, notes.data);
    str_release(&notes);
}

static int report(struct work *work, struct error *err)
{
    const struct common *common = &work->settings->common;
    struct str out;
    int status;
    str_init(&out);
    stand(work);
    if (common->format == AS_TABLE)
        write_table(work, output_colour(common), &out);
    else if (common->format == AS_JSON)
        write_json(work, &out);
    else
        write_list(work, &out);
    if (common->format == AS_TABLE)
        status = output_write(common, &out, err);
    else
        status = output_write_plain(common, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&work->standing);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct work work = {.settings = raw};
    const struct settings *settings = raw;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a model, a case or a folder of cases");
    if (!(settings->error > 0))
        return error_set(err, ERROR_USAGE, "--error takes a share above 0, such as 0.01");
    if (output_check(&settings->common, err))
        return -1;
    arena_init(&work.arena);
    int status = 0;
    for (size_t i = 0; i < words->count && !status; i++)
        status = file_is_folder(words->items[i]) && !settings->inputs.data && !settings->inputs.random
                     ? of_suite(&work, words->items[i], err)
                     : of_model(&work, words->items[i], err);
    if (!status)
        status = report(&work, err);
    for (size_t i = 0; i < work.count; i++) {
        tolerances_release(work.cases[i].tolerances);
        free(work.cases[i].tolerances);
    }
    free(work.cases);
    arena_release(&work.arena);
    return status;
}

static const struct cli_option options[] = {
    COMMON_INPUTS(struct settings),
    COMMON_LIMITS(struct settings),
    {0, "match", OPTION_TEXT, "PATTERN", offsetof(struct settings, match),
     "of a folder of cases, only those whose name matches the pattern"},
    {0, "precision", OPTION_CHOICE, PRECISION_WORDS, offsetof(struct settings, precision),
     "what the device keeps values in (default: the model's own types)"},
    {0, "nodes", OPTION_FLAG, NULL, offsetof(struct settings, nodes), "also for the values of every node"},
    {0, "error", OPTION_NUMBER, "SHARE", offsetof(struct settings, error),
     "the errors that a test must see, as a share of the largest number of an output (default 0.01)"},
    {0, "rtol", OPTION_NUMBER, "X", offsetof(struct settings, rtol),
     "with --atol: also tell whether this tolerance of yours is too tight or too loose"},
    {0, "atol", OPTION_NUMBER, "X", offsetof(struct settings, atol), "the same: its absolute part"},
    COMMON_OUTPUT(struct settings, "table|json|backend-test|ort|iree|opencv|pytest"),
};

static const struct settings defaults = {.inputs = {.seed = 1}, .error = 0.01, .rtol = -1, .atol = -1};

const struct command command_bounds = {
    .name = "bounds",
    .summary = "compute tolerances that no right engine fails, and that see errors of a given size",
    .usage = "MODEL|CASE|FOLDER-OF-CASES... [OPTION...]",
    .about =
        "Tells with which tolerance an output is to be tested: the least rtol and atol at which a correct\n"
        "engine can never fail on the given data, whatever its order of summation, fusing or library\n"
        "functions, and how far atol may be widened and still see an error of a given size. The numbers\n"
        "come from the reference's error bounds (docs/bounds.md), so no engine is run. Where the data "
        "brings\n"
        "expected outputs, the tolerance is for a comparison with those.\n"
        "\n"
        "With --precision, of a device that keeps values in fewer bits than the model says: what operators\n"
        "read and give is rounded to float16, bfloat16 or 8 bits, or what products read to tf32, and sums\n"
        "are as exact as the model's type.\n"
        "\n"
        "In deep models the worst case of rounding is so wide that nothing could be seen beside it; 'by\n"
        "likely' then stands for 16 standard deviations of rounding, which no right engine has been seen to\n"
        "reach.\n"
        "\n"
        "--format writes the tolerances as teams keep them: backend-test (rtol and atol as in data.json of\n"
        "ONNX's backend tests), ort (onnx_backend_test_series_overrides.jsonc of ONNX Runtime: what its\n"
        "defaults do not suit), iree (flags of iree-run-module), opencv (l1 and lInf in its list of\n"
        "conformance tests), pytest (parameters).\n"
        "\n"
        "These files cannot say everything: what must be left out of a comparison, and where errors of the\n"
        "given size pass, is told on stderr.\n"
        "\n"
        "Exit status: 0; 1 when --rtol and --atol are too tight or too loose somewhere; 2 when a case or an\n"
        "output cannot be bounded, draws random numbers, or is not what the model gives.\n",
    .examples =
        "  assay bounds model.onnx --data validation.npz\n"
        "  assay bounds model.onnx --random 20 --nodes --precision float16\n"
        "  assay bounds onnx/backend/test/data/node --rtol 1e-3 --atol 1e-7 --format json\n"
        "  assay bounds cases/ --error 0.001 --format ort -o onnx_backend_test_series_overrides.jsonc\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
