/*
 * Lists of the cases that an engine is known to fail, in the forms in which teams keep them beside their
 * tests. They are held strictly: a case that is listed and passes is as wrong as one that fails and is not.
 *
 *   filters  JSON with comments, as ONNX Runtime's onnx_backend_test_series_filters.jsonc: an object whose
 *            members are lists of regular expressions, each of which is searched in the name of a test, which
 *            is that of the case with the device behind it (test_add_cpu). Where the name of a list is that
 * of another with _WORD behind it (current_failing_tests_x86), it holds only where WORD is asked for. An item
 * [opset, expression] may fail or pass, as the opset is not known here. suites   JSON, as IREE's suites of
 * ONNX tests: names of cases, or paths that end with them, in the lists expected_compile_failures and
 * expected_run_failures. What a list skip_... names may fail or pass. names    a name in each line, as
 * pytest's ids with :: in front of it or alone, and with or without the device behind it. What follows a # is
 * a comment.
 *
 * A list is untrusted text: its size, the number of its entries and the regular expressions are limited.
 */
#ifndef CONFORM_EXPECTED_FAILURES_H
#define CONFORM_EXPECTED_FAILURES_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct expected_failures;

/* word: see above; NULL: the lists for all alone. ERROR_FORMAT says where the file goes wrong. The caller
 * frees it. */
int expected_failures_open(struct expected_failures **list, const char *path, const char *word,
                           struct error *err);
void expected_failures_free(struct expected_failures *list); /* accepts NULL */

enum listing { LISTED_NOT, LISTED_FAILS, LISTED_EITHER };

/* What the list says of a case; `name` may be a path that ends with it. Counts the case for each entry that
 * fits, and whether it failed: to be asked once for each case that was run. */
enum listing expected_failures_hold(struct expected_failures *list, const char *name, bool failed);

/* A case that fails and is not listed; why: one line. at_load: it failed when the model was loaded. */
void expected_failures_add(struct expected_failures *list, const char *name, const char *why, bool at_load);

/* Entries that hold, and those of them that no case fitted. */
size_t expected_failures_count(const struct expected_failures *list);
size_t expected_failures_idle(const struct expected_failures *list);

/*
 * The file's text as it should be after all cases were held: entries whose cases all pass are gone, those of
 * which some pass have become the names of those that fail, and the added cases stand at the end of the first
 * list that holds. All else, and every comment on a line of its own, stays byte for byte. A file in which
 * nothing changes is the same. Fails where there is no list that an added case could stand in.
 */
int expected_failures_text(const struct expected_failures *list, struct str *out, struct error *err);

#endif
