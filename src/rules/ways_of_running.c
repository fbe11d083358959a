/* Rules that leave model and inputs as they are and run them in another way. */
#include "rules/rule.h"

#include <string.h>

/* Whether a single setting is one that another rule is about. */
static bool has_a_rule(const char *setting)
{
    static const char *const names[] = {"binding=", "perturb=", "reload=", "threads="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(setting, names[i], strlen(names[i])) == 0 && !strchr(setting, ','))
            return true;
    return false;
}

static int knob(struct rewrite *rewrite, const struct rule_site *site)
{
    if (!*site->knob || has_a_rule(site->knob))
        return 0;
    rewrite_add_knobs(rewrite, site->knob);
    return 1;
}

const struct rule rule_knob = {
    .name = "knob",
    .paper = 1,
    .summary = "another setting of the engine: optimised or not, other memory, two settings at once",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .each_knob = true,
    .nothing_new = true,
    .apply = knob,
};

static int again(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->again = 1;
    return 1;
}

const struct rule rule_again = {
    .name = "again",
    .summary = "the same inputs twice in one session",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .apply = again,
};

enum { OFTEN = 20, OTHERS = 8 };

static int again_often(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->again = OFTEN;
    return 1;
}

const struct rule rule_again_often = {
    .name = "again-often",
    .summary = "the same inputs twenty times more in one session",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .on_request = true,
    .axis = AXIS_RUNS,
    .variations = 1,
    .apply = again_often,
};

/* A step that goes before others. By itself it compares two runs in one process. */
static int bytes(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->bytes = true;
    return 1;
}

const struct rule rule_bytes = {
    .name = "bytes",
    .summary = "the same case once more; where the same work is done twice, every byte counts",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .on_request = true,
    .apply = bytes,
};

static int fresh(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->fresh = true;
    return 1;
}

const struct rule rule_fresh = {
    .name = "fresh",
    .summary = "the same case in a new process",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .axis = AXIS_PROCESSES,
    .variations = 3,
    .apply = fresh,
};

/* Nothing is changed: between the two runs the process answers whatever else is at hand. */
static int after_another(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)rewrite;
    (void)site;
    return 1;
}

const struct rule rule_after_another = {
    .name = "after-another",
    .summary = "the same case once more in the same process, loaded again after others",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .axis = AXIS_SESSIONS,
    .variations = 3,
    .apply = after_another,
};

static int after_others(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->others = OTHERS;
    return 1;
}

const struct rule rule_after_others = {
    .name = "after-others",
    .summary = "the same case once more in the same process, after eight generated models",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .on_request = true,
    .axis = AXIS_OTHER_MODELS,
    .variations = 1,
    .apply = after_others,
};

/* Memory that is not zeroed but full of a pattern, so that whoever reads what nobody wrote gets other
 * numbers. */
#define MEMORY_RULE(rule_name, says, settings, asked)                                                   \
    {                                                                                                   \
        .name = rule_name, .summary = says, .scope = RULE_RUN, .relation = RELATION_BITS,               \
        .nothing_new = true, .on_request = asked, .memory = true, .axis = AXIS_MEMORY, .variations = 1, \
        .knobs = settings                                                                               \
    }
const struct rule rule_dirty_memory =
    MEMORY_RULE("dirty-memory", "allocated memory full of a pattern instead of zeros", "perturb=170", false);
/* A number that is nearly 0 as a float32, where the other pattern is a huge one. */
const struct rule rule_dirty_memory_small = MEMORY_RULE(
    "dirty-memory-small", "allocated memory full of another pattern, of numbers near 0", "perturb=85", true);
const struct rule rule_freed_memory_kept = MEMORY_RULE(
    "freed-memory-kept",
    "freed memory is filled and kept, so that large pieces are used again instead of new and zeroed",
    "freed=kept,perturb=170", true);

/* The pattern is that of the bytes beside pieces of memory which can be reached. */
#define GUARD_RULE(rule_name, says, settings)                                                           \
    {                                                                                                   \
        .name = rule_name, .summary = says, .scope = RULE_RUN, .relation = RELATION_BITS,               \
        .nothing_new = true, .on_request = true, .memory = true, .axis = AXIS_BUFFERS, .variations = 1, \
        .knobs = settings                                                                               \
    }
const struct rule rule_guarded = GUARD_RULE(
    "guarded",
    "memory that ends where inputs, outputs and weights end, so that reaching behind them, or into "
    "what was freed, ends the process",
    "guard=on,perturb=170");
const struct rule rule_guarded_before = GUARD_RULE(
    "guarded-before",
    "memory that begins where inputs, outputs and weights begin, so that reaching in front of them "
    "ends the process",
    "guard=before,perturb=170");

const struct rule rule_one_thread = {
    .name = "one-thread",
    .paper = 1,
    .summary = "one thread",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .knobs = "threads=1",
};

static int threads(struct rewrite *rewrite, const struct rule_site *site)
{
    if (strncmp(site->knob, "threads=", strlen("threads=")) != 0)
        return 0;
    rewrite_add_knobs(rewrite, site->knob);
    return 1;
}

const struct rule rule_threads = {
    .name = "threads",
    .summary = "another number of threads",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .each_knob = true,
    .nothing_new = true,
    .on_request = true,
    .axis = AXIS_THREADS,
    .variations = 1,
    .apply = threads,
};

const struct rule rule_four_threads = {
    .name = "four-threads",
    .paper = 1,
    .summary = "four threads",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .knobs = "threads=4",
};

const struct rule rule_binding = {
    .name = "binding",
    .paper = 11,
    .summary = "inputs and outputs bound to memory beforehand, against passed at each run",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .knobs = "binding=on",
};
