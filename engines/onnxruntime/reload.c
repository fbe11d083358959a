/*
 * The optimised model saved and loaded again, as ONNX Runtime's documentation describes its offline mode: the
 * first session optimises and saves, the second one is made from the file and optimises no more.
 */
#include "ort.h"

#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>
#include <unistd.h>

enum { RELOAD_NO, RELOAD_ONNX, RELOAD_OWN }; /* in the order of the knob's values */

/* A worker's TMPDIR is its scratch folder; elsewhere the number of the process keeps workers apart. */
char *ort_scratch_file(const char *ending)
{
    const char *folder = getenv("TMPDIR");
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/assay-%ld.%s", folder && *folder ? folder : "/tmp", (long)getpid(), ending);
    return str_detach(&path);
}

/* The format of a file that the library reads follows from its ending, unless the options say it. */
static int set_format(struct adapter_call *call, const struct ort *ort)
{
    if (ort_check(call, ORT_STAGE_START,
                  ort->api->AddSessionConfigEntry(ort->options, "session.save_model_format", "ORT")) < 0)
        return -1;
    return ort_check(
        call, ORT_STAGE_START,
        ort->api->AddSessionConfigEntry(ort->reload_options, "session.load_model_format", "ORT"));
}

int ort_reload_start(struct adapter_call *call, const char *save)
{
    struct ort *ort = call->engine;
    int format = adapter_choice(call, "reload");
    if (format <= RELOAD_NO)
        return format;
    ort->reload_keep = save[0] != '\0';
    ort->reload_path = ort->reload_keep
                           ? memory_strdup(save)
                           : ort_scratch_file(format == RELOAD_OWN ? "optimised.ort" : "optimised.onnx");
    /* The copy is made before the path is set: the second session saves nothing. */
    if (ort_check(call, ORT_STAGE_START, ort->api->CloneSessionOptions(ort->options, &ort->reload_options)) <
            0 ||
        ort_check(call, ORT_STAGE_START,
                  ort->api->SetSessionGraphOptimizationLevel(ort->reload_options, ORT_DISABLE_ALL)) < 0 ||
        ort_check(call, ORT_STAGE_START,
                  ort->api->SetOptimizedModelFilePath(ort->options, ort->reload_path)) < 0)
        return -1;
    return format == RELOAD_OWN ? set_format(call, ort) : 0;
}

int ort_reload(struct adapter_call *call, const OrtSessionOptions *options)
{
    struct ort *ort = call->engine;
    ort->api->ReleaseSession(ort->loaded.session);
    ort->loaded.session = NULL;
    int result = ort_session_create(call, options, ort->reload_path, NULL, 0, &ort->loaded.session);
    /* What the session still wants of it stays mapped. */
    if (!ort->reload_keep)
        unlink(ort->reload_path);
    return result;
}
