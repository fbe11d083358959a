/* assay engines: lists the engines, their versions and knobs, and the bugs that can be planted. */
#include "base/json.h"
#include "base/memory.h"
#include "base/progress.h"
#include "cli/engines_check.h"
#include "engine/label.h"
#include "engine/paths.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    bool faults, check, sandbox;
};

/* The help text of a knob that plants faults has a line for each, its fields separated by tabs. */
enum { FAULT_FIELDS = 6 };

struct fault {
    const char *engine, *knob;
    const char *fields[FAULT_FIELDS]; /* as fault_names below */
};
static const char *const fault_names[FAULT_FIELDS] = {"name",      "paper", "operator",
                                                      "parameter", "cause", "summary"};

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

/* Starts one worker of each engine, which tells its version and knobs. */
static void ask(struct list *list, struct registry *registry, struct pool *pool)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct engine_spec *spec;
        struct error err = {0};
        if (registry_find(registry, given_typed(&list->arena, list->entries[i].name), &spec, &err))
            list->entries[i].problem = arena_strdup(&list->arena, err.message);
        else
            list->entries[i].number = pool_add(pool, spec);
    }
    struct progress progress;
    progress_begin(&progress, "starting engines", list->count);
    pool_warm(pool);
    for (size_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
        struct error err = {0};
        if (entry->number >= 0 && pool_starts(pool, entry->number, &err))
            entry->problem = arena_strdup(&list->arena, err.message);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
}

static const Assay__Welcome *welcome(const struct entry *entry, const struct pool *pool)
{
    return entry->number < 0 ? NULL : pool_engine(pool, entry->number)->welcome;
}

static const struct engine_profile *profile_of(const struct entry *entry, const struct pool *pool)
{
    return entry->number < 0 ? NULL : pool_engine(pool, entry->number)->profile;
}

/* The field at *at, ended by `end`, copied; NULL when there is none. */
static const char *next_field(struct arena *arena, const char **at, char end)
{
    size_t length = strcspn(*at, "\t\n");
    if ((*at)[length] != end)
        return NULL;
    char *field = arena_array(arena, length + 1, 1);
    memcpy(field, *at, length);
    *at += length + 1;
    return field;
}

static bool next_fault(struct arena *arena, const char **at, struct fault *fault)
{
    for (int i = 0; i < FAULT_FIELDS; i++)
        if (!(fault->fields[i] = next_field(arena, at, i < FAULT_FIELDS - 1 ? '\t' : '\n')))
            return false;
    return true;
}

static size_t count_faults(const char *help)
{
    size_t count = 0;
    for (const char *at = help; strchr(at, '\t') && strchr(at, '\n'); at = strchr(at, '\n') + 1)
        count++;
    return count;
}

static void print_fault(void *context, const struct fault *fault)
{
    struct table *table = context;
    table_add(table, STYLE_PLAIN, "%s:%s=%s", fault->engine, fault->knob, fault->fields[0]);
    for (int i = 1; i < FAULT_FIELDS; i++)
        table_add(table, STYLE_PLAIN, "%s", fault->fields[i]);
}

static void write_fault(void *context, const struct fault *fault)
{
    struct json *json = context;
    json_object(json, NULL);
    json_string(json, "engine", fault->engine);
    json_string(json, "knob", fault->knob);
    for (int i = 0; i < FAULT_FIELDS; i++)
        json_string(json, fault_names[i], fault->fields[i]);
    json_end(json);
}

static void each_fault(struct list *list, const struct pool *pool,
                       void (*tell)(void *context, const struct fault *fault), void *context)
{
    for (size_t i = 0; i < list->count; i++) {
        const Assay__Welcome *hello = welcome(&list->entries[i], pool);
        for (size_t k = 0; hello && k < hello->n_knobs; k++) {
            struct fault fault = {.engine = list->entries[i].name, .knob = hello->knobs[k]->name};
            const char *at = hello->knobs[k]->help;
            while (next_fault(&list->arena, &at, &fault))
                tell(context, &fault);
        }
    }
}

static void write_faults(struct list *list, const struct pool *pool, const struct common *common,
                         struct str *out)
{
    if (common->format == FORMAT_TEXT) {
        struct table table;
        table_init(&table, "llllll");
        table_head(&table, "engine|paper|operator|parameter|cause|what it does");
        each_fault(list, pool, print_fault, &table);
        table_print(&table, out, output_colour(common), 0);
        table_release(&table);
        return;
    }
    struct json json;
    output_json(&json, out, true);
    json_array(&json, "faults");
    each_fault(list, pool, write_fault, &json);
    json_end(&json);
    json_end(&json);
}

/* A knob whose kind is not given, or is newer than this build, counts as one that selects kernels. */
static const char *knob_kind(Assay__KnobInfo__Kind kind)
{
    return kind == ASSAY__KNOB_INFO__KIND__GRAPH      ? "graph"
           : kind == ASSAY__KNOB_INFO__KIND__SCHEDULE ? "schedule"
                                                      : "kernels";
}

/* What Assay does otherwise than the library by itself, and why. */
static void print_departures(const struct entry *entry, const struct pool *pool, struct str *out)
{
    const struct engine_profile *profile = profile_of(entry, pool);
    for (const struct departure *one = profile ? profile->departures : NULL; one; one = one->next)
        str_printf(out, "  departs from the library: %s=%s, %s (the library: %s)\n", one->name, one->value,
                   one->because, one->library);
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
        text_print(out, entry->problem, 0);
        str_add(out, "\n");
    }
    struct table table;
    table_init(&table, "lll");
    for (size_t i = 0; i < entry->count; i++) {
        char *label = label_at(entry->name, entry->versions[i].version);
        table_add(&table, STYLE_PLAIN, "%s", label);
        free(label);
        table_add(&table, STYLE_DIM, "%s", entry->versions[i].path ? entry->versions[i].path : "");
        table_add(&table, STYLE_PLAIN, "%s", "");
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    table_init(&table, "llll");
    for (size_t i = 0; hello && i < hello->n_knobs; i++) {
        const Assay__KnobInfo *knob = hello->knobs[i];
        /* A long set of names is cut here; JSON has all of them. */
        const char *plus = strchr(knob->values, '+');
        table_add(&table, STYLE_PLAIN, ":%s=%.*s%s", knob->name,
                  plus ? (int)(plus - knob->values) : (int)strlen(knob->values), knob->values,
                  plus ? "+..." : "");
        table_add(&table, STYLE_DIM, "%s%s", *knob->default_value ? "default " : "", knob->default_value);
        table_add(&table, STYLE_PLAIN, "%s", knob_kind(knob->kind));
        size_t faults = count_faults(knob->help);
        if (faults)
            table_add(&table, STYLE_PLAIN, "plant one of %zu bugs; --faults lists them", faults);
        else
            table_add(&table, STYLE_PLAIN, "%s", knob->help);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    print_departures(entry, pool, out);
}

static void write_departures(const struct entry *entry, const struct pool *pool, struct json *json)
{
    const struct engine_profile *profile = profile_of(entry, pool);
    json_array(json, "departs");
    for (const struct departure *one = profile ? profile->departures : NULL; one; one = one->next) {
        json_object(json, NULL);
        json_string(json, "name", one->name);
        json_string(json, "value", one->value);
        json_string(json, "library", one->library);
        json_string(json, "because", one->because);
        json_end(json);
    }
    json_end(json);
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
        bool is_graph = hello->knobs[i]->kind == ASSAY__KNOB_INFO__KIND__GRAPH;
        json_object(json, NULL);
        json_string(json, "name", hello->knobs[i]->name);
        json_string(json, "values", hello->knobs[i]->values);
        json_string(json, "default", hello->knobs[i]->default_value);
        json_string(json, "kind", knob_kind(hello->knobs[i]->kind));
        json_string(json, "plain", is_graph ? hello->knobs[i]->plain : NULL);
        json_string(json, "help", hello->knobs[i]->help);
        json_end(json);
    }
    json_end(json);
    write_departures(entry, pool, json);
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
    output_json(&json, out, true);
    json_array(&json, "engines");
    for (size_t i = 0; i < list->count; i++)
        write_entry(&list->entries[i], pool, &json);
    json_end(&json);
    json_end(&json);
}

/* Each name on the command line must be an engine's. */
static int check_names(const struct list *list, struct error *err)
{
    for (size_t i = 0; i < list->wanted->count; i++) {
        bool found = false;
        for (size_t k = 0; k < list->count; k++)
            found |= text_equal(list->wanted->items[i], list->entries[k].name);
        if (!found)
            return error_set(err, ERROR_NOT_FOUND,
                             "no engine is called '%s'; 'assay engines' lists all, by their plain names",
                             list->wanted->items[i]);
    }
    return list->count
               ? 0
               : error_set(
                     err, ERROR_NOT_FOUND,
                     "no engine is installed or registered; docs/engines.md explains how to install one");
}

/* An engine that the user named and that cannot be used is trouble; in the list of all it is just a line. */
static int tell_unusable(const struct list *list, struct error *err)
{
    for (size_t i = 0; i < list->count && list->wanted->count; i++)
        if (list->entries[i].problem)
            return error_set(err, ERROR_NOT_FOUND,
                             "%s cannot be used: %s. 'assay engines --check %s' says what to mend",
                             list->entries[i].name, list->entries[i].problem, list->entries[i].name);
    return 0;
}

static int print_walls(const struct common *common, struct error *err)
{
    struct str out;
    char *libexec = paths_libexec();
    str_init(&out);
    int status = sandbox_describe(libexec, &out, err) || output_write(common, &out, err) ? -1 : STATUS_AGREE;
    str_release(&out);
    free(libexec);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    const struct common *common = &settings->common;
    if (settings->check)
        return engines_check(common, words, err);
    if (settings->sandbox)
        return print_walls(common, err);
    struct list list = {.wanted = words};
    struct registry *registry = NULL;
    struct pool *pool = NULL;
    struct str out;
    arena_init(&list.arena);
    str_init(&out);
    int status = -1;
    if (output_check(common, err) ||
        registry_open(&registry, common->registries.items, common->registries.count, err) ||
        registry_each(registry, visit, &list))
        goto out;
    if (check_names(&list, err))
        goto out;
    pool = pool_new(&(struct pool_options){.deadline = common->deadline});
    ask(&list, registry, pool);
    if (settings->faults)
        write_faults(&list, pool, common, &out);
    else
        write_list(&list, pool, common, &out);
    status = output_write(common, &out, err) || tell_unusable(&list, err) ? -1 : STATUS_AGREE;
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
    {0, "faults", OPTION_FLAG, NULL, offsetof(struct settings, faults),
     "list the published bugs that an engine can plant: paper, operator and parameter at fault"},
    {0, "check", OPTION_FLAG, NULL, offsetof(struct settings, check),
     "check that adapters keep the protocol, step by step, and say what to mend"},
    {0, "sandbox", OPTION_FLAG, NULL, offsetof(struct settings, sandbox),
     "say which walls stand around engines on this machine"},
    {0, "deadline", OPTION_TIME, "TIME", offsetof(struct settings, common.deadline),
     "for an engine to answer each request (default 30s)"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

const struct command command_engines = {
    .name = "engines",
    .summary = "list engines, their versions and knobs",
    .words = "ENGINE",
    .usage = "[NAME...] | --check ENGINE|FILE.ini... | --sandbox",
    .about =
        "Starts each engine once and prints what it reports about itself. An engine is named\n"
        "name[@version][:knob=value,...]; the plain name means its newest version.\n"
        "\n"
        "A knob selects kernels (another value may lack what this one supports), transforms the graph, or\n"
        "schedules the work. What one setting of a release runs, another setting that selects the same\n"
        "kernels may not refuse.\n"
        "\n"
        "--check is for the author of an adapter: it starts the engine, or each engine of FILE.ini, and "
        "tries\n"
        "what the protocol asks for (docs/writing-an-engine.md). The exit status is 0 when all steps hold, "
        "1\n"
        "when one fails, 2 when the check cannot be made.\n",
    .examples = "  assay engines\n"
                "  assay engines onnxruntime --format json\n"
                "  assay engines reference --faults\n"
                "  assay engines -E my-engines.ini\n"
                "  assay engines --sandbox\n"
                "  assay engines --check my-engine.ini\n"
                "  assay engines --check onnxruntime@1.30.0:opt=none --format json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
