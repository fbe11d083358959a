/* Pages that need nothing else: what their makers share. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/str.h"

/* JSON for a script element: a '<' stands only inside strings, and "</script>" would end the data. */
void page_add_data(struct str *out, const char *json);

#endif
