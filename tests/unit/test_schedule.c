#include "compare/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A check that takes longer than a twentieth of any test, and one that takes hardly any time. */
static const double hour = 3600, moment = 1e-6;

static struct schedule after_first(size_t samples, size_t judge, size_t operators, double seconds)
{
    struct schedule schedule;
    schedule_init(&schedule,
                  &(struct schedule_options){.samples = samples, .judge = judge, .operators = operators});
    assert_true(schedule_judges(&schedule, 0));
    assert_int_equal(schedule_check(&schedule), CHECK_OPERATORS);
    schedule_heard(&schedule, CHECK_OPERATORS, seconds);
    return schedule;
}

static void some_of_many_samples_give_operators_a_share(void **state)
{
    (void)state;
    struct schedule schedule = after_first(1000, 10, 0, hour);
    assert_int_equal(schedule_check(&schedule), CHECK_UNDECIDED);
    assert_true(schedule_judges(&schedule, 100));
    assert_false(schedule_judges(&schedule, 101));
}

static void a_number_of_operators_holds(void **state)
{
    (void)state;
    struct schedule schedule = after_first(1000, 10, 10, hour);
    assert_int_equal(schedule_check(&schedule), CHECK_OPERATORS);
}

static void all_samples_give_operators_the_whole_time(void **state)
{
    (void)state;
    struct schedule schedule = after_first(10, 10, 0, moment);
    assert_int_equal(schedule_check(&schedule), CHECK_OPERATORS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_of_many_samples_give_operators_a_share),
        cmocka_unit_test(a_number_of_operators_holds),
        cmocka_unit_test(all_samples_give_operators_the_whole_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
