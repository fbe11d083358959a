/* The public library as another program uses it: from its header alone, in C99. */
#include <assay/assay.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES "/usr/include/onnx/backend/test/data/node/"

enum { ELEMENTS = 60, THREADS = 8, ROUNDS = 20 };

static const int64_t shape[] = {3, 4, 5};

static struct assay *begin(void)
{
    struct assay *assay;
    struct assay_error error;
    if (assay_open(&assay, NULL, &error))
        fail_msg("%s", error.message);
    return assay;
}

static struct assay_model *load(struct assay *assay, const char *name)
{
    char path[300];
    struct assay_model *model;
    struct assay_error error;
    snprintf(path, sizeof path, CASES "%s/model.onnx", name);
    if (assay_model_load(assay, path, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

static struct assay_tensor floats(const char *name, const float *data)
{
    struct assay_tensor tensor = {name, ASSAY_FLOAT32, 3, shape, NULL, data};
    return tensor;
}

/* x, and |x| for the model Abs. */
static void fill(float *x, float *y)
{
    int i;
    for (i = 0; i < ELEMENTS; i++) {
        x[i] = (float)i - 30.25f;
        y[i] = fabsf(x[i]);
    }
}

static enum assay_answer judged(struct assay *assay, const struct assay_model *model, const float *x,
                                const float *y, const char *word)
{
    const struct assay_verdict *verdict;
    struct assay_error error;
    struct assay_tensor input = floats("x", x), output = floats(NULL, y);
    enum assay_answer answer;
    if (assay_judge(assay, model, &input, 1, &output, 1, &verdict, &error))
        fail_msg("%s", error.message);
    assert_string_equal(verdict->word, word);
    answer = verdict->answer;
    assay_verdict_free(verdict);
    return answer;
}

static void names(void **state)
{
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_abs");
    (void)state;
    assert_string_equal(assay_version(), ASSAY_HEADER_VERSION);
    assert_string_equal(assay_model_input(model, 0), "x");
    assert_string_equal(assay_model_output(model, 0), "y");
    assert_null(assay_model_input(model, 1));
    assert_null(assay_model_output(model, 1));
    assay_close(assay);
}

static void right_and_wrong(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_abs");
    const struct assay_verdict *verdict;
    struct assay_tensor input = floats("x", x), output = floats("y", y);
    (void)state;
    fill(x, y);
    assert_int_equal(judged(assay, model, x, y, "agrees"), ASSAY_RIGHT);
    y[7] += 1;
    assert_int_equal(assay_judge(assay, model, &input, 1, &output, 1, &verdict, NULL), ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_WRONG);
    assert_string_equal(verdict->word, "wrong");
    assert_string_equal(verdict->output, "y");
    assert_int_equal(verdict->element, 7);
    assert_true(fabs(verdict->got - verdict->expected - 1) < 1e-9);
    assert_int_equal(verdict->elements, ELEMENTS);
    assert_int_equal(verdict->wrong, 1);
    assert_non_null(strstr(verdict->sentence, "y[7]"));
    assay_verdict_free(verdict);
    y[7] = (float)NAN;
    assert_int_equal(judged(assay, model, x, y, "nan"), ASSAY_WRONG);
    assay_close(assay);
}

static void wrong_form(void **state)
{
    static const int64_t other[] = {60};
    float x[ELEMENTS], y[ELEMENTS];
    double wide[ELEMENTS] = {0};
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_abs");
    struct assay_tensor input = floats("x", x), flat = {"y", ASSAY_FLOAT32, 1, other, NULL, y};
    struct assay_tensor doubles = {"y", ASSAY_FLOAT64, 3, shape, NULL, wide};
    const struct assay_verdict *verdict;
    (void)state;
    fill(x, y);
    assert_int_equal(assay_judge(assay, model, &input, 1, &flat, 1, &verdict, NULL), ASSAY_OK);
    assert_string_equal(verdict->word, "shape");
    assert_true(isnan(verdict->expected) && isnan(verdict->got) && isnan(verdict->bound));
    assay_verdict_free(verdict);
    assert_int_equal(assay_judge(assay, model, &input, 1, &doubles, 1, &verdict, NULL), ASSAY_OK);
    assert_string_equal(verdict->word, "dtype");
    assay_verdict_free(verdict);
    assay_close(assay);
}

static void values_and_bounds(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_softmax_axis_2");
    struct assay_tensor input = floats("x", x);
    struct assay_values *values;
    const struct assay_value *value;
    double sum = 0;
    int i;
    (void)state;
    fill(x, y);
    assert_int_equal(assay_reference(assay, model, &input, 1, &values, NULL), ASSAY_OK);
    assert_int_equal(assay_values_count(values), 1);
    assert_null(assay_values_at(values, 1));
    value = assay_values_at(values, 0);
    assert_int_equal(value->type, ASSAY_FLOAT32);
    assert_int_equal(value->rank, 3);
    assert_int_equal(value->shape[2], 5);
    assert_int_equal(value->count, ELEMENTS);
    assert_int_equal(value->size, ELEMENTS * sizeof(float));
    assert_non_null(value->exact);
    assert_non_null(value->hard);
    for (i = 0; i < 5; i++) {
        sum += value->exact[i];
        assert_true(value->hard[i] > 0 && value->hard[i] < 1e-5);
        assert_true(value->likely[i] <= value->hard[i]);
    }
    assert_true(fabs(sum - 1) < 1e-12);
    assay_values_free(values);
    assay_close(assay);
}

/* The transpose of a dense array, without a copy. */
static void strides(void **state)
{
    static const int64_t steps[] = {1, 3, 12};
    float x[ELEMENTS], y[ELEMENTS], turned[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_abs");
    struct assay_tensor input = floats("x", x), output = {"y", ASSAY_FLOAT32, 3, shape, steps, turned};
    const struct assay_verdict *verdict;
    int a, b, c;
    (void)state;
    fill(x, y);
    for (a = 0; a < 3; a++)
        for (b = 0; b < 4; b++)
            for (c = 0; c < 5; c++)
                turned[a + 3 * b + 12 * c] = y[20 * a + 5 * b + c];
    assert_int_equal(assay_judge(assay, model, &input, 1, &output, 1, &verdict, NULL), ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_RIGHT);
    assay_verdict_free(verdict);
    assay_close(assay);
}

/* Into the library and out of it, of a model from memory, on an engine that gives back what it is given. */
static void strings(void **state)
{
    static const char bytes[] =
        "\x08\x08\x3a\x3b\x0a\x12\x0a\x01\x78\x12\x01\x79\x22\x08\x49\x64\x65\x6e\x74\x69"
        "\x74\x79\x3a\x00\x12\x01\x67\x5a\x10\x0a\x01\x78\x12\x0b\x0a\x09\x08\x08\x12\x05"
        "\x0a\x03\x12\x01\x4e\x62\x10\x0a\x01\x79\x12\x0b\x0a\x09\x08\x08\x12\x05\x0a\x03"
        "\x12\x01\x4e\x42\x04\x0a\x00\x10\x0d";
    static const int64_t three[] = {3};
    static const char *const texts[] = {"a", "", "a longer one"};
    struct assay *assay = begin();
    struct assay_model *model;
    struct assay_tensor input = {NULL, ASSAY_STRING, 1, three, NULL, texts};
    struct assay_values *values;
    const struct assay_value *value;
    struct assay_error error;
    int i;
    (void)state;
    if (assay_model_parse(assay, bytes, sizeof bytes - 1, &model, &error) ||
        assay_run(assay, "identity", model, &input, 1, &values, &error))
        fail_msg("%s", error.message);
    value = assay_values_at(values, 0);
    assert_int_equal(value->type, ASSAY_STRING);
    assert_int_equal(value->count, 3);
    for (i = 0; i < 3; i++)
        assert_string_equal(((const char *const *)value->data)[i], texts[i]);
    assay_values_free(values);
    assay_close(assay);
}

static void engines(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_softmax_axis_2");
    struct assay_tensor input = floats("x", x);
    struct assay_values *values;
    const struct assay_verdict *verdict;
    struct assay_error error;
    int i;
    (void)state;
    fill(x, y);
    for (i = 0; i < ELEMENTS; i++)
        x[i] *= 100;
    assert_int_equal(assay_judge_engine(assay, "reference:round=on", model, &input, 1, &verdict, NULL),
                     ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_RIGHT);
    assay_verdict_free(verdict);
    assert_int_equal(
        assay_judge_engine(assay, "reference:fault=softmax-no-max", model, &input, 1, &verdict, NULL),
        ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_WRONG);
    assert_non_null(strstr(verdict->sentence, "Softmax"));
    assay_verdict_free(verdict);
    assert_int_equal(assay_run(assay, "reference:round=on", model, &input, 1, &values, NULL), ASSAY_OK);
    assert_null(assay_values_at(values, 0)->hard);
    assay_values_free(values);
    assert_int_equal(assay_run(assay, "nosuchengine", model, &input, 1, &values, &error), ASSAY_NOT_FOUND);
    assert_non_null(strstr(error.message, "nosuchengine"));
    assay_close(assay);
}

static void inner_values(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_abs");
    struct assay_tensor input = floats("x", x), output = floats("y", y);
    const struct assay_verdict *verdict;
    (void)state;
    fill(x, y);
    assert_int_equal(assay_judge_values(assay, model, &input, 1, &output, 1, &verdict, NULL), ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_RIGHT);
    assay_verdict_free(verdict);
    y[3] = 1e6f;
    assert_int_equal(assay_judge_values(assay, model, &input, 1, &output, 1, &verdict, NULL), ASSAY_OK);
    assert_int_equal(verdict->answer, ASSAY_WRONG);
    assert_non_null(strstr(verdict->node, "Abs"));
    assert_string_equal(verdict->output, "y");
    assert_int_equal(verdict->element, 3);
    assert_true(verdict->got == 1e6 && fabs(verdict->expected - 27.25) < 1e-9 && verdict->bound >= 0);
    assay_verdict_free(verdict);
    assay_close(assay);
}

static void tolerances(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin();
    struct assay_model *model = load(assay, "test_softmax_axis_2");
    struct assay_tensor input = floats("x", x);
    const struct assay_tolerances *found;
    (void)state;
    fill(x, y);
    assert_int_equal(assay_tolerances_of(assay, model, &input, 1, 0, &found, NULL), ASSAY_OK);
    assert_int_equal(found->count, 1);
    assert_string_equal(found->items[0].output, "y");
    assert_true(found->items[0].rtol < 1e-3 && found->items[0].rtol + found->items[0].atol > 0);
    assert_true(found->items[0].useful);
    assay_tolerances_free(found);
    assay_close(assay);
}

/* Each says what is wrong, and the handle goes on. */
static void mistakes(void **state)
{
    static const int64_t bad[] = {-1}, huge[] = {(int64_t)1 << 40, (int64_t)1 << 40};
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = begin(), *other = begin();
    struct assay_model *model = load(assay, "test_abs"), *none;
    struct assay_tensor input = floats("x", x), wrong = {"x", ASSAY_FLOAT32, 1, bad, NULL, x};
    struct assay_tensor large = {"x", ASSAY_FLOAT32, 2, huge, NULL, x},
                        untyped = {"x", (enum assay_type)99, 0, NULL, NULL, x};
    struct assay_tensor named = floats("nothing", x);
    const struct assay_verdict *verdict;
    struct assay_values *values;
    struct assay_error error;
    (void)state;
    fill(x, y);
    assert_int_not_equal(assay_model_load(assay, "/nowhere.onnx", &none, &error), ASSAY_OK);
    assert_non_null(strstr(error.message, "nowhere.onnx"));
    assert_null(none);
    assert_int_equal(assay_model_parse(assay, "garbage", 7, &none, &error), ASSAY_FORMAT);
    assert_int_equal(assay_reference(assay, model, &wrong, 1, &values, &error), ASSAY_USAGE);
    assert_int_equal(assay_reference(assay, model, &large, 1, &values, &error), ASSAY_USAGE);
    assert_int_equal(assay_reference(assay, model, &untyped, 1, &values, &error), ASSAY_USAGE);
    assert_int_equal(assay_reference(assay, model, &named, 1, &values, &error), ASSAY_INVALID);
    assert_int_equal(assay_reference(assay, model, NULL, 0, &values, &error), ASSAY_INVALID);
    assert_int_equal(assay_judge(assay, model, &input, 1, NULL, 0, &verdict, &error), ASSAY_USAGE);
    assert_int_equal(assay_reference(other, model, &input, 1, &values, &error), ASSAY_USAGE);
    assert_null(values);
    assert_int_equal(judged(assay, model, x, y, "agrees"), ASSAY_RIGHT);
    assay_model_free(model);
    assay_close(assay);
    assay_close(other);
    assay_close(NULL);
}

static void no_program(void **state)
{
    struct assay *assay;
    struct assay_error error;
    struct assay_options options = ASSAY_OPTIONS;
    (void)state;
    options.program = "/nowhere/assay-judge";
    assert_int_equal(assay_open(&assay, &options, &error), ASSAY_BROKEN);
    assert_non_null(strstr(error.message, "/nowhere/assay-judge"));
    assert_null(assay);
    options.program = "/bin/true"; /* it ends at once */
    assert_int_equal(assay_open(&assay, &options, &error), ASSAY_BROKEN);
    options.size = 4096;
    assert_int_equal(assay_open(&assay, &options, &error), ASSAY_USAGE);
}

static int cancel(void *context, double seconds)
{
    int *calls = context;
    (void)seconds;
    return ++*calls > 0;
}

/* A hang of an engine is cut short, and the handle goes on with its models. */
static void cancelling(void **state)
{
    float x[ELEMENTS], y[ELEMENTS];
    int calls = -1000; /* not while it starts and loads */
    struct assay *assay;
    struct assay_model *model;
    struct assay_error error;
    struct assay_options options = ASSAY_OPTIONS;
    struct assay_tensor input = floats("x", x);
    struct assay_values *values;
    const char *const files[] = {getenv("ASSAY_BAD_ENGINES")};
    (void)state;
    fill(x, y);
    options.progress = cancel;
    options.context = &calls;
    options.engine_files = files;
    options.n_engine_files = 1;
    if (assay_open(&assay, &options, &error))
        fail_msg("%s", error.message);
    model = load(assay, "test_abs");
    calls = 0;
    assert_int_equal(assay_run(assay, "bad:mode=hang", model, &input, 1, &values, &error), ASSAY_CANCELLED);
    calls = -1000;
    assert_int_equal(judged(assay, model, x, y, "agrees"), ASSAY_RIGHT);
    assay_close(assay);
}

static void *judge_often(void *context)
{
    float x[ELEMENTS], y[ELEMENTS];
    struct assay *assay = context ? context : begin();
    struct assay_model *model = load(assay, "test_abs");
    int i;
    fill(x, y);
    for (i = 0; i < ROUNDS; i++) {
        judged(assay, model, x, y, "agrees");
        y[i] += 1;
        judged(assay, model, x, y, "wrong");
        y[i] -= 1;
    }
    assay_model_free(model);
    if (!context)
        assay_close(assay);
    return NULL;
}

/* Half of the threads share a handle, and half have their own. */
static void threads(void **state)
{
    pthread_t all[THREADS];
    struct assay *shared = begin();
    int i;
    (void)state;
    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&all[i], NULL, judge_often, i % 2 ? shared : NULL), 0);
    for (i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    assay_close(shared);
}

/* usage: test_library [TEST] */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),      cmocka_unit_test(right_and_wrong),
        cmocka_unit_test(wrong_form), cmocka_unit_test(values_and_bounds),
        cmocka_unit_test(strides),    cmocka_unit_test(strings),
        cmocka_unit_test(engines),    cmocka_unit_test(inner_values),
        cmocka_unit_test(tolerances), cmocka_unit_test(mistakes),
        cmocka_unit_test(no_program), cmocka_unit_test(cancelling),
        cmocka_unit_test(threads),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
