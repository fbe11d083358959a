/*
 * Engine bugs that are written up already: a table that findings are looked up in.
 *
 * A line is engine, verdict, "node :: text" (three shell patterns) and the document that has the evidence,
 * with tabs between; '#' starts a comment. The document "-" explains nothing: what rows behind it would take
 * as theirs, too. `node` is what explained_nodes writes, `text` the judge's line.
 */
#ifndef FINDINGS_EXPLAINED_H
#define FINDINGS_EXPLAINED_H

#include "base/str.h"
#include "case/test_case.h"
#include "findings/store.h"
#include "locate/settle.h"

struct explained_row {
    char *engine, *verdict, *node, *document;
    size_t met; /* for the caller */
};

struct explained {
    struct explained_row *rows;
    size_t count, capacity;
};

/* An empty table when path is NULL. */
int explained_read(struct explained *table, const char *path, struct error *err);
void explained_release(struct explained *table);

/* The first row that matches, or NULL. */
struct explained_row *explained_find(const struct explained *table, const char *engine, const char *verdict,
                                     const char *node, const char *text);

/*
 * The nodes to blame, or all when nobody is: "Conv opset=13 float32[1,2,8] const:float32[2,2,3] pads=0,1",
 * with " + " between.
 */
void explained_nodes(struct str *out, const struct model *model, const struct test_case *testcase,
                     const struct settlement *settlement);

/* A finding of a store, and the case that shows it. */
struct explained_case {
    const char *signature, *engine, *verdict, *text;
    const struct model *model;
    const struct test_case *testcase;
    const struct settlement *settlement; /* may be NULL */
};

/*
 * Looks the finding up: with a row in the table its status becomes "known: DOCUMENT". What was looked up
 * stays in the store, so that explained_again finds it in a later table.
 */
int explained_mark(const struct explained *table, struct store *store, const struct explained_case *which,
                   struct error *err);

/* Looks up again all findings of the store that are not explained yet. */
int explained_again(const struct explained *table, struct store *store, struct error *err);

#endif
