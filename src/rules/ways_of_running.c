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
    rewrite->way->again = true;
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
    .apply = after_another,
};

/* Memory that is not zeroed but full of a pattern, so that whoever reads what nobody wrote gets other
 * numbers. */
const struct rule rule_dirty_memory = {
    .name = "dirty-memory",
    .summary = "allocated memory full of a pattern instead of zeros",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .knobs = "perturb=170",
};

const struct rule rule_one_thread = {
    .name = "one-thread",
    .paper = 1,
    .summary = "one thread",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .knobs = "threads=1",
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
