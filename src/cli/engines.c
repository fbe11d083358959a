/* assay engines: what there is to test with. */
#include "base/json.h"
#include "base/memory.h"
#include "cli/common.h"
#include "report/table.h"

#include <stdlib.h>

struct settings {
    struct common common;
};

struct version {
    const char *version, *path; /* either may be NULL */
};

struct entry {
    const char *name;
    size_t count, capacity;
    struct version *versions;
    int number; /* in the pool, or -1 */
    const char *problem;
};

struct list {
    struct arena arena;
    const struct cli_list *wanted;
    size_t count, capacity;
    struct entry *entries;
};

static int visit(void *context, const char *name, const char *version, const char *path)
{
    struct list *list = context;
    bool wanted = list->wanted->count == 0;
    for (size_t i = 0; i < list->wanted->count; i++)
        wanted |= text_equal(list->wanted->items[i], name);
    if (!wanted)
        return 0;
    struct entry *entry = list->count ? &list->entries[list->count - 1] : NULL;
    if (!entry || !text_equal(entry->name, name)) {
        list->entries = memory_grow(list->entries, &list->capacity, list->count + 1, sizeof *list->entries);
        entry = &list->entries[list->count++];
        *entry = (struct entry){.name = arena_strdup(&list->arena, name), .number = -1};
    }
    if (!version && !path)
        return 0;
    entry->versions =
        memory_grow(entry->versions, &entry->capacity, entry->count + 1, sizeof *entry->versions);
    entry->versions[entry->count++] =
        (struct version){.version = version ? arena_strdup(&list->arena, version) : NULL,
                         .path = path ? arena_strdup(&list->arena, path) : NULL};
    return 0;
}

/* The engines themselves know their version and knobs: start one worker of each. */
static void ask(struct list *list, struct registry *registry, struct pool *pool)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct engine_spec *spec;
        struct error err = {0};
        if (registry_find(registry, list->entries[i].name, &spec, &err))
            list->entries[i].problem = arena_strdup(&list->arena, err.message);
        else
            list->entries[i].number = pool_add(pool, spec);
    }
    pool_warm(pool);
    for (size_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
        if (entry->number < 0 || pool_engine(pool, entry->number)->welcome)
            continue;
        struct job job = {.engine = entry->number};
        struct result result;
        struct error err = {0};
        result_init(&result);
        if (pool_run_one(pool, &job, &result, &err))
            entry->problem = arena_strdup(&list->arena, err.message);
        else
            entry->problem = arena_strdup(&list->arena, result.message ? result.message : "does not start");
        result_release(&result);
    }
}

static const Assay__Welcome *welcome(const struct entry *entry, const struct pool *pool)
{
    return entry->number < 0 ? NULL : pool_engine(pool, entry->number)->welcome;
}

static void print_entry(const struct entry *entry, const struct pool *pool, struct str *out, bool colour)
{
    const Assay__Welcome *hello = welcome(entry, pool);
    style_print(out, colour, STYLE_HEAD, "%s", entry->name);
    if (hello && hello->version && *hello->version)
        str_printf(out, " %s", hello->version);
    if (hello && hello->n_operators)
        str_printf(out, ", %zu operators", hello->n_operators);
    str_add(out, "\n");
    if (entry->problem) {
        str_add(out, "  ");
        style_print(out, colour, STYLE_BAD, "not usable: ");
        text_print(out, entry->problem, 300);
        str_add(out, "\n");
    }
    struct table table;
    table_init(&table, "lll");
    for (size_t i = 0; i < entry->count; i++) {
        table_add(&table, STYLE_PLAIN, "%s%s%s", entry->name, entry->versions[i].version ? "@" : "",
                  entry->versions[i].version ? entry->versions[i].version : "");
        table_add(&table, STYLE_DIM, "%s", entry->versions[i].path ? entry->versions[i].path : "");
        table_add(&table, STYLE_PLAIN, "%s", "");
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    table_init(&table, "lll");
    for (size_t i = 0; hello && i < hello->n_knobs; i++) {
        const Assay__KnobInfo *knob = hello->knobs[i];
        table_add(&table, STYLE_PLAIN, ":%s=%s", knob->name, knob->values);
        table_add(&table, STYLE_DIM, "%s%s", *knob->default_value ? "default " : "", knob->default_value);
        table_add(&table, STYLE_PLAIN, "%s", knob->help);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

static void write_entry(const struct entry *entry, const struct pool *pool, struct json *json)
{
    const Assay__Welcome *hello = welcome(entry, pool);
    json_object(json, NULL);
    json_string(json, "name", entry->name);
    json_string(json, "version", hello ? hello->version : NULL);
    json_string(json, "problem", entry->problem);
    json_array(json, "versions");
    for (size_t i = 0; i < entry->count; i++) {
        json_object(json, NULL);
        json_string(json, "version", entry->versions[i].version);
        json_string(json, "path", entry->versions[i].path);
        json_end(json);
    }
    json_end(json);
    json_array(json, "knobs");
    for (size_t i = 0; hello && i < hello->n_knobs; i++) {
        json_object(json, NULL);
        json_string(json, "name", hello->knobs[i]->name);
        json_string(json, "values", hello->knobs[i]->values);
        json_string(json, "default", hello->knobs[i]->default_value);
        json_string(json, "help", hello->knobs[i]->help);
        json_end(json);
    }
    json_end(json);
    json_array(json, "operators");
    for (size_t i = 0; hello && i < hello->n_operators; i++)
        json_string(json, NULL, hello->operators[i]);
    json_end(json);
    json_end(json);
}

static void write_list(const struct list *list, const struct pool *pool, const struct common *common,
                       struct str *out)
{
    if (common->format == FORMAT_TEXT) {
        for (size_t i = 0; i < list->count; i++) {
            str_add(out, i ? "\n" : "");
            print_entry(&list->entries[i], pool, out, output_colour(common));
        }
        return;
    }
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_array(&json, "engines");
    for (size_t i = 0; i < list->count; i++)
        write_entry(&list->entries[i], pool, &json);
    json_end(&json);
    json_end(&json);
}

static int run(void *settings, const struct cli_list *words, struct error *err)
{
    const struct common *common = &((const struct settings *)settings)->common;
    struct list list = {.wanted = words};
    struct registry *registry = NULL;
    struct pool *pool = NULL;
    struct str out;
    arena_init(&list.arena);
    str_init(&out);
    int status = -1;
    if (registry_open(&registry, common->registries.items, common->registries.count, err) ||
        registry_each(registry, visit, &list))
        goto out;
    if (list.count == 0) {
        error_set(err, ERROR_NOT_FOUND, "%s",
                  words->count ? "no such engine; 'assay engines' lists all"
                               : "no engine is installed or registered; docs/engines.md says how");
        goto out;
    }
    pool = pool_new(&(struct pool_options){.deadline = common->deadline});
    ask(&list, registry, pool);
    write_list(&list, pool, common, &out);
    status = output_write(common, &out, err) ? -1 : STATUS_AGREE;
out:
    if (pool)
        pool_free(pool);
    if (registry)
        registry_free(registry);
    for (size_t i = 0; i < list.count; i++)
        free(list.entries[i].versions);
    free(list.entries);
    arena_release(&list.arena);
    str_release(&out);
    return status;
}

static const struct cli_option options[] = {
    COMMON_REGISTRY(struct settings),
    {0, "deadline", OPTION_TIME, "TIME", offsetof(struct settings, common.deadline),
     "for an engine to answer (default 30s)"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

const struct command command_engines = {
    .name = "engines",
    .summary = "list engines, their versions and knobs",
    .usage = "[NAME...]",
    .about = "Starts each engine once and prints what it says about itself. An engine is named\n"
             "name[@version][:knob=value,...]; the plain name is its newest version.\n",
    .examples = "  assay engines\n"
                "  assay engines onnxruntime --format json\n"
                "  assay engines -E my-engines.ini\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
