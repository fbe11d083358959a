#include "findings/known_witness.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/memory.h"
#include "case/backend_suite.h"
#include "engine/label.h"
#include "model/data.h"
#include "rules/rewriting.h"
#include "trial/trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char of_case[] = "case ", of_recipe[] = "recipe ";

/* --- As text --- */

static int write_inputs(struct str *out, const struct test_case *test)
{
    int status = 0;
    for (size_t i = 0; i < test->n_inputs && !status; i++) {
        struct str bytes;
        str_init(&bytes);
        status = data_pack(NULL, &test->inputs[i], &bytes, NULL);
        str_add(out, " ");
        base64_write(out, bytes.data, bytes.length);
        str_release(&bytes);
    }
    return status;
}

/* Whether the case can be told by its model and its inputs, all of them tensors. */
static bool is_plain(const struct test_case *test)
{
    bool plain = !test->gradient && !test->equivalence;
    for (size_t i = 0; i < test->n_inputs; i++)
        plain &= test->inputs[i].kind == VALUE_TENSOR && test->inputs[i].name;
    return plain;
}

/* The case of a bundle; false where it is not there, too large, or needs more than model and inputs. */
static bool write_case(struct str *out, const struct folder *campaign, const struct stored *stored)
{
    struct test_case *test = NULL;
    const uint8_t *bytes;
    struct str text;
    size_t size;
    if (!*stored->bundle || strstr(stored->recipe, " | ") ||
        suite_load_in(campaign, stored->bundle, &test, NULL))
        return false;
    str_init(&text);
    bool written = is_plain(test) && !test_case_bytes(test, &bytes, &size, NULL) && size < WITNESS_SIZE;
    if (written) {
        base64_write(&text, bytes, size);
        written = !write_inputs(&text, test) && text.length <= WITNESS_SIZE;
    }
    if (written)
        str_printf(out, "%s %s%s", stored->kind, of_case, text.data);
    str_release(&text);
    test_case_free(test);
    return written;
}

void witness_write(struct str *out, const struct folder *campaign, const struct stored *stored)
{
    enum verdict_kind kind;
    bool made = !text_starts(stored->recipe, of_case) && strlen(stored->recipe) < WITNESS_SIZE;
    bool again = verdict_parse(stored->kind, &kind) && verdict_row(kind)->kin != KIN_OTHER &&
                 !verdict_is(kind, CLASS_UNSTABLE);
    if (again && !write_case(out, campaign, stored) && made)
        str_printf(out, "%s %s%s", stored->kind, of_recipe, stored->recipe);
}

static int read_input(const char *text, size_t length, struct test_case *test, struct error *err)
{
    struct value value;
    size_t size;
    char *copy = memory_zeroed(length + 1, 1);
    memcpy(copy, text, length);
    uint8_t *bytes = base64_read(copy, &size);
    value_init(&value);
    int status = bytes ? data_parse(bytes, size, NULL, &value, err)
                       : error_set(err, ERROR_FORMAT, "an input of the witness is not in base64");
    if (!status)
        status = test_case_add_inputs(test, &value, 1, err);
    value_release(&value);
    free(bytes);
    free(copy);
    return status;
}

static int read_case(const char *text, struct test_case **test, struct error *err)
{
    size_t size, length = strcspn(text, " ");
    char *copy = memory_zeroed(length + 1, 1);
    memcpy(copy, text, length);
    uint8_t *bytes = base64_read(copy, &size);
    free(copy);
    if (!bytes)
        return error_set(err, ERROR_FORMAT, "the model of the witness is not in base64");
    *test = test_case_from_bytes(bytes, size);
    int status = test_case_model(*test, err) ? 0 : -1;
    for (const char *at = text + length; *at && !status; at += length) {
        at++;
        length = strcspn(at, " ");
        status = read_input(at, length, *test, err);
    }
    return status;
}

int witness_case(const char *witness, struct test_case **test, struct error *err)
{
    const char *how = strchr(witness, ' ');
    *test = NULL;
    int status = how && text_starts(how + 1, of_case) ? read_case(how + 1 + strlen(of_case), test, err)
                 : how && text_starts(how + 1, of_recipe)
                     ? rewriting_recipe(how + 1 + strlen(of_recipe), test, err)
                     : error_set(err, ERROR_FORMAT, "no witness '%.40s'", witness);
    if (status) {
        test_case_free(*test);
        *test = NULL;
    }
    return status;
}

/* The verdict that the witness begins with. */
static bool verdict_of(const char *witness, enum verdict_kind *kind)
{
    char word[40];
    size_t length = strcspn(witness, " ");
    if (length >= sizeof word)
        return false;
    memcpy(word, witness, length);
    word[length] = '\0';
    return verdict_parse(word, kind);
}

/* --- What became of it --- */

static void note(struct known_issues *known, struct known_issue *issue, const char *engine,
                 enum witness_state state)
{
    struct known_tried *tried = NULL;
    for (size_t i = 0; i < issue->n_tried && !tried; i++)
        if (text_equal(issue->tried[i].engine, engine))
            tried = &issue->tried[i];
    if (!tried) {
        struct known_tried *all = arena_array(&known->arena, issue->n_tried + 1, sizeof *all);
        if (issue->n_tried)
            memcpy(all, issue->tried, issue->n_tried * sizeof *all);
        issue->tried = all;
        tried = &all[issue->n_tried++];
        tried->engine = arena_strdup(&known->arena, engine);
    }
    tried->state = state;
}

static void key_of(struct str *key, const struct known_issue *issue, const char *engine)
{
    str_init(key);
    str_printf(key, "witness %016" PRIx64 " %s", hash_text(issue->witness), engine);
}

static int keep(struct store *store, const struct known_issue *issue, const char *engine,
                enum witness_state state, struct error *err)
{
    struct str key;
    key_of(&key, issue, engine);
    int status = store ? store_set(store, key.data, witness_state_word(state), err) : 0;
    str_release(&key);
    return status;
}

static enum witness_state state_of(const char *witness, const struct trial_done *done, size_t engine)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    const struct settlement *settlement = &done->settlements[engine];
    bool settled = settlement->count && verdict_is_finding(settlement->kind);
    enum verdict_kind kind = settled ? settlement->kind : verdict->kind, muted;
    if (!verdict_is_finding(kind))
        return verdict_is(kind, CLASS_AGREES) ? WITNESS_AGREES : WITNESS_NOT_JUDGED;
    return verdict_of(witness, &muted) && verdict_row(muted)->kin == verdict_row(kind)->kin
               ? WITNESS_FAILS
               : WITNESS_OTHERWISE;
}

/* --- Trying them --- */

struct trying {
    struct known_issues *known;
    const struct panel *panel;
    struct store *store;
    size_t next;
};

/* Where no case can be made of the witness, nobody will try it. */
static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct trying *trying = context;
    struct error why = {0};
    (void)err;
    *test = NULL;
    if (trying->next == trying->known->count)
        return 0;
    struct known_issue *issue = &trying->known->items[trying->next++];
    bool about = false;
    for (size_t i = 0; i < trying->panel->count && *issue->witness && !about; i++)
        about = known_is_about(issue, panel_engine(trying->panel, i));
    if (about && witness_case(issue->witness, test, &why))
        *test = NULL;
    *user = issue;
    return 1;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct trying *trying = context;
    struct known_issue *issue = done->user;
    int status = 0;
    for (size_t i = 0; i < trying->panel->count && !status; i++) {
        const struct engine_info *info = panel_engine(trying->panel, i);
        if (!known_is_about(issue, info))
            continue;
        enum witness_state state = state_of(issue->witness, done, i);
        note(trying->known, issue, info->label, state);
        status = keep(trying->store, issue, info->label, state, err);
    }
    trial_done_release(done);
    return status;
}

bool known_has_witnesses(const struct known_issues *known)
{
    for (size_t i = 0; i < known->count; i++)
        if (*known->items[i].witness)
            return true;
    return false;
}

int witnesses_try(struct known_issues *known, const struct panel *panel, struct store *store,
                  struct error *err)
{
    struct trying trying = {.known = known, .panel = panel, .store = store};
    struct trials *trials =
        trials_new(&(struct trial_options){.panel = panel, .fresh = true, .settle = true});
    known->asks_witnesses = true;
    int status = trials_run(trials, &(struct trial_source){&trying, make, take}, err);
    trials_free(trials);
    return status;
}

/* --- What the store knows --- */

struct loading {
    struct known_issues *known;
    struct store *store;
    const struct folder *campaign;
    struct known_issue *issue;
};

static int load_engine(void *context, const struct stored_engine *engine, struct error *err)
{
    struct loading *loading = context;
    enum witness_state state;
    struct str key, word;
    bool found = false;
    str_init(&word);
    key_of(&key, loading->issue, engine->label);
    int status = store_get(loading->store, key.data, &word, &found, err);
    if (!status && found && witness_state_parse(word.data, &state))
        note(loading->known, loading->issue, engine->label, state);
    str_release(&key);
    str_release(&word);
    return status;
}

/* Whether the finding is the witness: then it fails on every engine of this campaign that was not tried
 * since. */
static int compare_finding(void *context, const struct stored *stored, struct error *err)
{
    struct loading *loading = context;
    struct str own;
    (void)err;
    str_init(&own);
    witness_write(&own, loading->campaign, stored);
    if (text_equal(own.data, loading->issue->witness))
        note(loading->known, loading->issue, "", WITNESS_FAILS);
    str_release(&own);
    return 0;
}

int witnesses_load(struct known_issues *known, struct store *store, const struct folder *campaign,
                   struct error *err)
{
    struct loading loading = {known, store, campaign, NULL};
    int status = 0;
    known->asks_witnesses = true;
    for (size_t i = 0; i < known->count && !status; i++) {
        loading.issue = &known->items[i];
        if (!*loading.issue->witness)
            continue;
        status = store_engines(store, load_engine, &loading, err);
        for (size_t k = 0; campaign && k < loading.issue->n_names && !status && !loading.issue->n_tried; k++)
            status = store_list(
                store,
                &(struct store_filter){.signature = loading.issue->names[k], .merged = true, .gone = true},
                compare_finding, &loading, err);
    }
    return status;
}
