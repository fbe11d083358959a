#include "conform/kept_verdicts.h"

#include "base/clean.h"
#include "base/content_hash.h"
#include "base/hash.h"
#include "base/memory.h"
#include "engine/answer_cache.h"
#include "engine/spec_hash.h"

#include <stdlib.h>
#include <string.h>

struct kept_verdicts {
    size_t engines;
    struct answer_cache **files;
    uint64_t *made_of; /* each engine */
};

/* The columns of a line, with tabs between them. */
enum column {
    COLUMN_VERDICT,
    COLUMN_STAGE,
    COLUMN_UNJUDGED, /* "yes" or "" */
    COLUMN_KIND,     /* the judge's verdict; "": he has nothing to say */
    COLUMN_ACCEPTED,
    COLUMN_MESSAGE,
    COLUMN_SAID,
    COLUMN_REFUTED,
    COLUMNS
};

static uint64_t hash_judge(uint64_t judge, const struct panel *panel)
{
    judge = content_hash_file(judge, USERS_PATH, "/proc/self/exe");
    if (panel->reference < 0)
        return judge;
    const struct engine_info *reference = pool_engine(panel->pool, panel->reference);
    return hash_combine(judge, spec_hash(reference->spec, reference->version));
}

/* The version is known without starting the engine, where it has several; else it is asked. */
static const char *version_of(const struct panel *panel, size_t place)
{
    const struct engine_info *engine = panel_engine(panel, place);
    if (engine->spec->version)
        return engine->spec->version;
    pool_starts(panel->pool, panel->engines[place], NULL);
    return engine->version;
}

int kept_open(struct kept_verdicts **kept, const char *folder, uint64_t judge, const struct panel *panel,
              struct error *err)
{
    struct kept_verdicts *opened = memory_zeroed(1, sizeof *opened);
    struct answer_cache_key key = {.model = "conform", .model_hash = hash_judge(judge, panel)};
    int status = 0;
    opened->engines = panel->count;
    opened->files = memory_zeroed(panel->count + 1, sizeof(struct answer_cache *));
    opened->made_of = memory_zeroed(panel->count + 1, sizeof *opened->made_of);
    for (size_t i = 0; i < panel->count && !status; i++) {
        const struct engine_info *engine = panel_engine(panel, i);
        key.engine = engine->label;
        key.version = version_of(panel, i);
        opened->made_of[i] = spec_hash(engine->spec, key.version);
        status = answer_cache_open(&opened->files[i], folder, &key, err);
    }
    if (status) {
        kept_close(opened);
        opened = NULL;
    }
    *kept = opened;
    return status;
}

void kept_close(struct kept_verdicts *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < kept->engines; i++)
        answer_cache_close(kept->files[i]);
    free(kept->files);
    free(kept->made_of);
    free(kept);
}

uint64_t kept_case(const struct suite_case *entry)
{
    struct folder folder = {0};
    uint64_t hash = 0;
    if (suite_case_open(&folder, entry, NULL) == 0)
        hash = content_hash_folder(1, &folder, SIZE_MAX);
    folder_close(&folder);
    return hash;
}

static void add_column(struct str *line, const char *text)
{
    if (text)
        clean_line(line, text);
    str_add(line, "\t");
}

static const char *yes(bool is)
{
    return is ? "yes" : "";
}

/* It may end otherwise another time. */
static bool is_fleeting(const struct conform_result *result)
{
    enum conform_verdict verdict = result->verdict;
    return conform_is(verdict, CLASS_TROUBLE) || verdict == CONFORM_HANG || verdict == CONFORM_MEMORY ||
           verdict == CONFORM_GARBAGE || verdict == CONFORM_NOT_RUNNABLE;
}

int kept_put(struct kept_verdicts *kept, uint64_t hash, size_t place, const struct conform_result *result,
             struct error *err)
{
    const struct engine_verdict *judged = result->judged;
    if (!hash || is_fleeting(result))
        return 0;
    struct str line;
    str_init(&line);
    add_column(&line, conform_verdict_name(result->verdict));
    add_column(&line, stage_name(result->stage));
    add_column(&line, yes(conform_is_unjudged(result)));
    add_column(&line, judged ? verdict_name(judged->verdict.kind) : "");
    add_column(&line, yes(judged && judged->accepted));
    add_column(&line, result->message);
    add_column(&line, result->said);
    add_column(&line, judged ? judged->refuted : "");
    int status =
        answer_cache_put_text(kept->files[place], hash_combine(hash, kept->made_of[place]), line.data, err);
    str_release(&line);
    return status;
}

static bool read_verdict(const char *word, struct conform_result *result)
{
    for (int i = 1; i < CONFORM_COUNT; i++)
        if (text_equal(word, conform_verdict_name((enum conform_verdict)i))) {
            result->verdict = (enum conform_verdict)i;
            return true;
        }
    return false;
}

static void read_stage(const char *word, struct conform_result *result)
{
    for (int i = STAGE_NONE; i <= STAGE_UNLOAD; i++)
        if (text_equal(word, stage_name((enum stage)i)))
            result->stage = (enum stage)i;
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

/* The few facts of the judge's verdict that count for the exit status. */
static const struct engine_verdict *shortened(struct arena *arena, enum verdict_kind kind, bool accepted,
                                              bool unjudged, const char *refuted)
{
    struct engine_verdict *made = arena_alloc(arena, sizeof *made);
    *made = (struct engine_verdict){
        .verdict = {.kind = kind, .blank = unjudged}, .accepted = accepted, .refuted = refuted, .detail = ""};
    return made;
}

/* Nothing is trusted: a line that is not whole is as none. */
static bool read_line(char *line, struct arena *arena, struct conform_result *result)
{
    const char *columns[COLUMNS];
    enum verdict_kind kind;
    for (int i = 0; i < COLUMNS; i++) {
        char *tab = strchr(line, '\t');
        if (!tab)
            return false;
        *tab = '\0';
        columns[i] = line;
        line = tab + 1;
    }
    *result = (struct conform_result){.bare = *columns[COLUMN_UNJUDGED] != '\0'};
    if (*line || !read_verdict(columns[COLUMN_VERDICT], result))
        return false;
    read_stage(columns[COLUMN_STAGE], result);
    result->message = text_or_null(columns[COLUMN_MESSAGE]);
    result->said = text_or_null(columns[COLUMN_SAID]);
    if (!*columns[COLUMN_KIND])
        return true;
    if (!verdict_parse(columns[COLUMN_KIND], &kind))
        return false;
    result->judged = shortened(arena, kind, *columns[COLUMN_ACCEPTED] != '\0', result->bare,
                               text_or_null(columns[COLUMN_REFUTED]));
    return true;
}

bool kept_get(const struct kept_verdicts *kept, uint64_t hash, size_t place, struct arena *arena,
              struct conform_result *result)
{
    char *line;
    if (!hash || !answer_cache_get_text(kept->files[place], hash_combine(hash, kept->made_of[place]), &line))
        return false;
    bool whole = read_line(arena_strdup(arena, line), arena, result);
    free(line);
    return whole;
}

void kept_shorten(struct conform_result *result, struct arena *arena)
{
    const struct engine_verdict *judged = result->judged;
    bool unjudged = conform_is_unjudged(result);
    result->bare = unjudged;
    if (!judged)
        return;
    if (conform_judge_says(result)) {
        struct str said;
        str_init(&said);
        engine_verdict_sentence(judged, &said);
        result->said = arena_strdup(arena, said.data);
        str_release(&said);
    }
    bool counts =
        verdict_is_finding(judged->verdict.kind) || conform_is_apart(result) || judged->refuted || unjudged;
    const char *refuted = judged->refuted ? arena_strdup(arena, judged->refuted) : NULL;
    result->judged =
        counts ? shortened(arena, judged->verdict.kind, judged->accepted, unjudged, refuted) : NULL;
}
