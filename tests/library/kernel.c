/*
 * A kernel in its author's test program, written from the header alone: what it computes is judged, spoiled
 * in one place and judged again. Then a tolerance for those who cannot take the library along and, where one
 * is named, the same question to an engine.
 *
 * usage: kernel MODEL [ENGINE]     a model of one input and one output, both float32 [3,4,5]
 */
#include <assay/assay.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 3 * 4 * 5 };

static int give_up(const struct assay_error *error)
{
    fprintf(stderr, "kernel: %s (status %d)\n", error->message, (int)error->status);
    return 2;
}

/* Ends a call that takes a minute. */
static int impatient(void *context, double seconds)
{
    (void)context;
    return seconds > 60;
}

static const char *word_of(const struct assay_verdict *verdict)
{
    return verdict->answer == ASSAY_RIGHT ? "right" : verdict->answer == ASSAY_WRONG ? "wrong" : "unjudged";
}

/* What the reference says of each element: how many the answer has beyond the likely error. */
static size_t far_off(const struct assay_value *value, const float *computed)
{
    size_t count = 0, i;
    for (i = 0; value->likely && i < value->count; i++)
        if (fabs((double)computed[i] - value->exact[i]) > 6 * value->likely[i])
            count++;
    return count;
}

int main(int argc, char **argv)
{
    struct assay_options options = ASSAY_OPTIONS;
    struct assay *assay = NULL;
    struct assay_model *model;
    struct assay_values *values;
    struct assay_error error;
    const struct assay_verdict *verdict;
    const struct assay_tolerances *tolerances;
    const struct assay_value *output;
    int64_t shape[3] = {3, 4, 5};
    /* The first axis closest, as the kernel likes it. */
    int64_t strides[3] = {1, 3, 12};
    float x[ELEMENTS], *y;
    struct assay_tensor input = {NULL, ASSAY_FLOAT32, 3, shape, strides, x};
    struct assay_tensor answer = {NULL, ASSAY_FLOAT32, 3, NULL, NULL, NULL};
    size_t i;
    int status = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: kernel MODEL [ENGINE]\n");
        return 2;
    }
    for (i = 0; i < ELEMENTS; i++)
        x[i] = (float)((double)((i * 7919) % 1000) / 500 - 1);
    options.deadline = 20;
    options.progress = impatient;
    if (assay_open(&assay, &options, &error))
        return give_up(&error);
    if (assay_model_load(assay, argv[1], &model, &error)) {
        assay_close(assay);
        return give_up(&error);
    }
    printf("%s from %s, libassay %s\n", assay_model_output(model, 0), assay_model_input(model, 0),
           assay_version());

    /* The kernel: here the reference's own numbers, one unit in the last place off. */
    if (assay_reference(assay, model, &input, 1, &values, &error)) {
        assay_close(assay);
        return give_up(&error);
    }
    output = assay_values_at(values, 0);
    y = (float *)malloc(output->size);
    if (!y || output->type != ASSAY_FLOAT32)
        return 2;
    for (i = 0; i < output->count; i++)
        y[i] = nextafterf(((const float *)output->data)[i], 0);
    answer.rank = output->rank;
    answer.shape = output->shape;
    answer.data = y;
    printf("%lu of %lu elements are farther off than is likely\n", (unsigned long)far_off(output, y),
           (unsigned long)output->count);

    for (i = 0; i < 2 && !status; i++) {
        if (i == 1)
            y[5] += 0.5f;
        if (assay_judge(assay, model, &input, 1, &answer, 1, &verdict, &error)) {
            status = give_up(&error);
        } else {
            printf("%s: %s\n", word_of(verdict), verdict->sentence);
            if (verdict->answer == ASSAY_WRONG)
                printf("element %lu of %s is %g, expected %g +- %g\n", (unsigned long)verdict->element,
                       verdict->output, verdict->got, verdict->expected, verdict->bound);
            assay_verdict_free(verdict);
        }
    }
    if (!status && assay_tolerances_of(assay, model, &input, 1, 0, &tolerances, &error)) {
        status = give_up(&error);
    } else if (!status) {
        for (i = 0; i < tolerances->count; i++)
            printf("%s: rtol %g atol %g%s\n", tolerances->items[i].output, tolerances->items[i].rtol,
                   tolerances->items[i].atol, tolerances->items[i].useful ? "" : ", which sees nothing");
        assay_tolerances_free(tolerances);
    }
    if (!status && argc > 2) {
        if (assay_judge_engine(assay, argv[2], model, &input, 1, &verdict, &error)) {
            status = give_up(&error);
        } else {
            printf("%s is %s (%s)\n", argv[2], word_of(verdict), verdict->word);
            assay_verdict_free(verdict);
        }
    }
    assay_values_free(values);
    free(y);
    assay_close(assay);
    return status;
}
