/* Work on several cores: the same results as on one, and a piece that a fork does not bring is missing, not
 * wrong. */
#include "base/side_by_side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECES = 1000, CHUNK = 7 };

struct answer {
    uint64_t square;
    pid_t by;
};

struct scene {
    pid_t parent;
    size_t deadly; /* the piece with which a fork dies */
    unsigned char left[PIECES];
};

static bool square(void *context, size_t piece, void *result)
{
    struct scene *scene = context;
    struct answer *answer = result;
    if (piece == scene->deadly && getpid() != scene->parent)
        raise(SIGSEGV);
    *answer = (struct answer){(uint64_t)piece * piece, getpid()};
    scene->left[piece] = 1;
    usleep(50);
    return piece % 10 != 3;
}

static void run_and_look(size_t processes, size_t deadly)
{
    struct scene scene = {.parent = getpid(), .deadly = deadly};
    struct side_by_side run;
    size_t others = 0, missing = 0;
    side_by_side_use(processes);
    assert_int_equal(side_by_side_processes(), processes);
    side_by_side_run(&run, PIECES, CHUNK, sizeof(struct answer), square, &scene);
    for (size_t i = 0; i < PIECES; i++) {
        const struct answer *answer = side_by_side_result(&run, i);
        if (i % 10 == 3)
            assert_null(answer);
        else if (!answer)
            missing++;
        if (!answer)
            continue;
        assert_int_equal(answer->square, i * i);
        others += answer->by != scene.parent;
        assert_int_equal(scene.left[i], answer->by == scene.parent); /* forks change nothing here */
    }
    /* The dead fork's chunk; here nobody died. */
    size_t most = processes == 1 ? PIECES : deadly < PIECES ? CHUNK : 0;
    assert_true(missing <= most);
    assert_true(processes > 1 || missing == PIECES - PIECES / 10);
    assert_true(processes == 1 || others > 0);
    assert_null(side_by_side_result(&run, PIECES));
    side_by_side_release(&run);
}

static void one_process_computes_nothing_ahead(void **state)
{
    (void)state;
    run_and_look(1, PIECES);
}

static void forks_bring_the_same_results(void **state)
{
    (void)state;
    run_and_look(2, PIECES);
    run_and_look(5, PIECES);
}

static void what_a_dead_fork_had_is_missing(void **state)
{
    (void)state;
    for (size_t piece = 0; piece < 100; piece += 9)
        run_and_look(3, piece);
}

static void without_a_number_one_core_is_left(void **state)
{
    (void)state;
    side_by_side_use(0);
    assert_true(side_by_side_processes() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_computes_nothing_ahead),
        cmocka_unit_test(forks_bring_the_same_results),
        cmocka_unit_test(what_a_dead_fork_had_is_missing),
        cmocka_unit_test(without_a_number_one_core_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
