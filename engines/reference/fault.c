#include "fault.h"

#include "base/str.h"
#include "ops/gradient.h"

#include <string.h>

static const struct fault *const papers[] = {
    faults_cradle,  faults_audee,    faults_eagle, faults_graph_fuzzing, faults_graph,     faults_images,
    faults_running, faults_gradient, faults_newer, faults_narrow,        faults_microsoft, faults_reaching};

enum { PAPERS = sizeof papers / sizeof *papers };

const struct fault *fault_find(const char *name)
{
    for (size_t p = 0; p < PAPERS; p++)
        for (const struct fault *fault = papers[p]; fault->name; fault++)
            if (strcmp(fault->name, name) == 0)
                return fault;
    return NULL;
}

/* Is `word` one of the '|'-separated words? */
static bool among(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == '|' || !at[length]))
            return true;
    return false;
}

static bool concerns(const struct fault *fault, const struct op *op)
{
    return strcmp(fault->operators, "any") == 0 || among(fault->operators, op->name);
}

int fault_hook(void *context, struct op_call *call)
{
    const struct fault_scene *scene = context;
    const struct fault *fault = scene->fault;
    return fault->eval && concerns(fault, call->op) ? fault->eval(scene, call) : call->op->eval(call);
}

int fault_gradient_hook(void *context, struct op_gradient *gradient)
{
    const struct fault_scene *scene = context;
    const struct fault *fault = scene->fault;
    const struct op *op = gradient->call->op;
    return fault->gradient && concerns(fault, op) ? fault->gradient(scene, gradient) : op->gradient(gradient);
}

char *fault_list(void)
{
    struct str text;
    str_init(&text);
    for (size_t p = 0; p < PAPERS; p++)
        for (const struct fault *f = papers[p]; f->name; f++)
            str_printf(&text, "%s\t%s\t%s\t%s\t%s\t%s\n", f->name, f->paper, f->operators, f->parameter,
                       f->tied ? f->tied : "-", f->summary);
    return text.data;
}
