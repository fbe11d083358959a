/* What a reader of a bundle needs to know, from finding.json. */
#include "base/format.h"
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

static int parse(struct bundle *bundle, int format, const char *data, size_t size, struct arena *arena,
                 struct error *err)
{
    const struct json_value *root;
    if (json_read(arena, data, size, &root, err))
        return -1;
    if (root->kind != JSON_OBJECT)
        return error_set(err, ERROR_FORMAT, "expected a JSON object");
    if (format_check(json_number_of(root, "format", format), format, err))
        return -1;
    take(bundle, root, arena);
    return 0;
}

int bundle_read(struct bundle *bundle, const struct folder *folder, struct arena *arena, struct error *err)
{
    bool whole = folder_has(folder, "finding.json");
    const char *name = whole ? "finding.json" : "reduced.json";
    char *data = NULL;
    size_t size;
    *bundle = (struct bundle){"", "", "", "", "", "", "", "", "", "", "", ""};
    if (!folder_has(folder, name))
        return error_set(err, ERROR_NOT_FOUND, "%s/%s: there is no such file", folder->path, name);
    if (folder_read(folder, name, JSON_LIMIT, &data, &size, err))
        return -1;
    int status = parse(bundle, whole ? FORMAT_BUNDLE : FORMAT_REPORT, data, size, arena, err)
                     ? folder_prefix(folder, name, err)
                     : 0;
    free(data);
    return status;
}

int bundle_read_path(struct bundle *bundle, const char *path, struct arena *arena, struct error *err)
{
    struct folder folder;
    int status = folder_open(&folder, USERS_PATH, path, err);
    if (!status)
        status = bundle_read(bundle, &folder, arena, err);
    folder_close(&folder);
    return status;
}
