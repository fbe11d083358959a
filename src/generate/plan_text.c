/* The words of a recipe that belong to a plan (plan_print, plan_parse_word). */
#include "base/str.h"
#include "generate/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_rate(struct str *text, const char *name, double rate)
{
    if (rate > 0)
        str_printf(text, " %s=%.9g", name, rate);
}

void plan_print(const struct plan *plan, struct str *text)
{
    str_printf(text, " topology=%s", topology_name(plan->topology));
    if (plan->topology != TOPOLOGY_LINE)
        str_printf(text, " k=%d p=%.9g", plan->k, plan->p);
    for (size_t i = 0; mutations[i].name; i++)
        print_rate(text, mutations[i].name, plan->rates[i]);
    str_add(text, plan->reshape ? " reshape" : "");
    str_add(text, plan->reparam ? " reparam" : "");
    if (plan->fill)
        str_printf(text, " fill=%s", fill_name((enum fill)(plan->fill - 1)));
    if (plan->opset)
        str_printf(text, " opset=%d", plan->opset);
    for (size_t i = 0; i < plan->n_blocks; i++) {
        str_add(text, i ? "," : " blocks=");
        str_add(text, plan->blocks[i]->name);
        if (plan->blocks[i]->graph)
            str_printf(text, "@%08" PRIx32, (uint32_t)plan->blocks[i]->hash);
    }
}

static int parse_rate(const char *value, double least, double most, double *rate)
{
    return value && text_double(value, rate) && *rate >= least && *rate <= most ? 0 : -1;
}

static int parse_block(struct plan *plan, char *name, const struct blocks *blocks, struct error *err)
{
    char *hash = strchr(name, '@');
    if (hash)
        *hash++ = 0;
    const struct block *block = blocks_find(blocks, name);
    if (!block)
        return error_set(err, ERROR_NOT_FOUND, "there is no block '%s': name its folder in ASSAY_BLOCKS",
                         name);
    if (hash && (uint32_t)block->hash != strtoul(hash, NULL, 16))
        return error_set(err, ERROR_NOT_FOUND, "block '%s' is not the one that the recipe was made with",
                         name);
    if (plan->n_blocks == PLAN_BLOCKS)
        return error_set(err, ERROR_LIMIT, "a plan has at most %d blocks", PLAN_BLOCKS);
    plan->blocks[plan->n_blocks++] = block;
    return 0;
}

static int parse_blocks(struct plan *plan, const char *value, const struct blocks *blocks, struct error *err)
{
    int result = 0;
    while (!result && *value) {
        char name[200];
        size_t length = strcspn(value, ",");
        if (length == 0 || length >= sizeof name)
            return error_set(err, ERROR_USAGE, "'%s' is not a list of blocks", value);
        memcpy(name, value, length);
        name[length] = 0;
        result = parse_block(plan, name, blocks, err);
        value += length;
        value += *value == ',';
    }
    return result;
}

int plan_parse_word(struct plan *plan, const char *word, const char *value, const struct blocks *blocks,
                    struct error *err)
{
    double number = 0;
    if (!value && strcmp(word, "reshape") == 0)
        return plan->reshape = true, 0;
    if (!value && strcmp(word, "reparam") == 0)
        return plan->reparam = true, 0;
    if (!value)
        return -1;
    if (strcmp(word, "topology") == 0)
        return topology_from_name(value, &plan->topology);
    if (strcmp(word, "k") == 0) {
        int result = parse_rate(value, 0, DIGRAPH_NODES, &number);
        plan->k = (int)number;
        return result;
    }
    if (strcmp(word, "p") == 0)
        return parse_rate(value, 0, 1, &plan->p);
    for (size_t i = 0; mutations[i].name; i++)
        if (strcmp(word, mutations[i].name) == 0)
            return parse_rate(value, 0, mutations[i].most, &plan->rates[i]);
    return strcmp(word, "blocks") == 0 ? parse_blocks(plan, value, blocks, err) : -1;
}
