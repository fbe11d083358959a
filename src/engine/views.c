#include "engine/views.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Freed by whichever needs it last, the list or who opened it. */
struct view {
    bool closed, forgotten; /* by who opened it, by the list */
    size_t count;
    char **paths;
};

bool path_is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

bool views_show(const struct views *views, const char *path)
{
    for (size_t i = 0; i < views->count; i++)
        for (size_t k = 0; k < views->all[i]->count; k++)
            if (path_is_within(path, views->all[i]->paths[k]))
                return true;
    return false;
}

struct view *views_open(struct views *views, const char *const *paths)
{
    struct view *view = memory_zeroed(1, sizeof *view);
    size_t room = 0;
    for (size_t i = 0; paths[i]; i++) {
        view->paths = memory_grow(view->paths, &room, i + 1, sizeof *view->paths);
        view->paths[view->count++] = memory_strdup(paths[i]);
    }
    views->all = memory_grow(views->all, &views->room, views->count + 1, sizeof *views->all);
    views->all[views->count++] = view;
    return view;
}

static void free_view(struct view *view)
{
    for (size_t i = 0; i < view->count; i++)
        free(view->paths[i]);
    free(view->paths);
    free(view);
}

void view_close(struct view *view)
{
    if (view && view->forgotten)
        free_view(view);
    else if (view)
        view->closed = true;
}

/* Forgets views that nobody needs any more; all: every view. */
static void forget(struct views *views, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < views->count; i++) {
        struct view *view = views->all[i];
        if (view->closed)
            free_view(view);
        else if (all)
            view->forgotten = true;
        else
            views->all[kept++] = view;
    }
    views->count = kept;
}

const char **views_list(struct views *views, const char *first)
{
    forget(views, false);
    size_t count = 0, room = 0;
    const char **seen = memory_grow(NULL, &room, 2, sizeof *seen);
    seen[count++] = first;
    for (size_t i = 0; i < views->count; i++)
        for (size_t k = 0; k < views->all[i]->count; k++) {
            seen = memory_grow(seen, &room, count + 2, sizeof *seen);
            seen[count++] = views->all[i]->paths[k];
        }
    seen[count] = NULL;
    return seen;
}

void views_release(struct views *views)
{
    forget(views, true);
    free(views->all);
    *views = (struct views){0};
}
