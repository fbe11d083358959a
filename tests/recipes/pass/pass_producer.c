/* The name of the program that made the model. */
#include "reduce/pass.h"

static void list_producer(const struct subject *subject, const struct record *record, struct edits *edits)
{
    (void)record;
    if (subject->model->proto->producer_name && *subject->model->proto->producer_name)
        edits_add(edits, (struct edit){0});
}

static int apply_producer(struct subject *copy, const struct record *record, const struct edit *edit)
{
    (void)record;
    (void)edit;
    copy->model->proto->producer_name = arena_strdup(&copy->model->arena, "");
    return 0;
}

const struct pass pass_producer = {"producer", list_producer, apply_producer};
