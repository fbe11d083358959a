#include "judge/message.h"

#include "base/map.h"
#include "model/index.h"

#include <ctype.h>
#include <string.h>

enum { TOKEN_LIMIT = 200 };

/* What a name may consist of; a relative path is a token too, so that it can be cut at its last slash. */
static bool in_token(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.' || c == '~' || c == '$';
}

/* How far an absolute path reaches. Folders may have more letters in them than names of a model, and where a
 * user keeps his files must not decide anything. 0 where none begins. */
static size_t path_length(const char *text)
{
    size_t length = 0;
    if (text[0] != '/' || !(isalnum((unsigned char)text[1]) || strchr("._~", text[1])))
        return 0;
    while (text[length] > ' ' && !strchr("\"'`()[]{}<>,;:", text[length]))
        length++;
    return length;
}

/* Reads the token that begins here (of a long path only its end), and returns the token's length in the
 * text. */
static size_t token_read(char token[TOKEN_LIMIT], const char *text)
{
    size_t length = path_length(text), from = 0;
    if (length > TOKEN_LIMIT - 1)
        from = length - (TOKEN_LIMIT - 1);
    else if (!length)
        while (in_token(text[length]) && length < TOKEN_LIMIT - 1)
            length++;
    memcpy(token, text + from, length - from);
    token[length - from] = '\0';
    return length;
}

/* The digits of an address such as 0x55d2e8f0, which engines put into the names that they make; 0 where none
 * begins. */
static size_t address_length(const char *word)
{
    size_t length = 2;
    if (word[0] != '0' || (word[1] != 'x' && word[1] != 'X'))
        return 0;
    while (isxdigit((unsigned char)word[length]))
        length++;
    return length > 2 ? length : 0;
}

/* Numbers (also hexadecimal ones and versions) become one '#', digits inside words too. */
static void add_word(struct str *out, const char *word)
{
    for (size_t i = 0; word[i]; i++) {
        if (!isdigit((unsigned char)word[i])) {
            str_append(out, &word[i], 1);
            continue;
        }
        str_add(out, "#");
        size_t address = address_length(&word[i]);
        if (address) {
            i += address - 1;
            continue;
        }
        while (isdigit((unsigned char)word[i + 1]) ||
               (word[i + 1] == '.' && isdigit((unsigned char)word[i + 2])))
            i++;
    }
}

static bool is_type(const char *word)
{
    return dtype_from_name(word) != DTYPE_NONE;
}

static void add_token(struct str *out, char *token, const struct map *names)
{
    if (map_has(names, token)) {
        str_add(out, "?");
        return;
    }
    /* The full stop of a sentence is no part of the name before it. */
    size_t length = strlen(token);
    bool stop = length > 1 && token[length - 1] == '.';
    if (stop)
        token[length - 1] = '\0';
    char *slash = strrchr(token, '/');
    const char *word = slash ? slash + 1 : token;
    if (map_has(names, token))
        str_add(out, "?");
    else if (is_type(word))
        str_add(out, "T");
    else
        add_word(out, word);
    str_add(out, stop ? "." : "");
}

/* In a list of numbers ("#, #, -#", "{#,#}") only one number is kept. True when the new separator is to be
 * dropped. */
static void squeeze(struct str *text)
{
    char *to = text->data;
    for (const char *from = text->data; *from; from++) {
        if (*from == '-' && from[1] == '#')
            continue;
        if (*from == '#' && to > text->data) {
            const char *back = to;
            while (back > text->data && strchr(", x:;*", back[-1]))
                back--;
            if (back > text->data && back[-1] == '#')
                to = text->data + (back - text->data) - 1;
        }
        *to++ = *from;
    }
    *to = '\0';
    text->length = (size_t)(to - text->data);
}

/* Where a node or a value is named, also one of the engine's own making: what closes the name. */
static char names_node(const struct str *line, const struct engine_profile *profile)
{
    /* How ONNX's own checker begins, which many engines have in them: "Node (x) ...". */
    static const struct message_pattern onnx = {.text = "Node ({name})"};
    char end = patterns_open(&onnx, line->data);
    return end || !profile ? end : patterns_open(profile->names, line->data);
}

static int note_node(void *context, Onnx__NodeProto *node)
{
    struct map *names = context;
    if (*node->name)
        map_set(names, node->name, 0);
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i])
            map_set(names, node->input[i], 0);
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            map_set(names, node->output[i], 0);
    return 0;
}

static void note_names(struct map *names, const struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    model_each_node(graph, note_node, names);
    for (size_t i = 0; i < graph->n_input; i++)
        map_set(names, graph->input[i]->name, 0);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(names, graph->initializer[i]->name, 0);
    for (size_t i = 0; i < graph->n_output; i++)
        map_set(names, graph->output[i]->name, 0);
    if (graph->name && *graph->name)
        map_set(names, graph->name, 0);
}

/* Whether the line ends with a name of C++ such as "a::b::f". */
static bool ends_qualified(const struct str *line)
{
    size_t start = line->length;
    while (start &&
           (isalnum((unsigned char)line->data[start - 1]) || strchr("_:~<>#", line->data[start - 1])))
        start--;
    return strstr(line->data + start, "::") != NULL;
}

/* What follows the bracket that closes the one at `text`; NULL when none does. */
static const char *behind_bracket(const char *text, char opens, char closes)
{
    int depth = 0;
    for (; *text; text++) {
        depth += *text == opens;
        depth -= *text == closes;
        if (!depth)
            return text + 1;
    }
    return NULL;
}

/* The types of a function's parameters say nothing, and may be longer than all that is kept of a message:
 * what follows "f(const T&, int) [with T = float]" as "f()". NULL when no such list begins at `text`. */
static const char *behind_parameters(const char *text, const struct str *line)
{
    static const char with[] = " [with ";
    if (*text != '(' || !ends_qualified(line))
        return NULL;
    const char *behind = behind_bracket(text, '(', ')');
    const char *types =
        behind && strncmp(behind, with, sizeof with - 1) == 0 ? behind_bracket(behind + 1, '[', ']') : NULL;
    return types ? types : behind;
}

void message_normalise(struct str *out, const char *text, const struct model *model,
                       const struct engine_profile *profile)
{
    struct map names;
    struct str line;
    map_init(&names);
    str_init(&line);
    if (model)
        note_names(&names, model);
    while (*text && line.length < 4 * MESSAGE_LIMIT) {
        char token[TOKEN_LIMIT];
        char end = names_node(&line, profile);
        const char *closes = end ? strchr(text, end) : NULL;
        if (closes) {
            str_add(&line, "?");
            text = closes;
        }
        size_t length = token_read(token, text);
        if (length) {
            add_token(&line, token, &names);
            text += length;
            continue;
        }
        const char *behind = behind_parameters(text, &line);
        if (behind) {
            str_add(&line, "()");
            text = behind;
            continue;
        }
        bool space = isspace((unsigned char)*text) || iscntrl((unsigned char)*text);
        bool repeated = line.length && line.data[line.length - 1] == ' ';
        if (!space)
            str_append(&line, text, 1);
        else if (!repeated)
            str_add(&line, " ");
        text++;
    }
    squeeze(&line);
    str_append(out, line.data, line.length < MESSAGE_LIMIT ? line.length : MESSAGE_LIMIT);
    str_release(&line);
    map_release(&names);
}

size_t message_length(const char *message)
{
    size_t length = strlen(message);
    while (length && strchr(" >", message[length - 1]))
        length--;
    return length;
}

/* A line "/path/lib.so(name+0x12) [0x7f...]" of a stack, in its parts. */
struct frame {
    const char *file, *name; /* file: without folders */
    size_t file_size, name_size;
};

/* False for frames of the system and of the adapter. */
static bool frame_read(struct frame *frame, const char *line, size_t size)
{
    static const char *const dull[] = {"libc.so",  "libc-",      "libpthread",  "assay-engine",
                                       "ld-linux", "libasan.so", "libubsan.so", "libstdc++.so",
                                       "libm.so",  NULL};
    const char *open = memchr(line, '(', size);
    const char *close = open ? memchr(open, ')', size - (size_t)(open - line)) : NULL;
    if (!close)
        return false;
    frame->file = line;
    for (const char *c = line; c < open; c++)
        if (*c == '/')
            frame->file = c + 1;
    frame->file_size = (size_t)(open - frame->file);
    frame->name = open + 1;
    frame->name_size = (size_t)(close - open) - 1;
    for (size_t i = 0; dull[i]; i++)
        if (frame->file_size >= strlen(dull[i]) && memcmp(frame->file, dull[i], strlen(dull[i])) == 0)
            return false;
    return true;
}

/* The next frame of the engine's own behind *line, which is moved on. */
static bool frame_next(struct frame *frame, const char **line)
{
    while (*line && (*line = strchr(*line, '\n'))) {
        ++*line;
        if (frame_read(frame, *line, strcspn(*line, "\n")))
            return true;
    }
    return false;
}

void message_frames(struct str *out, const char *log, size_t count, bool places)
{
    const char *line = strstr(log, "stack of the engine\n");
    struct frame frame;
    size_t found = 0;
    while (found < count && frame_next(&frame, &line)) {
        size_t size = 0;
        while (size < frame.name_size && size < TOKEN_LIMIT && frame.name[size] != '+')
            size++;
        if (!size && !places)
            continue;
        str_add(out, found++ ? "<" : "");
        str_append(out, size ? frame.name : frame.file, size ? size : frame.file_size);
        if (!size)
            str_append(out, frame.name, frame.name_size < TOKEN_LIMIT ? frame.name_size : TOKEN_LIMIT);
    }
}

bool message_heap_damaged(const char *log)
{
    /* How glibc's messages of malloc_printerr begin. */
    static const char *const words[] = {"double free or corruption",
                                        "corrupted size vs. prev_size",
                                        "corrupted double-linked list",
                                        "free(): ",
                                        "malloc(): ",
                                        "realloc(): ",
                                        "munmap_chunk(): ",
                                        "malloc_consolidate(): ",
                                        "unaligned tcache chunk"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(log, words[i]);
        if (at && (at == log || at[-1] == '\n'))
            return true;
    }
    return false;
}

void message_stack(struct str *out, const char *log, size_t lines)
{
    const char *line = strstr(log, "stack of the engine\n");
    struct frame frame;
    for (size_t i = 0; i < lines && frame_next(&frame, &line); i++) {
        str_append(out, frame.file, frame.file_size);
        str_add(out, "(");
        str_append(out, frame.name, frame.name_size < TOKEN_LIMIT ? frame.name_size : TOKEN_LIMIT);
        str_add(out, ")\n");
    }
}
