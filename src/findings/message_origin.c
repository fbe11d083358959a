#include "findings/message_origin.h"

#include "model/index.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SHORT_NAME = 5 };

const char *origin_innermost(const char *message, const struct engine_profile *profile)
{
    return profile ? patterns_cut(profile->around, message) : message;
}

bool origin_class(struct str *out, const char *message, const struct engine_profile *profile)
{
    const char *name;
    size_t length = profile ? patterns_operator(profile->no_kernel, message, &name) : 0;
    if (!length)
        return false;
    str_add(out, "no kernel for ");
    str_append(out, name, length);
    return true;
}

struct wanted {
    const char *name;
    size_t length;
};

static int compare_operator(void *context, Onnx__NodeProto *node)
{
    const struct wanted *wanted = context;
    return strlen(node->op_type) == wanted->length &&
           strncmp(node->op_type, wanted->name, wanted->length) == 0;
}

bool origin_operator(struct str *out, const char *message, const struct engine_profile *profile,
                     const struct model *model)
{
    if (!profile)
        return false;
    const char *name = patterns_meaning(profile->inserted, message);
    size_t length = name ? strlen(name) : patterns_operator(profile->no_kernel, message, &name);
    if (!length)
        length = patterns_operator(profile->operators, message, &name);
    struct wanted wanted = {name, length};
    if (!length || profile_lists(profile->made_by_several, name, length) ||
        model_each_node(model->graph, compare_operator, &wanted))
        return false;
    str_append(out, name, length);
    return true;
}

/* "If" and "cast" are words of any sentence: short names count as they are written, on their own. */
static bool mentions(const char *message, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = message; *at; at++) {
        bool begins = at == message || !isalpha((unsigned char)at[-1]) || islower((unsigned char)at[-1]);
        bool alone = begins && strncmp(at, word, length) == 0 && !islower((unsigned char)at[length]);
        if (length < SHORT_NAME ? alone : strncasecmp(at, word, length) == 0)
            return true;
    }
    return false;
}

/* "gemm_helper.h" is Gemm's. */
static bool is_file_of(const char *file, const char *word)
{
    size_t length = strlen(word);
    return strncasecmp(file, word, length) == 0 && (file[length] == '.' || file[length] == '_');
}

bool origin_file(struct str *out, const char *normalised, const char *const *operators, size_t count)
{
    static const char *const ends[] = {".cpp:#", ".cc:#", ".h:#", ".hpp:#", ".cxx:#"};
    const char *at = NULL;
    size_t length = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !at; i++)
        if ((at = strstr(normalised, ends[i])) != NULL)
            length = strlen(ends[i]) - strlen(":#");
    if (!at)
        return false;
    const char *from = at;
    while (from > normalised && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    for (size_t i = 0; i < count; i++)
        if (mentions(normalised, operators[i]) || is_file_of(from, operators[i]))
            return false;
    str_append(out, from, (size_t)(at - from) + length);
    return true;
}
