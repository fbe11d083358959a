#include "reduce/oracle_of_case.h"

#include "base/clock.h"
#include "base/memory.h"
#include "case/case_gradient.h"
#include "reduce/same_failure.h"
#include "search/forbidden.h"

#include <string.h>

struct oracle oracle_of_case(const struct test_case *from, const struct reduce_options *options)
{
    return (struct oracle){
        .pool = options->pool,
        .engine = options->engine,
        .companion = -1,
        .label = options->label ? options->label : pool_engine(options->pool, options->engine)->label,
        .deadline = options->deadline,
        .end_ns = options->seconds > 0 ? clock_ns() + (int64_t)(options->seconds * 1e9) : 0,
        .most = options->most,
        .ahead = options->ahead,
        .alive = options->alive,
        .context = options->context,
        .forbidden = from->forbidden,
        .forbidden_node = from->forbidden_node,
        .gradient = from->gradient != NULL,
        .gradient_seed = from->gradient ? from->gradient->seed : 0,
    };
}

int oracle_begin(struct oracle *oracle, struct subject *subject, const struct reduce_options *options,
                 struct error *err)
{
    struct error first = {0};
    onnx_checker_start_newest(&oracle->checker);
    int status = oracle_start(oracle, subject, &first);
    if (status && options->companion >= 0 &&
        (first.code == ERROR_NOT_FOUND || first.code == ERROR_UNSUPPORTED)) {
        oracle->companion = options->companion;
        oracle->by_companion = first.code == ERROR_UNSUPPORTED;
        status = oracle_start(oracle, subject, &first);
    }
    if (status && first.code == ERROR_INVALID)
        return error_set(
            err, ERROR_INVALID,
            "the case is not valid, so no engine can be blamed: %.300s; correct the inputs or the "
            "model",
            first.message);
    if (status)
        return error_set(err, first.code, "%s", first.message);
    bool spoken = !oracle->n_blamed && oracle->keep.text[0];
    if (options->keep && !signature_alike(options->keep, &oracle->keep) &&
        !(spoken && same_message(options->keep, &oracle->keep)))
        return error_set(err, ERROR_NOT_FOUND, "the case shows another failure: %s", oracle->keep.text);
    return 0;
}

/* Who forbids the case, asked again: it may be more certain now. */
static void keep_forbidden(struct test_case *test, const char *node)
{
    struct error why = {0};
    test->forbidden = forbidden_proof(test_case_model(test, NULL), test->inputs, test->n_inputs, &why);
    test->forbidden_why = memory_strdup(why.message);
    test->forbidden_node = node ? memory_strdup(node) : NULL;
}

int oracle_case(struct test_case **test, struct subject *subject, const struct test_case *from,
                const char *forbidden_node, struct error *err)
{
    *test = subject_to_case(subject);
    if (from->forbidden)
        keep_forbidden(*test, forbidden_node);
    return test_case_ask_like(*test, from, err);
}

void oracle_stats(const struct oracle *oracle, const struct subject *subject, struct reduce_stats *stats)
{
    stats->nodes_after = subject_nodes(subject);
    stats->elements_after = subject_elements(subject);
    stats->made = oracle->made;
    stats->invalid = oracle->invalid;
    stats->runs = oracle->runs;
    stats->held = oracle->held;
    stats->last = oracle->keep;
    stats->verdict = oracle->verdict;
    memcpy(stats->text, oracle->text, sizeof stats->text);
}
