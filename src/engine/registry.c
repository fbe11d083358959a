#include "engine/registry.h"

#include "base/file.h"
#include "base/made_file.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/everyones_knobs.h"
#include "engine/ini.h"
#include "engine/label.h"
#include "engine/paths.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_KNOBS = 64, MAX_WORDS = 64, MAX_TOOLS = 8 };

struct pair {
    const char *name, *value;
};

/* A section. Strings live in the registry's arena. */
struct entry {
    const char *name, *command, *library, *package, *versions, *fetch, *file;
    const char *see, *pass;
    const char *transform, *then, *lacks; /* a tool in place of a command */
    enum sandbox_mode sandbox;
    bool launcher;
    size_t memory;
    struct pair knob_variables[MAX_KNOBS], variables[MAX_KNOBS];
    size_t n_knob_variables, n_variables;
    struct engine_profile profile;
};

struct version {
    char *name, *path;
};

/* One engine's versions, ascending. */
struct versions {
    struct version *items;
    size_t count, room;
    char *plain; /* the version that is meant where none is named; NULL: none of them */
};

struct registry {
    struct arena arena;
    char *libexec, *data, *packages;
    struct entry **entries;
    size_t count, room;
    const char *file;       /* being read */
    size_t tools;           /* that run one after the other, while an engine is looked up */
    struct made_file *made; /* for engines to write */
    size_t n_made, room_made;
};

static struct entry *find_entry(const struct registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++)
        if (text_equal(registry->entries[i]->name, name))
            return registry->entries[i];
    return NULL;
}

static char *part_text(struct registry *registry, struct label_part part)
{
    return part.text ? arena_copy(&registry->arena, part.text, part.length) : NULL;
}

/* A section seen again starts afresh: it replaces the earlier one. */
static int begin_section(struct registry *registry, const char *name, struct error *err)
{
    if (strpbrk(name, "@:,= \t"))
        return error_set(err, ERROR_FORMAT, "an engine's name cannot hold @ : , = or spaces: '%s'", name);
    struct entry *entry = find_entry(registry, name);
    if (!entry) {
        entry = arena_alloc(&registry->arena, sizeof *entry);
        registry->entries =
            memory_grow(registry->entries, &registry->room, registry->count + 1, sizeof(struct entry *));
        registry->entries[registry->count++] = entry;
    }
    memset(entry, 0, sizeof *entry);
    entry->name = arena_strdup(&registry->arena, name);
    entry->file = registry->file;
    return 0;
}

static int add_pair(struct registry *registry, struct pair *pairs, size_t *count, const char *name,
                    const char *value, struct error *err)
{
    if (*count == MAX_KNOBS)
        return error_set(err, ERROR_LIMIT, "more than %d entries of this kind", MAX_KNOBS);
    pairs[*count].name = arena_strdup(&registry->arena, name);
    pairs[(*count)++].value = arena_strdup(&registry->arena, value);
    return 0;
}

/* "4G", "512M", plain bytes. */
static int parse_size(const char *text, size_t *size, struct error *err)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = 0;
    if (*end == 'K' || *end == 'M' || *end == 'G' || *end == 'T')
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 40;
    end += shift != 0;
    if (errno || end == text || *end || !isdigit((unsigned char)*text) || number == 0 ||
        number > (SIZE_MAX >> shift))
        return error_set(err, ERROR_FORMAT, "memory must read like 4G or 512M, not '%s'", text);
    *size = (size_t)number << shift;
    return 0;
}

static int parse_yes(const char *text, bool *yes, struct error *err)
{
    *yes = text_equal(text, "yes");
    if (!*yes && !text_equal(text, "no"))
        return error_set(err, ERROR_FORMAT, "it must be yes or no, not '%s'", text);
    return 0;
}

static int parse_sandbox(const char *text, enum sandbox_mode *mode, struct error *err)
{
    static const char *const names[] = {
        [SANDBOX_DEFAULT] = "default", [SANDBOX_STRICT] = "strict", [SANDBOX_OFF] = "off"};
    for (int i = 0; i < 3; i++)
        if (text_equal(text, names[i])) {
            *mode = (enum sandbox_mode)i;
            return 0;
        }
    return error_set(err, ERROR_FORMAT, "sandbox must be strict, default or off, not '%s'", text);
}

/* The folder of the file that the section stands in. */
static char *folder_of(struct registry *registry, const char *file)
{
    char *whole = realpath(file, NULL);
    char *folder = arena_strdup(&registry->arena, whole ? whole : file);
    char *slash = strrchr(folder, '/');
    free(whole);
    if (slash)
        *slash = '\0';
    return folder;
}

/* Replaces {libexec}, {data} and {here}; {library} by `library` when that is not NULL. */
static char *expand(struct registry *registry, const struct entry *entry, const char *text,
                    const char *library)
{
    enum { WORDS = 4 };
    const struct pair words[WORDS] = {{"{libexec}", registry->libexec},
                                      {"{data}", registry->data},
                                      {"{here}", folder_of(registry, entry->file)},
                                      {"{library}", library}};
    struct str out;
    str_init(&out);
    while (*text) {
        size_t i = 0;
        while (i < WORDS && !(words[i].value && text_starts(text, words[i].name)))
            i++;
        if (i < WORDS) {
            str_add(&out, words[i].value);
            text += strlen(words[i].name);
        } else {
            str_append(&out, text++, 1);
        }
    }
    char *copy = arena_strdup(&registry->arena, out.data);
    str_release(&out);
    return copy;
}

/* What an earlier section declares about its engine holds for this one too: it starts the same library in
 * another way. */
static int copy_profile(const struct registry *registry, struct entry *entry, const char *name,
                        struct error *err)
{
    const struct entry *other = find_entry(registry, name);
    if (!other || other == entry)
        return error_set(err, ERROR_FORMAT, "like = %s: no earlier section has that name", name);
    entry->profile = other->profile;
    if (!entry->profile.like)
        entry->profile.like = other->name;
    memcpy(entry->knob_variables, other->knob_variables, sizeof entry->knob_variables);
    entry->n_knob_variables = other->n_knob_variables;
    return 0;
}

static int set_profile(struct registry *registry, struct entry *entry, const char *key, const char *value,
                       struct error *err)
{
    int status = profile_set(&entry->profile, &registry->arena, key, value, err);
    if (status == 1)
        return error_set(
            err, ERROR_FORMAT,
            "no key '%s'; there are command, library, package, versions, fetch, launcher, memory, see, "
            "pass, sandbox, like, transform, then, lacks, "
            "program, environment.NAME, knob-environment.KNOB, %s",
            key, profile_keys);
    return status;
}

/* A pattern would pass on what nobody thought of: tokens, keys, passwords. */
static int set_pass(struct registry *registry, struct entry *entry, const char *value, struct error *err)
{
    if (strchr(value, '*'))
        return error_set(err, ERROR_FORMAT,
                         "pass = %s: name each variable by itself; a '*' stands for nothing here", value);
    entry->pass = arena_strdup(&registry->arena, value);
    return 0;
}

static int visit_key(void *context, const char *section, const char *key, const char *value, int line,
                     struct error *err)
{
    (void)line;
    static const char knob[] = "knob-environment.", variable[] = "environment.";
    struct registry *registry = context;
    if (!key)
        return begin_section(registry, section, err);
    struct entry *entry = find_entry(registry, section);
    if (text_equal(key, "command"))
        entry->command = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "library"))
        entry->library = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "package"))
        entry->package = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "versions"))
        entry->versions = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "fetch"))
        entry->fetch = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "transform"))
        entry->transform = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "then"))
        entry->then = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "lacks"))
        entry->lacks = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "see"))
        entry->see = arena_strdup(&registry->arena, value);
    else if (text_equal(key, "pass"))
        return set_pass(registry, entry, value, err);
    else if (text_equal(key, "sandbox"))
        return parse_sandbox(value, &entry->sandbox, err);
    else if (text_equal(key, "launcher"))
        return parse_yes(value, &entry->launcher, err);
    else if (text_equal(key, "memory"))
        return parse_size(value, &entry->memory, err);
    else if (text_starts(key, knob))
        return add_pair(registry, entry->knob_variables, &entry->n_knob_variables, key + sizeof knob - 1,
                        value, err);
    else if (text_starts(key, variable))
        return add_pair(registry, entry->variables, &entry->n_variables, key + sizeof variable - 1, value,
                        err);
    else if (text_equal(key, "program"))
        entry->profile.program = expand(registry, entry, value, NULL);
    else if (text_equal(key, "like"))
        return copy_profile(registry, entry, value, err);
    else
        return set_profile(registry, entry, key, value, err);
    return 0;
}

static int read_registry_file(struct registry *registry, const char *path, struct error *err)
{
    registry->file = arena_strdup(&registry->arena, path);
    return ini_read(path, visit_key, registry, err);
}

/* By name without its ending: onnxruntime.ini before onnxruntime-web.ini, which is like it. */
static int by_engine(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    size_t n = strcspn(left, "."), m = strcspn(right, ".");
    int order = memcmp(left, right, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

static int read_installed(struct registry *registry, struct error *err)
{
    char **names;
    size_t count;
    if (file_list(registry->libexec, &names, &count, NULL))
        return 0; /* nothing installed: other files may still name engines */
    int result = 0;
    if (count)
        qsort(names, count, sizeof *names, by_engine);
    for (size_t i = 0; i < count && !result; i++) {
        if (!text_ends(names[i], ".ini"))
            continue;
        char *path = file_join(registry->libexec, names[i]);
        result = read_registry_file(registry, path, err);
        free(path);
    }
    file_names_free(names, count);
    return result;
}

static int read_user_files(struct registry *registry, struct error *err)
{
    char *config = paths_config();
    char *path = file_join(config, "engines.ini");
    int result = file_exists(path) ? read_registry_file(registry, path, err) : 0;
    free(path);
    free(config);
    const char *named = getenv("ASSAY_ENGINES");
    if (!result && named && *named)
        result = read_registry_file(registry, named, err);
    return result;
}

/* A file of -E, whose engines nobody else knows: commands that name them need it, wherever they are run. */
static int read_given(struct registry *registry, const char *path, struct error *err)
{
    int result = read_registry_file(registry, path, err);
    char *whole = realpath(path, NULL);
    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i]->file == registry->file)
            registry->entries[i]->profile.given = arena_strdup(&registry->arena, whole ? whole : path);
    free(whole);
    return result;
}

/* A tool is judged like the engine that runs what it wrote: that engine's profile is its own. */
static int check_tool(struct registry *registry, struct entry *entry, struct error *err)
{
    if (entry->command || !entry->then)
        return error_set(err, ERROR_FORMAT,
                         "%s: engine %s: transform = TOOL {in} {out} comes with then = ENGINE, "
                         "which runs what the tool wrote, and without a command",
                         entry->file, entry->name);
    if (!strstr(entry->transform, "{in}") || !strstr(entry->transform, "{out}"))
        return error_set(err, ERROR_FORMAT,
                         "%s: engine %s: transform needs {in} and {out}, the files of the "
                         "model that the tool reads and of the one that it writes",
                         entry->file, entry->name);
    const char *name = part_text(registry, label_parse(entry->then).name), *given = entry->profile.given;
    const struct entry *other = find_entry(registry, name);
    if (!other || other == entry)
        return error_set(err, ERROR_FORMAT, "%s: engine %s: then = %s: there is no such engine", entry->file,
                         entry->name, entry->then);
    if (copy_profile(registry, entry, name, err))
        return -1;
    entry->profile.given = given;
    return 0;
}

static int check_entries(struct registry *registry, struct error *err)
{
    for (size_t i = 0; i < registry->count; i++) {
        struct entry *entry = registry->entries[i];
        bool tool = entry->transform || entry->then || entry->lacks;
        if (tool && !entry->transform)
            return error_set(err, ERROR_FORMAT, "%s: engine %s has no transform", entry->file, entry->name);
        if (tool && check_tool(registry, entry, err))
            return -1;
        if (!tool && !entry->command)
            return error_set(err, ERROR_FORMAT, "%s: engine %s has no command", entry->file, entry->name);
    }
    return 0;
}

int registry_open(struct registry **result, const char *const *extra_files, size_t count, struct error *err)
{
    struct registry *registry = memory_zeroed(1, sizeof *registry);
    arena_init(&registry->arena);
    registry->libexec = paths_libexec();
    registry->data = paths_data();
    registry->packages = paths_packages();
    int failed = read_installed(registry, err) || read_user_files(registry, err);
    for (size_t i = 0; i < count && !failed; i++)
        failed = read_given(registry, extra_files[i], err);
    failed = failed || check_entries(registry, err);
    if (failed) {
        registry_free(registry);
        registry = NULL;
    }
    *result = registry;
    return failed ? -1 : 0;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < registry->n_made; i++)
        made_file_release(&registry->made[i]);
    free(registry->made);
    arena_release(&registry->arena);
    free(registry->libexec);
    free(registry->data);
    free(registry->packages);
    free(registry->entries);
    free(registry);
}

struct arena *registry_arena(struct registry *registry)
{
    return &registry->arena;
}

static void versions_free(struct versions *versions)
{
    for (size_t i = 0; i < versions->count; i++) {
        free(versions->items[i].name);
        free(versions->items[i].path);
    }
    free(versions->items);
    free(versions->plain);
}

static const struct version *find_version(const struct versions *versions, const char *name)
{
    for (size_t i = 0; name && i < versions->count; i++)
        if (text_equal(versions->items[i].name, name))
            return &versions->items[i];
    return NULL;
}

/* In its place among the others. One that is there already has the new path. */
static void add_version(struct versions *versions, const char *name, size_t length, const char *path)
{
    char *copy = memory_strdup(name);
    copy[length] = '\0';
    size_t at = versions->count;
    while (at > 0 && text_compare(versions->items[at - 1].name, copy) >= 0)
        at--;
    if (at < versions->count && text_equal(versions->items[at].name, copy)) {
        free(versions->items[at].path);
        versions->items[at].path = memory_strdup(path);
        free(copy);
        return;
    }
    versions->items =
        memory_grow(versions->items, &versions->room, versions->count + 1, sizeof *versions->items);
    memmove(versions->items + at + 1, versions->items + at, (versions->count - at) * sizeof *versions->items);
    versions->items[at] = (struct version){copy, memory_strdup(path)};
    versions->count++;
}

/* The last one, the folder's entries being in order, is the newest. */
static void list_versions(const char *folder, const char *before, const char *after, const char *rest,
                          struct versions *versions)
{
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]), edges = strlen(before) + strlen(after);
        if (length <= edges || !text_starts(names[i], before) || !text_ends(names[i], after))
            continue;
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/%s%s", folder, names[i], rest);
        if (file_exists(path.data)) {
            length -= edges;
            add_version(versions, names[i] + strlen(before), length, path.data);
            free(versions->plain);
            versions->plain = memory_strdup(names[i] + strlen(before));
            versions->plain[length] = '\0';
        }
        str_release(&path);
    }
    file_names_free(names, count);
}

/* Those that match a pattern FOLDER/BEFORE{version}AFTER/REST, in which the version is part of one name. */
static void match_versions(struct registry *registry, char *pattern, struct versions *versions)
{
    char *at = strstr(pattern, "{version}");
    if (!at)
        return;
    char *after = at + strlen("{version}"), *slash = strchr(after, '/');
    const char *rest = slash ? arena_strdup(&registry->arena, slash) : "";
    if (slash)
        *slash = '\0';
    *at = '\0';
    char *start = strrchr(pattern, '/');
    if (!start)
        return;
    *start = '\0';
    list_versions(pattern, start + 1, after, rest, versions);
}

/* What is installed beside the user's programs in Python is what they use: it comes last, and the plain name
 * means it. With adapters of other versions the plain name is none of them. */
static struct versions find_versions(struct registry *registry, const struct entry *entry)
{
    struct versions versions = {0};
    const char *where = entry->versions ? entry->versions : entry->library;
    if (where)
        match_versions(registry, expand(registry, entry, where, NULL), &versions);
    if (entry->package && registry->packages)
        match_versions(registry, arena_printf(&registry->arena, "%s/%s", registry->packages, entry->package),
                       &versions);
    if (entry->versions) {
        free(versions.plain);
        versions.plain = NULL;
    }
    return versions;
}

static int split_knobs(struct registry *registry, struct label_part text, struct pair pairs[MAX_KNOBS],
                       size_t *count, struct error *err)
{
    struct label_knob knob;
    int status;
    *count = 0;
    while ((status = label_next_knob(&text, &knob)) > 0) {
        if (*count == MAX_KNOBS)
            return error_set(err, ERROR_LIMIT, "more than %d knobs", MAX_KNOBS);
        pairs[(*count)++] = (struct pair){part_text(registry, knob.name), part_text(registry, knob.value)};
    }
    return status ? error_set(err, ERROR_USAGE, "a knob must read name=value: '%s'", text.text) : 0;
}

static const char *knob_variable(const struct entry *entry, const char *knob)
{
    for (size_t i = 0; i < entry->n_knob_variables; i++)
        if (text_equal(entry->knob_variables[i].name, knob))
            return entry->knob_variables[i].value;
    return NULL;
}

static int check_knob(const struct entry *entry, const struct given_label *label, const struct pair *knob,
                      struct error *err)
{
    const char *source = given_source(label, knob->name, knob->value);
    if (!knob_is_everyones(knob->name, strlen(knob->name)))
        return source ? declared_knobs_check(entry->profile.knobs, entry->name, knob->name, knob->value,
                                             source, err)
                      : 0;
    if (everyones_knob(knob->name, knob->value))
        return 0;
    return error_set(err, ERROR_USAGE, "the knob %s takes %s, not '%.60s'", knob->name,
                     everyones_values(knob->name), knob->value);
}

/* The whole path of a file that the user named. */
static char *whole_path(struct registry *registry, const char *path, struct error *err)
{
    if (*path == '/')
        return arena_strdup(&registry->arena, path);
    char *folder = getcwd(NULL, 0);
    if (!folder)
        error_errno(err, "the current folder is not known");
    char *whole = folder ? arena_printf(&registry->arena, "%s/%s", folder, path) : NULL;
    free(folder);
    return whole;
}

/* Engines of one registry, such as several releases with the same knobs, may share a file. */
static bool is_made(const struct registry *registry, const char *path)
{
    for (size_t i = 0; i < registry->n_made; i++)
        if (text_equal(registry->made[i].path, path) && made_file_is_there(&registry->made[i]))
            return true;
    return false;
}

static int make_file(struct registry *registry, struct pair *knob, const char **written, size_t *count,
                     struct error *err)
{
    if (!*knob->value)
        return 0;
    char *path = whole_path(registry, knob->value, err);
    if (!path)
        return -1;
    if (!is_made(registry, path)) {
        registry->made =
            memory_grow(registry->made, &registry->room_made, registry->n_made + 1, sizeof *registry->made);
        if (made_file_make(&registry->made[registry->n_made], path, err))
            return error_prefix(err, "the knob %.60s", knob->name);
        registry->n_made++;
    }
    knob->value = path;
    written[(*count)++] = path;
    return 0;
}

/* Makes the files that knobs name, and puts their whole paths in place of what was written. */
static int make_files(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                      struct pair *pairs, size_t count, struct error *err)
{
    const char **written = arena_array(&registry->arena, count + 1, sizeof *written);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct declared_knob *knob = declared_knobs_find(entry->profile.knobs, pairs[i].name);
        if (knob && knob->choice == CHOOSES_FILE && make_file(registry, &pairs[i], written, &n, err))
            return -1;
    }
    spec->writes = written;
    return 0;
}

/* Whether the engine's own file sets the knob so (then = ENGINE:KNOB=VALUE). */
static bool file_sets(const struct entry *entry, const struct pair *pair)
{
    struct label_part knobs = entry->then ? label_parse(entry->then).knobs : (struct label_part){0};
    struct label_knob knob;
    while (label_next_knob(&knobs, &knob) > 0)
        if (label_part_is(knob.name, pair->name) && label_part_is(knob.value, pair->value))
            return true;
    return false;
}

static int set_knobs(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                     struct str *environment, struct label_part knobs, struct error *err)
{
    struct pair pairs[MAX_KNOBS];
    size_t count;
    if (split_knobs(registry, knobs, pairs, &count, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!file_sets(entry, &pairs[i]) && check_knob(entry, spec->given, &pairs[i], err))
            return -1;
    if (make_files(registry, spec, entry, pairs, count, err))
        return -1;
    const char **names = arena_array(&registry->arena, count, sizeof *names);
    const char **values = arena_array(&registry->arena, count, sizeof *values);
    const char **hidden = arena_array(&registry->arena, count + 1, sizeof *hidden);
    size_t n_hidden = 0;
    for (size_t i = 0; i < count; i++) {
        const struct everyones_knob *everyones = everyones_knob(pairs[i].name, pairs[i].value);
        const char *variable = everyones ? everyones->variable : knob_variable(entry, pairs[i].name);
        if (everyones || variable) {
            const char *value = everyones && everyones->text ? everyones->text : pairs[i].value;
            if (variable) {
                str_printf(environment, "%s=%s", variable, value);
                str_append(environment, "", 1);
            }
            hidden[n_hidden++] = arena_printf(&registry->arena, "%s=%s", pairs[i].name, pairs[i].value);
        } else {
            names[spec->knobs] = pairs[i].name;
            values[spec->knobs++] = pairs[i].value;
        }
    }
    everyones_environment(hidden, registry->libexec, environment);
    spec->knob_names = names;
    spec->knob_values = values;
    spec->hidden_knobs = hidden;
    return 0;
}

/* NUL-separated texts as a NULL-terminated list. */
static const char *const *as_list(struct registry *registry, const struct str *texts)
{
    size_t count = 0;
    for (size_t i = 0; i < texts->length; i++)
        count += texts->data[i] == '\0';
    const char **list = arena_array(&registry->arena, count + 1, sizeof *list);
    const char *at = arena_copy(&registry->arena, texts->data, texts->length + 1);
    for (size_t i = 0; i < count; i++) {
        list[i] = at;
        at += strlen(at) + 1;
    }
    return list;
}

/* Cuts a text into words at spaces; "..." holds a word with spaces together. */
static int split_words(struct registry *registry, const struct entry *entry, const char *text,
                       const char *library, const char *const **list, struct error *err)
{
    struct str words;
    str_init(&words);
    const char *at = text;
    int result = 0;
    while (*(at += strspn(at, " \t"))) {
        bool quoted = *at == '"';
        at += quoted;
        size_t length = strcspn(at, quoted ? "\"" : " \t");
        if (quoted && at[length] != '"') {
            result =
                error_set(err, ERROR_FORMAT, "engine %s: a quote is not closed in '%s'", entry->name, text);
            break;
        }
        char *word = arena_copy(&registry->arena, at, length + 1);
        word[length] = '\0';
        if (library || !text_equal(word, "{library}")) { /* no library: the adapter finds its own */
            str_add(&words, expand(registry, entry, word, library ? library : ""));
            str_append(&words, "", 1);
        }
        at += length + (quoted ? 1 : 0);
    }
    if (!result)
        *list = as_list(registry, &words);
    str_release(&words);
    return result;
}

static int split_command(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                         const char *library, struct error *err)
{
    if (split_words(registry, entry, entry->command, library, &spec->argv, err))
        return -1;
    return spec->argv[0] ? 0 : error_set(err, ERROR_FORMAT, "engine %s has an empty command", spec->name);
}

/* What the engine's section says of its sandbox. */
static int set_sandbox(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                       struct error *err)
{
    spec->folder = folder_of(registry, entry->file);
    spec->sandbox = entry->sandbox;
    return (entry->see && split_words(registry, entry, entry->see, "", &spec->see, err)) ||
                   (entry->pass && split_words(registry, entry, entry->pass, "", &spec->pass, err))
               ? -1
               : 0;
}

static const char *const *one_word(struct registry *registry, const char *word)
{
    char **list = arena_array(&registry->arena, 2, sizeof *list);
    list[0] = arena_strdup(&registry->arena, word);
    return (const char *const *)list;
}

static void list_names(const struct registry *registry, struct str *text)
{
    for (size_t i = 0; i < registry->count; i++)
        str_printf(text, "%s%s", i ? ", " : "", registry->entries[i]->name);
}

static int no_engine(const struct registry *registry, const char *name, struct error *err)
{
    struct str names;
    const char *nearest = NULL;
    if (strchr(name, '/'))
        return error_set(
            err, ERROR_NOT_FOUND,
            "'%s' is a path, but engines are given by name: write beside it a file mine.ini with the "
            "lines '[mine]' and 'command = {here}/%s', and give -E mine.ini -e mine "
            "(docs/writing-an-engine.md)",
            name, file_base(name));
    size_t least = 3; /* letters apart: what is farther is not meant */
    for (size_t i = 0; i < registry->count; i++) {
        size_t distance = text_distance(name, registry->entries[i]->name);
        if (distance < least) {
            nearest = registry->entries[i]->name;
            least = distance;
        }
    }
    str_init(&names);
    list_names(registry, &names);
    int result =
        error_set(err, ERROR_NOT_FOUND, "no engine '%s'%s%s%s: %s. Name another in a file given with -E",
                  name, nearest ? "; did you mean '" : "; there are", nearest ? nearest : "",
                  nearest ? "'? There are" : "", names.length ? names.data : "none");
    str_release(&names);
    return result;
}

/* fetch = tools/fetch x is {libexec}/fetch-x; programs of users and what only a checkout can do are not
 * there. */
static const char *fetcher_of(struct registry *registry, const struct entry *entry)
{
    static const char tool[] = "tools/fetch ";
    if (!entry->fetch || !text_starts(entry->fetch, tool) || strpbrk(entry->fetch + strlen(tool), " /;"))
        return NULL;
    const char *path =
        arena_printf(&registry->arena, "%s/fetch-%s", registry->libexec, entry->fetch + strlen(tool));
    return file_exists(path) ? path : NULL;
}

static int no_version(struct registry *registry, const struct entry *entry, const char *version,
                      const struct versions *versions, struct error *err)
{
    const char *where = entry->versions ? entry->versions : entry->library;
    if (!where)
        return error_set(err, ERROR_NOT_FOUND,
                         "no version '%s' of %s, which has none to choose from: write plain '%s'", version,
                         entry->name, entry->name);
    struct str text;
    str_init(&text);
    str_printf(&text, "no version '%s' of %s; ", version, entry->name);
    if (entry->fetch && entry->versions)
        str_printf(&text, "plain %s is this system's, '%s' fetches others; ", entry->name, entry->fetch);
    else if (fetcher_of(registry, entry))
        str_printf(&text, "'assay fetch %s==%s' brings it; ", entry->name, version);
    else if (entry->fetch)
        str_printf(&text, "get it with '%s %s'; ", entry->fetch, version);
    str_add(&text, "there are: ");
    for (size_t i = versions->count; i > 0; i--) /* the newest first: the message may be cut */
        str_printf(&text, "%s%s", versions->items[i - 1].name, i > 1 ? ", " : "");
    if (!versions->count)
        str_printf(&text, "none at %s", where);
    int result = error_set(err, ERROR_NOT_FOUND, "%s", text.data);
    str_release(&text);
    return result;
}

/* $ASSAY_LIBRARY_NAME, the name in capitals. */
static const char *library_from_environment(const struct entry *entry)
{
    struct str variable;
    str_init(&variable);
    str_add(&variable, "ASSAY_LIBRARY_");
    for (const char *at = entry->name; *at; at++) {
        char c = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
        str_append(&variable, &c, 1);
    }
    const char *path = getenv(variable.data);
    str_release(&variable);
    return path && *path ? path : NULL;
}

/* Sets the version and gives the library's path, NULL when the adapter must find its own. */
static int choose_library(struct registry *registry, const struct entry *entry, const char *version,
                          struct engine_spec *spec, const char **library, struct error *err)
{
    struct versions versions = find_versions(registry, entry);
    int result = 0;
    *library = version ? NULL : library_from_environment(entry);
    if (!version && !*library && entry->library && !strstr(entry->library, "{version}"))
        *library = expand(registry, entry, entry->library, NULL);
    const struct version *chosen =
        *library ? NULL : find_version(&versions, version ? version : versions.plain);
    if (chosen) {
        spec->version = arena_strdup(&registry->arena, chosen->name);
        *library = arena_strdup(&registry->arena, chosen->path);
    }
    if (version && !*library)
        result = no_version(registry, entry, version, &versions, err);
    versions_free(&versions);
    return result;
}

static void set_environment(struct registry *registry, const struct entry *entry, const char *library,
                            struct str *environment)
{
    for (size_t i = 0; i < entry->n_variables; i++) {
        str_printf(environment, "%s=%s", entry->variables[i].name,
                   expand(registry, entry, entry->variables[i].value, library));
        str_append(environment, "", 1);
    }
    if (library) {
        str_printf(environment, "ASSAY_LIBRARY=%s", library);
        str_append(environment, "", 1);
    }
}

static void add_words(struct str *words, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        str_append(words, list[i], strlen(list[i]) + 1);
}

/* "--lacks TEXT" for each of them. */
static void add_lacks(struct str *words, const char *lacks)
{
    static const char option[] = "--lacks";
    while (lacks && *lacks) {
        size_t length = strcspn(lacks, "|");
        str_append(words, option, sizeof option);
        str_append(words, lacks, length);
        str_append(words, "", 1);
        lacks += length + (lacks[length] == '|');
    }
}

static const char *const *both_lists(struct registry *registry, const char *const *one,
                                     const char *const *other)
{
    struct str words;
    str_init(&words);
    add_words(&words, one);
    add_words(&words, other);
    const char *const *list = as_list(registry, &words);
    str_release(&words);
    return list;
}

/* The program of engines/transform, which runs the tool and talks to the engine of `then`. */
static int set_tool(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                    const char *library, struct str *environment, struct error *err)
{
    const struct engine_spec *then;
    const char *const *tool;
    if (registry->tools == MAX_TOOLS)
        return error_set(err, ERROR_FORMAT, "engine %s: more than %d tools one after the other", entry->name,
                         MAX_TOOLS);
    registry->tools++;
    struct label label = label_parse(entry->then);
    label.knobs = (struct label_part){0}; /* they are this engine's (all_knobs) */
    struct str plain;
    str_init(&plain);
    label_print(&plain, &label);
    int status = registry_find(registry, given_typed(&registry->arena, plain.data), &then, err) ||
                 split_words(registry, entry, entry->transform, library, &tool, err);
    registry->tools--;
    str_release(&plain);
    if (status)
        return error_prefix(err, "engine %s, then = %s", entry->name, entry->then);
    struct str words;
    str_init(&words);
    str_printf(&words, "%s/assay-engine-transform", registry->libexec);
    str_append(&words, "", 1);
    add_lacks(&words, entry->lacks);
    add_words(&words, tool);
    str_append(&words, "--", sizeof "--");
    add_words(&words, then->argv);
    spec->argv = as_list(registry, &words);
    spec->tool = true;
    str_release(&words);
    add_words(environment, then->environment);
    spec->see = both_lists(registry, spec->see, then->see);
    spec->pass = both_lists(registry, spec->pass, then->pass);
    spec->memory = spec->memory ? spec->memory : then->memory;
    return 0;
}

/* Those of the label, beside or in place of those with which the engine runs that a tool's model goes to. */
static struct label_part all_knobs(struct registry *registry, const struct entry *entry,
                                   struct label_part own)
{
    struct label_knob knob;
    if (!entry->then)
        return own;
    char *label = memory_strdup(entry->then);
    while (label_next_knob(&own, &knob) > 0) {
        char *longer = label_with(label, part_text(registry, knob.name), part_text(registry, knob.value));
        free(label);
        label = longer;
    }
    const char *copy = arena_strdup(&registry->arena, label);
    free(label);
    return label_parse(copy).knobs;
}

static int set_command(struct registry *registry, struct engine_spec *spec, const struct entry *entry,
                       const char *library, struct str *environment, struct error *err)
{
    if (entry->transform) {
        set_environment(registry, entry, NULL, environment);
        return set_tool(registry, spec, entry, library, environment, err);
    }
    bool program = entry->versions && spec->version;
    if (program)
        spec->argv = one_word(registry, library);
    else if (split_command(registry, spec, entry, library, err))
        return -1;
    set_environment(registry, entry, program ? NULL : library, environment);
    return 0;
}

int registry_find(struct registry *registry, const struct given_label *given,
                  const struct engine_spec **result, struct error *err)
{
    struct label label = label_parse(given_text(given));
    const char *name = part_text(registry, label.name);
    const struct entry *entry = find_entry(registry, name);
    if (!entry)
        return no_engine(registry, name, err);
    struct engine_spec *spec = arena_alloc(&registry->arena, sizeof *spec);
    spec->given = given_copy(&registry->arena, given);
    spec->label = given_text(spec->given);
    spec->name = entry->name;
    spec->launcher = entry->launcher;
    spec->memory = entry->memory;
    spec->profile = &entry->profile;
    const char *library;
    if (set_sandbox(registry, spec, entry, err))
        return -1;
    if (choose_library(registry, entry, part_text(registry, label.version), spec, &library, err))
        return -1;
    struct str environment;
    str_init(&environment);
    int failed = set_command(registry, spec, entry, library, &environment, err);
    if (!failed)
        failed = set_knobs(registry, spec, entry, &environment, all_knobs(registry, entry, label.knobs), err);
    spec->environment = as_list(registry, &environment);
    str_release(&environment);
    *result = spec;
    return failed || everyones_command(spec, &registry->arena, err) ? -1 : 0;
}

const char *registry_file(const struct registry *registry, const char *name)
{
    const struct entry *entry = find_entry(registry, name);
    return entry ? entry->file : NULL;
}

const char *registry_fetcher(struct registry *registry, const char *name)
{
    const struct entry *entry = find_entry(registry, name);
    return entry ? fetcher_of(registry, entry) : NULL;
}

const char *registry_second_opinion(const struct registry *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i]->profile.second_opinion)
            return registry->entries[i]->name;
    return NULL;
}

int registry_each(struct registry *registry,
                  int (*visit)(void *context, const char *name, const char *version, const char *path),
                  void *context)
{
    int result = 0;
    for (size_t i = 0; i < registry->count && !result; i++) {
        const struct entry *entry = registry->entries[i];
        struct versions versions = find_versions(registry, entry);
        if (!versions.count || entry->versions)
            result = visit(context, entry->name, NULL, NULL);
        for (size_t j = 0; j < versions.count && !result; j++)
            result = visit(context, entry->name, versions.items[j].name, versions.items[j].path);
        versions_free(&versions);
    }
    return result;
}
