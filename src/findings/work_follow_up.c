#include "findings/work_follow_up.h"

#include "findings/database.h"
#include "findings/stored_files.h"

#include <string.h>

enum { MOST_ATTEMPTS = 3 }; /* to follow up one finding */

void work_finding_init(struct work_finding *finding)
{
    str_init(&finding->signature);
    str_init(&finding->recipe);
    str_init(&finding->engine);
}

void work_finding_release(struct work_finding *finding)
{
    str_release(&finding->signature);
    str_release(&finding->recipe);
    str_release(&finding->engine);
}

struct following {
    struct work *work;
    struct work_finding *finding;
    double seconds;
    bool found;
    int64_t number, attempts; /* of its case; before this one */
};

/*
 * The first case that is in no returned range. Ranges are leased in order of their cases, but for those of
 * islands, which may leave gaps; once a search is stopped these are never filled.
 */
static int read_horizon(struct work *work, int64_t *horizon, struct error *err)
{
    struct store *store = work_store_of(work);
    bool stopped, first = false;
    *horizon = INT64_MAX;
    if (!work_settings_of(work)->islands)
        return store_run(store, "SELECT min(first) FROM @leases WHERE finished = 0", NULL, 0, row_number,
                         horizon, err);
    if (work_is_stopped(store, &stopped, err) || stopped)
        return stopped ? 0 : -1;
    if (store_run(store, "SELECT 1 FROM @leases WHERE first = 0 AND finished > 0", NULL, 0, row_noted, &first,
                  err))
        return -1;
    if (!first) {
        *horizon = 0;
        return 0;
    }
    return store_run(
        store,
        "SELECT min(l.first + l.number) FROM @leases l WHERE l.finished > 0 AND NOT EXISTS (SELECT 1 "
        "FROM @leases n WHERE n.first = l.first + l.number AND n.finished > 0)",
        NULL, 0, row_number, horizon, err);
}

static int take_finding(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct following *following = context;
    if (count != 5)
        return error_set(err, ERROR_FORMAT, "a finding has %zu columns", count);
    str_add(&following->finding->signature, cell_as_text(&cells[0]));
    str_add(&following->finding->recipe, cell_as_text(&cells[1]));
    str_add(&following->finding->engine, cell_as_text(&cells[2]));
    following->number = cell_as_int(&cells[3]);
    following->attempts = cell_as_int(&cells[4]);
    following->found = true;
    return 0;
}

/* What a finding's number is: that of its lowest case, or -1 where it has none. */
#define NUMBER_OF(signature)                                                            \
    "COALESCE((SELECT min(o.number) FROM @occurrences o WHERE o.signature = " signature \
    " AND o.number <> -1), -1)"

static int find_finding(struct following *following, struct error *err)
{
    struct work_finding *finding = following->finding;
    int64_t horizon;
    following->found = false;
    str_clear(&finding->signature);
    str_clear(&finding->recipe);
    str_clear(&finding->engine);
    if (read_horizon(following->work, &horizon, err))
        return -1;
    return store_run(
        work_store_of(following->work),
        "SELECT f.signature, f.recipe, f.engine, " NUMBER_OF(
            "f.signature") ", u.attempts FROM @findings "
                           "f LEFT JOIN @follow_ups u ON u.signature = f.signature WHERE f.status = "
                           "$1 AND (u.signature IS "
                           "NULL OR (u.finished = 0 AND u.until < {now})) AND " NUMBER_OF(
                               "f.signature") " < $2 "
                                              "ORDER BY 4, f.signature LIMIT 1",
        CELLS(cell_text(finding_state_word(STATE_NEW)), cell_int(horizon)), take_finding, following, err);
}

static int set_status(struct store *store, const char *signature, enum finding_state state,
                      const char *detail, struct error *err)
{
    return store_settle(store, signature, &(struct settled){.state = state, .detail = detail}, err);
}

/* Ends the follow-up without a smaller case. If other findings were reduced to this one, it keeps the state
 * that they gave it. */
static int end_without(struct store *store, const char *signature, enum finding_state state,
                       const char *detail, struct error *err)
{
    bool bundled = false;
    if (store_run(store, "SELECT 1 FROM @findings WHERE signature = $1 AND bundle <> ''",
                  CELLS(cell_text(signature)), row_noted, &bundled, err))
        return -1;
    return set_status(store, signature, bundled ? STATE_BUNDLED : state, bundled ? NULL : detail, err);
}

static int give_up(const struct following *following, struct error *err)
{
    struct store *store = work_store_of(following->work);
    const char *signature = following->finding->signature.data;
    return end_without(store, signature, STATE_FAILED, "several workers ended while they reduced it", err) ||
                   store_run(store, "UPDATE @follow_ups SET finished = {now} WHERE signature = $1",
                             CELLS(cell_text(signature)), NULL, NULL, err)
               ? -1
               : 0;
}

/* Ends follow-ups of dead workers whose findings were decided in another way meanwhile, such as by a known
 * issue. */
static int end_settled(const struct following *following, struct error *err)
{
    return store_run(
        work_store_of(following->work),
        "UPDATE @follow_ups SET finished = {now} WHERE finished = 0 AND until < {now} AND EXISTS "
        "(SELECT 1 FROM @findings f WHERE f.signature = follow_ups.signature AND f.status <> $1)",
        CELLS(cell_text(finding_state_word(STATE_NEW))), NULL, NULL, err);
}

static int follow_inside(void *context, struct error *err)
{
    struct following *following = context;
    const struct work *work = following->work;
    if (end_settled(following, err))
        return -1;
    for (;;) {
        if (find_finding(following, err))
            return -1;
        if (!following->found)
            return 0;
        if (following->attempts < MOST_ATTEMPTS)
            break;
        if (give_up(following, err))
            return -1;
    }
    return store_run(
        work_store_of(work),
        "INSERT INTO @follow_ups (signature, number, target, nodes, owner, attempts, until, finished) "
        "VALUES ($1, $2, '', 0, $3, 1, {now} + $4, 0) ON CONFLICT (signature) DO UPDATE SET owner = "
        "excluded.owner, attempts = follow_ups.attempts + 1, until = excluded.until",
        CELLS(cell_text(following->finding->signature.data), cell_int(following->number),
              cell_text(work_owner_of(work)), cell_real(following->seconds)),
        NULL, NULL, err);
}

int work_follow_up(struct work *work, double seconds, struct work_finding *finding, bool *found,
                   struct error *err)
{
    struct following following = {.work = work, .finding = finding, .seconds = seconds};
    int status = database_reserve(store_database(work_store_of(work)), follow_inside, &following, err);
    *found = following.found;
    return status;
}

int work_follow_up_renew(struct work *work, const char *signature, double seconds, bool *held,
                         struct error *err)
{
    *held = false;
    return store_run(
        work_store_of(work),
        "UPDATE @follow_ups SET until = {now} + $1 WHERE signature = $2 AND owner = $3 AND finished = "
        "0 RETURNING signature",
        CELLS(cell_real(seconds), cell_text(signature), cell_text(work_owner_of(work))), row_noted, held,
        err);
}

int work_follow_up_back(struct work *work, const char *signature, struct error *err)
{
    return store_run(work_store_of(work),
                     "UPDATE @follow_ups SET until = 0, attempts = attempts - 1 WHERE signature = $1 AND "
                     "owner = $2 AND finished = 0",
                     CELLS(cell_text(signature), cell_text(work_owner_of(work))), NULL, NULL, err);
}

/* The finding that the smaller case is, as the store has it. */
struct target {
    bool met;  /* in a range */
    bool best; /* no other that ended in it is smaller, or from a lower case */
    bool known, undone /* gone or failed */;
};

static int take_target(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct target *target = context;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "a finding has %zu columns", count);
    const char *status = cell_as_text(&cells[0]);
    target->known = text_starts(status, finding_state_word(STATE_KNOWN));
    target->undone = text_starts(status, finding_state_word(STATE_GONE)) ||
                     text_starts(status, finding_state_word(STATE_FAILED));
    target->met = cell_as_int(&cells[1]) >= 0;
    return 0;
}

static int read_target(struct store *store, const char *from, const struct finding *finding,
                       struct target *target, struct error *err)
{
    bool beaten = false;
    *target = (struct target){0};
    if (store_run(store,
                  "SELECT f.status, " NUMBER_OF("f.signature") " FROM @findings f WHERE f.signature = $1",
                  CELLS(cell_text(finding->signature)), take_target, target, err) ||
        store_run(
            store,
            "SELECT 1 FROM @follow_ups u, @follow_ups own WHERE own.signature = $1 AND u.target = $2 AND "
            "u.signature <> $1 AND u.finished > 0 AND (u.nodes < $3 OR (u.nodes = $3 AND (u.number < "
            "own.number OR (u.number = own.number AND u.signature < own.signature)))) LIMIT 1",
            CELLS(cell_text(from), cell_text(finding->signature), cell_int(finding->nodes)), row_noted,
            &beaten, err))
        return -1;
    target->best = !beaten;
    return 0;
}

static bool wants_bundle(const struct target *target, bool own)
{
    return target->best && (own || !target->met || !target->known);
}

int work_wants_bundle(struct work *work, const char *from, const struct finding *finding, bool *wanted,
                      struct error *err)
{
    struct target target;
    int status = read_target(work_store_of(work), from, finding, &target, err);
    *wanted = status == 0 && wants_bundle(&target, text_equal(from, finding->signature));
    return status;
}

struct ending {
    struct work *work;
    const struct work_outcome *outcome;
};

/* False when another has the lease, or this took place before. */
static int end_lease(const struct ending *ending, bool *held, struct error *err)
{
    const struct work_outcome *outcome = ending->outcome;
    const struct finding *finding = outcome->state == STATE_BUNDLED ? outcome->finding : NULL;
    *held = false;
    return store_run(
        work_store_of(ending->work),
        "UPDATE @follow_ups SET finished = {now}, target = $1, nodes = $2 WHERE signature = $3 AND "
        "owner = $4 AND finished = 0 RETURNING signature",
        CELLS(cell_text(finding ? finding->signature : ""), cell_int(finding ? finding->nodes : 0),
              cell_text(outcome->from), cell_text(work_owner_of(ending->work))),
        row_noted, held, err);
}

/* Locks both in the same order as every other worker: otherwise two workers could wait for each other. */
static int lock_both(struct store *store, const char *one, const char *two, struct error *err)
{
    bool swap = strcmp(one, two) > 0;
    struct database *database = store_database(store);
    return database_lock(database, swap ? two : one, err) || database_lock(database, swap ? one : two, err)
               ? -1
               : 0;
}

static int keep_bundle(struct store *store, const struct work_outcome *outcome, struct error *err)
{
    const struct finding *finding = outcome->finding;
    struct settled settled = {.bundle = outcome->bundle, .title = finding->title, .nodes = finding->nodes};
    if (stored_files_put_inside(store, finding->signature, outcome->folder, err) ||
        store_settle(store, finding->signature, &settled, err) ||
        store_run(store, "DELETE FROM @history WHERE signature = $1", CELLS(cell_text(finding->signature)),
                  NULL, NULL, err))
        return -1;
    for (size_t i = 0; i < outcome->n_history; i++)
        if (store_history(store, finding->signature, outcome->history[i].engine, outcome->history[i].verdict,
                          err))
            return -1;
    return 0;
}

/* The state of a finding that was met in a range is decided by its own follow-up; that of others by the best
 * finding that was reduced to them. */
static int decide_state(struct store *store, const struct finding *finding, bool own,
                        const struct target *target, struct error *err)
{
    if (!own && target->met)
        return target->undone ? set_status(store, finding->signature, STATE_BUNDLED, NULL, err) : 0;
    if (!own && !target->best)
        return 0;
    struct settled settled = {.state = finding->known ? STATE_KNOWN : STATE_BUNDLED,
                              .detail = finding->known,
                              .recipe = own ? NULL : finding->recipe};
    return store_settle(store, finding->signature, &settled, err) ||
                   store_describe(store, finding->signature, finding->class, finding->facts, err)
               ? -1
               : 0;
}

/* Which finding stands for those that are reduced to each other in a circle: `from` to `target`, and so on
 * back to `from`. */
static int find_first(struct store *store, const char *from, const char *target, struct str *first,
                      struct error *err)
{
    enum { MOST_STEPS = 10000 };
    struct str at;
    int64_t lowest = 0;
    int status = store_run(store, "SELECT number FROM @follow_ups WHERE signature = $1",
                           CELLS(cell_text(from)), row_number, &lowest, err);
    str_init(&at);
    str_add(&at, target);
    str_clear(first);
    str_add(first, from);
    for (size_t i = 0; i < MOST_STEPS && !status && at.length && !text_equal(at.data, from); i++) {
        int64_t number = INT64_MAX;
        status = store_run(store, "SELECT number FROM @follow_ups WHERE signature = $1",
                           CELLS(cell_text(at.data)), row_number, &number, err);
        if (number < lowest || (number == lowest && strcmp(at.data, first->data) < 0)) {
            lowest = number;
            str_clear(first);
            str_add(first, at.data);
        }
        struct str next;
        str_init(&next);
        if (!status)
            status = store_run(store, "SELECT target FROM @follow_ups WHERE signature = $1 AND finished > 0",
                               CELLS(cell_text(at.data)), row_text, &next, err);
        str_clear(&at);
        str_add(&at, next.data);
        str_release(&next);
    }
    str_release(&at);
    return status;
}

static int move_all(struct store *store, const char *from, const char *to, struct error *err)
{
    return store_run(
               store,
               "UPDATE @findings SET same_as = $1 WHERE (signature = $2 OR same_as = $2) AND signature <> $1",
               CELLS(cell_text(to), cell_text(from)), NULL, NULL, err) ||
                   store_run(store, "UPDATE @findings SET same_as = '' WHERE signature = $1",
                             CELLS(cell_text(to)), NULL, NULL, err)
               ? -1
               : 0;
}

/* `from` stood for itself until now. */
static int merge(struct store *store, const char *from, const char *target, struct error *err)
{
    struct str root;
    str_init(&root);
    int status = store_run(store,
                           "SELECT CASE WHEN same_as = '' THEN signature ELSE same_as END FROM @findings "
                           "WHERE signature = $1",
                           CELLS(cell_text(target)), row_text, &root, err);
    if (!status && text_equal(root.data, from))
        status = find_first(store, from, target, &root, err);
    if (!status && root.length && !text_equal(root.data, from))
        status = move_all(store, from, root.data, err);
    str_release(&root);
    return status;
}

static int done_inside(void *context, struct error *err)
{
    const struct ending *ending = context;
    const struct work_outcome *outcome = ending->outcome;
    const struct finding *finding = outcome->finding;
    struct store *store = work_store_of(ending->work);
    struct target target;
    bool held, is_new, own = finding && text_equal(outcome->from, finding->signature);
    if (lock_both(store, outcome->from, finding ? finding->signature : outcome->from, err) ||
        end_lease(ending, &held, err))
        return -1;
    if (!held)
        return 0;
    if (outcome->state != STATE_BUNDLED)
        return end_without(store, outcome->from, outcome->state, outcome->detail, err);
    if (!own && store_add_inside(store, finding, &is_new, err))
        return -1;
    if (read_target(store, outcome->from, finding, &target, err))
        return -1;
    if (wants_bundle(&target, own) && outcome->folder && keep_bundle(store, outcome, err))
        return -1;
    if (decide_state(store, finding, own, &target, err))
        return -1;
    return own ? 0
           : set_status(store, outcome->from, STATE_BUNDLED, NULL, err) ||
                   merge(store, outcome->from, finding->signature, err)
               ? -1
               : 0;
}

int work_follow_up_done(struct work *work, const struct work_outcome *outcome, struct error *err)
{
    struct ending ending = {work, outcome};
    return database_reserve(store_database(work_store_of(work)), done_inside, &ending, err);
}

int work_follow_ups_left(struct work *work, bool *left, struct error *err)
{
    *left = false;
    return store_run(work_store_of(work),
                     "SELECT 1 FROM @findings f LEFT JOIN @follow_ups u ON u.signature = f.signature "
                     "WHERE u.finished = 0 OR (u.signature IS NULL AND f.status = $1) LIMIT 1",
                     CELLS(cell_text(finding_state_word(STATE_NEW))), row_noted, left, err);
}
