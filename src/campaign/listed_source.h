/*
 * What sources have in common whose cases are a list that follows from the options alone: nothing is learnt
 * from what becomes of a case, so that a snapshot says nothing, and neither does what a source has seen
 * since.
 */
#ifndef CAMPAIGN_LISTED_SOURCE_H
#define CAMPAIGN_LISTED_SOURCE_H

#include "campaign/case_source.h"

/* Fills in what is the same for all of them; `make` and `free` are their own. */
struct case_source_kind listed_source_kind(void);

#endif
