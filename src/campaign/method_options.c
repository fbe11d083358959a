#include "campaign/method_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bool fraction; /* a double, else a size_t */
    size_t offset;
    double low, high;
} words[] = {
    {"candidates", false, offsetof(struct fuzz_source_options, candidates), 1, 16},
    {"exploration", true, offsetof(struct fuzz_source_options, mcts.exploration), 1e-9, 100},
    {"depth", false, offsetof(struct fuzz_source_options, mcts.depth), 1, MCTS_MAX_DEPTH},
    {"explore", false, offsetof(struct fuzz_source_options, mcts.explore), 1, 1000000},
    {"children", false, offsetof(struct fuzz_source_options, mcts.children), 1, 1000000},
    {"root-children", false, offsetof(struct fuzz_source_options, mcts.root_children), 1, 1000000},
    {"vectors", false, offsetof(struct fuzz_source_options, coverage.n_max), 1, 1000000},
    {"weight-otc", true, offsetof(struct fuzz_source_options, coverage.weights[0]), 0, 1000},
    {"weight-idc", true, offsetof(struct fuzz_source_options, coverage.weights[1]), 0, 1000},
    {"weight-odc", true, offsetof(struct fuzz_source_options, coverage.weights[2]), 0, 1000},
    {"weight-sec", true, offsetof(struct fuzz_source_options, coverage.weights[3]), 0, 1000},
    {"weight-spc", true, offsetof(struct fuzz_source_options, coverage.weights[4]), 0, 1000},
    {"blind", false, offsetof(struct fuzz_source_options, blind), 0, 1},
};
enum { WORDS = sizeof words / sizeof *words };

struct word {
    char name[32], value[32];
    bool has_value;
};

/* Takes the next word of the list and goes past it; false at its end, and where it is too long to be one. */
static bool next_word(const char **at, struct word *word)
{
    size_t length = strcspn(*at, ","), equals = strcspn(*at, "=,");
    word->has_value = equals < length;
    size_t value = word->has_value ? length - equals - 1 : 0;
    if (!length || equals >= sizeof word->name || value >= sizeof word->value)
        return false;
    snprintf(word->name, sizeof word->name, "%.*s", (int)equals, *at);
    snprintf(word->value, sizeof word->value, "%.*s", (int)value, *at + length - value);
    *at += length;
    *at += **at == ',';
    return true;
}

static bool set_word(struct fuzz_source_options *options, const struct word *word)
{
    for (size_t i = 0; i < WORDS; i++) {
        double number;
        void *member = (char *)options + words[i].offset;
        if (!text_equal(word->name, words[i].name))
            continue;
        if (!text_double(word->value, &number) || !(number >= words[i].low && number <= words[i].high))
            return false;
        if (words[i].fraction)
            *(double *)member = number;
        else
            *(size_t *)member = (size_t)number;
        return words[i].fraction || number == (double)(size_t)number;
    }
    return false;
}

/* The words of mutations that are there or not: "reshape=0" and "reshape=1" ("reshape" alone is a plan's own
 * word). */
static bool set_switch(struct plan *plan, const struct word *word)
{
    bool *member = text_equal(word->name, "reshape")   ? &plan->reshape
                   : text_equal(word->name, "reparam") ? &plan->reparam
                                                       : NULL;
    if (!member || !word->has_value || (!text_equal(word->value, "0") && !text_equal(word->value, "1")))
        return false;
    *member = word->value[0] == '1';
    return true;
}

static bool set_plan(struct plan *plan, const struct word *word)
{
    if (set_switch(plan, word))
        return true;
    struct error err;
    return !text_equal(word->name, "blocks") &&
           !plan_parse_word(plan, word->name, word->has_value ? word->value : NULL, NULL, &err);
}

static int refuse(const char *text, struct error *err)
{
    struct str known;
    str_init(&known);
    for (size_t i = 0; i < WORDS; i++)
        str_printf(&known, "%s=%g..%g, ", words[i].name, words[i].low, words[i].high);
    for (size_t i = 0; mutations[i].name; i++)
        str_printf(&known, "%s=0..%g, ", mutations[i].name, mutations[i].most);
    int status = error_set(
        err, ERROR_USAGE,
        "--method-options: '%.*s' is none of %stopology=line|ws|rn, k=N, p=0..1, reshape=0|1, reparam=0|1",
        (int)strcspn(text, ","), text, known.data);
    str_release(&known);
    return status;
}

int method_options_read(struct fuzz_source_options *options, const char *text, struct error *err)
{
    struct word word;
    struct plan plan = {0};
    for (const char *at = text; at && *at;) {
        const char *start = at;
        if (!next_word(&at, &word) || (!set_word(options, &word) && !set_plan(&plan, &word)))
            return refuse(start, err);
    }
    options->method = text;
    return 0;
}

void method_options_plan(struct plan *plan, const char *text)
{
    struct word word;
    for (const char *at = text ? text : ""; *at && next_word(&at, &word);)
        set_plan(plan, &word);
}
