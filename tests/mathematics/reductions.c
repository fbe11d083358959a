/* Reductions, running sums and softmax. */
#include "nodes.h"

#include <string.h>

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Which dims are reduced; false: none, the node copies. */
static bool read_axes(const struct node *node, bool *reduced)
{
    const struct op_call *call = node->call;
    int rank = node->in[0].shape.rank;
    bool as_input = call->opset >= (ends_with(call->op->name, "ReduceSum") ? 13 : 18);
    size_t count = 0;
    memset(reduced, 0, TENSOR_MAX_RANK * sizeof *reduced);
    if (as_input && node_has(node, 1)) {
        count = node->in[1].count;
        for (size_t i = 0; i < count; i++)
            reduced[axis_of(mpfr_get_si(node->in[1].at[i], MPFR_RNDN), rank)] = true;
    } else if (!as_input) {
        const int64_t *axes = call_ints(call, "axes", &count);
        for (size_t i = 0; i < count; i++)
            reduced[axis_of(axes[i], rank)] = true;
    }
    if (count == 0 && as_input && call_int(call, "noop_with_empty_axes", 0))
        return false;
    for (int i = 0; count == 0 && i < rank; i++)
        reduced[i] = true;
    return true;
}

/* One element more: what each operator gathers. */
static void gather(mpfr_t sum, mpfr_srcptr x, const char *kind, bool first)
{
    mpfr_t t;
    mpfr_init(t);
    if (strcmp(kind, "L1") == 0) {
        mpfr_abs(t, x, MPFR_RNDN);
        mpfr_add(sum, sum, t, MPFR_RNDN);
    } else if (strcmp(kind, "L2") == 0 || strcmp(kind, "SumSquare") == 0) {
        add_product(sum, x, x);
    } else if (strcmp(kind, "LogSumExp") == 0) {
        mpfr_exp(t, x, MPFR_RNDN);
        mpfr_add(sum, sum, t, MPFR_RNDN);
    } else if (strcmp(kind, "Max") == 0 || strcmp(kind, "Min") == 0) {
        bool better = kind[1] == 'a' ? mpfr_greater_p(x, sum) : mpfr_less_p(x, sum);
        if (first || mpfr_nan_p(x) || (!mpfr_nan_p(sum) && better))
            mpfr_set(sum, x, MPFR_RNDN);
    } else if (strcmp(kind, "Prod") == 0) {
        if (first)
            mpfr_set(sum, x, MPFR_RNDN);
        else
            mpfr_mul(sum, sum, x, MPFR_RNDN);
    } else {
        mpfr_add(sum, sum, x, MPFR_RNDN);
    }
    mpfr_clear(t);
}

bool reduce_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    const char *kind = node->call->op->name + strlen("Reduce");
    bool reduced[TENSOR_MAX_RANK];
    bool whole = read_axes(node, reduced);
    struct shape kept = x->shape;
    for (int i = 0; i < kept.rank; i++)
        kept.dims[i] = whole && reduced[i] ? 1 : kept.dims[i];
    if (x->count == 0 || out->count == 0)
        return false;
    size_t each = x->count / out->count;
    for (size_t i = 0; i < x->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &x->shape, index);
        bool first = true;
        for (int k = 0; k < kept.rank; k++) {
            first = first && (kept.dims[k] == x->shape.dims[k] || index[k] == 0);
            index[k] = kept.dims[k] == 1 ? 0 : index[k];
        }
        gather(out->at[place_of(&kept, index)], x->at[i], kind, first);
    }
    for (size_t i = 0; i < out->count; i++) {
        if (strcmp(kind, "L2") == 0)
            mpfr_sqrt(out->at[i], out->at[i], MPFR_RNDN);
        else if (strncmp(kind, "Log", 3) == 0)
            mpfr_log(out->at[i], out->at[i], MPFR_RNDN);
        else if (strcmp(kind, "Mean") == 0)
            mpfr_div_ui(out->at[i], out->at[i], each, MPFR_RNDN);
    }
    return true;
}

bool cumsum_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    int axis = axis_of(mpfr_get_si(node->in[1].at[0], MPFR_RNDN), x->shape.rank);
    bool exclusive = call_int(node->call, "exclusive", 0), reverse = call_int(node->call, "reverse", 0);
    for (size_t i = 0; i < x->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &x->shape, index);
        int64_t here = index[axis];
        for (index[axis] = 0; index[axis] < x->shape.dims[axis]; index[axis]++) {
            bool before = reverse ? index[axis] > here : index[axis] < here;
            if (before || (index[axis] == here && !exclusive))
                mpfr_add(out->at[i], out->at[i], x->at[place_of(&x->shape, index)], MPFR_RNDN);
        }
    }
    return true;
}

/* Whether two elements are in one row: before opset 13 all dims from the axis on are one. */
static bool same_row(const struct node *node, const int64_t *a, const int64_t *b)
{
    int rank = node->in[0].shape.rank;
    bool old = node->call->opset < 13;
    int axis = axis_of(call_int(node->call, "axis", old ? 1 : -1), rank);
    for (int i = 0; i < rank; i++)
        if ((old ? i < axis : i != axis) && a[i] != b[i])
            return false;
    return true;
}

bool softmax_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    mpfr_t top, sum, t;
    mpfr_inits(top, sum, t, (mpfr_ptr)0);
    if (x->count > 4096) /* takes the square of the number of elements */
        return false;
    for (size_t i = 0; i < x->count; i++) {
        int64_t here[TENSOR_MAX_RANK], there[TENSOR_MAX_RANK];
        index_of(i, &x->shape, here);
        mpfr_set_inf(top, -1);
        for (int pass = 0; pass < 2; pass++) {
            mpfr_set_zero(sum, 1);
            for (size_t k = 0; k < x->count; k++) {
                index_of(k, &x->shape, there);
                if (!same_row(node, here, there))
                    continue;
                if (pass == 0) {
                    gather(top, x->at[k], "Max", false);
                } else {
                    mpfr_sub(t, x->at[k], top, MPFR_RNDN);
                    mpfr_exp(t, t, MPFR_RNDN);
                    mpfr_add(sum, sum, t, MPFR_RNDN);
                }
            }
        }
        mpfr_sub(out->at[i], x->at[i], top, MPFR_RNDN);
        if (strcmp(node->call->op->name, "LogSoftmax") == 0) {
            mpfr_log(sum, sum, MPFR_RNDN);
            mpfr_sub(out->at[i], out->at[i], sum, MPFR_RNDN);
        } else {
            mpfr_exp(out->at[i], out->at[i], MPFR_RNDN);
            mpfr_div(out->at[i], out->at[i], sum, MPFR_RNDN);
        }
    }
    mpfr_clears(top, sum, t, (mpfr_ptr)0);
    return true;
}
