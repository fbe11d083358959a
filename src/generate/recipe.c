#include "generate/recipe.h"

#include "generate/operator_case.h"
#include "generate/plan.h"
#include "generate/sweep.h"

#include "base/memory.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool recipe_skips(const char *list, size_t number)
{
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strtoull(at, NULL, 10) == number)
            return true;
    return false;
}

void recipe_options(struct str *s, const struct generate_options *options)
{
    if (options->ops)
        str_printf(s, " ops=%s", options->ops);
    if (options->opset)
        str_printf(s, " opset=%d", options->opset);
    if (options->max_opset)
        str_printf(s, " max_opset=%d", options->max_opset);
    if (options->types) {
        const char *before = " types=";
        for (int type = 1; type < DTYPE_COUNT; type++)
            if (dtype_in((enum dtype)type, options->types)) {
                str_printf(s, "%s%s", before, dtype_name((enum dtype)type));
                before = ",";
            }
    }
    if (options->rank)
        str_printf(s, " rank=%d", options->rank - 1);
    if (options->given) {
        str_add(s, " inputs=");
        for (uint32_t rest = options->given; rest; rest >>= 1)
            str_add(s, rest & 1 ? "1" : "0");
    }
    if (options->sizes)
        str_printf(s, " sizes=%s", sizes_name(options->sizes));
    if (options->constants)
        str_printf(s, " constants=%s", constants_name(options->constants));
    if (options->fill)
        str_printf(s, " fill=%s", fill_name((enum fill)(options->fill - 1)));
    if (options->illegal)
        str_add(s, " illegal");
    if (options->gradients)
        str_add(s, " gradients");
    if (options->show)
        str_add(s, " show");
    if (options->min_nodes || options->max_nodes)
        str_printf(s, " nodes=%d..%d", options->min_nodes, options->max_nodes);
    if (options->skip && *options->skip)
        str_printf(s, " skip=%s", options->skip);
}

char *recipe_text(const char *kind, uint64_t seed, uint64_t index, const struct generate_options *options)
{
    struct str s;
    str_init(&s);
    str_printf(&s, "%s seed=%" PRIu64 " index=%" PRIu64, kind, seed, index);
    recipe_options(&s, options);
    char *text = str_detach(&s);
    str_release(&s);
    return text;
}

static int parse_number(const char *text, uint64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    *number = strtoull(text, &end, 10);
    return *end ? -1 : 0;
}

static int parse_types(char *text, dtype_set *types)
{
    char *rest = NULL;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        enum dtype type = dtype_from_name(name);
        if (type == DTYPE_NONE)
            return -1;
        *types |= DTYPE_BIT(type);
    }
    return 0;
}

static int parse_fill(const char *text, int *fill)
{
    for (int i = 0; i < FILL_COUNT; i++)
        if (strcmp(text, fill_name((enum fill)i)) == 0) {
            *fill = i + 1;
            return 0;
        }
    return -1;
}

static int parse_sizes(const char *text, enum draw_sizes *sizes)
{
    for (*sizes = SIZES_EMPTY; *sizes < SIZES_COUNT && !text_equal(text, sizes_name(*sizes));)
        ++*sizes;
    return *sizes < SIZES_COUNT ? 0 : -1;
}

static int parse_constants(const char *text, enum draw_constants *constants)
{
    for (*constants = CONSTANTS_ALL;
         *constants < CONSTANTS_COUNT && !text_equal(text, constants_name(*constants));)
        ++*constants;
    return *constants < CONSTANTS_COUNT ? 0 : -1;
}

static int parse_small(const char *text, int *number)
{
    uint64_t value;
    if (parse_number(text, &value) || value > 1000)
        return -1;
    *number = (int)value;
    return 0;
}

static int parse_nodes(char *text, struct generate_options *options)
{
    char *dots = strstr(text, "..");
    if (!dots)
        return -1;
    *dots = 0;
    return parse_small(text, &options->min_nodes) || parse_small(dots + 2, &options->max_nodes) ? -1 : 0;
}

static int parse_inputs(const char *text, uint32_t *given)
{
    if (strlen(text) > 32 || strspn(text, "01") != strlen(text))
        return -1;
    for (size_t i = 0; text[i]; i++)
        *given |= (uint32_t)(text[i] == '1') << i;
    return *given ? 0 : -1;
}

static int parse_rank(const char *text, int *rank)
{
    if (parse_small(text, rank))
        return -1;
    ++*rank;
    return 0;
}

static int parse_flag(const char *word, struct generate_options *options)
{
    struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"illegal", &options->illegal}, {"gradients", &options->gradients}, {"show", &options->show}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].flag = true;
            return 0;
        }
    return -1;
}

static int parse_word(char *word, uint64_t *seed, uint64_t *index, struct generate_options *options)
{
    char *value = strchr(word, '=');
    if (!value)
        return parse_flag(word, options);
    *value++ = 0;
    if (strcmp(word, "seed") == 0)
        return parse_number(value, seed);
    if (strcmp(word, "index") == 0)
        return parse_number(value, index);
    if (strcmp(word, "opset") == 0)
        return parse_small(value, &options->opset);
    if (strcmp(word, "max_opset") == 0)
        return parse_small(value, &options->max_opset);
    if (strcmp(word, "types") == 0)
        return parse_types(value, &options->types);
    if (strcmp(word, "fill") == 0)
        return parse_fill(value, &options->fill);
    if (strcmp(word, "rank") == 0)
        return parse_rank(value, &options->rank);
    if (strcmp(word, "sizes") == 0)
        return parse_sizes(value, &options->sizes);
    if (strcmp(word, "constants") == 0)
        return parse_constants(value, &options->constants);
    if (strcmp(word, "inputs") == 0)
        return parse_inputs(value, &options->given);
    if (strcmp(word, "skip") == 0) {
        options->skip = value;
        return strspn(value, "0123456789,") == strlen(value) ? 0 : -1;
    }
    if (strcmp(word, "nodes") == 0)
        return parse_nodes(value, options);
    if (strcmp(word, "ops") != 0)
        return -1;
    options->ops = value;
    return 0;
}

/* Reads the words of a plan recipe: those of all recipes, and those of the plan. */
static int make_plan(char *rest, struct test_case **out, struct error *err)
{
    struct generate_options options = {0};
    struct plan plan = {0};
    uint64_t seed = 0, index = 0;
    struct blocks *blocks = blocks_new();
    int result = blocks_add_usual(blocks, err);
    for (char *word = strtok_r(rest, " ", &rest); !result && word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        char *kept = memory_strdup(word);
        if (value)
            *value++ = 0;
        error_clear(err);
        result = plan_parse_word(&plan, word, value, blocks, err);
        if (result && err->code == ERROR_NONE) {
            /* The reader of common words keeps pointers into the recipe. */
            if (value)
                value[-1] = '=';
            result = parse_word(word, &seed, &index, &options);
        }
        if (result && err->code == ERROR_NONE)
            error_set(err, ERROR_USAGE, "'%s' is not a valid word of a recipe", kept);
        free(kept);
    }
    plan.opset = options.opset;
    plan.fill = options.fill;
    if (!result && !plan.n_blocks)
        result = error_set(err, ERROR_USAGE, "a plan needs blocks=NAME,...");
    if (!result)
        result = generate_plan(seed, index, &plan, &options, out, err);
    blocks_free(blocks);
    return result;
}

/* Reads the words of a sweep: those of all recipes, and its own. One operator, one type and an opset are
 * needed. */
static int make_sweep(char *rest, struct test_case **out, struct error *err)
{
    struct generate_options options = {0};
    struct sweep sweep = {0};
    int result = 0;
    for (char *word = strtok_r(rest, " ", &rest); !result && word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (sweep_parse_word(&sweep, word, value) == 0)
            continue;
        if (value)
            value[-1] = '=';
        result = parse_word(word, &sweep.seed, &sweep.index, &options);
    }
    sweep.op = options.ops ? op_find(options.ops) : NULL;
    sweep.opset = options.opset;
    while (sweep.type < DTYPE_COUNT && DTYPE_BIT(sweep.type) != options.types)
        sweep.type++;
    if (result || !sweep.op || sweep.op->each.rule == EACH_OTHER || sweep.type == DTYPE_COUNT ||
        sweep.opset < OPSET_FIRST || sweep.opset > OPSET_NEWEST)
        return error_set(err, ERROR_USAGE, "a sweep needs ops=NAME types=TYPE opset=N form=run|image|...");
    return sweep_make(&sweep, out, err);
}

int generate_recipe(const char *recipe, struct test_case **out, struct error *err)
{
    struct generate_options options = {0};
    uint64_t seed = 0, index = 0;
    char *text = memory_strdup(recipe), *rest = NULL, *kind = strtok_r(text, " ", &rest);
    int result = kind ? 0 : -1;
    *out = NULL;
    if (kind && (strcmp(kind, "plan") == 0 || strcmp(kind, "sweep") == 0)) {
        result = strcmp(kind, "plan") == 0 ? make_plan(rest, out, err) : make_sweep(rest, out, err);
        free(text);
        return result;
    }
    for (char *word = strtok_r(NULL, " ", &rest); !result && word; word = strtok_r(NULL, " ", &rest))
        result = parse_word(word, &seed, &index, &options);
    if (!result && strcmp(kind, "one") == 0)
        result = generate_one(seed, index, &options, out, err);
    else if (!result && strcmp(kind, "graph") == 0)
        result = generate_graph(seed, index, &options, out, err);
    else
        result = error_set(err, ERROR_USAGE, "'%s' is not a recipe", recipe);
    free(text);
    return result;
}
