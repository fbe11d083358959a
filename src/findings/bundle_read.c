/* What a reader of a bundle needs to know, from finding.json. */
#include "base/file.h"
#include "base/json_read.h"
#include "findings/bundle.h"

#include <stdlib.h>

enum { JSON_LIMIT = 4 << 20 };

static const char *text_of(const struct json_value *object, const char *name, struct arena *arena)
{
    const char *text = json_text_of(object, name);
    return text ? arena_strdup(arena, text) : "";
}

static void take(struct bundle *bundle, const struct json_value *root, struct arena *arena)
{
    const struct json_value *engines = json_member(root, "engines");
    const struct json_value *first = engines ? engines->first : NULL;
    bundle->signature = text_of(root, "signature", arena);
    bundle->name = text_of(root, "name", arena);
    bundle->title = text_of(root, "title", arena);
    bundle->kind = text_of(root, "kind", arena);
    bundle->engine = text_of(root, "engine", arena);
    bundle->version = text_of(root, "version", arena);
    bundle->operators = text_of(root, "operators", arena);
    bundle->recipe = text_of(root, "recipe", arena);
    bundle->rewriting = text_of(root, "rewriting", arena);
    bundle->class = text_of(root, "class", arena);
    bundle->outcome = text_of(first, "outcome", arena);
    bundle->message = text_of(first, "message", arena);
}

int bundle_read(struct bundle *bundle, const char *folder, struct arena *arena, struct error *err)
{
    char *path = file_join(folder, "finding.json"), *data = NULL;
    if (!file_exists(path)) {
        free(path);
        path = file_join(folder, "reduced.json");
    }
    size_t size;
    int status = -1;
    const struct json_value *root;
    *bundle = (struct bundle){"", "", "", "", "", "", "", "", "", "", "", ""};
    if (!file_exists(path)) {
        error_set(err, ERROR_NOT_FOUND, "%s: there is no such file", path);
    } else if (file_read(path, JSON_LIMIT, &data, &size, err) == 0) {
        if (json_read(arena, data, size, &root, err) ||
            (root->kind != JSON_OBJECT && error_set(err, ERROR_FORMAT, "expected a JSON object"))) {
            error_prefix(err, "%s", path);
        } else {
            take(bundle, root, arena);
            status = 0;
        }
    }
    free(data);
    free(path);
    return status;
}
