#include "campaign/fuzz_probe.h"

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "engine/label.h"
#include "generate/case_maker.h"

#include <stdlib.h>
#include <string.h>

static int quick_probe(const struct fuzz_options *options, size_t engine, const char *folder,
                       struct probe_result **results, struct error *err)
{
    struct panel one = *options->panel;
    one.count = 1;
    one.engines = &options->panel->engines[engine];
    struct probe_options probe = {
        .panel = &one,
        .ops = options->source.generate.ops,
        .narrow = options->source.generate.types & (dtype_set)DTYPES_NARROW,
        .seed = 1,
        .quick = true,
        .progress = true,
    };
    if (probe_run(&probe, results, err))
        return -1;
    return probe_keep(*results, folder, err);
}

/* Whether the campaign may run a case that a probe, perhaps a whole one that was kept, came upon. */
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

/* True when one of the folders has it; the caller releases result->arena either way. */
static bool find_kept(struct probe_result *result, const char *const *folders, const char *engine)
{
    struct label label = label_parse(engine);
    struct str plain;
    str_init(&plain);
    label.knobs = (struct label_part){0};
    label_print(&plain, &label);
    const char *const names[] = {engine, plain.data};
    bool found = false;
    for (size_t i = 0; folders[i] && !found; i++)
        for (size_t k = 0; k < 2 && !found; k++) {
            if (i || k)
                arena_release(&result->arena);
            found = !probe_load(result, folders[i], names[k], NULL);
        }
    str_release(&plain);
    return found;
}

static int load_engine(struct fuzz_probe *probe, const struct fuzz_options *options, size_t engine,
                       const char *const *folders, struct map *seen, struct error *err)
{
    char *name = probe_engine(panel_engine(options->panel, engine));
    struct probe_result kept, *results = NULL;
    bool found = find_kept(&kept, folders, name);
    int status = 0;
    if (found) {
        add_engine(probe, &options->source.generate, &kept, seen);
        kept.engine = name;
        status = probe_keep(&kept, folders[0], err);
    }
    arena_release(&kept.arena);
    if (!found)
        status = quick_probe(options, engine, folders[0], &results, err);
    if (!found && !status)
        add_engine(probe, &options->source.generate, results, seen);
    if (results)
        probe_results_free(results, 1);
    free(name);
    return status;
}

int fuzz_probe_load(struct fuzz_probe *probe, const struct fuzz_options *options, struct error *err)
{
    char *kept = probe_folder(), *own = file_join(options->folder, "probe");
    /* What this machine has kept, the others that share a campaign may not have. */
    const char *const folders[] = {own, options->shared ? NULL : kept, NULL};
    struct map seen;
    int status = 0;
    map_init(&seen);
    *probe = (struct fuzz_probe){.all_lack = probe_support_new()};
    probe->lacks = memory_zeroed(options->panel->count + 1, sizeof *probe->lacks);
    for (size_t i = 0; i < options->panel->count && !status; i++)
        status = load_engine(probe, options, i, folders, &seen, err);
    map_release(&seen);
    free(kept);
    free(own);
    return status;
}

/* The text that the store keeps of an engine's results, as a file in the campaign's folder. */
static int write_shared(const char *path, const char *folder, const struct str *text, struct error *err)
{
    return file_make_folders(folder, err) || file_write(path, text->data, text->length, err) ? -1 : 0;
}

/* *same: false when the store has had others than the folder. */
static int share_engine(const char *folder, const char *path, const char *key, struct store *store,
                        bool *same, struct error *err)
{
    struct str agreed;
    char *own;
    size_t size;
    if (file_read(path, PROBE_FILE_LIMIT, &own, &size, err))
        return -1;
    str_init(&agreed);
    int status = store_agree(store, key, own, &agreed, err);
    if (!status && !text_equal(own, agreed.data)) {
        *same = false;
        status = write_shared(path, folder, &agreed, err);
    }
    str_release(&agreed);
    free(own);
    return status;
}

/* Before the probe: takes what the store has. After it: gives it what it lacks. */
static int share_all(const struct fuzz_options *options, struct store *store, bool before, bool *same,
                     struct error *err)
{
    char *folder = file_join(options->folder, "probe");
    int status = 0;
    *same = true;
    for (size_t i = 0; i < options->panel->count && !status; i++) {
        char *name = probe_engine(panel_engine(options->panel, i)), *path = probe_path(folder, name);
        struct str key, text;
        bool found = false;
        str_init(&key);
        str_init(&text);
        str_printf(&key, "probe %s", name);
        if (before)
            status = store_get(store, key.data, &text, &found, err);
        else
            status = share_engine(folder, path, key.data, store, same, err);
        if (!status && found)
            status = write_shared(path, folder, &text, err);
        str_release(&key);
        str_release(&text);
        free(path);
        free(name);
    }
    free(folder);
    return status;
}

int fuzz_probe_share(struct fuzz_probe *probe, const struct fuzz_options *options, struct store *store,
                     struct error *err)
{
    bool same;
    if (share_all(options, store, true, &same, err) || fuzz_probe_load(probe, options, err) ||
        share_all(options, store, false, &same, err))
        return -1;
    if (same)
        return 0;
    fuzz_probe_release(probe);
    return fuzz_probe_load(probe, options, err);
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
