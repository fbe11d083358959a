/* Known issues: what a file may say, which findings it fits, and findings of a store looked up in it. */
#include "one_folder.h"
#include "diagnose/evidence.h"
#include "diagnose/known_findings.h"
#include "findings/known_witness.h"

#include "base/file.h"
#include "case/test_case.h"
#include "model/onnx.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(struct known_issues *known, const char *text, struct error *err)
{
    char *path = file_join(folder, "known.ini");
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    known_init(known);
    int status = known_read(known, path, KNOWN_OF_CAMPAIGN, err);
    free(path);
    return status;
}

/* An issue of the engine "a" on Floor with one more line. */
static char *issue_with(const char *line)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "[x]\nengine = a\nsymptom = wrong\noperators = Floor\ncause = c\n%s\n", line);
    return str_detach(&text);
}

static void expect_refusal(const char *text, const char *due)
{
    struct known_issues known;
    struct error err = {0};
    assert_int_equal(read_text(&known, text, &err), -1);
    if (!strstr(err.message, due))
        fail_msg("'%s' does not have '%s'", err.message, due);
    known_release(&known);
}

static void what_is_malformed_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"", "known.ini:1: [x] has no condition beyond its operators"},
        {"stage = load", "has no condition beyond its operators"},
        {"colour = red", "known.ini:6: no key 'colour'"},
        {"input = purple", "known.ini:6: 'purple' is not a condition on a value"},
        {"input.x = float32", "known.ini:6: no key 'input.x'"},
        {"attribute = mode", "known.ini:6: 'mode' is not a condition on an attribute"},
        {"attribute = axis<x", "is not a condition on an attribute"},
        {"opset = 5..3", "is not a range"},
        {"symptom = odd", "symptom is given twice"},
        {"message = *", "every message matches that"},
        {"shapes = alike", "shapes must be 'same' or 'differ'"},
        {"Floor#0.input = nan", "is not an operator and number"},
        {"expected = many", "is not a range"},
        {"until = newest", "is not a release"},
        {"asked = gradients", "has no condition beyond its operators"},
        {"asked = slopes", "known.ini:6: 'slopes' is not one of outputs, gradients"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *text = issue_with(lines[i][0]);
        expect_refusal(text, lines[i][1]);
        free(text);
    }
    expect_refusal("[x]\nengine = a\nsymptom = odd\n",
                   "known.ini:3: 'odd' is not a symptom; there are wrong, nan");
    expect_refusal("[x]\nengine = a\noperators = Floor\n\n[x]\n",
                   "known.ini:5: there is another [x] in line 1");
    expect_refusal("[x]\nengine = a\nsymptom = wrong\ninput = nan\ncause = c\n", "has no operators");
    struct str words;
    str_init(&words);
    str_add(&words, "[x]\nengine = a\noperators = Floor");
    for (size_t i = 0; i < 20; i++)
        str_add(&words, "|Ceiling");
    str_add(&words, "\n");
    expect_refusal(words.data, "known.ini:3: operators are at most 32 in a group");
    str_release(&words);
    expect_refusal("rubbish\n", "known.ini:1: the line is neither");
}

/* A case and what an engine did. */
struct scene {
    struct test_case *test;
    struct finding_facts facts;
};

static void make_scene(struct scene *scene, const char *text, float first, float second)
{
    uint8_t *data;
    size_t size;
    float elements[] = {first, second};
    struct shape shape = shape_make(1, (int64_t[]){2});
    struct tensor tensor;
    struct value input = {.name = (char[]){"x"}, .kind = VALUE_TENSOR, .count = 1, .tensors = &tensor};
    assert_int_equal(onnx_parse_text(text, &data, &size, NULL), 0);
    scene->test = test_case_from_bytes(data, size);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &shape, elements, sizeof elements, NULL), 0);
    assert_int_equal(test_case_add_inputs(scene->test, &input, 1, NULL), 0);
    tensor_release(&tensor);
    struct verdict verdict = {.kind = VERDICT_WRONG, .factor = 12, .expected = 2, .got = INFINITY};
    facts_of(&scene->facts, &(struct facts_source){.engine = "a@1.10.2:opt=all",
                                                   .version = "1.10.2",
                                                   .verdict = &verdict,
                                                   .test = scene->test});
}

static void release_scene(struct scene *scene)
{
    facts_release(&scene->facts);
    test_case_free(scene->test);
}

static bool fits(const char *line, const struct finding_facts *facts)
{
    struct known_issues known;
    struct error err = {0};
    char *text = issue_with(line);
    if (read_text(&known, text, &err))
        fail_msg("%s", err.message);
    bool found = known_find(&known, facts) != NULL;
    known_release(&known);
    free(text);
    return found;
}

static const char floor_model[] = "<ir_version: 8, opset_import: [\"\" : 14]>\n"
                                  "g (float[2] x) => (float[2] y) { y = Floor (x) }";

static void conditions_hold_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool fits;
    } rows[] = {
        {"input = nan", true},
        {"input = inf", false},
        {"input = !inf", true},
        {"input = inf|nan", true},
        {"input = inf|-inf", false},
        {"input.0 = float32 rank=1 elements=2 !const", true},
        {"input.0 = float16|float32", true},
        {"input = int*", false},
        {"input.1 = !given", true},
        {"input.1 = float32", false},
        {"input = dim-1=2 dim0>1", true},
        {"input = some<0", true},
        {"input = some>0", false},
        {"input = fraction", true},
        {"output = nan", true},
        {"opset = 13..", true},
        {"opset = ..13", false},
        {"factor = 1..20", true},
        {"factor = 1..2", false},
        {"expected = 2", true},
        {"got = inf", true},
        {"got = nan ..7", false},
        {"inputs = 1", true},
        {"shapes = differ", false},
        {"shapes = same", true},
        {"*.input = nan", true},
        {"input = nan\nfrom = 1.9", true},
        {"input = nan\nfrom = 1.10.3", false},
        {"input = nan\nuntil = 1.10", true},
        {"input = nan\nuntil = 1.9.9", false},
        {"input = nan\nknobs = opt=all", true},
        {"input = nan\nknobs = !opt=all", false},
        {"Floor.input = nan", true},
        {"Ceil.input = nan", false},
        {"Floor#2.input = nan", false},
        {"message = died", false},
    };
    struct scene scene;
    make_scene(&scene, floor_model, -1.5F, NAN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fits(rows[i].line, &scene.facts) != rows[i].fits)
            fail_msg("'%s' %s", rows[i].line, rows[i].fits ? "does not fit" : "fits");
    release_scene(&scene);
}

/* An issue is about outputs unless it says otherwise; what gives no answer at all is asked either way. */
static void gradients_have_issues_of_their_own(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_facts again;
    struct str text;
    str_init(&text);
    make_scene(&scene, floor_model, -1.5F, NAN);
    assert_true(fits("input = nan\nasked = outputs", &scene.facts));
    assert_false(fits("input = nan\nasked = gradients", &scene.facts));
    scene.facts.gradient = true;
    facts_write(&text, &scene.facts);
    assert_int_equal(facts_read(&again, text.data, text.length, NULL), 0);
    assert_true(again.gradient);
    assert_true(fits("input = nan\nasked = gradients", &again));
    assert_true(fits("input = nan\nasked = outputs gradients", &again));
    assert_false(fits("input = nan\nasked = outputs", &again));
    assert_false(fits("input = nan", &again));
    again.symptom = SYMPTOM_REFUSED;
    struct known_issues known;
    assert_int_equal(read_text(&known,
                               "[x]\nengine = a\nsymptom = refused\noperators = Floor\n"
                               "input = nan\ncause = c\n",
                               NULL),
                     0);
    assert_non_null(known_find(&known, &again));
    known_release(&known);
    facts_release(&again);
    release_scene(&scene);
    str_release(&text);
}

static bool group_fits(const char *operators, const char *more, const struct finding_facts *facts)
{
    struct known_issues known;
    struct str text;
    str_init(&text);
    str_printf(&text, "[x]\nengine = a\nsymptom = wrong\noperators = %s\ncause = c\n%s\n", operators, more);
    assert_int_equal(read_text(&known, text.data, NULL), 0);
    bool found = known_find(&known, facts) != NULL;
    known_release(&known);
    str_release(&text);
    return found;
}

static void groups_are_sequences(void **state)
{
    (void)state;
    struct scene scene;
    make_scene(&scene,
               "<ir_version: 8, opset_import: [\"\" : 13]>\n"
               "g (float[2] x) => (int64[1] y) <float w = {2}>\n"
               "{ a = Neg (x) b = Mul (a, w) c = Cast <to = 7> (b) d = Cast <to = 1> (c) y = ArgMax <axis = "
               "-1> (d) }",
               1, 2);
    const struct finding_facts *facts = &scene.facts;
    const char *any = "opset = 13";
    assert_true(group_fits("Neg Mul Cast Cast ArgMax", any, facts));
    assert_true(group_fits("* Mul * ArgMin|ArgMax", any, facts));
    assert_true(group_fits("Cast, * Cast Cast *", any, facts));
    assert_false(group_fits("Neg Mul Cast Cast", any, facts));
    assert_false(group_fits("* Cast Mul *", any, facts));
    assert_true(group_fits("* Arg*", "attribute = axis<0 keepdims=1 select_last_index!=1", facts));
    assert_false(group_fits("* Arg*", "attribute = axis>=0", facts));
    assert_true(group_fits("* Arg*", "attribute = keepdims=-", facts));
    assert_false(group_fits("* Arg*", "attribute = axis=-", facts));
    assert_true(
        group_fits("*", "Cast#1.attribute = to=7\nCast#2.input.0 = int64\nMul.input = const scalar", facts));
    assert_false(group_fits("*", "Cast#2.attribute = to=7", facts));
    assert_true(group_fits("* Mul *", "shapes = differ\nranks = differ", facts));
    /* What only constants go into is constant, too. */
    assert_false(group_fits("* Mul *", "Mul.input.0 = const", facts));
    /* All conditions on a node are of the same one. */
    assert_false(group_fits("*", "Cast.attribute = to=7\nCast.input.0 = int64", facts));
    release_scene(&scene);
}

static void facts_come_back_as_they_were(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_facts again;
    struct str one, two;
    struct error err = {0};
    str_init(&one);
    str_init(&two);
    make_scene(&scene, floor_model, -1.5F, INFINITY);
    facts_write(&one, &scene.facts);
    assert_int_equal(facts_read(&again, one.data, one.length, NULL), 0);
    facts_write(&two, &again);
    assert_string_equal(one.data, two.data);
    assert_true(isinf(again.got));
    facts_release(&again);
    static const char *const bad[] = {
        "", "[", "{\"symptom\":\"wrong\",\"nodes\":[{}]}",
        "{\"symptom\":\"wrong\",\"nodes\":[{\"op\":\"A\",\"inputs\":[\"float32[\"]}]}",
        "{\"symptom\":\"wrong\",\"nodes\":[{\"op\":\"A\",\"inputs\":[\"odd[1]\"]}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(facts_read(&again, bad[i], strlen(bad[i]), &err), -1);
        facts_release(&again);
    }
    release_scene(&scene);
    str_release(&one);
    str_release(&two);
}

static int status_of(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    str_add(context, stored->status);
    return 0;
}

static void expect_status(struct store *store, const char *signature, const char *due)
{
    struct str status;
    struct store_filter filter = {.signature = signature};
    str_init(&status);
    assert_int_equal(store_list(store, &filter, status_of, &status, NULL), 0);
    assert_string_equal(status.data, due);
    str_release(&status);
}

/* A finding that no issue has is looked up again when there is one. */
static void a_later_list_is_looked_at(void **state)
{
    (void)state;
    struct known_issues known, none;
    struct store *store;
    struct scene scene;
    char *text = issue_with("input = nan\ncase = docs/floor");
    known_init(&none);
    make_scene(&scene, floor_model, 1, NAN);
    assert_int_equal(store_open(&store, folder, STORE_CREATE, NULL), 0);
    struct finding finding = {
        .signature = "wrong|a|Floor", .name = "wrong-floor", .kind = "wrong", .engine = "a"};
    assert_int_equal(store_add(store, &finding, NULL, NULL), 0);
    assert_int_equal(known_mark(&none, store, finding.signature, &scene.facts, NULL), 0);
    expect_status(store, finding.signature, "new");
    assert_int_equal(read_text(&known, text, NULL), 0);
    assert_int_equal(known_again(&known, store, false, NULL), 0);
    expect_status(store, finding.signature, "known: docs/floor");
    /* What has no facts, or damaged ones, stays as it is. */
    finding.signature = "wrong|a|Other";
    assert_int_equal(store_add(store, &finding, NULL, NULL), 0);
    assert_int_equal(known_again(&known, store, false, NULL), 0);
    expect_status(store, finding.signature, "new");
    assert_int_equal(store_set(store, STORE_FACTS_KEY "wrong|a|Other", "{\"symptom\": \"none\"", NULL), 0);
    assert_int_equal(known_again(&known, store, false, NULL), 0);
    expect_status(store, finding.signature, "new");
    known_release(&known);
    known_release(&none);
    store_close(store);
    release_scene(&scene);
    free(text);
}

/* The entry that mutes the finding of this signature. */
struct entry {
    struct store *store;
    const struct folder *campaign;
    struct str text;
};

static int write_entry(void *context, const struct stored *stored, struct error *err)
{
    struct entry *entry = context;
    return known_write(&entry->text, entry->store, entry->campaign, stored, "two\nlines ; here", err);
}

static void add_diagnosed(struct store *store, const char *signature, const char *parameter,
                          struct finding_facts *facts)
{
    struct signature parsed;
    struct known_issues none;
    struct finding_evidence evidence;
    known_init(&none);
    evidence_init(&evidence);
    evidence.owner = "Resize";
    evidence.parameter = parameter;
    evidence.value = "cubic";
    evidence.main = "Resize";
    evidence.shown = EVIDENCE(DIAGNOSED);
    assert_true(signature_parse(&parsed, signature));
    struct finding finding = {.signature = signature,
                              .name = parsed.name,
                              .kind = "wrong",
                              .engine = "a@1:fast=1",
                              .recipe = "plan seed=1\n[two]"};
    assert_int_equal(store_add(store, &finding, NULL, NULL), 0);
    assert_int_equal(evidence_store(store, signature, &evidence, NULL), 0);
    assert_int_equal(known_mark(&none, store, signature, facts, NULL), 0);
    evidence_release(&evidence);
    known_release(&none);
}

/* Whatever else their cases have: findings with the name or the cause of a muted one are muted, and others of
 * the same operator are not. */
static void a_muted_cause_stays_muted(void **state)
{
    (void)state;
    static const char *const muted = "wrong|a|Resize|f32|mode=cubic|", *const alike = "wrong|a|Resize|f64||",
                             *const other = "wrong|a|Resize|f16||";
    struct known_issues known;
    struct scene scene;
    struct error err = {0};
    struct entry entry = {0};
    char *apart = file_join(folder, "apart");
    assert_int_equal(store_open(&entry.store, apart, STORE_CREATE, NULL), 0);
    str_init(&entry.text);
    make_scene(&scene, floor_model, 1, NAN);
    scene.facts.engine = "a@1";
    add_diagnosed(entry.store, muted, "mode", &scene.facts);
    struct store_filter filter = {.signature = muted};
    assert_int_equal(store_list(entry.store, &filter, write_entry, &entry, NULL), 0);
    if (read_text(&known, entry.text.data, &err))
        fail_msg("%s in\n%s", err.message, entry.text.data);
    assert_int_equal(known.count, 1);
    assert_string_equal(known.items[0].engine, "a");
    assert_string_equal(known.items[0].cause, "two lines here");
    assert_string_equal(known.items[0].witness, "wrong recipe plan seed=1 [two]");
    add_diagnosed(entry.store, alike, "mode", &scene.facts);
    assert_null(known_misfit(&known, &known.items[0], &scene.facts)); /* by its cause */
    scene.facts.parameter = "axes"; /* by its name, unless another parameter is to blame or may be */
    scene.facts.name = known.items[0].name;
    scene.facts.cause = "";
    assert_non_null(known_misfit(&known, &known.items[0], &scene.facts));
    scene.facts.needed = "modes roi mod"; /* of two that each cure, either may be blamed */
    assert_non_null(known_misfit(&known, &known.items[0], &scene.facts));
    scene.facts.needed = "roi mode";
    assert_null(known_misfit(&known, &known.items[0], &scene.facts));
    scene.facts.needed = "";
    scene.facts.parameter = "";
    assert_null(known_misfit(&known, &known.items[0], &scene.facts));
    scene.facts.undiagnosed = true;
    assert_non_null(known_misfit(&known, &known.items[0], &scene.facts));
    add_diagnosed(entry.store, other, "axes", &scene.facts);
    assert_string_equal(known_misfit(&known, &known.items[0], &scene.facts),
                        "finding and same-cause, with their parameter and place");
    assert_int_equal(known_again(&known, entry.store, false, NULL), 0);
    struct str status;
    str_init(&status);
    str_printf(&status, "known: %s", known.items[0].name);
    expect_status(entry.store, muted, status.data);
    expect_status(entry.store, alike, status.data);
    expect_status(entry.store, other, "new");
    str_release(&status);
    known_release(&known);
    store_close(entry.store);
    release_scene(&scene);
    str_release(&entry.text);
    free(apart);
}

/* Where a cause takes in failures of any kind, what is muted is as the muted findings failed. */
static void a_wide_cause_is_muted_as_it_failed(void **state)
{
    (void)state;
    static const char *const signature = "wrong|a|Add|f32||";
    struct finding_evidence evidence;
    struct known_issues known;
    struct scene scene;
    struct entry entry = {0};
    char *apart = file_join(folder, "wide");
    assert_int_equal(store_open(&entry.store, apart, STORE_CREATE, NULL), 0);
    str_init(&entry.text);
    make_scene(&scene, floor_model, 1, NAN);
    scene.facts.engine = "a@1";
    add_diagnosed(entry.store, signature, "", &scene.facts);
    evidence_init(&evidence);
    evidence.main = "Add";
    evidence.shown = EVIDENCE(DIAGNOSED) | EVIDENCE(CURED_EXPANDED);
    assert_int_equal(evidence_store(entry.store, signature, &evidence, NULL), 0);
    evidence_release(&evidence);
    struct store_filter filter = {.signature = signature};
    assert_int_equal(store_list(entry.store, &filter, write_entry, &entry, NULL), 0);
    assert_int_equal(read_text(&known, entry.text.data, NULL), 0);
    assert_string_equal(known.items[0].same_cause, "expanded|any|a|elementwise");
    scene.facts.cause = known.items[0].same_cause;
    scene.facts.name = "";
    assert_null(known_misfit(&known, &known.items[0], &scene.facts));
    scene.facts.symptom = (enum symptom)VERDICT_SHAPE;
    assert_string_equal(known_misfit(&known, &known.items[0], &scene.facts), "symptom");
    known_release(&known);
    store_close(entry.store);
    release_scene(&scene);
    str_release(&entry.text);
    free(apart);
}

static const char muted_text[] = "[one]\nengine = a\nfinding = wrong-resize-0123456789ab\n"
                                 "same-cause = kernel|wrong|a|Resize|f32\nparameter = mode sizes\n"
                                 "crash = parameter|crash|a|Resize|mode\n"
                                 "place = resize.cc upsample.cc\n"
                                 "cause = it is planted\nwitness = wrong recipe plan seed=1\n";

/* An issue holds on engines on which its witness still fails. With the witness failing, another parameter of
 * the same operator is another bug all the same. */
static void an_issue_needs_its_witness(void **state)
{
    (void)state;
    static const struct {
        enum witness_state state;
        const char *misfit;
    } rows[] = {
        {WITNESS_FAILS, NULL},
        {WITNESS_AGREES, "witness, which no longer fails"},
        {WITNESS_OTHERWISE, "witness, which now fails in another way"},
        {WITNESS_NOT_JUDGED, "witness, which cannot be judged on this engine"},
    };
    struct known_issues known;
    struct finding_facts facts = {.engine = "a@1",
                                  .like = "",
                                  .version = "1",
                                  .name = "",
                                  .cause = "",
                                  .parameter = "",
                                  .needed = "",
                                  .place = "",
                                  .crash = "",
                                  .stage = "",
                                  .message = ""};
    struct known_tried tried = {.engine = "a@1"};
    assert_int_equal(read_text(&known, muted_text, NULL), 0);
    struct known_issue *issue = &known.items[0];
    facts.cause = issue->same_cause;
    assert_null(known_misfit(&known, issue, &facts)); /* where nobody runs witnesses */
    known.asks_witnesses = true;
    assert_non_null(strstr(known_misfit(&known, issue, &facts), "not run"));
    issue->tried = &tried;
    issue->n_tried = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum witness_state parsed;
        tried.state = rows[i].state;
        const char *misfit = known_misfit(&known, issue, &facts);
        assert_int_equal(!misfit, !rows[i].misfit);
        if (misfit)
            assert_string_equal(misfit, rows[i].misfit);
        assert_true(witness_state_parse(witness_state_word(rows[i].state), &parsed));
        assert_int_equal(parsed, rows[i].state);
    }
    tried.state = WITNESS_FAILS;
    facts.engine = "a@2"; /* another release */
    assert_non_null(known_misfit(&known, issue, &facts));
    tried.engine = ""; /* the campaign in which it was muted */
    assert_null(known_misfit(&known, issue, &facts));
    facts.cause = "stack|crash|a|f<g"; /* a crash that is noticed elsewhere */
    assert_non_null(known_misfit(&known, issue, &facts));
    facts.crash = "parameter|crash|a|Resize|mode";
    assert_null(known_misfit(&known, issue, &facts));
    facts.place = "resize.cc";
    assert_null(known_misfit(&known, issue, &facts));
    facts.place = "other.cc"; /* another file, unless the finding is named */
    assert_non_null(known_misfit(&known, issue, &facts));
    facts.name = issue->names[0];
    assert_null(known_misfit(&known, issue, &facts));
    facts.place = "";
    facts.parameter = "axes";
    assert_string_equal(known_misfit(&known, issue, &facts),
                        "finding and same-cause, with their parameter and place");
    facts.cause = "parameter|wrong|a|Resize|axes";
    assert_string_equal(known_misfit(&known, issue, &facts),
                        "finding and same-cause, with their parameter and place");
    known_release(&known);
}

/* What has no bundle has its recipe as the witness, unless running that once shows nothing. */
static void witnesses_are_written(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *recipe, *witness;
    } rows[] = {
        {"wrong", "plan seed=1", "wrong recipe plan seed=1"},
        {"crash", "plan seed=1 | rule", "crash recipe plan seed=1 | rule"},
        {"nondeterministic", "plan seed=1", ""},
        {"hang", "plan seed=1", ""},
        {"wrong", "case cases/one", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stored stored = {.kind = rows[i].kind, .recipe = rows[i].recipe, .bundle = ""};
        struct str text;
        str_init(&text);
        witness_write(&text, NULL, &stored);
        assert_string_equal(text.data, rows[i].witness);
        str_release(&text);
    }
}

/* A witness makes its case again, and whatever stands there is refused or read, and nothing else. */
static void witnesses_are_read(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "",
        "wrong",
        "wrong case",
        "wrong case !",
        "wrong case QQ==",
        "wrong case QQ== ",
        "wrong other x",
        "wrong recipe",
        "wrong recipe nothing",
        "wrong case CAgSBWFzc2F5OmMKMA== EAFCAngwSgQAAFJB",
    };
    static const char whole[] =
        "wrong case "
        "CAgSBWFzc2F5OmMKMAoCeDAKAngxEgJ2MhoQUXVhbnRpemVMaW5lYXJfMCIOUXVhbnRpemVMaW5lYXI6ABIFYXNzYXlaDAoCeDAS"
        "BgoECAESAFoMCgJ4MRIGCgQIARIAYgwKAnYyEgYKBAgCEgBCBAoAEAs= EAFCAngwSgQAAFJB EAFCAngxSgQAAIA+";
    struct error err = {0};
    struct test_case *test;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        if (!witness_case(damaged[i], &test, &err))
            fail_msg("'%s' was read", damaged[i]);
        assert_null(test);
    }
    assert_int_equal(witness_case(whole, &test, &err), 0);
    assert_int_equal(test->n_inputs, 2);
    assert_string_equal(test->inputs[1].name, "x1");
    assert_true(tensor_get(&test->inputs[0].tensors[0], 0) == 13.125L);
    assert_string_equal(test_case_model(test, &err)->graph->node[0]->op_type, "QuantizeLinear");
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_cause_is_muted_as_it_failed),
        cmocka_unit_test(an_issue_needs_its_witness),
        cmocka_unit_test(witnesses_are_written),
        cmocka_unit_test(witnesses_are_read),
        cmocka_unit_test(what_is_malformed_is_refused_with_its_line),
        cmocka_unit_test(conditions_hold_or_not),
        cmocka_unit_test(gradients_have_issues_of_their_own),
        cmocka_unit_test(groups_are_sequences),
        cmocka_unit_test(facts_come_back_as_they_were),
        cmocka_unit_test(a_muted_cause_stays_muted),
        cmocka_unit_test(a_later_list_is_looked_at),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
