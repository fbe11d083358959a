#include "saved_case.h"

#include "conform/conform.h"

#include <math.h>
#include <stddef.h>

static const long double joined_answer[] = {-1, -2, -3, -4, -1, -2, -3, -4, -1, -2, -3, -4};
static const long double copied_answer[] = {1, 2, 3, 4};

/* A suite in a scene's folder, and its cases on the scene's engines. */
struct course {
    struct scene scene;
    struct suite suite;
    struct conform conform;
};

static void course_open(struct course *course, const char *const *labels, size_t count)
{
    scene_open(&course->scene, labels, count);
}

static void course_run(struct course *course, size_t window)
{
    struct error err = {0};
    const char *folders[] = {course->scene.folder};
    struct conform_options options = {.tolerance = metrics_conformance, .window = window};
    if (suite_open(&course->suite, folders, 1, NULL, &err) ||
        conform_run(&course->conform, &course->suite, &course->scene.panel, &options, &err))
        fail_msg("%s", err.message);
}

static void course_close(struct course *course)
{
    conform_release(&course->conform);
    suite_release(&course->suite);
    scene_close(&course->scene);
}

static const struct conform_result *result_of(const struct course *course, const char *name, size_t engine)
{
    for (size_t i = 0; i < course->suite.count; i++)
        if (text_equal(course->suite.cases[i].name, name))
            return conform_at(&course->conform, i, engine);
    fail_msg("no case %s", name);
    return NULL;
}

static const char *golden_of(const struct course *course, const char *name)
{
    return course->conform
        .golden[(size_t)(result_of(course, name, 0) - course->conform.results) / course->conform.engines];
}

static void assert_verdicts(const struct course *course, const char *name,
                            const enum conform_verdict *verdicts)
{
    for (size_t i = 0; i < course->conform.engines; i++) {
        const struct conform_result *result = result_of(course, name, i);
        if (result->verdict != verdicts[i])
            fail_msg("%s on engine %zu is %s, not %s: %s", name, i, conform_verdict_name(result->verdict),
                     conform_verdict_name(verdicts[i]), result->message ? result->message : "");
    }
}

#define VERDICTS(...)              \
    (const enum conform_verdict[]) \
    {                              \
        __VA_ARGS__                \
    }

/* One of each kind. */
static void write_cases(const struct scene *scene)
{
    static const long double near_copy[] = {1, 2, 3, 4.001L}, far_copy[] = {1, 2, 3, 5};
    save_case(scene, "joined", JOINED, 1, joined_answer);
    save_case(scene, "bare", COPIED, 1, NULL);
    save_case(scene, "near", COPIED, 1, near_copy);
    save_case(scene, "far", COPIED, 1, far_copy);
    save_case(scene, "two", COPIED, 1, copied_answer);
    static const long double second[] = {-5, -4, -3, -2};
    save_set(scene, "two", 1, COPIED, -5, second);
    save_case(scene, "random", "g (float[4] x) => (float[4] y) { y = RandomNormalLike(x) }", 1,
              (const long double[]){9, 9, 9, 9});
    /* The model wants four elements, and three are there. */
    save_case(scene, "misfit", COPIED, 1, copied_answer);
    save_set(scene, "misfit", 0, "g (float[3] x) => (float[3] y) { y = Identity(x) }", 1, NULL);
    save_case(scene, "broken", COPIED, 1, copied_answer);
    char *folder = file_join(scene->folder, "broken"), *path = file_join(folder, "model.onnx");
    assert_int_equal(file_write(path, "rubbish", 7, NULL), 0);
    free(folder);
    free(path);
}

/* The last engine gives its inputs back, and dies where the first element is negative. */
static void check_cases(const struct course *course)
{
    assert_int_equal(course->suite.count, 8);
    assert_verdicts(course, "joined", VERDICTS(CONFORM_PASS, CONFORM_WRONG, CONFORM_SHAPE));
    assert_verdicts(course, "bare", VERDICTS(CONFORM_PASS, CONFORM_PASS, CONFORM_PASS));
    assert_verdicts(course, "near", VERDICTS(CONFORM_PASS, CONFORM_PASS, CONFORM_PASS));
    /* No engine is wrong against expected outputs that the reference refutes. */
    assert_verdicts(course, "far", VERDICTS(CONFORM_EXPECTATION, CONFORM_EXPECTATION, CONFORM_EXPECTATION));
    /* Of two data sets the one that is no plain pass speaks for the case. */
    assert_verdicts(course, "two", VERDICTS(CONFORM_PASS, CONFORM_PASS, CONFORM_CRASH));
    assert_verdicts(course, "random", VERDICTS(CONFORM_RANDOM, CONFORM_RANDOM, CONFORM_RANDOM));
    assert_verdicts(course, "misfit",
                    VERDICTS(CONFORM_NOT_RUNNABLE, CONFORM_NOT_RUNNABLE, CONFORM_NOT_RUNNABLE));
    assert_verdicts(course, "broken",
                    VERDICTS(CONFORM_NOT_RUNNABLE, CONFORM_NOT_RUNNABLE, CONFORM_NOT_RUNNABLE));
    for (size_t engine = 0; engine < 3; engine++) {
        size_t total = 0;
        for (int i = 0; i < CONFORM_COUNT; i++)
            total += course->conform.counts[engine][i];
        assert_int_equal(total, 8);
        assert_int_equal(course->conform.counts[engine][CONFORM_NOT_RUNNABLE], 2);
    }
}

static void each_case_has_one_verdict_on_each_engine(void **state)
{
    (void)state;
    for (size_t window = 0; window < 2; window++) { /* one at a time as well as all at once */
        struct course course;
        course_open(&course, LABELS("reference", "reference:fault=concat-three", "bad:mode=negative"));
        write_cases(&course.scene);
        course_run(&course, window);
        check_cases(&course);
        course_close(&course);
    }
}

static void the_judge_speaks_beside_the_answer(void **state)
{
    (void)state;
    struct course course;
    course_open(&course, LABELS("reference", "reference:fault=concat-three", "bad:mode=negative"));
    write_cases(&course.scene);
    course_run(&course, 0);
    const struct engine_verdict *judged = result_of(&course, "joined", 1)->judged;
    assert_int_equal(judged->verdict.kind, VERDICT_WRONG);
    assert_string_equal(judged->operators[0], "Concat");
    assert_int_equal(result_of(&course, "two", 2)->judged->verdict.kind, VERDICT_CRASH);
    assert_int_equal(result_of(&course, "two", 2)->judged->sample, 1);
    assert_null(result_of(&course, "random", 2)->judged);
    assert_null(result_of(&course, "misfit", 0)->judged);
    assert_null(result_of(&course, "broken", 0)->judged);
    /* A case's own answer is held against the bound, too: one within the tolerance, one far off. */
    assert_null(golden_of(&course, "joined"));
    assert_null(golden_of(&course, "two"));
    assert_null(golden_of(&course, "bare"));
    assert_non_null(golden_of(&course, "near"));
    assert_non_null(golden_of(&course, "far"));
    assert_non_null(strstr(golden_of(&course, "near"), "4.00"));
    assert_non_null(strstr(golden_of(&course, "far"), "5"));
    /* What nobody else says is right, the judge does. */
    assert_true(result_of(&course, "bare", 0)->bare);
    assert_false(conform_is_unjudged(result_of(&course, "bare", 0)));
    assert_false(result_of(&course, "joined", 0)->bare);
    assert_non_null(strstr(result_of(&course, "misfit", 0)->message, "the model wants"));
    course_close(&course);
}

/* An epsilon that is ignored, too small to leave the tolerance: no rounding gives that. */
static void a_pass_may_be_beyond_rounding(void **state)
{
    (void)state;
    struct course course;
    struct standing standing = {0};
    static const char *const labels[] = {"reference", "reference:fault=bn-sqrt-var"};
    course_open(&course, labels, 2);
    long double answer[4];
    for (int i = 0; i < 4; i++)
        answer[i] = (i + 1) / sqrtl(1.001L);
    save_case(&course.scene, "norm",
              "g (float[1,1,4] x) => (float[1,1,4] y)"
              "<float[1] s = {1.0}, float[1] b = {0.0}, float[1] m = {0.0}, float[1] v = {1.0}>"
              "{ y = BatchNormalization<epsilon = 0.001>(x, s, b, m, v) }",
              1, answer);
    course_run(&course, 0);
    assert_verdicts(&course, "norm", VERDICTS(CONFORM_PASS, CONFORM_PASS));
    assert_false(conform_is_beyond_rounding(result_of(&course, "norm", 0)));
    assert_true(conform_is_beyond_rounding(result_of(&course, "norm", 1)));
    conform_stands(&course.conform, labels, &standing);
    assert_int_equal(standing.findings, 1);
    assert_int_equal(standing_status(&standing), STATUS_FINDINGS);
    course_close(&course);
}

static void those_who_refuse_lack_or_are_not_there(void **state)
{
    (void)state;
    struct course course;
    struct standing standing = {0};
    static const char *const labels[] = {"bad:mode=reject-load", "bad:mode=lack-load", "absent"};
    course_open(&course, labels, 3);
    save_case(&course.scene, "good", COPIED, 1, copied_answer);
    save_case(&course.scene, "invalid", "g (float[4] x) => (float[4] y) { y = Relu(x, x) }", 1,
              copied_answer);
    course_run(&course, 0);
    assert_verdicts(&course, "good", VERDICTS(CONFORM_REJECTED, CONFORM_UNSUPPORTED, CONFORM_NO_ENGINE));
    /* Who refuses what is not valid is right. */
    assert_verdicts(&course, "invalid",
                    VERDICTS(CONFORM_NOT_RUNNABLE, CONFORM_UNSUPPORTED, CONFORM_NO_ENGINE));
    conform_stands(&course.conform, labels, &standing);
    assert_int_equal(standing.findings, 1); /* the model that is refused */
    assert_int_equal(standing.troubles, 4); /* invalid, twice no engine, and one on which nothing ran */
    course_close(&course);
}

static void agreement_is_earned(void **state)
{
    (void)state;
    struct course course;
    struct standing standing = {0};
    static const char *const labels[] = {"identity"};
    course_open(&course, labels, 1);
    save_case(&course.scene, "bare", COPIED, 1, NULL);
    save_case(&course.scene, "good", COPIED, 1, copied_answer);
    course_run(&course, 0);
    conform_stands(&course.conform, labels, &standing);
    assert_int_equal(standing_status(&standing), STATUS_AGREE);
    conform_release(&course.conform);
    suite_release(&course.suite);
    /* Without an arbiter nobody vouches for the case that brings no answer. */
    course.scene.panel.reference = -1;
    course_run(&course, 0);
    assert_true(conform_is_unjudged(result_of(&course, "bare", 0)));
    assert_false(conform_is_unjudged(result_of(&course, "good", 0)));
    conform_stands(&course.conform, labels, &standing);
    assert_int_equal(standing_status(&standing), STATUS_TROUBLE);
    assert_non_null(strstr(standing.reason, "bare brings no expected outputs"));
    course_close(&course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_has_one_verdict_on_each_engine),
        cmocka_unit_test(the_judge_speaks_beside_the_answer),
        cmocka_unit_test(a_pass_may_be_beyond_rounding),
        cmocka_unit_test(those_who_refuse_lack_or_are_not_there),
        cmocka_unit_test(agreement_is_earned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
