/*
 * Writes a campaign in a database as the folder that a campaign on one machine has: assay.db, the bundles in
 * findings/NAME, and the cases that a search kept in cases/NAME. All commands that read campaigns read it.
 *
 * The folder must be new or empty, and appears whole or not at all. Nothing that the database says leads
 * outside it: a bundle's folder is named after its finding only if that is a plain name, and its files are
 * those of a bundle. Rows that are not as Assay writes them are left out and counted, and there are limits on
 * sizes and numbers.
 */
#ifndef FINDINGS_CAMPAIGN_EXPORT_H
#define FINDINGS_CAMPAIGN_EXPORT_H

#include "base/error.h"

#include <stddef.h>

struct export_result {
    size_t findings, bundles, cases; /* written */
    size_t apart;                    /* listed apart (finding_is_apart), and not among the findings */
    size_t left_out;                 /* rows, bundles and cases */
    char why[300];                   /* the first that was left out; "" */
};

int campaign_export(const char *url, const char *name, const char *folder, struct export_result *result,
                    struct error *err);

#endif
