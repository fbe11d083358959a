/*
 * What a campaign found, in words: what stands first in `assay findings`.
 *
 *     The campaign found 15 causes of failure, 12 on opencv@4.10.0 and 3 on torch@2.6.0; 4 of them are known
 * issues.
 *     Look first at wrong-gemm-0123456789ab: Gemm gives 1 instead of 2 (opencv@4.10.0).
 *     Evidence: 40 findings, seen 233 times, all reduced to minimal cases.
 */
#ifndef REPORT_CAUSES_ANSWER_H
#define REPORT_CAUSES_ANSWER_H

#include "diagnose/causes.h"

/*
 * The causes in the order in which they should be looked at, on the heap: those that are not known first; of
 * them a wrong answer before an engine that dies, that before a refusal, then the one whose case has the
 * fewest nodes, then the one seen most often.
 */
const struct finding_cause **causes_sorted(const struct finding_causes *causes);

/*
 * Appends the sentences, separated by `between`: "\n", or " ". some: not all findings of the campaign were
 * asked for.
 */
void causes_answer(struct str *out, const struct finding_causes *causes, bool some, const char *folder,
                   const char *between);

#endif
