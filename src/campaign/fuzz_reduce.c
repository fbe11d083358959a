/* The findings that nobody has looked at yet, reduced between ranges. */
#include "campaign/fuzz_running.h"

#include "base/clock.h"
#include "base/memory.h"
#include "campaign/follow_up.h"
#include "campaign/kept_case.h"
#include "findings/stored_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The share of the time that reducing may take, and the most seconds for one finding. */
#define REDUCE_SHARE 0.33
#define REDUCE_SECONDS 15

/* How far a finding of a shared campaign is reduced must not depend on the speed of the machine. So the
 * number of candidates is limited, and the time limit only stops a reduction that takes extraordinarily long.
 */
#define SHARED_REDUCE_SECONDS 300
#define SHARED_REDUCE_DEADLINE 30
enum { SHARED_REDUCE_MOST = 4000 };

/* A finding that nobody has looked at yet. */
struct waiting {
    char *signature, *recipe, *engine;
};

static int find_waiting(void *context, const struct stored *stored, struct error *err)
{
    struct waiting *waiting = context;
    (void)err;
    if (stored->state != STATE_NEW)
        return 0;
    waiting->signature = memory_strdup(stored->signature);
    waiting->recipe = memory_strdup(stored->recipe);
    waiting->engine = memory_strdup(stored->engine);
    return 1;
}

/* A case of a shared search lies in the database. */
static int fetch_case(struct fuzz *fuzz, const char *recipe, struct error *err)
{
    static const char prefix[] = "case cases/";
    const char *name = recipe + strlen(prefix);
    size_t count;
    if (!fuzz->sharing || !text_starts(recipe, prefix) || !kept_case_name_valid(name))
        return 0;
    struct str path;
    str_init(&path);
    str_printf(&path, "cases/%s", name);
    int status = stored_files_write(fuzz->store, recipe, &fuzz->folder, path.data, &count, err);
    str_release(&path);
    return status;
}

/* A finding that this worker follows up. */
struct followed {
    struct fuzz *fuzz;
    const char *signature;
    double renewed; /* clock */
};

/* If the lease is lost all the same, another worker follows up the finding, with the same result. */
static void renew_follow_up(void *context)
{
    struct followed *followed = context;
    struct fuzz *fuzz = followed->fuzz;
    bool held;
    if (clock_seconds() - followed->renewed < FOLLOW_UP_SECONDS / 4.0)
        return;
    followed->renewed = clock_seconds();
    work_follow_up_renew(fuzz->shared.work, followed->signature, FOLLOW_UP_SECONDS, &held, NULL);
}

static int reduce_one(struct fuzz *fuzz, const char *signature, const char *recipe, const char *engine,
                      struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    bool sharing = fuzz->sharing;
    struct followed followed = {fuzz, signature, clock_seconds()};
    struct follow_up_options options = {
        .panel = o->panel,
        .store = fuzz->store,
        .folder = &fuzz->folder,
        .work = sharing ? fuzz->shared.work : NULL,
        .alive = sharing ? renew_follow_up : NULL,
        .context = &followed,
        .draw = o->draw,
        .known = &fuzz->known,
        .registry = o->registry,
        .no_bisect = !sharing,
        .reduce_seconds = sharing ? SHARED_REDUCE_SECONDS : REDUCE_SECONDS,
        .reduce_deadline = sharing ? SHARED_REDUCE_DEADLINE : 0,
        .reduce_most = sharing ? SHARED_REDUCE_MOST : 0,
    };
    struct follow_up_done done;
    struct error why = {0};
    char reason[200];
    if (!fetch_case(fuzz, recipe, &why) &&
        !follow_up_finding(&options, signature, recipe, engine, &done, &why))
        return 0;
    snprintf(reason, sizeof reason, "%.180s", why.message);
    struct work_outcome failed = {.from = signature, .state = STATE_FAILED, .detail = reason};
    return sharing ? work_follow_up_done(fuzz->shared.work, &failed, err)
                   : store_settle(fuzz->store, signature,
                                  &(struct settled){.state = STATE_FAILED, .detail = reason}, err);
}

/* The next finding that nobody has looked at: 1, 0 when there is none. */
static int reduce_waiting(struct fuzz *fuzz, struct error *err)
{
    struct store_filter all = {0};
    struct waiting waiting = {0};
    int status = store_list(fuzz->store, &all, find_waiting, &waiting, err);
    if (status == 1 && reduce_one(fuzz, waiting.signature, waiting.recipe, waiting.engine, err))
        status = -1;
    free(waiting.signature);
    free(waiting.recipe);
    free(waiting.engine);
    return status;
}

/* The same in a shared campaign, where no other worker may look at it. */
static int reduce_leased(struct fuzz *fuzz, struct error *err)
{
    struct work_finding finding;
    bool found;
    work_finding_init(&finding);
    int status = work_follow_up(fuzz->shared.work, FOLLOW_UP_SECONDS, &finding, &found, err);
    if (!status && found)
        status =
            reduce_one(fuzz, finding.signature.data, finding.recipe.data, finding.engine.data, err) ? -1 : 1;
    work_finding_release(&finding);
    return status;
}

/* While no case is under way: as many new findings as there is time for. */
int fuzz_reduce_findings(struct fuzz *fuzz, struct error *err)
{
    while (fuzz->options->reduce && !fuzz->stop && !fuzz_time_is_up(fuzz)) {
        double start = clock_seconds();
        if (fuzz->reducing > REDUCE_SHARE * (start - fuzz->started) && !fuzz->over)
            break;
        int status = fuzz->sharing ? reduce_leased(fuzz, err) : reduce_waiting(fuzz, err);
        fuzz->reducing += clock_seconds() - start;
        if (status <= 0)
            return status;
        if (fuzz_recount(fuzz->status, fuzz->store, err) || fuzz_keep(fuzz, true, err))
            return -1;
    }
    return 0;
}
