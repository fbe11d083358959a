/*
 * Transforms of several small matrices side by side. Part of winograd.c, which includes it once for each kind
 * of registers: LANES_TARGET says which, LANES_NAME makes the names, and the code is in LANES_NAME(code).
 */

/* out = left * in * right' */
LANES_TARGET static void LANES_NAME(apply)(const struct winograd_matrix *left,
                                           const struct winograd_matrix *right, const struct grid *in,
                                           struct grid *out)
{
    for (size_t i = 0; i < left->rows; i++) {
        lanes_t half[WINOGRAD_TILE];
        for (size_t j = 0; j < right->cols; j++) {
            lanes_t sum = {0};
            for (size_t k = 0; k < left->cols; k++)
                if (left->at[i][k] != 0)
                    sum += left->at[i][k] * in->at[k][j];
            half[j] = sum;
        }
        for (size_t j = 0; j < right->rows; j++) {
            lanes_t sum = {0};
            for (size_t k = 0; k < right->cols; k++)
                if (right->at[j][k] != 0)
                    sum += right->at[j][k] * half[k];
            out->at[i][j] = sum;
        }
    }
}

LANES_TARGET static void LANES_NAME(take_magnitude)(const lanes_t *x, lanes_t *size)
{
    *size = (lanes_t)((lane_bits_t)*x & INT64_MAX);
}

/* The largest magnitude of each lane. Sets `most` where it follows from the values. */
LANES_TARGET static void LANES_NAME(find_largest)(struct reach *r, size_t rows, size_t cols, lanes_t *found)
{
    lanes_t largest = {0};
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            if (r->exact)
                LANES_NAME(take_magnitude)(&r->value.at[i][j], &r->most.at[i][j]);
            lane_bits_t above = r->most.at[i][j] > largest;
            largest = (lanes_t)(((lane_bits_t)r->most.at[i][j] & above) | ((lane_bits_t)largest & ~above));
        }
    *found = largest;
}

LANES_TARGET static void LANES_NAME(transform)(const struct passes *passes, struct reach *r,
                                               struct transformed *t)
{
    struct grid value, hard, most;
    lanes_t largest, endless, tiny = {0};
    LANES_NAME(find_largest)(r, passes->left->cols, passes->right->cols, &largest);
    LANES_NAME(apply)(passes->left, passes->right, &r->value, &value);
    LANES_NAME(apply)(passes->left_size, passes->right_size, &r->most, &most);
    if (!r->exact)
        LANES_NAME(apply)(passes->left_size, passes->right_size, &r->hard, &hard);
    lane_bits_t inside = largest < passes->limit, some = largest != 0;
    endless = (lanes_t)((lane_bits_t)(tiny + (double)INFINITY) & ~inside);
    tiny = (lanes_t)((lane_bits_t)(tiny + passes->tiny) & some);
    for (size_t i = 0; i < passes->left->rows; i++)
        for (size_t j = 0; j < passes->right->rows; j++) {
            lanes_t error = passes->error * most.at[i][j] + tiny, size = error;
            if (!r->exact)
                size += hard.at[i][j];
            LANES_NAME(take_magnitude)(&value.at[i][j], &value.at[i][j]);
            size += value.at[i][j];
            /* Nothing but infinity where something inside may overflow. */
            t->error.at[i][j] = (lanes_t)((lane_bits_t)error & inside) + endless;
            t->size.at[i][j] = (lanes_t)((lane_bits_t)size & inside) + endless;
        }
}

static const struct lanes_code LANES_NAME(code) = {LANES_NAME(apply), LANES_NAME(transform)};

#undef LANES_TARGET
#undef LANES_NAME
