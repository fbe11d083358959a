/*
 * The kernels of the reference held against MPFR and exact rationals: operator by type, the largest error in
 * units in the last place of long double, and how many elements are outside their own hard bound.
 *
 *     test_mathematics [--points N] [--nodes N] [--seed S] [NAME]
 *
 * NAME: only operators whose name contains it. The exit status is 0 when nothing is outside.
 */
#include "truth.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t points = 4000, nodes = 30;
    uint64_t seed = 1;
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--points") == 0 && i + 1 < argc)
            points = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc)
            nodes = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else
            only = argv[i];
    }
    /* Beyond the range of long double there is nothing to compare: exp of a large number need not be
     * computed.
     */
    mpfr_set_emin(-(1 << 20));
    mpfr_set_emax(1 << 20);
    check_functions(points, seed, only);
    check_pairs(points, seed, only);
    check_nodes(nodes, seed, only);
    size_t outside = tally_print();
    printf("mathematics: %zu outside their bound, glibc %s (target 0)\n", outside, gnu_get_libc_version());
    return outside == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
