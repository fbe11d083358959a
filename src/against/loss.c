#include "against/loss.h"

#include <math.h>

void loss_add(struct loss *loss, const struct tensor *made, const struct tensor *base, size_t sample)
{
    for (size_t i = 0; i < base->count && made->count == base->count; i++) {
        long double x = tensor_get(base, i), y = tensor_get(made, i), error = fabsl(x - y);
        if (!isfinite(x))
            continue;
        loss->elements++;
        if (!isfinite(y)) {
            loss->broken++;
            continue;
        }
        loss->error2 += error * error;
        loss->base2 += x * x;
        loss->made2 += y * y;
        loss->product += x * y;
        if ((double)error > loss->largest) {
            loss->largest = (double)error;
            loss->sample = sample;
            loss->element = i;
            loss->base = (double)x;
            loss->made = (double)y;
        }
    }
}

double loss_mse(const struct loss *loss)
{
    size_t counted = loss->elements - loss->broken;
    return counted ? (double)(loss->error2 / (long double)counted) : NAN;
}

double loss_share(const struct loss *loss)
{
    if (loss->broken)
        return INFINITY;
    return loss->error2 > 0 ? (double)sqrtl(loss->error2 / loss->base2) : 0;
}

double loss_snr(const struct loss *loss)
{
    return -20 * log10(loss_share(loss));
}

double loss_cosine(const struct loss *loss)
{
    bool same = loss->error2 == 0 && !loss->broken;
    return same ? 1 : (double)(loss->product / sqrtl(loss->base2 * loss->made2));
}
