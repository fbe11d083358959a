/*
 * What else workers may read in their sandboxes: views, lists of files and folders that somebody opens and
 * closes again. A view outlives the list it was opened in, as whoever opened it closes it when it likes.
 */
#ifndef ENGINE_VIEWS_H
#define ENGINE_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct view;

struct views {
    struct view **all;
    size_t count, room;
};

/* Paths are absolute and NULL-terminated; they are copied. */
struct view *views_open(struct views *views, const char *const *paths);
void view_close(struct view *view); /* accepts NULL; before or after views_release */

/* Whether the path is, or lies in, what an open view shows. */
bool views_show(const struct views *views, const char *path);

/* Whether the path is the other one or lies below it, by the texts alone; output_is_within (base/output.h)
 * follows links, and wants both to exist. */
bool path_is_within(const char *path, const char *folder);

/* What open views show behind `first`: NULL-terminated, to be freed; the strings belong to the views. */
const char **views_list(struct views *views, const char *first);

void views_release(struct views *views);

#ifdef __cplusplus
}
#endif
#endif
