#include "corpus/corpus.h"

#include "base/file.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/sentences.h"
#include "case/backend_suite.h"
#include "config.h"
#include "corpus/bounded_answer.h"
#include "judge/metrics.h"
#include "model/data.h"
#include "model/onnx.h"
#include "model/valid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Small cases are read and sent around easily; a runner's own tolerance, for those that read no bounds. */
enum { MOST_BYTES = 4 << 20, MOST_README = 64 << 10 };
static const double relative_tolerance = 1e-3, absolute_tolerance = 1e-7;

static const char readme[] =
#include "readme.inc"
    ;

void corpus_init(struct corpus *corpus)
{
    *corpus = (struct corpus){0};
    archive_init(&corpus->archive);
    arena_init(&corpus->arena);
    map_init(&corpus->names);
    tally_init(&corpus->tally);
    str_init(&corpus->index);
    str_init(&corpus->corrected);
    str_init(&corpus->left_out);
    str_add(&corpus->corrected,
            "case\toutput\telements\tthe first of them\texpected there\tthe answer\tbound\n");
    str_add(&corpus->left_out, "case\twhy\n");
    onnx_checker_start_newest(&corpus->checker);
    json_init(&corpus->json, &corpus->index, true);
    json_object(&corpus->json, NULL);
    json_int(&corpus->json, "format", FORMAT_CORPUS);
    json_string(&corpus->json, "name", CORPUS_NAME);
    json_string(&corpus->json, "license", "Apache-2.0");
    json_array(&corpus->json, "cases");
}

void corpus_release(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++)
        tally_release(&corpus->sources[i].tally);
    onnx_checker_stop(&corpus->checker);
    str_release(&corpus->left_out);
    str_release(&corpus->corrected);
    str_release(&corpus->index);
    tally_release(&corpus->tally);
    map_release(&corpus->names);
    arena_release(&corpus->arena);
    archive_release(&corpus->archive);
}

static int begin_source(struct corpus *corpus, const char *name, struct error *err)
{
    if (corpus->count == CORPUS_SOURCES)
        return error_set(err, ERROR_LIMIT, "at most %d sources make an archive", CORPUS_SOURCES);
    struct corpus_source *source = &corpus->sources[corpus->count++];
    source->name = arena_strdup(&corpus->arena, name);
    tally_init(&source->tally);
    return 0;
}

static struct corpus_source *source_of(struct corpus *corpus)
{
    return &corpus->sources[corpus->count - 1];
}

/* A case on its way into the archive. */
struct entry {
    const char *name;
    const struct test_case *test;
    const char *covers; /* lines, or NULL */
    const char *text;   /* what ONNX says, or NULL */
    const char *readme; /* or NULL */
    size_t readme_size;
    struct bounded_answer answer;
};

static void leave_out(struct corpus *corpus, const char *name, const char *why)
{
    source_of(corpus)->left_out++;
    str_printf(&corpus->left_out, "%s\t", name);
    for (; *why; why++)
        str_append(&corpus->left_out, *why == '\t' || *why == '\n' ? " " : why, 1);
    str_add(&corpus->left_out, "\n");
}

static int add_file(struct corpus *corpus, const struct entry *entry, const char *file, const void *data,
                    size_t size, struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, CORPUS_NAME "/cases/%s/%s", entry->name, file);
    int status = archive_add(&corpus->archive, path.data, data, size, err);
    str_release(&path);
    return status;
}

static int add_value(struct corpus *corpus, const struct entry *entry, const char *stem, size_t number,
                     const Onnx__TypeProto *type, const struct value *value, struct error *err)
{
    struct str file, packed;
    str_init(&file);
    str_init(&packed);
    str_printf(&file, "test_data_set_0/%s_%zu.pb", stem, number);
    int status = data_pack(type, value, &packed, err) ||
                 add_file(corpus, entry, file.data, packed.data, packed.length, err);
    str_release(&file);
    str_release(&packed);
    return status ? -1 : 0;
}

static const Onnx__TypeProto *input_type(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (name && text_equal(model->graph->input[i]->name, name))
            return model->graph->input[i]->type;
    return NULL;
}

static int add_outputs(struct corpus *corpus, const struct entry *entry, const struct model *model,
                       struct error *err)
{
    int status = 0;
    for (size_t k = 0; k < entry->answer.count && !status; k++) {
        const struct bounded_output *output = &entry->answer.outputs[k];
        const char *name = model->graph->output[k]->name;
        struct value bound = value_view(name, &output->bound), mask = value_view(name, &output->mask);
        status =
            add_value(corpus, entry, "output", k, model->graph->output[k]->type, &output->answer, err) ||
            add_value(corpus, entry, "bound", k, NULL, &bound, err) ||
            (output->judged < output->mask.count && add_value(corpus, entry, "mask", k, NULL, &mask, err));
    }
    return status ? -1 : 0;
}

/* data.json, with a tolerance at which no right answer fails. */
static int add_tolerances(struct corpus *corpus, const struct entry *entry, struct error *err)
{
    struct str text;
    struct json json;
    str_init(&text);
    json_init(&json, &text, false);
    json_object(&json, NULL);
    json_string(&json, "model_name", entry->name);
    json_double(&json, "rtol", relative_tolerance);
    json_double(&json, "atol",
                fmax(absolute_tolerance, bounded_answer_tolerance(&entry->answer, relative_tolerance)));
    json_end(&json);
    str_add(&text, "\n");
    int status = add_file(corpus, entry, "data.json", text.data, text.length, err);
    str_release(&text);
    return status;
}

static int add_files(struct corpus *corpus, const struct entry *entry, const struct model *model,
                     struct error *err)
{
    const struct test_case *test = entry->test;
    const uint8_t *bytes;
    size_t size;
    int status =
        test_case_bytes(test, &bytes, &size, err) || add_file(corpus, entry, "model.onnx", bytes, size, err);
    for (size_t i = 0; i < test->n_inputs && !status; i++)
        status = add_value(corpus, entry, "input", i, input_type(model, test->inputs[i].name),
                           &test->inputs[i], err);
    if (!status)
        status = add_outputs(corpus, entry, model, err) || add_tolerances(corpus, entry, err);
    if (!status && entry->readme)
        status = add_file(corpus, entry, "README.md", entry->readme, entry->readme_size, err);
    return status ? -1 : 0;
}

static void index_lines(struct json *json, const char *name, const char *lines)
{
    json_array(json, name);
    for (const char *line = lines; line && *line;) {
        size_t length = strcspn(line, "\n");
        char *copy = memory_strdup(line);
        copy[length] = '\0';
        json_string(json, NULL, copy);
        free(copy);
        line += length + (line[length] == '\n');
    }
    json_end(json);
}

/* The operators of the graph, each once, in the order of their nodes. */
static void index_operators(struct json *json, const struct model *model)
{
    struct map seen;
    map_init(&seen);
    json_array(json, "operators");
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const char *title = op_title(model->graph->node[i]);
        if (!map_has(&seen, title))
            json_string(json, NULL, title);
        map_set(&seen, title, i);
    }
    json_end(json);
    map_release(&seen);
}

static void index_values(struct json *json, const char *name, const struct value *values, size_t count)
{
    json_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_string(json, NULL,
                    values[i].kind == VALUE_TENSOR ? dtype_name(values[i].tensors[0].type) : "other");
    json_end(json);
}

static void add_row(struct corpus *corpus, const struct entry *entry, const struct model *model,
                    size_t corrected)
{
    struct json *json = &corpus->json;
    json_object(json, NULL);
    json_string(json, "case", entry->name);
    json_string(json, "source", source_of(corpus)->name);
    json_int(json, "opset", model_opset(model));
    index_operators(json, model);
    index_values(json, "inputs", entry->test->inputs, entry->test->n_inputs);
    json_array(json, "outputs");
    for (size_t k = 0; k < entry->answer.count; k++)
        json_string(json, NULL, dtype_name(entry->answer.outputs[k].answer.tensors[0].type));
    json_end(json);
    json_int(json, "elements", (int64_t)entry->answer.elements);
    json_int(json, "judged", (int64_t)entry->answer.judged);
    json_bool(json, "corrected", corrected > 0);
    if (*entry->test->recipe)
        json_string(json, "recipe", entry->test->recipe);
    if (entry->covers)
        index_lines(json, "covers", entry->covers);
    if (entry->text && *entry->text)
        json_string(json, "text", entry->text);
    json_end(json);
}

/* What a folder expects against what is right. */
static size_t correct(struct corpus *corpus, const struct entry *entry)
{
    size_t corrected = 0;
    for (size_t k = 0; k < entry->answer.count && k < entry->test->n_outputs; k++) {
        const struct bounded_output *output = &entry->answer.outputs[k];
        const struct value *golden = &entry->test->outputs[k];
        size_t first, misses = bounded_output_misses(output, golden, &first);
        if (!misses)
            continue;
        corrected++;
        str_printf(&corpus->corrected, "%s\t%zu\t", entry->name, k);
        if (misses > output->mask.count)
            str_add(&corpus->corrected, "its type or shape\t-\t-\t-\t-\n");
        else
            str_printf(&corpus->corrected, "%zu of %zu\t%zu\t%.9Lg\t%.9Lg\t%.3Lg\n", misses,
                       output->mask.count, first, tensor_get(&golden->tensors[0], first),
                       tensor_get(&output->answer.tensors[0], first), tensor_get(&output->bound, first));
    }
    return corrected;
}

/* Whether ONNX's newest checker at hand takes the model. */
static bool is_valid(struct corpus *corpus, const struct test_case *test, struct error *why)
{
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(test, &bytes, &size, why))
        return false;
    if (size > MOST_BYTES) {
        error_set(why, ERROR_LIMIT, "its model is larger than 4 MB");
        return false;
    }
    int status = onnx_checker_ask(&corpus->checker, bytes, size, CHECKER_ALONE, why);
    return status == ONNX_UNCHECKABLE ? model_valid(test_case_model(test, why), why) == 0 : status == 0;
}

static void count_in(struct corpus *corpus, const struct entry *entry, size_t corrected)
{
    struct corpus_source *source = source_of(corpus);
    source->cases++;
    source->corrected += corrected > 0;
    source->masked += entry->answer.judged < entry->answer.elements;
    source->elements += entry->answer.elements;
    source->judged += entry->answer.judged;
    map_set(&corpus->names, arena_strdup(&corpus->arena, entry->name), 0);
}

static int put(struct corpus *corpus, const struct entry *entry, struct error *err)
{
    const struct model *model = test_case_model(entry->test, err);
    if (!model || add_files(corpus, entry, model, err) || tally_add(&corpus->tally, entry->test, err) ||
        tally_add(&source_of(corpus)->tally, entry->test, err))
        return -1;
    size_t corrected = correct(corpus, entry);
    add_row(corpus, entry, model, corrected);
    count_in(corpus, entry, corrected);
    return 0;
}

/* A case of which no element is judged says nothing, unless there are no elements. */
static bool is_answered(struct corpus *corpus, struct entry *entry, struct error *why)
{
    if (map_has(&corpus->names, entry->name)) {
        error_set(why, ERROR_USAGE, "there is a case of this name");
        return false;
    }
    if (!is_valid(corpus, entry->test, why) || bounded_answer(&entry->answer, entry->test, why))
        return false;
    if (entry->answer.elements && !entry->answer.judged)
        error_set(why, ERROR_UNSUPPORTED, "no element of its answer can be judged");
    return !entry->answer.elements || entry->answer.judged;
}

/* "test_onnx_abs", "test_found_onnxruntime_add-empty-constant": ONNX's own runner wants names that begin so.
 * The caller frees it. */
static char *name_of(const char *source, const char *path, size_t set, size_t sets)
{
    struct str name;
    str_init(&name);
    str_printf(&name, "test_%s_%s", source, text_starts(path, "test_") ? path + strlen("test_") : path);
    if (sets > 1)
        str_printf(&name, "_%zu", set);
    for (char *c = name.data; *c; c++)
        if (*c == '/')
            *c = '_';
    return str_detach(&name);
}

static int add_loaded(struct corpus *corpus, const struct suite_case *from, const struct suite_loaded *loaded,
                      struct entry *entry, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < loaded->sets && !status; i++) {
        struct error why = {0};
        char *name = name_of(source_of(corpus)->name, from->name, i, loaded->sets);
        entry->name = name;
        entry->test = loaded->tests[i];
        if (loaded->misfit)
            leave_out(corpus, name, loaded->misfit);
        else if (is_answered(corpus, entry, &why))
            status = put(corpus, entry, err);
        else
            leave_out(corpus, name, why.message);
        bounded_answer_release(&entry->answer);
        free(name);
    }
    return status;
}

static int add_suite_case(struct corpus *corpus, const struct suite_case *from, struct error *err)
{
    struct suite_loaded loaded = {0};
    struct folder folder = {0};
    struct entry entry = {0};
    struct error why = {0};
    char *text = NULL;
    int status = 0;
    if (suite_case_open(&folder, from, &why) || suite_load(from, &loaded, &why)) {
        char *name = name_of(source_of(corpus)->name, from->name, 0, 1);
        leave_out(corpus, name, why.message);
        free(name);
    } else {
        if (folder_has(&folder, "README.md") &&
            folder_read(&folder, "README.md", MOST_README, &text, &entry.readme_size, NULL) == 0)
            entry.readme = text;
        status = add_loaded(corpus, from, &loaded, &entry, err);
    }
    suite_unload(&loaded);
    folder_close(&folder);
    free(text);
    return status;
}

int corpus_add_folder(struct corpus *corpus, const char *name, const char *folder, struct error *err)
{
    struct suite suite;
    struct progress progress = {0};
    int status = begin_source(corpus, name, err) || suite_open(&suite, &folder, 1, NULL, err) ? -1 : 0;
    if (status)
        return -1;
    progress_begin(&progress, "cases", suite.count);
    for (size_t i = 0; i < suite.count && !status; i++) {
        status = add_suite_case(corpus, &suite.cases[i], err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    suite_release(&suite);
    return status;
}

/* What ONNX says of the parameter that a case shows, else of the operator. */
static void add_text(struct str *out, const struct drawn_cover *drawn)
{
    int newest = onnx_max_opset(), opset = drawn->form < newest ? drawn->form : newest;
    char *text = NULL;
    if (onnx_schema_text(drawn->op->domain, drawn->op->type, opset, drawn->part, &text, NULL) == 0 &&
        !*text) {
        free(text);
        text = NULL;
        onnx_schema_text(drawn->op->domain, drawn->op->type, opset, "", &text, NULL);
    }
    sentences_add(out, text ? text : "");
    free(text);
}

/* Of a drawn case at least half of the elements are judged: there are others. */
static int take_drawn(void *context, const struct test_case *test, const struct drawn_cover *drawn,
                      bool *kept, struct error *err)
{
    struct corpus *corpus = context;
    struct entry entry = {.test = test, .covers = drawn->things};
    struct error why = {0};
    struct str name, text;
    str_init(&name);
    str_init(&text);
    str_printf(&name, "test_generated_%s_%d_%zu", drawn->op->name, drawn->form, source_of(corpus)->cases);
    entry.name = name.data;
    int status = 0;
    *kept = is_answered(corpus, &entry, &why) && entry.answer.judged * 2 >= entry.answer.elements;
    if (*kept) {
        add_text(&text, drawn);
        entry.text = text.data;
        status = put(corpus, &entry, err);
    } else if (why.code == ERROR_IO) { /* the reference contradicts itself */
        leave_out(corpus, test->recipe, why.message);
    }
    bounded_answer_release(&entry.answer);
    str_release(&text);
    str_release(&name);
    return status;
}

int corpus_add_drawn(struct corpus *corpus, uint64_t seed, const char *ops, struct error *err)
{
    struct drawn_options options = {.seed = seed, .ops = ops, .take = take_drawn, .context = corpus};
    return begin_source(corpus, "generated", err) || draw_cases(&options, err) ? -1 : 0;
}

static void index_sources(struct corpus *corpus)
{
    struct json *json = &corpus->json;
    json_end(json);
    json_array(json, "sources");
    for (size_t i = 0; i < corpus->count; i++) {
        const struct corpus_source *source = &corpus->sources[i];
        json_object(json, NULL);
        json_string(json, "source", source->name);
        json_int(json, "cases", (int64_t)source->cases);
        json_int(json, "corrected", (int64_t)source->corrected);
        json_int(json, "left_out", (int64_t)source->left_out);
        json_int(json, "not_fully_judged", (int64_t)source->masked);
        json_object(json, "covers");
        for (int kind = 0; kind < TALLY_KINDS; kind++)
            json_int(json, tally_names[kind], (int64_t)tally_count(&source->tally, (enum tally_kind)kind));
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    str_add(&corpus->index, "\n");
}

static int add_text_file(struct corpus *corpus, const char *name, const char *text, size_t size,
                         struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, CORPUS_NAME "/%s", name);
    int status = archive_add(&corpus->archive, path.data, text, size, err);
    str_release(&path);
    return status;
}

int corpus_finish(struct corpus *corpus, bool packed, struct str *out, struct error *err)
{
    index_sources(corpus);
    return add_text_file(corpus, "README.md", readme, strlen(readme), err) ||
                   add_text_file(corpus, "index.json", corpus->index.data, corpus->index.length, err) ||
                   add_text_file(corpus, "corrected.tsv", corpus->corrected.data, corpus->corrected.length,
                                 err) ||
                   add_text_file(corpus, "left-out.tsv", corpus->left_out.data, corpus->left_out.length,
                                 err) ||
                   archive_finish(&corpus->archive, packed, out, err)
               ? -1
               : 0;
}
