#include "campaign/fuzz_source.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "campaign/fuzz.h"
#include "campaign/method_options.h"
#include "generate/case_maker.h"
#include "generate/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Attempts at one case: its own numbers as indices of generators, so that no two cases share one. */
enum {
    ATTEMPTS = 64,
    REDRAWS = 3,
    MOST_CANDIDATES = 16,
    FEWEST_BLOCKS = 2,
    MOST_BLOCKS = 15,
    RULE_TRIES = 30,
    CHOICES = 16, /* draws of the arms of a single operator, each with so many numbers of its own: */
    NUMBERS = ATTEMPTS / CHOICES
};

/* While blocks lack more than this on average, guidance draws none without asking for its need. */
static const double enough = 0.1;

struct fuzz_source {
    struct fuzz_source_options options;
    struct coverage *coverage;
    struct coverage *before; /* at the last mark; NULL: there was none */
    struct mcts *mcts;       /* NULL: without guidance */
    struct blocks *blocks;
    const struct block **allowed; /* those that the options allow */
    size_t n_allowed;
    size_t *ops;       /* rows of coverage of the allowed blocks, one block's behind the other's */
    double *needs;     /* running sum over the allowed blocks; see weigh_needs */
    double guided;     /* chance of a block to be drawn by its need */
    struct str single; /* with only_blocks: the allowed operators, "A,B", for cases of one operator */
    struct coverage_record records[2]; /* of the best candidate so far, and of the one at hand */
    int best;
    struct yield yield, yield_before;       /* at the last mark */
    bool drawable[YIELD_OPERATORS];         /* rows that single operators by yield are drawn of */
    struct fuzz_origin origins[RANGE_MOST]; /* of each case of the range */
};

const char *fuzz_strategy_name(enum fuzz_strategy strategy)
{
    static const char *const names[] = {
        [FUZZ_RANDOM] = "random", [FUZZ_MCTS] = "mcts", [FUZZ_YIELD] = "yield", [FUZZ_LISTED] = "listed"};
    return names[strategy];
}

/* Whether some engine has the operator, for some type, at an opset. */
static bool there_at(const struct fuzz_source *source, const struct op *op, int opset)
{
    const struct probe_support *lack = source->options.all_lack;
    dtype_set types = op_types_at(op, opset);
    for (int type = 1; type < DTYPE_COUNT; type++)
        if (dtype_in((enum dtype)type, types) && !(lack && probe_lacks(lack, op, (enum dtype)type, opset)))
            return true;
    return false;
}

static bool there(const struct fuzz_source *source, const struct op *op)
{
    for (int opset = OPSET_FIRST; opset <= OPSET_NEWEST; opset++)
        if (there_at(source, op, opset))
            return true;
    return false;
}

/* No opset beyond the last one of which some engine knows an operator. */
static void limit_opset(struct fuzz_source *source)
{
    struct generate_options *generate = &source->options.generate;
    int last = generate->max_opset ? generate->max_opset : OPSET_LAST;
    bool found = false;
    for (; last > OPSET_FIRST && !found; last -= !found)
        for (size_t i = 0; i < op_count() && !found; i++)
            found = there_at(source, op_at(i), last);
    if (last < OPSET_LAST)
        generate->max_opset = last;
}

/* Whether the options allow every operator of a block, and an engine has it. */
static bool allowed(const struct fuzz_source *source, const struct block *block)
{
    for (size_t i = 0; i < block->n_ops; i++)
        if (!options_allow(&source->options.generate, block->ops[i]) || !there(source, block->ops[i]))
            return false;
    return true;
}

/* The corpus is the operators of all blocks that may be placed; the tree chooses among the same blocks. */
static void collect_blocks(struct fuzz_source *source)
{
    size_t count = blocks_count(source->blocks);
    source->allowed = memory_zeroed(count + 1, sizeof(struct block *));
    for (size_t i = 0; i < count; i++) {
        const struct block *block = blocks_at(source->blocks, i);
        if (!allowed(source, block))
            continue;
        source->allowed[source->n_allowed++] = block;
        for (size_t k = 0; k < block->n_ops; k++)
            coverage_add_row(source->coverage, block->ops[k]);
    }
}

static int open_blocks(struct blocks **blocks, const struct fuzz_source_options *options, struct error *err)
{
    *blocks = blocks_new();
    if (blocks_add_usual(*blocks, err))
        return -1;
    return options->only_blocks ? blocks_keep(*blocks, options->only_blocks, err) : 0;
}

int fuzz_source_operators(const struct fuzz_source_options *options, struct arena *arena, const char **ops,
                          struct error *err)
{
    struct blocks *blocks;
    struct str names;
    bool *seen = memory_zeroed(op_count() + 1, sizeof *seen);
    int status = open_blocks(&blocks, options, err);
    str_init(&names);
    for (size_t i = 0; i < blocks_count(blocks) && !status; i++)
        for (size_t k = 0; k < blocks_at(blocks, i)->n_ops; k++) {
            const struct op *op = blocks_at(blocks, i)->ops[k];
            size_t row = 0;
            while (row < op_count() && op_at(row) != op)
                row++;
            if (!seen[row] && options_allow(&options->generate, op))
                str_printf(&names, "%s%s", names.length ? "," : "", op->name);
            seen[row] = true;
        }
    *ops = arena_strdup(arena, names.data);
    str_release(&names);
    free(seen);
    blocks_free(blocks);
    return status;
}

static void list_single(struct fuzz_source *source)
{
    for (size_t i = 0; i < source->n_allowed && source->options.only_blocks; i++)
        if (source->allowed[i]->op)
            str_printf(&source->single, "%s%s", source->single.length ? "," : "", source->allowed[i]->name);
}

/* What single operators are drawn of: opsets and types that were not asked for are no limit. */
static struct generate_options single_options(const struct fuzz_source *source,
                                              const struct generate_options *generate)
{
    struct generate_options single = *generate;
    if (source->options.only_blocks)
        single.ops = source->single.data;
    return single;
}

static int newest_opset(const struct fuzz_source *source)
{
    int most = source->options.generate.max_opset;
    return most ? most : OPSET_NEWEST;
}

static void list_drawable(struct fuzz_source *source)
{
    for (size_t i = 0; i < op_count() && i < YIELD_OPERATORS; i++) {
        struct generate_options single = single_options(source, &source->options.generate);
        if (!single.ops)
            single.ops = op_at(i)->name;
        source->drawable[i] = options_allow(&single, op_at(i)) && there(source, op_at(i));
    }
}

static void plant_tree(struct fuzz_source *source)
{
    size_t count = 0, capacity = 0;
    source->mcts = mcts_new(&source->options.mcts, source->coverage);
    source->needs = memory_zeroed(source->n_allowed + 1, sizeof *source->needs);
    for (size_t i = 0; i < source->n_allowed; i++) {
        const struct block *block = source->allowed[i];
        source->ops = memory_grow(source->ops, &capacity, count + block->n_ops, sizeof *source->ops);
        for (size_t k = 0; k < block->n_ops; k++)
            coverage_find(source->coverage, block->ops[k]->name, &source->ops[count + k]);
        mcts_add_block(source->mcts, block->n_ops, &source->ops[count]);
        count += block->n_ops;
    }
}

/*
 * What each block's operators still lack of shapes and parameters, on average; squared, so that what lacks
 * most comes first. It is what more nodes of an operator surely bring: edges and degrees come along.
 */
static void weigh_needs(struct fuzz_source *source)
{
    double sum = 0, plain = 0;
    const size_t *op = source->ops;
    for (size_t i = 0; i < source->n_allowed; i++) {
        double need = 0;
        size_t n = source->allowed[i]->n_ops;
        for (size_t k = 0; k < n; k++)
            need += 1 - coverage_spc(source->coverage, *op++);
        need = n ? need / (double)n : 0;
        plain += need;
        source->needs[i] = sum += need * need;
    }
    /* Squared once more: a single operator that can have no variety (If) shall not stand everywhere. */
    double lacking = fmin(1, plain / (double)source->n_allowed / enough);
    source->guided = lacking * lacking;
}

/* A block by its need; NULL when nothing is lacking. */
static const struct block *needed_block(const struct fuzz_source *source, struct rng *rng)
{
    size_t low = 0, high = source->n_allowed;
    double at = rng_uniform(rng, 0, source->needs[high - 1]);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (source->needs[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < source->n_allowed ? source->allowed[low] : NULL;
}

int fuzz_source_new(struct fuzz_source **out, const struct fuzz_source_options *options, struct error *err)
{
    struct fuzz_source *source = memory_zeroed(1, sizeof *source);
    source->options = *options;
    if (!options->candidates || options->candidates > MOST_CANDIDATES)
        source->options.candidates = 1;
    source->coverage = coverage_new(&options->coverage);
    coverage_record_init(&source->records[0]);
    coverage_record_init(&source->records[1]);
    limit_opset(source);
    str_init(&source->single);
    *out = NULL;
    if (open_blocks(&source->blocks, options, err)) {
        fuzz_source_free(source);
        return -1;
    }
    collect_blocks(source);
    list_single(source);
    list_drawable(source);
    if (options->strategy == FUZZ_MCTS)
        plant_tree(source);
    *out = source;
    if (source->n_allowed)
        return 0;
    fuzz_source_free(source);
    *out = NULL;
    return error_set(err, ERROR_NOT_FOUND, "the options leave no operator to draw");
}

void fuzz_source_free(struct fuzz_source *source)
{
    if (!source)
        return;
    coverage_free(source->coverage);
    coverage_free(source->before);
    mcts_free(source->mcts);
    free(source->allowed);
    free(source->ops);
    free(source->needs);
    str_release(&source->single);
    blocks_free(source->blocks);
    coverage_record_release(&source->records[0]);
    coverage_record_release(&source->records[1]);
    free(source);
}

/* Engines take turns; the turn behind the last is everybody's: then only what all lack is avoided. */
static void avoid(const struct fuzz_source *source, uint64_t index, struct generate_options *generate)
{
    const struct fuzz_source_options *o = &source->options;
    size_t turn = o->all_lack ? index % (o->n_engines + 1) : 0;
    if (!o->all_lack)
        return;
    generate->lacks = probe_lacks_any;
    generate->lacks_context = turn < o->n_engines ? o->lacks[turn] : o->all_lack;
}

/* First and last opset of each arm. */
static const int opsets[YIELD_OPSETS][2] = {
    [OPSETS_OLD] = {OPSET_FIRST, 12},
    [OPSETS_MIDDLE] = {13, 17},
    [OPSETS_LAST] = {18, OPSET_LAST},
    [OPSETS_NEWER] = {OPSET_LAST + 1, OPSET_NEWEST},
};

static const dtype_set types[YIELD_TYPES_ARMS] = {
    [TYPES_HALF] = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16),
    [TYPES_DOUBLE] = DTYPE_BIT(DTYPE_DOUBLE),
    [TYPES_BYTES] = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT16) |
                    DTYPE_BIT(DTYPE_UINT16) | DTYPE_BIT(DTYPE_BOOL),
    [TYPES_WORDS] =
        DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_UINT64),
    [TYPES_NARROW] = DTYPES_NARROW,
};

static bool choose_opset(const struct fuzz_source *source, const struct op *op, struct rng *rng,
                         struct generate_options *single, struct yield_choice *choice)
{
    bool allowed[YIELD_OPSETS], any = false;
    int low[YIELD_OPSETS], high[YIELD_OPSETS];
    for (size_t i = 0; i < YIELD_OPSETS; i++) {
        int since = op_drawn_since(op), newest = newest_opset(source), asked = single->opset;
        low[i] = asked ? asked : opsets[i][0] > since ? opsets[i][0] : since;
        high[i] = asked ? asked : opsets[i][1] < newest ? opsets[i][1] : newest;
        allowed[i] = low[i] <= high[i] && low[i] >= opsets[i][0] && high[i] <= opsets[i][1] &&
                     yield_is_there(&source->yield, choice->arm[YIELD_OPERATOR], YIELD_OPSET, i);
        any |= allowed[i];
    }
    if (!any)
        return false;
    size_t arm = choice->arm[YIELD_OPSET] = yield_choose(&source->yield, YIELD_OPSET, allowed, rng);
    single->opset = (int)rng_range(rng, low[arm], high[arm]);
    return true;
}

static bool choose_types(const struct fuzz_source *source, const struct op *op, struct rng *rng,
                         struct generate_options *single, struct yield_choice *choice)
{
    bool allowed[YIELD_TYPES_ARMS] = {false}, any = false;
    for (size_t i = 0; i < (single->types ? 1 : YIELD_TYPES_ARMS); i++) {
        allowed[i] = op_drawn_types(op, single->opset, single->types ? single->types : types[i]) &&
                     yield_is_there(&source->yield, choice->arm[YIELD_OPERATOR], YIELD_TYPES, i);
        any |= allowed[i];
    }
    if (!any)
        return false;
    size_t arm = choice->arm[YIELD_TYPES] = yield_choose(&source->yield, YIELD_TYPES, allowed, rng);
    if (arm != TYPES_USUAL)
        single->types = types[arm];
    return true;
}

/* Draws an operator and how its case is to be; false where there is no such case. */
static bool choose_single(const struct fuzz_source *source, struct rng *rng, struct generate_options *single,
                          struct yield_choice *choice)
{
    static const bool all[] = {true, true, true, true};
    const struct yield *yield = &source->yield;
    size_t row = choice->arm[YIELD_OPERATOR] = yield_choose(yield, YIELD_OPERATOR, source->drawable, rng);
    const struct op *op = op_at(row);
    single->ops = op->name;
    if (!choose_opset(source, op, rng, single, choice) || !choose_types(source, op, rng, single, choice))
        return false;
    choice->arm[YIELD_SIZES] = yield_choose(yield, YIELD_SIZES, all, rng);
    choice->arm[YIELD_CONSTANTS] = yield_choose(yield, YIELD_CONSTANTS, all, rng);
    choice->arm[YIELD_FILL] = yield_choose(yield, YIELD_FILL, all, rng);
    single->sizes = (enum draw_sizes)choice->arm[YIELD_SIZES];
    single->constants = (enum draw_constants)choice->arm[YIELD_CONSTANTS];
    if (!single->fill)
        single->fill = (int)choice->arm[YIELD_FILL] + 1;
    return true;
}

static int make_chosen(struct fuzz_source *source, uint64_t index, const struct generate_options *generate,
                       struct rng *rng, struct yield_choice *choice, struct test_case **made,
                       struct error *err)
{
    int status = -1;
    for (uint64_t i = 0; i < CHOICES && status; i++) {
        struct generate_options single = single_options(source, generate);
        if (!choose_single(source, rng, &single, choice))
            continue;
        for (uint64_t k = 0; k < NUMBERS && status; k++)
            status =
                generate_one(source->options.seed, index * ATTEMPTS + i * NUMBERS + k, &single, made, err);
    }
    return status;
}

static int make_one(struct fuzz_source *source, uint64_t index, const struct generate_options *generate,
                    struct test_case **made, struct error *err)
{
    struct generate_options single = single_options(source, generate);
    int status = -1;
    for (uint64_t i = 0; i < ATTEMPTS && status; i++)
        status = generate_one(source->options.seed, index * ATTEMPTS + i, &single, made, err);
    return status;
}

/*
 * The path's blocks, the newest of them when there are more than the model is to have. Those behind them are
 * drawn anew by what they lack, or are as they were drawn: the more often, the less is lacking at all.
 */
static void follow_path(const struct fuzz_source *source, const struct mcts_path *path, struct rng *rng,
                        struct plan *plan)
{
    size_t skip = path->count > plan->n_blocks ? path->count - plan->n_blocks : 0, next = path->count - skip;
    for (size_t i = 0; i < next; i++)
        plan->blocks[i] = source->allowed[path->blocks[skip + i]];
    for (; path->count && next < plan->n_blocks; next++) {
        const struct block *block = rng_chance(rng, source->guided) ? needed_block(source, rng) : NULL;
        if (block)
            plan->blocks[next] = block;
    }
}

static int make_graph(struct fuzz_source *source, uint64_t index, struct rng *rng, size_t blocks,
                      const struct generate_options *generate, const struct mcts_path *path,
                      struct test_case **made, struct error *err)
{
    struct plan plan;
    if (plan_random(&plan, source->blocks, rng, blocks, generate, err))
        return -1;
    follow_path(source, path, rng, &plan);
    method_options_plan(&plan, source->options.method);
    return generate_plan(source->options.seed, index, &plan, generate, made, err);
}

/*
 * The candidate that adds the most coverage, of as many as the options say. Trace and model of the best are
 * kept; -1 when none could be made.
 */
static int best_of(struct fuzz_source *source, uint64_t index, struct rng *rng, size_t blocks,
                   struct generate_options *generate, const struct mcts_path *path, struct test_case **made,
                   struct error *err)
{
    double most = -1;
    for (size_t i = 0; i < source->options.candidates; i++) {
        struct test_case *candidate;
        generate->record = &source->records[source->best == 0];
        if (make_graph(source, index + i, rng, blocks, generate, path, &candidate, err))
            continue;
        double gain = coverage_peek(source->coverage, generate->record).olc;
        if (gain > most) {
            if (most >= 0)
                test_case_free(*made);
            *made = candidate;
            most = gain;
            source->best = source->best == 0;
        } else {
            test_case_free(candidate);
        }
    }
    return most >= 0 ? 0 : -1;
}

/*
 * A visit succeeds as much as the model added of what one operator can add at most, which is all of its own
 * coverage.
 */
static double worth(const struct fuzz_source *source, const struct coverage_gain *gain)
{
    return fmin(1, gain->olc * (double)coverage_ops(source->coverage));
}

/*
 * One draw: chooses blocks, makes the model, adds its coverage. What cannot be made is a failed visit; the
 * last draw of a case does without guidance, so that there is a case.
 */
static int draw_graph(struct fuzz_source *source, uint64_t index, struct rng *rng, size_t blocks,
                      struct generate_options *generate, bool guided, struct test_case **made, size_t *node,
                      bool *grows, struct error *err)
{
    struct mcts_path path = {0};
    struct coverage_gain gain = {0};
    guided = guided && source->mcts;
    if (guided) {
        mcts_choose(source->mcts, rng, &path);
        weigh_needs(source);
    }
    int status = best_of(source, index, rng, blocks, generate, &path, made, err);
    if (!status)
        gain = coverage_add(source->coverage, &source->records[source->best]);
    *grows = coverage_grows(&gain) || gain.pairs;
    if (guided) {
        mcts_reward(source->mcts, path.node, 1, worth(source, &gain));
        *node = path.node;
    }
    return status;
}

static int make_blocks(struct fuzz_source *source, uint64_t index, struct rng *rng, size_t blocks,
                       struct generate_options *generate, struct test_case **made, size_t *node,
                       struct error *err)
{
    for (uint64_t draw = 0; draw <= REDRAWS; draw++) {
        uint64_t number = index * ATTEMPTS + draw * source->options.candidates;
        bool grows;
        if (draw_graph(source, number, rng, blocks, generate, draw < REDRAWS, made, node, &grows, err))
            continue;
        if (grows || !source->options.redraw || draw == REDRAWS)
            return 0;
        test_case_free(*made);
    }
    return -1;
}

/* Replaces the case by a rewritten form of it, if it is its turn: numbers of its own, so that without rules
 * nothing changes. */
static void rewrite_some(const struct fuzz_source *source, uint64_t index, struct test_case **test)
{
    const struct fuzz_source_options *options = &source->options;
    struct rng root = rng_seed(hash_combine(options->seed, hash_text("rules"))),
               rng = rng_split(&root, index);
    struct test_case *rewritten;
    if (!(options->rules_share > 0) || !rng_chance(&rng, options->rules_share))
        return;
    size_t depth = 1 + (size_t)rng_below(&rng, options->rules_depth ? options->rules_depth : 1);
    if (rewriting_draw(*test, &options->rules, depth, RULE_TRIES, &rng, &rewritten, NULL) != 1)
        return;
    test_case_free(*test);
    *test = rewritten;
}

/* How many blocks the case is to have; 0: it is a single operator. */
static size_t choose_blocks(const struct fuzz_source *source, uint64_t index, struct rng *rng,
                            struct fuzz_origin *origin)
{
    bool single = !source->options.only_blocks || source->single.length;
    if (source->options.blocks)
        return source->options.blocks;
    if (source->options.strategy == FUZZ_YIELD) {
        const bool kinds[YIELD_KINDS] = {single, true, true};
        size_t kind = yield_choose(&source->yield, YIELD_KIND, kinds, rng);
        origin->choice.arm[YIELD_KIND] = kind;
        origin->chosen = true;
        return yield_blocks(kind, rng);
    }
    return index % 3 == 0 && single ? 0 : (size_t)rng_range(rng, FEWEST_BLOCKS, MOST_BLOCKS);
}

int fuzz_source_make(struct fuzz_source *source, uint64_t index, struct test_case **out,
                     struct fuzz_origin *origin, struct error *err)
{
    struct rng root = rng_seed(hash_combine(source->options.seed, hash_text("fuzz"))),
               rng = rng_split(&root, index);
    struct generate_options generate = source->options.generate;
    int status;
    *origin = (struct fuzz_origin){.node = SIZE_MAX};
    generate.record = &source->records[0];
    avoid(source, index, &generate);
    /* A value that is an output cannot be fused away, so only every second graph has such. */
    generate.show = index % 2 == 0 && !generate.gradients;
    size_t blocks = choose_blocks(source, index, &rng, origin);
    if (!blocks) {
        status = origin->chosen ? make_chosen(source, index, &generate, &rng, &origin->choice, out, err)
                                : make_one(source, index, &generate, out, err);
        if (!status)
            coverage_add(source->coverage, &source->records[0]);
    } else {
        status = make_blocks(source, index, &rng, blocks, &generate, out, &origin->node, err);
    }
    if (status) {
        origin->chosen = false;
        return -1;
    }
    if (origin->chosen && !source->options.blind)
        yield_add_case(&source->yield, &origin->choice, blocks);
    rewrite_some(source, index, out);
    return 0;
}

void fuzz_source_reward(struct fuzz_source *source, const struct fuzz_origin *origin)
{
    if (source->mcts && origin->node < mcts_size(source->mcts))
        mcts_reward(source->mcts, origin->node, 0, 1);
    if (origin->chosen && !source->options.blind)
        yield_add_found(&source->yield, &origin->choice);
}

const struct coverage *fuzz_source_coverage(const struct fuzz_source *source)
{
    return source->coverage;
}

size_t fuzz_source_tree(const struct fuzz_source *source)
{
    return source->mcts ? mcts_size(source->mcts) : 0;
}

/* The tree or the yields behind the coverage, after a line of its own. */
static const char divider[] = "tree\n";
static const struct yield nothing;

void fuzz_source_write(const struct fuzz_source *source, struct str *out)
{
    coverage_write(source->coverage, out);
    str_add(out, divider);
    if (source->mcts)
        mcts_write(source->mcts, out);
    if (source->options.strategy == FUZZ_YIELD)
        yield_write(&source->yield, &nothing, out);
}

int fuzz_source_read(struct fuzz_source *source, const char *text, struct error *err)
{
    const char *tree = strstr(text, divider);
    while (tree && tree != text && tree[-1] != '\n')
        tree = strstr(tree + 1, divider);
    if (!tree)
        return error_set(err, ERROR_FORMAT, "the snapshot is cut off");
    char *first = memory_strdup(text);
    first[tree - text] = '\0';
    int status = coverage_read(source->coverage, first, err);
    free(first);
    tree += strlen(divider);
    if (!status && source->mcts)
        status = mcts_read(source->mcts, tree, err);
    if (!status && source->options.strategy == FUZZ_YIELD) {
        source->yield = nothing;
        status = yield_fold(&source->yield, &tree, err);
    }
    return status;
}

static void add_corpus(struct coverage *coverage, const struct coverage *other)
{
    for (size_t i = 0; i < coverage_ops(other); i++)
        coverage_add_row(coverage, op_find(coverage_op_name(other, i)));
}

void fuzz_source_mark(struct fuzz_source *source)
{
    if (!source->before) {
        source->before = coverage_new(&source->options.coverage);
        add_corpus(source->before, source->coverage);
    }
    coverage_copy(source->before, source->coverage);
    source->yield_before = source->yield;
    if (source->mcts)
        mcts_mark(source->mcts);
}

void fuzz_source_difference(const struct fuzz_source *source, struct str *out)
{
    coverage_difference(source->coverage, source->before, out);
    if (source->mcts)
        mcts_difference(source->mcts, out);
    if (source->options.strategy == FUZZ_YIELD)
        yield_write(&source->yield, &source->yield_before, out);
}

void fuzz_source_whole(const struct fuzz_source *source, struct str *out)
{
    coverage_difference(source->coverage, NULL, out);
    if (source->mcts)
        mcts_whole(source->mcts, out);
    if (source->options.strategy == FUZZ_YIELD)
        yield_write(&source->yield, &nothing, out);
}

int fuzz_source_fold(struct fuzz_source *source, const char *text, struct error *err)
{
    if (coverage_fold(source->coverage, &text, err) ||
        (source->mcts && mcts_fold(source->mcts, &text, err)) ||
        (source->options.strategy == FUZZ_YIELD && yield_fold(&source->yield, &text, err)))
        return -1;
    return *text ? error_set(err, ERROR_FORMAT, "the result of a range is longer than it should be") : 0;
}

void fuzz_source_clear(struct fuzz_source *source)
{
    coverage_clear(source->coverage);
    source->yield = nothing;
    if (source->mcts)
        mcts_clear(source->mcts);
}

static void plan_range(void *source, struct case_range *range)
{
    (void)source;
    *range = (struct case_range){.count = FUZZ_RANGE};
}

static int make_case(void *raw, uint64_t index, size_t number, struct test_case **out, struct error *err)
{
    struct fuzz_source *source = raw;
    return fuzz_source_make(source, index, out, &source->origins[number], err);
}

static int end_range(void *raw, const char *marks, size_t count, struct error *err)
{
    struct fuzz_source *source = raw;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (marks[i] == MARK_NEW)
            fuzz_source_reward(source, &source->origins[i]);
        if (source->origins[i].chosen)
            yield_add_answer(&source->yield, &source->origins[i].choice, marks[i] != MARK_LACKED);
    }
    return 0;
}

static int write_snapshot(void *source, struct str *out, struct error *err)
{
    (void)err;
    fuzz_source_write(source, out);
    return 0;
}

static int read_snapshot(void *source, const char *text, struct error *err)
{
    return fuzz_source_read(source, text, err);
}

static void mark_source(void *source)
{
    fuzz_source_mark(source);
}

static void write_difference(const void *source, struct str *out)
{
    fuzz_source_difference(source, out);
}

static void write_whole(const void *source, struct str *out)
{
    fuzz_source_whole(source, out);
}

static int fold_source(void *source, const char *text, struct error *err)
{
    return fuzz_source_fold(source, text, err);
}

static void clear_source(void *source)
{
    fuzz_source_clear(source);
}

static void give_figures(const void *source, struct fuzz_status *status)
{
    status->coverage = coverage_total(fuzz_source_coverage(source));
    status->tree = fuzz_source_tree(source);
}

static void free_source(void *source)
{
    fuzz_source_free(source);
}

struct case_source fuzz_source_cases(struct fuzz_source *source)
{
    static const struct case_source_kind kind = {
        .command = "fuzz",
        .plan = plan_range,
        .make = make_case,
        .end = end_range,
        .write = write_snapshot,
        .read = read_snapshot,
        .mark = mark_source,
        .difference = write_difference,
        .whole = write_whole,
        .fold = fold_source,
        .clear = clear_source,
        .figures = give_figures,
        .free = free_source,
    };
    return (struct case_source){&kind, source};
}
