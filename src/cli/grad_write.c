/* Text, JSON and JUnit of `assay grad`. */
#include "base/json.h"
#include "base/seed.h"
#include "cli/grad.h"
#include "report/answer.h"
#include "report/junit.h"
#include "report/text_table.h"
#include "report/verdict_json.h"

#include <math.h>

static const char *const rule_word[] = {[TRAIN_SGD] = "sgd", [TRAIN_ADAM] = "adam"};

static void plural(struct str *out, size_t count, const char *word)
{
    str_printf(out, "%zu %s%s", count, word, count == 1 ? "" : "s");
}

/* An engine that departs while it is trained is not called correct for the gradients before. */
static void add_departure(struct answer_scene *scene, size_t engine, const struct train_course *course)
{
    struct answer_part *part = &scene->parts[engine];
    if (!course->departed || !verdict_is(part->kind, CLASS_AGREES))
        return;
    const char *names[] = {course->operator, course->node };
    part->kind = course->verdict.kind;
    if (*course->operator)
        answer_add_nodes(&scene->wheres[engine], &names[0], &names[1], 1, false);
    str_printf(&scene->wheres[engine], "%sstep %zu of the training", *course->operator? " in " : "",
               course->step);
    part->where = scene->wheres[engine].data;
}

/* A gradient that is zero on every sample, as behind a saturated operator, tells nothing of its operators. */
static void add_zeros(const struct gradients *g, struct str *out)
{
    enum { TOLD = 3 };
    size_t count = 0;
    for (size_t k = 0; k < g->count && g->engines; k++)
        if (g->figures[k].judged && !g->figures[k].varies && count++ < TOLD)
            str_printf(out, "%sthe gradient by %s is zero everywhere", count > 1 ? "; " : "", g->names[k]);
    if (count > TOLD)
        str_printf(out, "; and %zu more", count - TOLD);
}

static void add_answer(const struct grad_report *report, const char *between, struct str *out)
{
    const struct gradients *g = report->gradients;
    struct answer_scene scene;
    struct str what;
    str_init(&what);
    str_printf(&what, "the gradients of %s", report->path);
    answer_scene_init(&scene, &g->verdicts, report->labels, what.data, report->described, g->samples);
    scene.answer.plural = true;
    scene.answer.unit = "gradient value";
    scene.answer.standing = report->standing;
    add_zeros(g, &scene.idle);
    scene.answer.idle = scene.idle.length ? scene.idle.data : NULL;
    if (report->train)
        str_printf(&scene.evidence, ", %zu steps of training", report->training->steps);
    scene.answer.evidence = scene.evidence.data;
    for (size_t e = 0; report->train && e < report->train->engines; e++)
        add_departure(&scene, e, &report->train->courses[e]);
    answer_add(out, &scene.answer, between);
    answer_scene_release(&scene);
    str_release(&what);
}

static void text_head(const struct grad_report *report, bool colour, struct str *out)
{
    const struct gradients *g = report->gradients;
    style_print(out, colour, STYLE_HEAD, "%s", report->path);
    str_add(out, ": gradients by ");
    plural(out, g->n_inputs, "input");
    str_add(out, " and ");
    plural(out, g->count - g->n_inputs, "parameter");
    if (report->loss)
        str_printf(out, " of the sum of %s", report->loss);
    str_add(out, ", ");
    plural(out, g->samples, "sample");
    str_add(out, "\n");
}

static void text_verdict(const struct engine_verdict *overall, const char *label, bool colour,
                         struct str *out)
{
    struct str sentence;
    str_init(&sentence);
    engine_verdict_sentence(overall, &sentence);
    str_add(out, "  ");
    style_print(out, colour, verdict_style(overall->verdict.kind), "%s", label);
    str_add(out, " ");
    text_print(out, sentence.data, 0);
    str_add(out, "\n");
    str_release(&sentence);
}

static void text_table(const struct grad_report *report, bool colour, struct str *out)
{
    const struct gradients *g = report->gradients;
    struct table table;
    char shape[SHAPE_TEXT_SIZE];
    table_init(&table, "lllrrrr");
    table_head(&table, "engine|gradient by|type and shape|judged|undecided|wrong|error / bound");
    for (size_t e = 0; e < g->engines; e++)
        for (size_t k = 0; k < g->count; k++) {
            const struct gradient_figures *figures = &g->figures[e * g->count + k];
            if (!figures->total)
                continue;
            table_add(&table, STYLE_PLAIN, "%s", report->labels[e]);
            table_add(&table, STYLE_PLAIN, "%s", g->names[k]);
            table_add(&table, STYLE_PLAIN, "%s %s", dtype_name(g->types[k]),
                      shape_text(&g->shapes[k], shape));
            table_add(&table, STYLE_PLAIN, "%zu", figures->judged);
            table_add(&table, STYLE_PLAIN, "%zu", figures->undecided + figures->open);
            table_add(&table, figures->wrong ? STYLE_BAD : STYLE_PLAIN, "%zu", figures->wrong);
            table_add(&table, STYLE_PLAIN, "%.2g", figures->factor);
        }
    if (table.count > table.columns) {
        str_add(out, "\n");
        table_print(&table, out, colour, 2);
    }
    table_release(&table);
}

/* The steps to show: the first ten, then every tenth part, and the last. */
static bool is_shown(size_t step, size_t steps)
{
    size_t every = steps / 10 ? steps / 10 : 1;
    return steps <= 10 || step == 1 || step == steps || step % every == 0;
}

static void text_losses(const struct grad_report *report, bool colour, struct str *out)
{
    const struct train *train = report->train;
    size_t columns = train->engines + 2;
    struct str align, head;
    struct table table;
    str_init(&align);
    str_init(&head);
    str_add(&head, "step");
    for (size_t i = 0; i < columns; i++)
        str_add(&align, "r");
    for (size_t e = 0; e < train->engines; e++)
        str_printf(&head, "|%s", report->labels[e]);
    str_add(&head, "|the reference");
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (size_t step = 1; step <= report->training->steps; step++) {
        if (!is_shown(step, report->training->steps))
            continue;
        table_add(&table, STYLE_PLAIN, "%zu", step);
        for (size_t e = 0; e <= train->engines; e++) {
            const struct train_course *course = &train->courses[e];
            if (step <= course->steps)
                table_add(&table, course->departed && step >= course->step ? STYLE_BAD : STYLE_PLAIN, "%.9g",
                          course->losses[step - 1]);
            else
                table_add(&table, STYLE_DIM, "-");
        }
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    str_release(&align);
    str_release(&head);
}

static void text_course(const struct train_course *course, const char *label, size_t steps, bool colour,
                        struct str *out)
{
    str_add(out, "  ");
    style_print(out, colour,
                course->departed ? STYLE_BAD
                : *course->ended ? STYLE_WARN
                                 : STYLE_GOOD,
                "%s", label);
    if (course->departed) {
        str_printf(out, " departs at step %zu: ", course->step);
        text_print(out, course->where, 0);
    } else if (!*course->ended && course->judged) {
        str_printf(out, " stays within the bounds of its gradients in %zu of %zu steps", course->judged,
                   steps);
    } else if (!*course->ended) {
        str_add(out, " could not be judged at any step");
    }
    if (*course->ended) {
        str_printf(out, "%s ended after %zu steps: ", course->departed ? ";" : "", course->steps);
        text_print(out, course->ended, 0);
    } else {
        str_printf(out, "; its parameters end %.2g from the reference's", course->distance);
    }
    str_add(out, "\n");
}

void grad_write_text(const struct grad_report *report, bool colour, struct str *out)
{
    const struct gradients *g = report->gradients;
    add_answer(report, "\n", out);
    str_add(out, "\n\n");
    text_head(report, colour, out);
    for (size_t e = 0; e < g->engines; e++)
        text_verdict(&g->verdicts.engine[e], report->labels[e], colour, out);
    if (g->verdicts.reason) {
        str_add(out, "  judged without the reference: ");
        text_print(out, g->verdicts.reason, 0);
        str_add(out, "\n");
    }
    text_table(report, colour, out);
    if (!report->train)
        return;
    str_printf(out, "\n%zu steps of %s with rate %g on %zu parameters; the loss:\n\n",
               report->training->steps, rule_word[report->training->rule], report->training->rate,
               report->train->parameters);
    text_losses(report, colour, out);
    str_add(out, "\n");
    for (size_t e = 0; e < report->train->engines; e++)
        text_course(&report->train->courses[e], report->labels[e], report->training->steps, colour, out);
}

static void json_gradient(struct json *json, const struct gradients *g, size_t engine, size_t k)
{
    const struct gradient_figures *figures = &g->figures[engine * g->count + k];
    json_object(json, NULL);
    json_string(json, "by", g->names[k]);
    json_string(json, "dtype", g->types[k] ? dtype_name(g->types[k]) : NULL);
    json_array(json, "shape");
    for (int i = 0; i < g->shapes[k].rank; i++)
        json_int(json, NULL, g->shapes[k].dims[i]);
    json_end(json);
    json_int(json, "elements", (int64_t)figures->total);
    json_int(json, "judged", (int64_t)figures->judged);
    json_int(json, "undecided", (int64_t)figures->undecided);
    json_int(json, "open", (int64_t)figures->open);
    json_int(json, "wrong", (int64_t)figures->wrong);
    json_double(json, "factor", figures->factor);
    json_end(json);
}

static void json_course(struct json *json, const struct train_course *course, const char *label)
{
    json_object(json, NULL);
    json_string(json, "engine", label);
    json_array(json, "losses");
    for (size_t i = 0; i < course->steps; i++)
        json_double(json, NULL, course->losses[i]);
    json_end(json);
    json_int(json, "judged", (int64_t)course->judged);
    json_string(json, "ended", *course->ended ? course->ended : NULL);
    if (course->departed) {
        json_object(json, "departs");
        json_int(json, "step", (int64_t)course->step);
        json_string(json, "verdict", verdict_name(course->verdict.kind));
        json_string(json, "operator", *course->operator? course->operator: NULL);
        json_string(json, "node", *course->node ? course->node : NULL);
        json_string(json, "text", course->where);
        json_end(json);
    }
    json_double(json, "distance", course->distance);
    json_end(json);
}

static void json_train(struct json *json, const struct grad_report *report)
{
    const struct train *train = report->train;
    json_object(json, "train");
    json_int(json, "steps", (int64_t)report->training->steps);
    json_string(json, "optimizer", rule_word[report->training->rule]);
    json_double(json, "rate", report->training->rate);
    json_int(json, "parameters", (int64_t)train->parameters);
    json_array(json, "courses");
    for (size_t e = 0; e <= train->engines; e++)
        json_course(json, &train->courses[e], e < train->engines ? report->labels[e] : NULL);
    json_end(json);
    json_end(json);
}

void grad_write_json(const struct grad_report *report, struct str *out)
{
    const struct gradients *g = report->gradients;
    struct json json;
    struct str answer;
    str_init(&answer);
    add_answer(report, " ", &answer);
    output_answer(&json, answer.data, report->standing, report->settings, report->path, out);
    str_release(&answer);
    json_int(&json, "samples", (int64_t)g->samples);
    seed_json(&json, "seed", report->seed);
    json_string(&json, "loss", report->loss);
    json_array(&json, "engines");
    for (size_t e = 0; e < g->engines; e++) {
        json_object(&json, NULL);
        json_string(&json, "engine", report->labels[e]);
        engine_verdict_json(&json, "judge", &g->verdicts.engine[e]);
        json_array(&json, "gradients");
        for (size_t k = 0; k < g->count; k++)
            json_gradient(&json, g, e, k);
        json_end(&json);
        json_int(&json, "run_ns", g->run_ns[e]);
        json_end(&json);
    }
    json_end(&json);
    if (report->train)
        json_train(&json, report);
    json_end(&json);
}

static void junit_engine(struct junit *junit, const struct grad_report *report, size_t engine)
{
    const struct engine_verdict *overall = &report->gradients->verdicts.engine[engine];
    struct standing standing = {0};
    struct str sentence;
    str_init(&sentence);
    engine_verdict_sentence(overall, &sentence);
    engine_verdict_stands(overall, report->labels[engine], &standing);
    bool wrong = verdict_is(overall->verdict.kind, CLASS_WRONG_ANSWER);
    junit_case(junit, &(struct junit_case){
                          .name = report->labels[engine],
                          .seconds = (double)report->gradients->run_ns[engine] * 1e-9,
                          .result = wrong                                        ? JUNIT_FAILURE
                                    : standing_status(&standing) == STATUS_AGREE ? JUNIT_PASS
                                                                                 : JUNIT_ERROR,
                          .type = verdict_name(overall->verdict.kind),
                          .message = sentence.data,
                      });
    str_release(&sentence);
}

static void junit_course(struct junit *junit, const struct train_course *course, const char *label)
{
    struct str name, message;
    str_init(&name);
    str_init(&message);
    str_printf(&name, "%s trained", label);
    if (course->departed)
        str_printf(&message, "departs at step %zu: %s", course->step, course->where);
    else
        str_add(&message, course->ended);
    junit_case(junit, &(struct junit_case){
                          .name = name.data,
                          .result = course->departed ? JUNIT_FAILURE
                                    : *course->ended ? JUNIT_ERROR
                                                     : JUNIT_PASS,
                          .type = course->departed ? verdict_name(course->verdict.kind) : "ended",
                          .message = message.data,
                      });
    str_release(&name);
    str_release(&message);
}

void grad_write_junit(const struct grad_report *report, struct str *out)
{
    struct junit junit;
    junit_init(&junit);
    struct str answer;
    str_init(&answer);
    add_answer(report, " ", &answer);
    junit_suite(&junit, report->path);
    junit_answer(&junit, answer.data);
    engine_settings_junit(report->settings, &junit);
    str_release(&answer);
    for (size_t e = 0; e < report->gradients->engines; e++)
        junit_engine(&junit, report, e);
    for (size_t e = 0; report->train && e < report->train->engines; e++)
        junit_course(&junit, &report->train->courses[e], report->labels[e]);
    junit_write(&junit, out);
    junit_release(&junit);
}
