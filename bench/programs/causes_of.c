/*
 * The causes of stored findings: what bench/dedup groups again.
 *
 *     causes_of <FINDINGS
 *
 * Reads one finding a line, signature and evidence (findings/evidence.h) with a tab between, and prints the
 * key of its cause.
 */
#include "findings/cause_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) >= 0) {
        struct signature signature;
        struct finding_evidence evidence;
        struct str key;
        line[strcspn(line, "\n")] = '\0';
        char *tab = strchr(line, '\t');
        if (tab)
            *tab = '\0';
        if (!tab || !signature_parse(&signature, line)) {
            fprintf(stderr, "causes_of: no signature and evidence: %s\n", line);
            free(line);
            return 2;
        }
        str_init(&key);
        evidence_init(&evidence);
        evidence_read(&evidence, tab + 1, strlen(tab + 1));
        cause_key(&key, &signature, &evidence);
        puts(key.data);
        evidence_release(&evidence);
        str_release(&key);
    }
    free(line);
    return 0;
}
