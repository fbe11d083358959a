/* Rules that leave model and inputs as they are and run them in another way. */
#include "rules/rule.h"

static int knob(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    (void)err;
    if (!*site->knob)
        return 0;
    rewrite_add_knobs(rewrite, site->knob);
    return 1;
}

const struct rule rule_knob = {
    .name = "knob",
    .paper = 1,
    .summary = "another setting of the engine: optimised or not, other threads, other memory",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .each_knob = true,
    .nothing_new = true,
    .apply = knob,
};

static int again(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    (void)site;
    (void)err;
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
