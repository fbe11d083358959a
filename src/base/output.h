/*
 * Files and folders that the user names as output. Nothing that Assay did not make is removed or overwritten.
 *
 * A file may be new, empty or a report that Assay wrote (output_is_report), because a script writes the same
 * report in every run. Any other file is overwritten only with --force.
 *
 * A folder may be new or empty. A folder that Assay made, which holds the files of its layout and nothing
 * else, is replaced with --force; any other never is. The folder is written under another name and put in
 * place as a whole: a new one by a rename, an existing one by an exchange, so that there is always either the
 * old or the new one. Only when the target is an existing empty folder, which may be the current one or a
 * mount point, are its files moved one by one.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include "base/error.h"
#include "base/folder.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

/* The first words of a plain-text report in a file; the other formats are recognised by marks of their own.
 */
#define OUTPUT_TEXT_MARK "Report of assay "

/* Starts the JSON output of a command: the root object, with the version of Assay as its first member. */
void output_json(struct json *json, struct str *out, bool indent);

/* Whether the first bytes of a file are those of a report: JSON whose first member is "assay", SARIF whose
 * tool is "assay", an HTML page titled "Assay ...", JUnit XML named "assay", or a text with the mark above.
 */
bool output_is_report(const char *start, size_t size);

/* Whether the file can be written, to be asked before the work is done whose results it will hold: it may be
 * overwritten, and its folder exists and is writable. */
int output_file_check(const char *path, bool force, struct error *err);

/* file_write, after output_file_check. */
int output_file_write(const char *path, const void *data, size_t size, bool force, struct error *err);

/* folder_write of a file that Assay keeps for itself in a folder. An existing file must be empty or begin
 * with `start`. */
int output_own_write(const struct folder *in, const char *name, const char *start, const void *data,
                     size_t size, struct error *err);

/* Whether a path is the folder or lies in it. Both must exist; symbolic links are followed. */
bool output_is_within(const char *path, const char *folder);

/* The files that a folder made by Assay may hold. */
struct output_layout {
    const char *what;         /* "a bundle" */
    const char *const *marks; /* a folder with one of these files is ours; NULL ends the list */
    const char *const
        *files; /* all other files, as shell patterns of paths in the folder; NULL ends the list */
    const char *const *folders; /* the folders of these files */
};

/* Whether a path within the folder is one of its files. */
bool output_layout_has(const struct output_layout *layout, const char *path);

/* Whether the folder that the user names can be written, to be asked before the work is done. */
int output_folder_check(const char *path, const struct output_layout *layout, bool force, struct error *err);

/* Removes a folder of ours. One that is not, or that holds something else besides, is left as it is. */
void output_folder_remove(const struct folder *in, const char *name, const struct output_layout *layout);

struct output_folder {
    struct folder part;     /* the temporary folder to write the files to, until output_folder_put */
    struct folder around;   /* the folder that it lies in, and the target as well, unless it is the target */
    char *part_name, *name; /* in it: of the temporary folder and of the target */
    char *path;             /* of the target, for messages */
    const struct output_layout *layout;
    bool replaces, fills; /* the target is a folder of ours; it is an empty folder */
};

/*
 * Checks again and makes the temporary folder. The target lies inside a folder, or is one that the user names
 * (USERS_PATH). Call output_folder_release afterwards in any case.
 */
int output_folder_begin(struct output_folder *folder, const struct folder *in, const char *name,
                        const struct output_layout *layout, bool force, struct error *err);

/* Puts the folder in place. When that fails, what was there before is unchanged. */
int output_folder_put(struct output_folder *folder, struct error *err);

/* Removes the temporary folder unless it was put in place. */
void output_folder_release(struct output_folder *folder);

#endif
