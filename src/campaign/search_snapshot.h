/*
 * The snapshot of a search, from which it is resumed.
 *
 * The text, which the campaign keeps in its store, has the figures and whose turn it is. The populations are
 * far longer, up to hundreds of megabytes, and lie in a file of the campaign's folder, which the text names
 * with its hash. Two files are written by turns, so that the one that the store's text names is whole at any
 * time, also when the process is killed between the two.
 */
#ifndef CAMPAIGN_SEARCH_SNAPSHOT_H
#define CAMPAIGN_SEARCH_SNAPSHOT_H

#include "base/error.h"
#include "base/str.h"

/* `write` and `read` of a case_source_kind; the source is a struct search_source. */
int search_snapshot_write(void *source, struct str *out, struct error *err);
int search_snapshot_read(void *source, const char *text, struct error *err);

/*
 * The same for an island of a campaign that many workers share, with the populations in the text. Models
 * whose populations do not fit into a text of the database are refused.
 */
int search_island_write(const void *source, struct str *out, struct error *err);
int search_island_read(void *source, const char *text, struct error *err);

#endif
