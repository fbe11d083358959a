#include "diagnose/mates.h"

#include "base/str.h"
#include "diagnose/cause_parts.h"
#include "diagnose/changed_case.h"
#include "findings/signature.h"
#include "model/model.h"
#include "ops/param_value.h"

#include <string.h>

bool mates_are_alike(const struct op *a, const struct op *b)
{
    return a->eval && !cause_is_function(a) && !cause_is_function(b) &&
           (a->eval == b->eval || (a->fit && a->fit == b->fit) ||
            (param_named(a, "keepdims") && param_named(b, "keepdims")));
}

const char *mates_first(const char *name)
{
    const struct op *op = op_find(name);
    for (size_t i = 0; op && i < op_count(); i++)
        if (mates_are_alike(op_at(i), op))
            return op_at(i)->name;
    return name;
}

/* Attributes that the operator does not have are left out. */
static void become(Onnx__NodeProto *node, const struct op *op, struct model *model)
{
    size_t kept = 0;
    node->op_type = arena_strdup(&model->arena, op->type);
    for (size_t i = 0; i < node->n_attribute; i++)
        if (param_named(op, node->attribute[i]->name))
            node->attribute[kept++] = node->attribute[i];
    node->n_attribute = kept;
}

/* The case with one operator in the place of another. */
static struct test_case *exchanged(const struct test_case *test, const struct op *from, const struct op *to)
{
    struct model *model;
    struct test_case *changed = changed_begin(test, &model);
    bool any = false;
    for (size_t i = 0; changed && i < model->graph->n_node; i++)
        if (op_of(model->graph->node[i]) == from) {
            become(model->graph->node[i], to, model);
            any = true;
        }
    return changed ? changed_finish(changed, any) : NULL;
}

/* The message of a case without an answer, in which the operator's name does not matter. */
static void message_of(const struct experiment *how, const struct trial_done *done, const struct op *op,
                       struct str *out)
{
    struct signature signature;
    experiment_message(how, done, &signature);
    for (const char *at = signature.message; *at;) {
        bool named = text_starts(at, op->type);
        str_append(out, named ? "?" : at, 1);
        at += named ? strlen(op->type) : 1;
    }
}

static bool fails_alike(const struct experiment *how, const struct op *own, const struct op *other)
{
    struct trial_done done;
    struct str message, with_other;
    if (!experiment_try(how, exchanged(trial_done_subject(how->done, 0), own, other), false, &done))
        return false;
    enum verdict_kind kind = how->done->judgement.verdicts[0].kind, now = done.judgement.verdicts[0].kind;
    bool alike = verdict_is_finding(now) && verdict_row(now)->kin == verdict_row(kind)->kin;
    str_init(&message);
    str_init(&with_other);
    if (alike && verdict_row(kind)->kin == KIN_REFUSAL) {
        message_of(how, how->done, own, &message);
        message_of(how, &done, other, &with_other);
        alike = text_equal(message.data, with_other.data);
    }
    str_release(&message);
    str_release(&with_other);
    trial_done_release(&done);
    return alike;
}

void mates_find(const struct experiment *how)
{
    const struct op *own = op_find(how->evidence->main);
    if (!own)
        return;
    for (size_t i = 0; i < op_count() && op_at(i) != own; i++)
        if (mates_are_alike(op_at(i), own) && fails_alike(how, own, op_at(i))) {
            how->evidence->shared = op_at(i)->name;
            return;
        }
}
