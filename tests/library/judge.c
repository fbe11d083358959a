/*
 * A program against the installed library: the page of C that the documentation shows (docs/library.md).
 *
 * usage: judge MODEL     a model with one input x and one output y, both float32 [3,4,5], that is to compute
 * |x|
 */
#include <assay/assay.h>

#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static const int64_t shape[] = {3, 4, 5};
    static float given[60], computed[60];
    struct assay_tensor x = {"x", ASSAY_FLOAT32, 3, shape, NULL, given};
    struct assay_tensor y = {"y", ASSAY_FLOAT32, 3, shape, NULL, computed};
    struct assay *assay;
    struct assay_model *model;
    const struct assay_verdict *verdict;
    struct assay_error error;
    int i, right;
    for (i = 0; i < 60; i++) {
        given[i] = (float)i - 30;
        computed[i] = fabsf(given[i]);
    }
    if (argc != 2 || assay_open(&assay, NULL, &error)) {
        fprintf(stderr, "%s\n", argc != 2 ? "usage: judge MODEL" : error.message);
        return 2;
    }
    if (assay_model_load(assay, argv[1], &model, &error) ||
        assay_judge(assay, model, &x, 1, &y, 1, &verdict, &error)) {
        fprintf(stderr, "%s\n", error.message);
        assay_close(assay);
        return 2;
    }
    right = verdict->answer == ASSAY_RIGHT;
    printf("%s\n", right ? "right" : verdict->sentence);
    assay_verdict_free(verdict);
    assay_close(assay);
    return !right;
}
