#include "campaign/fuzz_probe.h"

#include "base/map.h"
#include "base/memory.h"
#include "engine/label.h"
#include "generate/case_maker.h"

#include <stdlib.h>
#include <string.h>

/* Where results are kept. */
struct kept_in {
    const struct folder *in;
    const char *name;
};
static const char own_name[] = "probe"; /* in the campaign's folder */

/* Only what the engine declares: nothing is run. The caller releases result->arena. */
static void ask_engine(const struct panel *panel, size_t engine, struct probe_result *result)
{
    struct error why = {0};
    *result = (struct probe_result){.seed = 1};
    arena_init(&result->arena);
    pool_starts(panel->pool, panel->engines[engine], &why); /* else it declares nothing */
    probe_introduce(result, panel_engine(panel, engine));
}

/* Of the operators that the engine declares those that the user wants: others need not be tried. */
static void list_declared(struct str *list, const char *declared, const char *wanted)
{
    for (size_t i = 0; declared && i < op_count(); i++) {
        const struct op *op = op_at(i);
        if (op->sample && op_list_has(declared, op) && (wanted ? op_list_has(wanted, op) : !*op->owner))
            str_printf(list, "%s%s", list->length ? "," : "", op->name);
    }
}

static int quick_probe(const struct fuzz_options *options, size_t engine, const struct kept_in *place,
                       struct probe_result **results, struct error *err)
{
    struct panel one = *options->panel;
    struct probe_result said;
    struct str declared;
    one.count = 1;
    one.engines = &options->panel->engines[engine];
    str_init(&declared);
    ask_engine(options->panel, engine, &said);
    list_declared(&declared, said.declared, options->source.generate.ops);
    struct probe_options probe = {
        .panel = &one,
        .ops = said.declared ? declared.data : options->source.generate.ops,
        .narrow = options->source.generate.types & (dtype_set)DTYPES_NARROW,
        .seed = 1,
        .quick = true,
        .oldest = said.declared != NULL, /* these are fewer operators */
        .progress = true,
        /* What was not asked by then counts as supported. */
        .seconds = options->seconds / (2 * (double)options->panel->count),
    };
    int status = probe_run(&probe, results, err);
    if (!status)
        status = probe_keep(*results, place->in, place->name, err);
    str_release(&declared);
    arena_release(&said.arena);
    return status;
}

/* Whether a case that a probe found is one that the campaign may run: the probe may have been of all
 * operators, and kept from earlier. */
static bool is_wanted(const struct generate_options *options, const struct probe_op *op,
                      const struct probe_find *find)
{
    const struct op *row = op_find(op->name);
    return row && options_allow(options, row) && (!options->opset || find->opset == options->opset);
}

static void add_finds(struct fuzz_probe *probe, const struct generate_options *options,
                      const struct probe_result *result, struct map *seen)
{
    for (size_t i = 0; i < result->n_ops; i++)
        for (size_t k = 0; k < result->ops[i].n_finds; k++) {
            const char *recipe = result->ops[i].finds[k].recipe;
            if (map_has(seen, recipe) || !is_wanted(options, &result->ops[i], &result->ops[i].finds[k]))
                continue;
            probe->recipes = memory_grow(probe->recipes, &probe->recipes_capacity, probe->n_recipes + 1,
                                         sizeof *probe->recipes);
            probe->recipes[probe->n_recipes] = memory_strdup(recipe);
            map_set(seen, probe->recipes[probe->n_recipes++], 1);
            probe->failures += verdict_is_finding(result->ops[i].finds[k].verdict);
        }
}

static void add_engine(struct fuzz_probe *probe, const struct generate_options *options,
                       const struct probe_result *result, struct map *seen)
{
    struct probe_support *support = probe_support_new();
    probe_support_add(support, result);
    probe_support_add(probe->all_lack, result);
    probe->lacks[probe->n_engines++] = support;
    add_finds(probe, options, result, seen);
}

/* True when one of the two places has it; the caller releases result->arena either way. */
static bool find_kept(struct probe_result *result, const struct kept_in places[2], const char *engine)
{
    struct label label = label_parse(engine);
    struct str plain;
    str_init(&plain);
    label.knobs = (struct label_part){0};
    label_print(&plain, &label);
    const char *const names[] = {engine, plain.data};
    bool found = false;
    for (size_t i = 0; i < 2 && places[i].name && !found; i++)
        for (size_t k = 0; k < 2 && !found; k++) {
            if (i || k)
                arena_release(&result->arena);
            found = !probe_load(result, places[i].in, places[i].name, names[k], NULL);
        }
    str_release(&plain);
    return found;
}

static int load_engine(struct fuzz_probe *probe, const struct fuzz_options *options, size_t engine,
                       const struct kept_in places[2], struct map *seen, struct error *err)
{
    char *name = probe_engine(panel_engine(options->panel, engine));
    struct probe_result kept, *results = NULL;
    bool found = find_kept(&kept, places, name);
    int status = 0;
    if (!found && !options->probe) {
        arena_release(&kept.arena);
        ask_engine(options->panel, engine, &kept);
        found = true;
    }
    if (found) {
        add_engine(probe, &options->source.generate, &kept, seen);
        kept.engine = name;
        status = probe_keep(&kept, places[0].in, places[0].name, err);
    }
    arena_release(&kept.arena);
    if (!found)
        status = quick_probe(options, engine, &places[0], &results, err);
    if (!found && !status)
        add_engine(probe, &options->source.generate, results, seen);
    if (results)
        probe_results_free(results, 1);
    free(name);
    return status;
}

int fuzz_probe_load(struct fuzz_probe *probe, const struct fuzz_options *options, const struct folder *folder,
                    struct error *err)
{
    char *kept = probe_folder();
    /* Results kept by this user are not used in a shared campaign, because the other workers may not have
     * them. */
    const struct kept_in places[2] = {{folder, own_name},
                                      {USERS_PATH, options->shared || !options->probe ? NULL : kept}};
    struct map seen;
    int status = 0;
    map_init(&seen);
    *probe = (struct fuzz_probe){.all_lack = probe_support_new()};
    probe->lacks = memory_zeroed(options->panel->count + 1, sizeof *probe->lacks);
    for (size_t i = 0; i < options->panel->count && !status; i++)
        status = load_engine(probe, options, i, places, &seen, err);
    map_release(&seen);
    free(kept);
    return status;
}

/* *same becomes false when the store had other results than the folder. */
static int share_engine(const struct folder *folder, const char *file, const char *key, struct store *store,
                        bool *same, struct error *err)
{
    struct str agreed;
    char *own;
    size_t size;
    if (folder_read(folder, file, PROBE_FILE_LIMIT, &own, &size, err))
        return -1;
    str_init(&agreed);
    int status = store_agree(store, key, own, &agreed, err);
    if (!status && !text_equal(own, agreed.data)) {
        *same = false;
        status = folder_write(folder, file, agreed.data, agreed.length, err);
    }
    str_release(&agreed);
    free(own);
    return status;
}

/* Called before the probe, to take results from the store, and after it, to give the store those that it
 * lacks. */
static int share_all(const struct fuzz_options *options, const struct folder *in, struct store *store,
                     bool before, bool *same, struct error *err)
{
    struct folder folder;
    int status = folder_make(&folder, in, own_name, err);
    *same = true;
    for (size_t i = 0; i < options->panel->count && !status; i++) {
        char *name = probe_engine(panel_engine(options->panel, i)), *file = probe_file(name);
        struct str key, text;
        bool found = false;
        str_init(&key);
        str_init(&text);
        str_printf(&key, "probe %s", name);
        if (before)
            status = store_get(store, key.data, &text, &found, err);
        else
            status = share_engine(&folder, file, key.data, store, same, err);
        if (!status && found)
            status = folder_write(&folder, file, text.data, text.length, err);
        str_release(&key);
        str_release(&text);
        free(file);
        free(name);
    }
    folder_close(&folder);
    return status;
}

int fuzz_probe_share(struct fuzz_probe *probe, const struct fuzz_options *options,
                     const struct folder *folder, struct store *store, struct error *err)
{
    bool same;
    if (share_all(options, folder, store, true, &same, err) || fuzz_probe_load(probe, options, folder, err) ||
        share_all(options, folder, store, false, &same, err))
        return -1;
    if (same)
        return 0;
    fuzz_probe_release(probe);
    return fuzz_probe_load(probe, options, folder, err);
}

void fuzz_probe_release(struct fuzz_probe *probe)
{
    for (size_t i = 0; i < probe->n_engines; i++)
        probe_support_free(probe->lacks[i]);
    for (size_t i = 0; i < probe->n_recipes; i++)
        free(probe->recipes[i]);
    free(probe->lacks);
    free(probe->recipes);
    probe_support_free(probe->all_lack);
    *probe = (struct fuzz_probe){0};
}
