/*
 * The causes of stored findings: what bench/dedup groups again.
 *
 *     causes_of [ROW] <FINDINGS
 *     causes_of rows
 *
 * Reads one finding a line, signature and evidence (diagnose/evidence.h) with a tab between, and prints the
 * key of its cause; with the number of a row of the table (diagnose/table.h), as if the table did not have
 * it. `rows` prints a line for each row, with tabs between: the name of its key, or nothing where it makes
 * none; the experiment that it has, if any; and what it needs that an engine has to tell, made_by or stack,
 * if anything.
 */
#include "diagnose/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_rows(void)
{
    for (size_t i = 0; i < cause_row_count(); i++) {
        const struct cause_row *row = cause_row_at(i);
        printf("%s\t%s\t%s\n", row->all || row->any ? row->name : "",
               row->make || row->ask ? evidence_bit_name(row->shows) : "",
               row->all & EVIDENCE(HAS_FUSION)  ? "made_by"
               : row->all & EVIDENCE(HAS_STACK) ? "stack"
                                                : "");
    }
    return 0;
}

static int print_cause(char *line, const struct cause_row *without)
{
    struct signature signature;
    struct finding_evidence evidence;
    struct str key;
    char *tab = strchr(line, '\t');
    if (tab)
        *tab = '\0';
    if (!tab || !signature_parse(&signature, line)) {
        fprintf(stderr, "causes_of: no signature and evidence: %s\n", line);
        return 2;
    }
    str_init(&key);
    evidence_init(&evidence);
    evidence_read(&evidence, tab + 1, strlen(tab + 1));
    cause_key(&key, &signature, &evidence, without);
    puts(key.data);
    evidence_release(&evidence);
    str_release(&key);
    return 0;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    if (argc == 2 && text_equal(argv[1], "rows"))
        return print_rows();
    size_t number = argc == 2 ? strtoul(argv[1], NULL, 10) : cause_row_count();
    const struct cause_row *without = number < cause_row_count() ? cause_row_at(number) : NULL;
    while (!status && getline(&line, &room, stdin) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        status = print_cause(line, without);
    }
    free(line);
    return status;
}
