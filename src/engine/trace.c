#include "engine/trace.h"

#include "base/clean.h"
#include "base/memory.h"
#include "base/wrap.h"

#include <stdlib.h>
#include <string.h>

const char *trace_kind_name(enum trace_kind kind)
{
    static const char *const names[TRACE_KINDS] = {[TRACE_KERNEL] = "kernel", [TRACE_PASS] = "pass"};
    return names[kind];
}

struct trace *trace_new(void)
{
    struct trace *trace = memory_zeroed(1, sizeof *trace);
    arena_init(&trace->arena);
    return trace;
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    arena_release(&trace->arena);
    free(trace->steps);
    free(trace->written);
    free(trace);
}

/* A name that can be shown, of a length that tables bear. */
static const char *tame(struct arena *arena, const char *text)
{
    char name[TRACE_NAME];
    struct str clean;
    if (!text || !*text)
        return "";
    str_init(&clean);
    clean_line(&clean, text);
    text_fit(name, sizeof name, clean.data);
    str_release(&clean);
    return arena_strdup(arena, name);
}

/* Values are found by their names, which are those of the model: long ones are left out, not shortened. */
static void set_outputs(struct trace *trace, struct trace_step *to, const char *const *names, size_t count)
{
    trace->n_outputs -= to->n_outputs;
    size_t room = TRACE_OUTPUTS - trace->n_outputs;
    count = count < room ? count : room;
    const char **outputs = arena_array(&trace->arena, count, sizeof *outputs);
    to->n_outputs = 0;
    for (size_t i = 0; i < count; i++)
        if (*names[i] && strlen(names[i]) < TRACE_NAME && !clean_find_hidden(names[i]))
            outputs[to->n_outputs++] = arena_strdup(&trace->arena, names[i]);
    to->outputs = outputs;
    trace->n_outputs += to->n_outputs;
}

void trace_add(struct trace *trace, const struct trace_step *step)
{
    if (trace->count == TRACE_STEPS || !step->name || !*step->name) {
        trace->left_out++;
        return;
    }
    trace->steps = memory_grow(trace->steps, &trace->capacity, trace->count + 1, sizeof *trace->steps);
    struct trace_step *to = &trace->steps[trace->count++];
    *to = (struct trace_step){.kind = step->kind,
                              .name = tame(&trace->arena, step->name),
                              .device = tame(&trace->arena, step->device),
                              .pass = tame(&trace->arena, step->pass)};
    set_outputs(trace, to, step->outputs, step->n_outputs);
}

void trace_set_outputs(struct trace *trace, size_t from, const char *const *outputs, size_t count)
{
    for (size_t i = from; i < trace->count; i++)
        set_outputs(trace, &trace->steps[i], outputs, count);
}

static bool computes(const struct trace_step *step, const char *value)
{
    for (size_t i = 0; step->kind == TRACE_KERNEL && i < step->n_outputs; i++)
        if (text_equal(step->outputs[i], value))
            return true;
    return false;
}

const struct trace_step *trace_find(const struct trace *trace, const char *value)
{
    for (size_t i = trace ? trace->count : 0; value && i-- > 0;)
        if (computes(&trace->steps[i], value))
            return &trace->steps[i];
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *trace_names(const struct trace *trace, struct arena *arena, size_t *count)
{
    size_t all = 0;
    const char **names = arena_array(arena, trace ? 2 * trace->count : 0, sizeof *names);
    for (size_t i = 0; trace && i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        names[all++] = arena_printf(arena, "%s %s", trace_kind_name(step->kind), step->name);
        if (*step->pass)
            names[all++] = arena_printf(arena, "%s %s", trace_kind_name(TRACE_PASS), step->pass);
    }
    if (all)
        qsort(names, all, sizeof *names, compare_names);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (*count == 0 || !text_equal(names[*count - 1], names[i]))
            names[(*count)++] = names[i];
    return names;
}

/* Names for a sentence, each once; a few are enough. */
enum { MOST_NAMES = 5 };
struct name_list {
    const char *names[MOST_NAMES];
    const char *devices[MOST_NAMES];
    size_t count;
    bool more;
};

static void list_name(struct name_list *list, const char *name, const char *device)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->names[i], name) && text_equal(list->devices[i], device))
            return;
    if (!*name)
        return;
    if (list->count == MOST_NAMES) {
        list->more = true;
        return;
    }
    list->names[list->count] = name;
    list->devices[list->count++] = device;
}

static void add_list(const struct name_list *list, const char *before, struct str *out)
{
    for (size_t i = 0; i < list->count; i++) {
        bool last = i + 1 == list->count;
        bool device = *list->devices[i] && (last || !text_equal(list->devices[i], list->devices[i + 1]));
        str_printf(out, "%s%s", i == 0 ? before : last && !list->more ? " and " : ", ", list->names[i]);
        if (device)
            str_printf(out, ", %s", list->devices[i]);
    }
    if (list->more)
        str_add(out, " and others");
}

void trace_words(const struct trace *trace, const char *value, struct str *out)
{
    struct name_list kernels = {0}, passes = {0}, all_passes = {0};
    bool known = trace_find(trace, value) != NULL;
    for (size_t i = 0; trace && i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        if (step->kind == TRACE_PASS) {
            list_name(&all_passes, step->name, "");
        } else if (!known || computes(step, value)) {
            list_name(&kernels, step->name, step->device);
            list_name(&passes, step->pass, "");
        }
    }
    add_list(&kernels, "computed by ", out);
    add_list(passes.count ? &passes : &all_passes, kernels.count ? ", after " : "with the graph changed by ",
             out);
}

static void json_step(const struct trace_step *step, struct json *json)
{
    json_object(json, NULL);
    json_string(json, "kind", trace_kind_name(step->kind));
    json_string(json, "name", step->name);
    if (*step->device)
        json_string(json, "device", step->device);
    if (*step->pass)
        json_string(json, "pass", step->pass);
    if (step->n_outputs) {
        json_array(json, "outputs");
        for (size_t i = 0; i < step->n_outputs; i++)
            json_string(json, NULL, step->outputs[i]);
        json_end(json);
    }
    json_end(json);
}

void trace_json(const struct trace *trace, struct json *json, const char *member)
{
    if (!trace) {
        json_string(json, member, NULL);
        return;
    }
    json_array(json, member);
    for (size_t i = 0; i < trace->count; i++)
        json_step(&trace->steps[i], json);
    json_end(json);
}
