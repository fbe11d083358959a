#include "findings/message_origin.h"

#include "model/index.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NAME_LIMIT = 60, SHORT_NAME = 5 };

/* A name inside a message: behind `before`, and what follows it. */
struct frame {
    const char *before, *after;
};

static const struct frame kernel_frames[] = {
    {"Failed to find kernel for ", "("},
    {"Could not find an implementation for ", "("},
};
static const struct frame operator_frames[] = {
    {"while running ", " node"},     {" Op (", ")"}, {"of operator (", ")"}, {"of Optype (", ")"},
    {"\", ", ", \"com.microsoft\""},
};

/* "[ONNXRuntimeError] : 1 : FAIL : /src/x.cc:7 ...": what was passed on, when it names its own place. */
static const char *passed_on(const char *message)
{
    static const char mark[] = "[ONNXRuntimeError] : ";
    const char *at = strstr(message, mark);
    for (int i = 0; at && i < 2; i++)
        at = strstr(at + (i ? 3 : sizeof mark - 1), " : ");
    if (!at || !at[3])
        return NULL;
    size_t word = strcspn(at + 3, " \n");
    for (size_t i = 0; i + 3 < word; i++)
        if (strncmp(at + 3 + i, ".cc:", 4) == 0 || strncmp(at + 3 + i, ".h:", 3) == 0)
            return at + 3;
    return NULL;
}

/* "Node [Cast@ai.onnx]:(onnx_node!y): importer.cpp:7 ...": which node was being read. */
static const char *behind_node(const char *message)
{
    const char *at = strncmp(message, "Node [", 6) == 0 ? strstr(message, "]:(") : NULL;
    at = at ? strstr(at, "): ") : NULL;
    return at && at[3] ? at + 3 : message;
}

const char *origin_innermost(const char *message)
{
    static const char *const frames[] = {"Status Message: ", "Exception during initialization: "};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        for (const char *at; (at = strstr(message, frames[i])) != NULL && at[strlen(frames[i])];)
            message = at + strlen(frames[i]);
    for (const char *inner; (inner = passed_on(message)) != NULL;)
        message = inner;
    return behind_node(message);
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The name in the last such frame, without its domain; its length, 0: there is none. */
static size_t framed_name(const char *message, const struct frame *frame, const char **name)
{
    size_t found = 0;
    for (const char *at = message; (at = strstr(at, frame->before)) != NULL;) {
        const char *start = at += strlen(frame->before);
        size_t length = 0;
        while (in_name(start[length]))
            length++;
        if (!length || length > NAME_LIMIT ||
            strncmp(start + length, frame->after, strlen(frame->after)) != 0)
            continue;
        for (size_t i = 0; i < length; i++)
            if (start[i] == '.' && i + 1 < length)
                *name = start + i + 1;
            else if (!i)
                *name = start;
        found = length - (size_t)(*name - start);
    }
    return found;
}

bool origin_class(struct str *out, const char *message)
{
    const char *name;
    size_t length = 0;
    for (size_t i = 0; i < sizeof kernel_frames / sizeof *kernel_frames && !length; i++)
        length = framed_name(message, &kernel_frames[i], &name);
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

static int compare_operator(void *context, Onnx__NodeProto *node, int depth)
{
    const struct wanted *wanted = context;
    (void)depth;
    return strlen(node->op_type) == wanted->length &&
           strncmp(node->op_type, wanted->name, wanted->length) == 0;
}

/* Makers: operators that several passes of an engine make. */
static bool is_made_once(const struct model *model, const char *name, size_t length)
{
    static const char *const makers[] = {"FusedMatMul", NULL};
    struct wanted wanted = {name, length};
    for (size_t i = 0; makers[i]; i++)
        if (strlen(makers[i]) == length && strncmp(makers[i], name, length) == 0)
            return false;
    return !model_each_node(model->graph, compare_operator, &wanted);
}

bool origin_operator(struct str *out, const char *message, const struct model *model)
{
    const char *name = "InsertedCast";
    size_t length = 0;
    if (strstr(message, "(InsertedCast_") || strstr(message, "(InsertedPrecisionFreeCast_"))
        length = strlen(name);
    for (size_t i = 0; i < sizeof kernel_frames / sizeof *kernel_frames && !length; i++)
        length = framed_name(message, &kernel_frames[i], &name);
    for (size_t i = 0; i < sizeof operator_frames / sizeof *operator_frames && !length; i++)
        length = framed_name(message, &operator_frames[i], &name);
    if (!length || !is_made_once(model, name, length))
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
