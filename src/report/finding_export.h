/*
 * The findings of a campaign for CI servers and code hosts, as JUnit XML and as SARIF. A finding is a failed
 * test and a result; one that a known issue explains is a skipped test and a suppressed result. An engine on
 * which nothing was found is a test that passed.
 */
#ifndef REPORT_FINDING_EXPORT_H
#define REPORT_FINDING_EXPORT_H

#include "findings/store.h"
#include "report/junit.h"
#include "report/sarif.h"

struct finding_export {
    const char *junit_path, *sarif_path; /* NULL: not wanted */
    const char *folder;                  /* of the campaign */
    bool force;                          /* overwrite any file */
    struct junit junit;
    struct sarif sarif;
};

/* The paths are borrowed. Fails, before any work, when a file cannot be written. */
int finding_export_open(struct finding_export *export, const char *junit_path, const char *sarif_path,
                        const char *folder, bool force, struct error *err);
void finding_export_release(struct finding_export *export);

/* Adds a finding; `known`: a known issue explains it, as its status says. */
void finding_export_add(struct finding_export *export, const struct stored *stored, bool known);

/* Adds a test that passed: nothing that is news was found on the engine in so many cases. */
void finding_export_pass(struct finding_export *export, const char *engine, const char *what);

/* Writes the files. trouble: why not everything was judged, or "". */
int finding_export_write(struct finding_export *export, const char *trouble, struct error *err);

#endif
