/*
 * The cases of a folder, and each of them told again: in every other element type of its kind, at every other
 * opset, and in other ranks. One engine's bug is often another's, and one type's that of others.
 *
 * The numbers stay, as far as the type has them. What then is no valid model, or none that the reference
 * evaluates, is left out. First come all cases as they are, then all in one other type, and so on.
 */
#ifndef CAMPAIGN_FOLDER_SOURCE_H
#define CAMPAIGN_FOLDER_SOURCE_H

#include "campaign/case_source.h"

/* Fails when there is no case in or below the folder (case/backend_suite.h), whose path is borrowed. */
int folder_source_new(struct case_source *source, const char *folder, struct error *err);

#endif
