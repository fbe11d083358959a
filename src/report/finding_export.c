#include "report/finding_export.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/output.h"
#include "judge/verdict.h"
#include "locate/classify.h"

#include <stdlib.h>

int finding_export_open(struct finding_export *export, const char *junit_path, const char *sarif_path,
                        const char *folder, bool force, struct error *err)
{
    *export = (struct finding_export){
        .junit_path = junit_path, .sarif_path = sarif_path, .folder = folder, .force = force};
    junit_init(&export->junit);
    sarif_init(&export->sarif);
    if ((junit_path && output_file_check(junit_path, force, err)) ||
        (sarif_path && output_file_check(sarif_path, force, err)))
        return -1;
    return 0;
}

void finding_export_release(struct finding_export *export)
{
    junit_release(&export->junit);
    sarif_release(&export->sarif);
}

static void add_details(struct str *out, const struct stored *stored)
{
    str_printf(out, "class: %s\noperators: %s\nseen: %lld times\nsignature: %s\nrecipe: %s\n", stored->class,
               stored->operators, (long long)stored->count, stored->signature, stored->recipe);
    if (*stored->bundle)
        str_printf(out, "bundle: %s\n", stored->bundle);
}

static void add_junit(struct finding_export *export, const struct stored *stored, bool known)
{
    bool apart = finding_is_apart(stored->class);
    struct str details;
    str_init(&details);
    add_details(&details, stored);
    junit_suite_of(&export->junit, stored->engine);
    junit_case(&export->junit, &(struct junit_case){
                                   .name = stored->name,
                                   .result = known || apart ? JUNIT_SKIPPED : JUNIT_FAILURE,
                                   .type = stored->kind,
                                   .message = known ? stored->status : stored->title,
                                   .details = details.data,
                               });
    str_release(&details);
}

/* The report of a bundled finding, else the campaign's database: a code host shows no result without a
 * file. */
static char *path_of(const struct finding_export *export, const struct stored *stored)
{
    char *within = *stored->bundle ? file_join(stored->bundle, "report.md") : memory_strdup("assay.db");
    char *path = file_join(export->folder, within);
    free(within);
    return path;
}

static enum sarif_level level_of(const struct stored *stored, bool known)
{
    enum finding_class class;
    bool bug = finding_class_parse(stored->class, &class) && class == FINDING_BUG;
    return known || finding_is_apart(stored->class) ? SARIF_NOTE : bug ? SARIF_ERROR : SARIF_WARNING;
}

static void add_sarif(struct finding_export *export, const struct stored *stored, bool known)
{
    enum verdict_kind kind;
    struct str text;
    char *path = path_of(export, stored);
    str_init(&text);
    str_printf(&text, "The engine %s.",
               verdict_parse(stored->kind, &kind) ? verdict_row(kind)->sentence : "is at fault");
    sarif_rule(&export->sarif, stored->kind, text.data);
    str_clear(&text);
    str_printf(&text, "%s: %s", stored->engine, stored->title);
    sarif_add(&export->sarif, &(struct sarif_result){
                                  .rule = stored->kind,
                                  .level = level_of(stored, known),
                                  .message = text.data,
                                  .path = path,
                                  .engine = stored->engine,
                                  .operators = stored->operators,
                                  .fingerprint = stored->signature,
                                  .accepted = known ? stored->status : NULL,
                              });
    str_release(&text);
    free(path);
}

void finding_export_add(struct finding_export *export, const struct stored *stored, bool known)
{
    if (export->junit_path)
        add_junit(export, stored, known);
    if (export->sarif_path)
        add_sarif(export, stored, known);
}

void finding_export_pass(struct finding_export *export, const char *engine, const char *what)
{
    junit_suite_of(&export->junit, engine);
    junit_case(&export->junit, &(struct junit_case){.name = what});
}

static int write_file(const struct finding_export *export, const char *path, const struct str *text,
                      struct error *err)
{
    return output_file_write(path, text->data, text->length, export->force, err);
}

int finding_export_write(struct finding_export *export, const char *trouble, struct error *err)
{
    struct str out;
    int status = 0;
    str_init(&out);
    if (export->junit_path) {
        if (*trouble)
            junit_trouble(&export->junit, "campaign", trouble);
        junit_write(&export->junit, &out);
        status = write_file(export, export->junit_path, &out, err);
    }
    if (export->sarif_path && !status) {
        str_clear(&out);
        sarif_write(&export->sarif, trouble, &out);
        status = write_file(export, export->sarif_path, &out, err);
    }
    str_release(&out);
    return status;
}
