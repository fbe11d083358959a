#include "base/format.h"

int format_check(double number, int known, struct error *err)
{
    if (number >= 1 && number <= known)
        return 0;
    if (!(number >= 1))
        return error_set(err, ERROR_FORMAT, "its format is no number from 1 on");
    return error_set(err, ERROR_FORMAT,
                     "it is of format %.0f, and this Assay reads formats up to %d: a newer Assay wrote it, "
                     "and can read it",
                     number, known);
}
