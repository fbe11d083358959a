/* assay blocks: lists the blocks that the graph generator places, and cuts new ones out of models. */
#include "base/file.h"
#include "base/json.h"
#include "cli/common.h"
#include "generate/harvest.h"
#include "generate/plan.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    struct cli_list folders;
    bool operators;
    long long most;
};

static int open_blocks(const struct settings *settings, struct blocks **blocks, struct error *err)
{
    *blocks = blocks_new();
    int status = blocks_add_usual(*blocks, err);
    for (size_t i = 0; !status && i < settings->folders.count; i++)
        status = blocks_add_dir(*blocks, settings->folders.items[i], err);
    return status;
}

/* The first line of a block's text says what it is. */
static void add_summary(struct str *out, const struct block *block)
{
    const char *text = block->text;
    if (!text || text[0] != '#' || text[1] == ':')
        return;
    text += strspn(text, "# ");
    str_append(out, text, strcspn(text, "\n"));
}

static void add_ops(struct str *out, const struct block *block)
{
    for (size_t i = 0; i < block->n_ops; i++)
        str_printf(out, "%s%s", i ? " " : "", block->ops[i]->name);
}

static void list_text(const struct blocks *blocks, const struct settings *settings, struct str *out)
{
    struct table table;
    table_init(&table, "llll");
    table_head(&table, "block|opsets|operators|what it is");
    for (size_t i = 0; i < blocks_count(blocks); i++) {
        const struct block *block = blocks_at(blocks, i);
        struct str ops, summary;
        if (block->op && !settings->operators)
            continue;
        str_init(&ops);
        str_init(&summary);
        if (!block->op)
            add_ops(&ops, block);
        add_summary(&summary, block);
        table_add(&table, STYLE_PLAIN, "%s", block->name);
        table_add(&table, STYLE_PLAIN, "%d-%d", block->since, block->until);
        table_add(&table, STYLE_PLAIN, "%s", ops.data);
        table_add(&table, STYLE_DIM, "%s", summary.data);
        str_release(&ops);
        str_release(&summary);
    }
    table_print(&table, out, output_colour(&settings->common), 0);
    table_release(&table);
}

static void list_json(const struct blocks *blocks, const struct settings *settings, struct str *out)
{
    struct json json;
    output_json(&json, out, true);
    json_array(&json, "blocks");
    for (size_t i = 0; i < blocks_count(blocks); i++) {
        const struct block *block = blocks_at(blocks, i);
        struct str summary;
        if (block->op && !settings->operators)
            continue;
        str_init(&summary);
        add_summary(&summary, block);
        json_object(&json, NULL);
        json_string(&json, "name", block->name);
        json_string(&json, "kind", block->op ? "operator" : "subgraph");
        json_int(&json, "since", block->since);
        json_int(&json, "until", block->until);
        json_int(&json, "inputs", (long long)block->inputs);
        json_array(&json, "operators");
        for (size_t k = 0; k < block->n_ops; k++)
            json_string(&json, NULL, block->ops[k]->name);
        json_end(&json);
        json_string(&json, "summary", summary.data);
        json_end(&json);
        str_release(&summary);
    }
    json_end(&json);
    json_end(&json);
}

static int list(const struct settings *settings, struct str *out, struct error *err)
{
    struct blocks *blocks;
    int status = open_blocks(settings, &blocks, err);
    if (!status && settings->common.format == FORMAT_JSON)
        list_json(blocks, settings, out);
    else if (!status)
        list_text(blocks, settings, out);
    blocks_free(blocks);
    return status;
}

static int show(const struct settings *settings, const struct cli_list *words, struct str *out,
                struct error *err)
{
    struct blocks *blocks;
    int status = open_blocks(settings, &blocks, err);
    for (size_t i = 1; !status && i < words->count; i++) {
        const struct block *block = blocks_find(blocks, words->items[i]);
        if (!block)
            status = error_set(err, ERROR_NOT_FOUND, "there is no block '%s'; 'assay blocks list' lists them",
                               words->items[i]);
        else if (block->op)
            str_printf(out, "%s is an operator, %d to %d inputs, since opset %d\n", block->name,
                       block->op->inputs.least, block->op->inputs.most, block->since);
        else
            str_add(out, block->text);
    }
    blocks_free(blocks);
    return status;
}

/* ---- Harvest ---- */

struct gathering {
    struct harvest harvest;
    const struct settings *settings;
    size_t models, unread;
};

static int gather_file(struct gathering *g, const char *path, bool named, struct error *err)
{
    struct model *model = NULL;
    int status = model_load(&model, path, err);
    if (!status)
        status = harvest_model(&g->harvest, model, (size_t)g->settings->most, err);
    model_free(model);
    g->models += !status;
    g->unread += status != 0;
    /* One unreadable model in a folder of many is counted and does not end the harvest. */
    return named ? status : 0;
}

enum { FOLDER_DEPTH = 4, TEXT_LIMIT = 1 << 20 };

static int gather_path(struct gathering *g, const char *path, int depth, struct error *err)
{
    char **names;
    size_t count;
    if (!file_is_folder(path))
        return depth == 0 || text_ends(path, ".onnx") ? gather_file(g, path, depth == 0, err) : 0;
    if (depth > FOLDER_DEPTH || file_list(path, &names, &count, err))
        return depth > FOLDER_DEPTH ? 0 : -1;
    int status = 0;
    for (size_t i = 0; !status && i < count; i++) {
        char *child = file_join(path, names[i]);
        status = gather_path(g, child, depth + 1, err);
        free(child);
    }
    file_names_free(names, count);
    return status;
}

/* A repeated harvest writes the same files; one that somebody changed by hand is not overwritten. */
static int write_block(const struct folder *folder, const char *name, const char *text, bool force,
                       struct error *err)
{
    char *old = NULL;
    size_t size = 0;
    if (!force && folder_has(folder, name)) {
        if (folder_read(folder, name, TEXT_LIMIT, &old, &size, err) && err->code != ERROR_LIMIT)
            return -1;
        bool same = old && text_equal(old, text);
        free(old);
        return same ? 0
                    : error_set(
                          err, ERROR_IO,
                          "%s/%s exists and differs; name another folder, or use --force to overwrite it",
                          folder->path, name);
    }
    return folder_write(folder, name, text, strlen(text), err);
}

static int write_blocks(const struct gathering *g, struct error *err)
{
    struct folder folder;
    int status = folder_make(&folder, USERS_PATH, g->settings->common.output, err);
    for (size_t i = 0; i < g->harvest.count && !status; i++) {
        const struct harvested *block = &g->harvest.blocks[i];
        struct str name;
        str_init(&name);
        str_printf(&name, "%s.onnxtxt", block->name);
        status = write_block(&folder, name.data, block->text, g->settings->common.force, err);
        str_release(&name);
    }
    folder_close(&folder);
    return status;
}

static void tell_harvest(const struct gathering *g, struct str *out)
{
    const struct harvest *h = &g->harvest;
    if (g->settings->common.format == FORMAT_JSON) {
        struct json json;
        output_json(&json, out, true);
        json_int(&json, "models", (long long)g->models);
        json_int(&json, "unreadable", (long long)g->unread);
        json_int(&json, "refused", (long long)h->refused);
        json_array(&json, "blocks");
        for (size_t i = 0; i < h->count; i++) {
            json_object(&json, NULL);
            json_string(&json, "name", h->blocks[i].name);
            json_int(&json, "nodes", (long long)h->blocks[i].nodes);
            json_int(&json, "seen", (long long)h->blocks[i].seen);
            json_end(&json);
        }
        json_end(&json);
        json_end(&json);
        return;
    }
    for (size_t i = 0; i < h->count; i++)
        str_printf(out, "%s: %zu nodes, seen %zu times\n", h->blocks[i].name, h->blocks[i].nodes,
                   h->blocks[i].seen);
    str_printf(out, "%zu blocks from %zu models into %s (%zu models unreadable, %zu structures not usable)\n",
               h->count, g->models, g->settings->common.output, g->unread, h->refused);
}

static int harvest(const struct settings *settings, const struct cli_list *words, struct str *out,
                   struct error *err)
{
    struct gathering g = {.settings = settings};
    if (words->count < 2 || !settings->common.output)
        return error_set(err, ERROR_USAGE,
                         "harvest needs models and a folder: assay blocks harvest MODEL... -o DIR");
    harvest_init(&g.harvest);
    int status = 0;
    for (size_t i = 1; !status && i < words->count; i++)
        status = gather_path(&g, words->items[i], 0, err);
    if (!status && !g.models)
        status = error_set(err, ERROR_NOT_FOUND,
                           "there is no readable model in %s; give .onnx files, or folders of them",
                           words->items[1]);
    if (!status)
        status = write_blocks(&g, err);
    if (!status)
        tell_harvest(&g, out);
    harvest_release(&g.harvest);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    const char *verb = words->count ? words->items[0] : "list";
    struct common common = settings->common;
    struct str out;
    int status;
    str_init(&out);
    bool show_it = strcmp(verb, "show") == 0; /* a file that can be placed again */
    if (strcmp(verb, "harvest") != 0 && output_check(&common, err)) {
        status = -1;
    } else if (strcmp(verb, "list") == 0 && words->count < 2) {
        status = list(settings, &out, err);
    } else if (show_it && words->count > 1) {
        status = show(settings, words, &out, err);
    } else if (strcmp(verb, "harvest") == 0) {
        status = harvest(settings, words, &out, err);
        common.output = NULL; /* the blocks went there */
    } else {
        status = error_set(err, ERROR_USAGE,
                           "blocks takes one of list, show NAME... and harvest MODEL... -o DIR, not '%s%s'",
                           verb, words->count > 1 ? " ..." : "");
    }
    if (!status)
        status = show_it ? output_write_plain(&common, &out, err) : output_write(&common, &out, err);
    str_release(&out);
    return status ? -1 : STATUS_AGREE;
}

static const struct cli_option options[] = {
    {0, "blocks", OPTION_LIST, "DIR", offsetof(struct settings, folders),
     "also read subgraphs from DIR (list, show); repeatable"},
    {0, "operators", OPTION_FLAG, NULL, offsetof(struct settings, operators), "also list the operators"},
    {0, "most", OPTION_SEVERAL, "N", offsetof(struct settings, most),
     "harvest at most N blocks (default: all)"},
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the result is written"},
    {'o', "output", OPTION_TEXT, "PATH", offsetof(struct settings, common.output),
     "write the list to PATH instead of stdout; harvest: the folder for the blocks"},
    COMMON_FORCE(struct settings,
                 "overwrite a file that Assay did not write; harvest: also blocks that differ"),
};

const struct command command_blocks = {
    .name = "blocks",
    .summary = "list the blocks of the graph generator, or harvest more from models",
    .words = "list|show|harvest",
    .usage = "[list | show NAME... | harvest MODEL... -o DIR]",
    .about =
        "A block is an operator, or a subgraph in a text file; 'assay fuzz' places blocks in random graphs.\n"
        "harvest cuts connected subgraphs of 2 to 12 nodes out of ONNX models (files, or folders of them),\n"
        "each structure once, makes their sizes variable and writes one file for each. Blocks are also read\n"
        "from the folders in ASSAY_BLOCKS (A:B:C). docs/blocks.md explains how to write one.\n",
    .examples = "  assay blocks list\n"
                "  assay blocks show attention\n"
                "  assay blocks harvest resnet50.onnx bert/ -o my-blocks\n"
                "  ASSAY_BLOCKS=my-blocks assay fuzz -e onnxruntime -o campaign\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
