/* assay engines --check: whether adapters keep the protocol. */
#include "cli/engines_check.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/progress.h"
#include "engine/adapter_check.h"
#include "report/text_table.h"

#include <stdlib.h>

/* The labels to check: those given, and for a file that is given all engines in it. */
struct labels {
    struct arena arena;
    struct registry *registry;
    const char *file; /* whose engines are added */
    const char **items;
    size_t count, capacity;
};

static void add_label(struct labels *labels, const char *label)
{
    labels->items = memory_grow(labels->items, &labels->capacity, labels->count + 1, sizeof *labels->items);
    labels->items[labels->count++] = arena_strdup(&labels->arena, label);
}

static int add_of_file(void *context, const char *name, const char *version, const char *path)
{
    struct labels *labels = context;
    (void)version, (void)path;
    bool again = labels->count && text_equal(labels->items[labels->count - 1], name);
    if (!again && text_equal(registry_file(labels->registry, name), labels->file))
        add_label(labels, name);
    return 0;
}

static bool is_file(const char *word)
{
    return text_ends(word, ".ini");
}

static int open_for_check(struct labels *labels, const struct common *common, const struct cli_list *words,
                          struct error *err)
{
    size_t count = common->registries.count;
    const char **files = arena_array(&labels->arena, count + words->count, sizeof *files);
    for (size_t i = 0; i < count; i++)
        files[i] = common->registries.items[i];
    for (size_t i = 0; i < words->count; i++)
        if (is_file(words->items[i]))
            files[count++] = words->items[i];
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "--check needs an engine or an engine file");
    if (registry_open(&labels->registry, files, count, err))
        return -1;
    for (size_t i = 0; i < words->count; i++) {
        labels->file = words->items[i];
        size_t before = labels->count;
        if (!is_file(words->items[i]))
            add_label(labels, words->items[i]);
        else if (registry_each(labels->registry, add_of_file, labels) || labels->count == before)
            return error_set(err, ERROR_NOT_FOUND, "%s has no engine", words->items[i]);
    }
    return 0;
}

static const char *const state_words[] = {"not tried", "ok", "FAILED"};
static const char *const state_names[] = {"not tried", "holds", "fails"};

static void print_check(const char *label, const struct adapter_check *check, struct str *out, bool colour)
{
    static const enum style styles[] = {STYLE_DIM, STYLE_GOOD, STYLE_BAD};
    struct table table;
    table_init(&table, "ll");
    style_print(out, colour, STYLE_HEAD, "%s", label);
    str_add(out, "\n");
    for (size_t i = 0; i < check->count; i++) {
        const struct check_step *step = &check->steps[i];
        bool more = *step->found;
        table_add(&table, styles[step->state], "%s", state_words[step->state]);
        table_add(&table, STYLE_PLAIN, "%s%s%s", step->name, more ? ": " : "", step->found);
        if (step->state != CHECK_FAILS)
            continue;
        table_add(&table, STYLE_PLAIN, "%s", "");
        table_add(&table, STYLE_PLAIN, "To mend: %s", step->mend);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    size_t held = check->count - check->failed - check->not_tried;
    str_printf(out, "%zu of %zu steps hold", held, check->count);
    if (check->failed)
        str_printf(out, ", %zu failed, %zu were not tried", check->failed, check->not_tried);
    str_add(out, check->failed ? "\n" : ": the adapter keeps the protocol\n");
}

static void write_check(const char *label, const struct adapter_check *check, struct json *json)
{
    json_object(json, NULL);
    json_string(json, "engine", label);
    json_bool(json, "keeps_protocol", check->failed == 0);
    json_array(json, "steps");
    for (size_t i = 0; i < check->count; i++) {
        const struct check_step *step = &check->steps[i];
        json_object(json, NULL);
        json_string(json, "step", step->name);
        json_string(json, "result", state_names[step->state]);
        json_string(json, "found", step->found);
        json_string(json, "mend", step->state == CHECK_FAILS ? step->mend : NULL);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static int check_all(const struct common *common, struct labels *labels, struct str *out, bool *failed,
                     struct error *err)
{
    struct json json;
    if (common->format == FORMAT_JSON) {
        output_json(&json, out, true);
        json_array(&json, "checks");
    }
    for (size_t i = 0; i < labels->count; i++) {
        const struct engine_spec *spec;
        struct adapter_check check;
        struct progress progress;
        if (registry_find(labels->registry, given_typed(&labels->arena, labels->items[i]), &spec, err))
            return -1;
        progress_begin(&progress, spec->label, 0);
        adapter_check(&check, spec, common->deadline > 0 ? common->deadline : 30);
        progress_end(&progress);
        *failed |= check.failed > 0;
        if (common->format == FORMAT_JSON) {
            write_check(spec->label, &check, &json);
        } else {
            str_add(out, i ? "\n" : "");
            print_check(spec->label, &check, out, output_colour(common));
        }
        adapter_check_release(&check);
    }
    if (common->format == FORMAT_JSON) {
        json_end(&json);
        json_end(&json);
    }
    return 0;
}

int engines_check(const struct common *common, const struct cli_list *words, struct error *err)
{
    struct labels labels = {0};
    struct str out;
    bool failed = false;
    arena_init(&labels.arena);
    str_init(&out);
    int status = -1;
    if (!output_check(common, err) && !open_for_check(&labels, common, words, err) &&
        !check_all(common, &labels, &out, &failed, err) && !output_write(common, &out, err))
        status = failed ? STATUS_FINDINGS : STATUS_AGREE;
    if (labels.registry)
        registry_free(labels.registry);
    free(labels.items);
    str_release(&out);
    arena_release(&labels.arena);
    return status;
}
