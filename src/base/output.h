/*
 * Files and folders that the user names as output: nothing is removed or overwritten that Assay did not make.
 *
 * A file may be new, empty or a report of ours (output_is_report): a report is written again by every run of
 * a script. Any other is overwritten only by force.
 *
 * A folder may be new or empty. One of ours, which holds files of its layout and nothing else, is replaced by
 * force; any other never is. A folder is written under another name and put in place whole: a new one by a
 * rename, an old one by an exchange, so that at no moment the old one is gone and the new one not there. Only
 * into a folder that is there and empty, which may be the current one or a mount, its files are moved one by
 * one.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

/* What a text of ours begins with when it goes to a file; other formats have a mark of their own. */
#define OUTPUT_TEXT_MARK "Report of assay "

/* Begins the JSON of a command: the root object, and Assay's version as its first member. */
void output_json(struct json *json, struct str *out, bool indent);

/* Whether these first bytes of a file are those of a report: JSON whose first member is "assay", a page
 * titled "Assay ...", JUnit's XML named "assay", or a text with the mark. */
bool output_is_report(const char *start, size_t size);

/* Whether the file can be written, before the work is done that it is to hold: it may be overwritten, its
 * folder is there and takes files. */
int output_file_check(const char *path, bool force, struct error *err);

/* file_write, after output_file_check. */
int output_file_write(const char *path, const void *data, size_t size, bool force, struct error *err);

/* file_write of a file that Assay keeps for itself in a folder: one that is there must begin like it, or be
 * empty. */
int output_own_write(const char *path, const char *start, const void *data, size_t size, struct error *err);

/* Whether a path lies in a folder, or is it; both are there, and symbolic links are followed. */
bool output_is_within(const char *path, const char *folder);

/* The files that a folder of ours may hold. */
struct output_layout {
    const char *what;           /* "a bundle" */
    const char *const *marks;   /* one of these tells that it is ours; NULL ends the list */
    const char *const *files;   /* all others, as shell patterns of paths in it; NULL ends the list */
    const char *const *folders; /* and their folders */
};

/* Whether the folder can be written, before the work is done. */
int output_folder_check(const char *path, const struct output_layout *layout, bool force, struct error *err);

struct output_folder {
    char *part; /* where the files are to be written, until output_folder_put */
    char *place;
    const struct output_layout *layout;
    bool replaces, fills; /* one of ours; one that is empty */
};

/* Checks again and makes the folder to write to. Ends with output_folder_release in any case. */
int output_folder_begin(struct output_folder *folder, const char *path, const struct output_layout *layout,
                        bool force, struct error *err);

/* Puts it in place. When that fails, what was there is as it was. */
int output_folder_put(struct output_folder *folder, struct error *err);

/* Removes what was not put in place. */
void output_folder_release(struct output_folder *folder);

#endif
