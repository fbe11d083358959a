/*
 * The number that each form has which Assay writes and reads again, or which others read. It grows when a
 * program that knows the number before would read the form wrongly; what is only added keeps it.
 * docs/formats.md has the list.
 */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FORMAT_REPORT = 1,   /* JSON that commands print */
    FORMAT_BUNDLE = 1,   /* finding.json and reduced.json */
    FORMAT_CORPUS = 1,   /* index.json of an archive of cases */
    FORMAT_PROBE = 2,    /* a kept probe; 1 had the opsets to 21 */
    FORMAT_SETTINGS = 1, /* engine files and known issues */
};

/* Fails on a number that is above `known`, and says that a newer Assay wrote it. */
int format_check(double number, int known, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
