/*
 * What the graph-fuzzing paper varies, as words:
 * "candidates=16,exploration=0.7,topology=ws,k=4,p=0.9,add=0.1". Words of the search are members of the
 * options; those of a plan are the words of a recipe (generate/plan.h), and hold for every graph in place of
 * what would be drawn.
 */
#ifndef CAMPAIGN_METHOD_OPTIONS_H
#define CAMPAIGN_METHOD_OPTIONS_H

#include "campaign/fuzz_source.h"
#include "generate/plan.h"

/* Sets the members that the text names; NULL: none. Fails with ERROR_USAGE, and names all words, where one is
 * unknown or its value is out of its range. */
int method_options_read(struct fuzz_source_options *options, const char *text, struct error *err);

/* Sets what the text, which was read before, says of plans. */
void method_options_plan(struct plan *plan, const char *text);

#endif
