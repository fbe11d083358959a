/*
 * Cases that are kept in the folder of a campaign, because no line of text could make them again:
 * `cases/NAME`, in ONNX's backend-test layout. The recipe of such a case is "case cases/NAME".
 */
#ifndef CAMPAIGN_KEPT_CASE_H
#define CAMPAIGN_KEPT_CASE_H

#include "base/folder.h"
#include "case/test_case.h"

enum { KEPT_NAME_SIZE = 100 };

/*
 * A valid name has 1 to KEPT_NAME_SIZE - 1 letters, digits or any of _ - . and begins with a letter or a
 * digit. kept_case_name makes one of any text, such as a model's file name, and a number.
 */
bool kept_case_name_valid(const char *name);
void kept_case_name(const char *text, uint64_t number, char name[KEPT_NAME_SIZE]);

/* Writes the case to FOLDER/cases/NAME, whole or not at all. One that is there already stays. */
int kept_case_write(const struct folder *folder, const char *name, const struct test_case *test,
                    struct error *err);

/*
 * Makes a case from a recipe of a campaign: one that is kept in its folder, or one that its own line
 * describes (rules/rewriting.h). `folder` may be NULL for the latter. Recipes come from databases that anyone
 * may have written: nothing outside FOLDER/cases is read, and links are not followed.
 */
int campaign_case(const struct folder *folder, const char *recipe, struct test_case **out, struct error *err);

#endif
