#include "scene.h"

#include "campaign/follow_up.h"
#include "generate/operator_case.h"

#include <stddef.h>
#include <stdio.h>

static const char joined[] = "reference:fault=concat-three", padded[] = "reference:fault=pad-unpad-off";

/* What all cases of a Pad that crops too little come to. */
static const char crops[] = "shape|reference:fault=pad-unpad-off|Pad|any||";

/* A campaign's store and folder beside a panel. */
struct campaign {
    struct scene scene;
    struct store *store;
    struct folder folder;
    struct follow_up_options options;
};

static void campaign_open(struct campaign *campaign, const char *const *labels, size_t count)
{
    struct error err = {0};
    *campaign = (struct campaign){0};
    scene_open(&campaign->scene, labels, count);
    if (store_open(&campaign->store, campaign->scene.folder, STORE_CREATE, &err) ||
        folder_open(&campaign->folder, USERS_PATH, campaign->scene.folder, &err))
        fail_msg("%s", err.message);
    campaign->options = (struct follow_up_options){
        .panel = &campaign->scene.panel,
        .store = campaign->store,
        .folder = &campaign->folder,
        .no_bisect = true,
        .reduce_seconds = 20,
    };
}

static void campaign_close(struct campaign *campaign)
{
    store_close(campaign->store);
    folder_close(&campaign->folder);
    scene_close(&campaign->scene);
}

/* A finding as a campaign meets it. */
struct met {
    struct signature signature;
    char *recipe;
    const char *engine;
};

/* Makes small graphs of these operators until one is a finding on the engine with this signature, and adds it
 * to the store. Opsets that the system's libonnx does not know are left out: there the reducer may only take
 * away. */
static struct met meet(struct campaign *campaign, const char *ops, const char *engine, const char *signature)
{
    struct met met = {.engine = engine};
    struct panel one = campaign->scene.panel;
    one.engines += panel_find(&one, engine);
    one.count = 1;
    for (uint64_t i = 0; i < 600 && !met.recipe; i++) {
        struct error err = {0};
        struct test_case *test;
        struct trial_done done;
        if (generate_graph(1, i, &(struct generate_options){.ops = ops, .max_nodes = 6, .max_opset = 17},
                           &test, &err) ||
            follow_up_try(&one, test, &done, &err))
            fail_msg("%s", err.message);
        if (test_case_model(test, NULL)->graph->n_node > 2 &&
            follow_up_signature(&one, 0, &done, &met.signature) && text_equal(met.signature.text, signature))
            met.recipe = strdup(test->recipe);
        trial_done_release(&done);
        test_case_free(test);
    }
    if (!met.recipe)
        fail_msg("no case of %s", signature);
    struct finding finding = {.signature = signature,
                              .name = met.signature.name,
                              .kind = symptom_word(met.signature.symptom),
                              .engine = engine,
                              .recipe = met.recipe,
                              .nodes = 6};
    assert_int_equal(store_add(campaign->store, &finding, NULL, NULL), 0);
    return met;
}

static struct follow_up_done follow(struct campaign *campaign, const struct met *met)
{
    struct follow_up_done done;
    struct error err = {0};
    if (follow_up_finding(&campaign->options, met->signature.text, met->recipe, met->engine, &done, &err))
        fail_msg("%s", err.message);
    return done;
}

/* What the store says of a finding; texts are copied. */
struct seen {
    size_t count; /* that the filter lets pass */
    enum finding_state state;
    int64_t nodes;
    char bundle[200], same_as[SIGNATURE_TEXT_SIZE];
};

static int note_seen(void *context, const struct stored *stored, struct error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->count++;
    seen->state = stored->state;
    seen->nodes = stored->nodes;
    snprintf(seen->bundle, sizeof seen->bundle, "%s", stored->bundle);
    snprintf(seen->same_as, sizeof seen->same_as, "%s", stored->same_as);
    return 0;
}

static struct seen look(const struct campaign *campaign, const struct store_filter *filter)
{
    struct seen seen = {0};
    assert_int_equal(store_list(campaign->store, filter, note_seen, &seen, NULL), 0);
    return seen;
}

/* The finding of this signature, whatever became of it. */
static struct seen look_at(const struct campaign *campaign, const char *signature)
{
    return look(campaign, &(struct store_filter){.signature = signature, .merged = true, .gone = true});
}

static void assert_bundle(const struct campaign *campaign, const struct seen *seen, const struct met *from,
                          const char *signature)
{
    struct error err = {0};
    struct arena arena;
    struct bundle bundle;
    char *folder = file_join(campaign->scene.folder, seen->bundle), *model = file_join(folder, "model.onnx");
    arena_init(&arena);
    if (bundle_read_path(&bundle, folder, &arena, &err))
        fail_msg("%s", err.message);
    assert_string_equal(bundle.signature, signature);
    assert_string_equal(bundle.engine, from->engine);
    assert_non_null(strstr(bundle.recipe, from->recipe));
    assert_true(file_exists(model));
    /* What each engine of the campaign gave is there. */
    for (size_t i = 0; i < campaign->scene.panel.count; i++) {
        char *name = bundle_engine_folder(panel_engine(&campaign->scene.panel, i)->label);
        char *all = file_join(folder, "actual"), *own = file_join(all, name);
        assert_true(file_is_folder(own));
        free(own);
        free(all);
        free(name);
    }
    arena_release(&arena);
    free(model);
    free(folder);
}

static void a_finding_is_made_smaller_and_bundled(void **state)
{
    (void)state;
    static const char signature[] = "wrong|reference:fault=concat-three|Concat|any||";
    struct campaign campaign;
    campaign_open(&campaign, LABELS("reference", joined));
    struct met met = meet(&campaign, "Concat,Relu,Add", joined, signature);
    panel_add_fresh(&campaign.scene.panel);
    struct follow_up_done done = follow(&campaign, &met);
    assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
    assert_string_equal(done.signature.text, signature);
    assert_true(done.nodes_before > 2);
    assert_int_equal(done.nodes_after, 1);
    struct seen seen = look_at(&campaign, signature);
    assert_int_equal(seen.state, STATE_BUNDLED);
    assert_int_equal(seen.nodes, 1);
    assert_string_equal(seen.same_as, "");
    assert_bundle(&campaign, &seen, &met, signature);
    /* Again it is as small as it is; only who asks gets it anew. */
    assert_int_equal(follow(&campaign, &met).end, FOLLOW_UP_MERGED);
    assert_int_equal(look_at(&campaign, signature).state, STATE_BUNDLED);
    campaign.options.again = true;
    assert_int_equal(follow(&campaign, &met).end, FOLLOW_UP_BUNDLED);
    free(met.recipe);
    campaign_close(&campaign);
}

/* Cases with other modes of Pad show one bug, which the small ones tell. */
static void two_that_end_in_one_signature_are_one_bug(void **state)
{
    (void)state;
    static const char edge[] = "shape|reference:fault=pad-unpad-off|Pad|any|mode=edge|",
                      reflect[] = "shape|reference:fault=pad-unpad-off|Pad|any|mode=reflect|";
    struct campaign campaign;
    campaign_open(&campaign, LABELS(padded));
    struct met first = meet(&campaign, "Pad,Relu,Add,Reshape", padded, edge);
    struct met second = meet(&campaign, "Pad,Relu,Add,Reshape", padded, reflect);
    struct follow_up_done done = follow(&campaign, &first);
    assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
    assert_string_equal(done.signature.text, crops);
    assert_string_equal(look_at(&campaign, edge).same_as, crops);
    /* The bundle that the second has, from when nothing was reduced, goes when it is merged. */
    campaign.options.no_reduce = true;
    assert_int_equal(follow(&campaign, &second).end, FOLLOW_UP_BUNDLED);
    char *bundle = file_join(campaign.scene.folder, look_at(&campaign, reflect).bundle);
    assert_true(file_is_folder(bundle));
    campaign.options.no_reduce = false;
    campaign.options.again = true;
    assert_int_equal(follow(&campaign, &second).end, FOLLOW_UP_MERGED);
    assert_false(file_exists(bundle));
    free(bundle);
    assert_string_equal(look_at(&campaign, reflect).same_as, crops);
    /* One finding is left, with the bundle of the first. */
    struct seen left = look(&campaign, &(struct store_filter){0});
    assert_int_equal(left.count, 1);
    assert_int_equal(left.state, STATE_BUNDLED);
    assert_bundle(&campaign, &left, &first, crops);
    free(first.recipe);
    free(second.recipe);
    campaign_close(&campaign);
}

static void fewer_nodes_take_the_place_of_a_bundle(void **state)
{
    (void)state;
    static const char reflect[] = "shape|reference:fault=pad-unpad-off|Pad|any|mode=reflect|";
    struct campaign campaign;
    campaign_open(&campaign, LABELS(padded));
    struct met large = meet(&campaign, "Pad,Relu,Add,Reshape", padded, crops);
    struct met small = meet(&campaign, "Pad,Relu,Add,Reshape", padded, reflect);
    campaign.options.no_reduce = true;
    struct follow_up_done done = follow(&campaign, &large);
    assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
    assert_int_equal(done.nodes_after, done.nodes_before);
    struct seen before = look_at(&campaign, crops);
    assert_true(before.nodes > 2);
    assert_bundle(&campaign, &before, &large, crops);
    campaign.options.no_reduce = false;
    assert_int_equal(follow(&campaign, &small).end, FOLLOW_UP_BUNDLED);
    struct seen after = look_at(&campaign, crops);
    assert_int_equal(after.nodes, 1);
    assert_bundle(&campaign, &after, &small, crops);
    free(large.recipe);
    free(small.recipe);
    campaign_close(&campaign);
}

/* A case of Identity whose input has elements, float ones. */
static char *identity_recipe(void)
{
    for (uint64_t i = 0; i < 50; i++) {
        struct generate_options options = {.ops = "Identity", .types = DTYPE_BIT(DTYPE_FLOAT)};
        struct test_case *test;
        assert_int_equal(generate_one(1, i, &options, &test, NULL), 0);
        bool good =
            test->n_inputs == 1 && test->inputs[0].kind == VALUE_TENSOR && test->inputs[0].tensors[0].count;
        char *recipe = good ? strdup(test->recipe) : NULL;
        test_case_free(test);
        if (recipe)
            return recipe;
    }
    fail_msg("no case of Identity");
    return NULL;
}

/* The engine spoils its answers to all cases of a process but the first. */
static void what_a_fresh_process_does_not_show_is_gone(void **state)
{
    (void)state;
    static const char signature[] = "wrong|bad:mode=stale|Identity|any||";
    for (int fresh = 0; fresh < 2; fresh++) {
        struct campaign campaign;
        campaign_open(&campaign, LABELS("bad:mode=stale"));
        struct met met = {.recipe = identity_recipe(), .engine = "bad:mode=stale"};
        assert_true(signature_parse(&met.signature, signature));
        struct finding finding = {.signature = signature,
                                  .name = "wrong-identity",
                                  .kind = "wrong",
                                  .engine = met.engine,
                                  .recipe = met.recipe};
        assert_int_equal(store_add(campaign.store, &finding, NULL, NULL), 0);
        struct test_case *other = case_of_text(COPIED, 1); /* so that the shared worker has had a case */
        struct trial_done trial;
        assert_int_equal(follow_up_try(&campaign.scene.panel, other, &trial, NULL), 0);
        trial_done_release(&trial);
        test_case_free(other);
        if (fresh)
            panel_add_fresh(&campaign.scene.panel);
        struct follow_up_done done = follow(&campaign, &met);
        assert_int_equal(done.end, fresh ? FOLLOW_UP_GONE : FOLLOW_UP_BUNDLED);
        assert_int_equal(look_at(&campaign, signature).state, fresh ? STATE_GONE : STATE_BUNDLED);
        /* What is gone is no longer one of the findings, and leaves nothing behind. */
        assert_int_equal(look(&campaign, &(struct store_filter){0}).count, fresh ? 0 : 1);
        char *bundles = file_join(campaign.scene.folder, "findings");
        assert_int_equal(file_exists(bundles), !fresh);
        if (fresh)
            assert_int_equal(done.verdict.kind, VERDICT_AGREES);
        free(bundles);
        free(met.recipe);
        campaign_close(&campaign);
    }
}

static void an_engine_that_is_not_there_cannot_be_followed(void **state)
{
    (void)state;
    struct campaign campaign;
    struct follow_up_done done;
    struct error err = {0};
    campaign_open(&campaign, LABELS("reference"));
    assert_int_equal(
        follow_up_finding(&campaign.options, crops, "one seed=1 index=0 ops=Pad", padded, &done, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    campaign_close(&campaign);
}

static void a_case_of_its_own_goes_to_its_folder(void **state)
{
    (void)state;
    struct scene scene;
    struct error err = {0};
    struct follow_up_done done;
    scene_open(&scene, LABELS(joined, "reference"));
    struct follow_up_options options = {.panel = &scene.panel, .no_bisect = true};
    char *folder = file_join(scene.folder, "bundle"), *other = file_join(scene.folder, "other");
    struct test_case *bad = case_of_text(JOINED, 1), *good = case_of_text(COPIED, 1);
    assert_int_equal(follow_up_case(&options, bad, folder, &done, &err), 0);
    assert_int_equal(done.end, FOLLOW_UP_BUNDLED);
    assert_int_equal(done.nodes_before, 4);
    assert_int_equal(done.nodes_after, 1);
    assert_true(file_is_folder(folder));
    /* It stays, unless that is asked for. */
    assert_int_equal(follow_up_case(&options, bad, folder, &done, &err), -1);
    options.force = true;
    assert_int_equal(follow_up_case(&options, bad, folder, &done, &err), 0);
    /* What is right is no finding. */
    assert_int_equal(follow_up_case(&options, good, other, &done, &err), 0);
    assert_int_equal(done.end, FOLLOW_UP_GONE);
    assert_int_equal(done.verdict.kind, VERDICT_AGREES);
    assert_false(file_exists(other));
    free(folder);
    free(other);
    test_case_free(bad);
    test_case_free(good);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_is_made_smaller_and_bundled),
        cmocka_unit_test(two_that_end_in_one_signature_are_one_bug),
        cmocka_unit_test(fewer_nodes_take_the_place_of_a_bundle),
        cmocka_unit_test(what_a_fresh_process_does_not_show_is_gone),
        cmocka_unit_test(an_engine_that_is_not_there_cannot_be_followed),
        cmocka_unit_test(a_case_of_its_own_goes_to_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
