#include "report/answer.h"

#include "base/memory.h"
#include "report/standing.h"
#include "report/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 6 }; /* engines that are named, of more */

/* How the judge begins to say why the reference did not judge. */
static const char reason_head[] = "the reference: ";

void answer_add_count(struct str *out, size_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            str_add(out, ",");
        str_append(out, &digits[i], 1);
    }
}

void answer_add_nodes(struct str *out, const char *const *operators, const char *const *nodes, size_t count,
                      bool behind)
{
    for (size_t i = 0; i < count && i < NAMED; i++) {
        str_add(out, !i ? "" : behind && i == 1 ? ", only behind " : i + 1 < count ? ", " : " and ");
        text_print(out, operators[i], 60);
        str_add(out, " ");
        text_print(out, nodes[i], 120);
    }
    if (count > NAMED)
        str_printf(out, " and %zu more", count - NAMED);
    if (count > 1 && !behind)
        str_add(out, " together");
}

struct answer_part answer_part_of(const struct engine_verdict *overall, const char *engine, struct str *where)
{
    size_t all = verdict_sum(overall->counts, CLASS_ALL), alike = 0;
    const char *word = verdict_row(overall->verdict.kind)->sentence;
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        if (text_equal(verdict_row(kind)->sentence, word))
            alike += overall->counts[kind];
    str_clear(where);
    if (!verdict_is(overall->verdict.kind, CLASS_AGREES))
        answer_add_nodes(where, overall->operators, overall->nodes, overall->n_nodes, overall->behind);
    return (struct answer_part){
        .engine = engine,
        .kind = overall->verdict.kind,
        .by_vote = overall->verdict.by_vote,
        .known = overall->known != NULL,
        .where = where->data,
        .alike = alike,
        .all = all,
        .elements = overall->elements,
        .judged = overall->judged,
        .by_operator = overall->by_operator,
        .error = overall->error,
        .visible = overall->visible,
        .evidence = overall->evidence.samples + overall->evidence.failed ? &overall->evidence : NULL,
    };
}

static void add_borrowed(struct str *out, const struct answer_part *part)
{
    struct str names;
    str_init(&names);
    operator_evidence_borrowed(part->evidence, &names);
    if (names.length)
        str_printf(out, "%s%s borrows %s", out->length ? "; " : "", part->engine, names.data);
    str_release(&names);
}

void answer_scene_init(struct answer_scene *scene, const struct sample_verdicts *verdicts,
                       const char *const *labels, const char *path, const char *described, size_t samples)
{
    *scene = (struct answer_scene){0};
    scene->parts = memory_zeroed(verdicts->engines + 1, sizeof *scene->parts);
    scene->wheres = memory_zeroed(verdicts->engines + 1, sizeof *scene->wheres);
    str_init(&scene->what);
    str_init(&scene->evidence);
    str_init(&scene->idle);
    str_init(&scene->borrowed);
    str_init(&scene->lowered);
    text_print(&scene->what, path, 0);
    text_print(&scene->evidence, described, 0);
    if (verdicts->samples < samples) {
        str_add(&scene->evidence, ", ");
        answer_add_count(&scene->evidence, verdicts->samples);
        str_add(&scene->evidence, " of them judged");
    }
    for (size_t i = 0; i < verdicts->engines; i++) {
        str_init(&scene->wheres[i]);
        scene->parts[i] = answer_part_of(&verdicts->engine[i], labels[i], &scene->wheres[i]);
        if (!scene->idle.length && scene->parts[i].evidence)
            operator_evidence_idle(scene->parts[i].evidence, &scene->idle);
        if (scene->parts[i].evidence)
            add_borrowed(&scene->borrowed, &scene->parts[i]);
        if (scene->parts[i].evidence && !scene->lowered.length)
            operator_evidence_lowered(scene->parts[i].evidence, &scene->lowered);
        engine_verdict_stands(&verdicts->engine[i], labels[i], &scene->standing);
    }
    scene->answer = (struct answer){
        .what = scene->what.data,
        .count = verdicts->engines,
        .parts = scene->parts,
        .evidence = scene->evidence.data,
        .unit = "output value",
        .samples = samples,
        .idle = scene->idle.length ? scene->idle.data : NULL,
        .borrowed = scene->borrowed.length ? scene->borrowed.data : NULL,
        .lowered = scene->lowered.length ? scene->lowered.data : NULL,
        .unjudged = verdicts->unjudged,
        .beyond = verdicts->beyond,
        .without = verdicts->reason,
        .standing = &scene->standing,
    };
}

void answer_scene_release(struct answer_scene *scene)
{
    for (size_t i = 0; i < scene->answer.count; i++)
        str_release(&scene->wheres[i]);
    free(scene->parts);
    free(scene->wheres);
    str_release(&scene->what);
    str_release(&scene->evidence);
    str_release(&scene->idle);
    str_release(&scene->borrowed);
    str_release(&scene->lowered);
}

/* Whether the engine is right. */
static bool agrees(const struct answer_part *part)
{
    return verdict_is(part->kind, CLASS_AGREES | CLASS_REFUTED);
}

/* Whether some of its values were held against the reference, and agree. */
static bool is_shown(const struct answer *answer, const struct answer_part *part)
{
    bool some = !answer->unit || part->judged + part->by_operator > 0;
    return agrees(part) && !part->by_vote && some;
}

/* Whether each operator was judged on some sample, or need not be. */
static bool is_checked(const struct answer_part *part)
{
    return !part->evidence || part->evidence->complete;
}

/* Whether operators stand for output values, and have elements of their own that could not be judged. */
static bool has_gaps(const struct answer_part *part)
{
    return part->by_operator && part->evidence && operator_evidence_partial(part->evidence);
}

static bool same_strength(const struct answer_part *a, const struct answer_part *b)
{
    if (!agrees(a) || !a->evidence || !b->evidence)
        return !agrees(a) || a->evidence == b->evidence;
    return a->evidence->complete == b->evidence->complete &&
           (a->evidence->complete || a->evidence->most == b->evidence->most);
}

/* Whether one clause can speak of both. */
static bool alike(const struct answer *answer, const struct answer_part *a, const struct answer_part *b)
{
    const char *here = a->where ? a->where : "", *there = b->where ? b->where : "";
    return verdict_row(a->kind)->says[0] && verdict_row(b->kind)->says[0] &&
           text_equal(verdict_row(a->kind)->says[0], verdict_row(b->kind)->says[0]) &&
           is_shown(answer, a) == is_shown(answer, b) && a->by_vote == b->by_vote && a->known == b->known &&
           text_equal(here, there) && a->alike * b->all == b->alike * a->all && same_strength(a, b);
}

/* "A, B and C", of engines that the clause of parts[first] speaks of; returns how many they are. */
static size_t add_engines(struct str *out, const struct answer *answer, size_t first, bool *done)
{
    size_t count = 0, named = 0;
    for (size_t i = first; i < answer->count; i++)
        count += !done[i] && alike(answer, &answer->parts[first], &answer->parts[i]);
    for (size_t i = first; i < answer->count; i++) {
        if (done[i] || (i > first && !alike(answer, &answer->parts[first], &answer->parts[i])))
            continue;
        done[i] = true;
        if (named < NAMED || count == NAMED + 1)
            str_printf(out, "%s%s",
                       !named              ? ""
                       : named + 1 < count ? ", "
                                           : " and ",
                       answer->parts[i].engine);
        named++;
    }
    if (count > NAMED + 1)
        str_printf(out, " and %zu more", count - NAMED);
    return count ? count : 1;
}

/* "model.onnx", or of counted cases "3 of the 12 cases"; it is the subject of the clause or its object. */
static void add_what(struct str *out, const struct answer *answer, const struct answer_part *part, bool begun,
                     bool subject)
{
    bool partly = answer->counted && part->alike < part->all;
    if (partly) {
        answer_add_count(out, part->alike);
        str_add(out, " of ");
    }
    str_add(out, !begun ? answer->what : !answer->plural ? "it" : subject && !partly ? "they" : "them");
}

static void add_share(struct str *out, const struct answer *answer, const struct answer_part *part)
{
    if (answer->counted || part->alike >= part->all)
        return;
    str_add(out, " in ");
    answer_add_count(out, part->alike);
    str_add(out, " of ");
    answer_add_count(out, part->all);
    str_printf(out, " %s", answer->share ? answer->share : "samples");
}

static void add_samples(struct str *out, size_t count)
{
    answer_add_count(out, count);
    str_add(out, count == 1 ? " sample" : " samples");
}

/* "every operator checked on 5 samples": how strong the evidence is. `agreeing` samples agree. */
static void add_strength(struct str *out, const struct answer *answer, const struct answer_part *part,
                         size_t agreeing)
{
    const struct operator_evidence *evidence = part->evidence;
    if (!evidence)
        return;
    if (!evidence->complete && !evidence->samples) {
        str_add(out, "; its operators could not be checked");
        return;
    }
    if (!evidence->complete) {
        str_add(out, "; ");
        answer_add_count(out, evidence->most);
        str_add(out, " of ");
        answer_add_count(out, evidence->n_nodes);
        str_add(out, " operators checked");
        return;
    }
    size_t all = answer->samples > part->all ? answer->samples : part->all;
    str_add(out, ": ");
    if (evidence->complete < all) {
        str_add(out, "outputs agree on ");
        if (agreeing < all) {
            answer_add_count(out, agreeing);
            str_add(out, " of ");
        }
        add_samples(out, all);
        str_add(out, "; ");
    }
    str_add(out, "every operator checked on ");
    if (evidence->complete >= all) {
        add_samples(out, evidence->complete);
    } else if (evidence->complete >= agreeing) {
        str_add(out, "each of them");
    } else {
        answer_add_count(out, evidence->complete);
        str_add(out, " of them, spread evenly and where outputs differ most");
    }
}

static void add_refuted(struct str *out, const struct answer *answer, const struct answer_part *part)
{
    str_add(out, answer->counted ? "; the outputs expected there do not belong to model and input"
                                 : "; the expected outputs do not belong to this model and input");
    add_share(out, answer, part);
    str_add(out, ": check export or preprocessing");
}

/* "model.onnx is computed correctly by A and B". */
static void add_agreement(struct str *out, const struct answer *answer, size_t first, bool begun, bool *done)
{
    const struct answer_part *part = &answer->parts[first];
    bool plural = answer->plural && !(answer->counted && part->alike == 1 && part->all > 1);
    const char *verb = verdict_row(part->kind)->says[plural];
    bool partial = part->judged + part->by_operator < part->elements || has_gaps(part);
    if (answer->unjudging)
        verb = plural ? "are answered by" : "is answered by";
    else if (part->by_vote)
        verb = plural ? "are computed alike by" : "is computed alike by";
    else if (answer->unit && !is_shown(answer, part))
        verb = plural ? "are answered, with nothing to be judged, by"
                      : "is answered, with nothing to be judged, by";
    else if (!is_checked(part))
        verb =
            plural ? "are answered within their error bounds by" : "is answered within its error bounds by";
    else if (answer->agrees)
        verb = answer->agrees;
    bool refuted = verdict_is(part->kind, CLASS_REFUTED);
    add_what(out, answer, part, begun, true);
    str_printf(out, " %s ", refuted ? verdict_row(part->kind)->says[plural] : verb);
    add_engines(out, answer, first, done);
    if (!refuted && (!part->evidence || !part->evidence->complete))
        add_share(out, answer, part);
    if (part->by_vote && !answer->unjudging)
        str_add(out, ", which does not show that they are right");
    else if (partial && is_shown(answer, part))
        str_add(out, ", as far as could be judged");
    if (is_shown(answer, part))
        add_strength(out, answer, part, refuted ? part->all : part->alike);
    if (refuted)
        add_refuted(out, answer, part);
}

/* "A and B refuse model.onnx at Gemm fc in 3 of 20 samples". */
static void add_deviation(struct str *out, const struct answer *answer, size_t first, bool begun, bool *done)
{
    const struct answer_part *part = &answer->parts[first];
    const struct verdict_row *row = verdict_row(part->kind);
    size_t count = add_engines(out, answer, first, done);
    str_printf(out, " %s ", row->says[count > 1] ? row->says[count > 1] : row->sentence);
    add_what(out, answer, part, begun, false);
    if (part->where && *part->where)
        str_printf(out, " at %s", part->where);
    add_share(out, answer, part);
    if (part->known)
        str_add(out, ", a known issue");
}

static void add_clauses(struct str *out, const struct answer *answer)
{
    bool *done = memory_zeroed(answer->count + 1, sizeof *done);
    bool begun = false;
    for (int agreeing = 1; agreeing >= 0; agreeing--)
        for (size_t i = 0; i < answer->count; i++) {
            if (done[i] || agrees(&answer->parts[i]) != agreeing)
                continue;
            str_add(out, begun ? "; " : "");
            if (agreeing)
                add_agreement(out, answer, i, begun, done);
            else
                add_deviation(out, answer, i, begun, done);
            begun = true;
        }
    free(done);
}

static size_t left_of(const struct answer_part *part)
{
    return part->elements - part->judged - part->by_operator;
}

/* The part whose operators would hide the larger error. */
static const struct operator_evidence *weaker(const struct operator_evidence *a,
                                              const struct operator_evidence *b)
{
    const struct node_evidence *x = a ? operator_evidence_weakest(a) : NULL;
    const struct node_evidence *y = b ? operator_evidence_weakest(b) : NULL;
    return !y || (x && x->visible >= y->visible) ? a : b;
}

/* Counts of values: those of the engine, among the engines called correct, of which the fewest values were
 * judged; when none is called correct, among all engines whose values could be looked at. The error, and the
 * error that would have been noticed, are the largest of these engines. */
static struct answer_part totals(const struct answer *answer)
{
    struct answer_part all = {0};
    bool shown = false;
    for (size_t i = 0; i < answer->count; i++)
        shown |= is_shown(answer, &answer->parts[i]);
    for (size_t i = 0; i < answer->count; i++) {
        const struct answer_part *part = &answer->parts[i];
        if (is_shown(answer, part) != shown || !part->elements || verdict_is(part->kind, CLASS_FORM))
            continue;
        double error = fmax(part->error, all.error), visible = fmax(part->visible, all.visible);
        const struct operator_evidence *evidence = weaker(all.evidence, part->evidence);
        if (!all.elements || left_of(part) > left_of(&all) ||
            (left_of(part) == left_of(&all) && part->elements > all.elements))
            all = *part;
        all.error = error;
        all.visible = visible;
        all.evidence = evidence;
        all.kind = shown ? VERDICT_AGREES : VERDICT_UNTESTED;
    }
    return all;
}

static void add_node(struct str *out, const struct node_evidence *node)
{
    text_print(out, node->operator, 60);
    str_add(out, " ");
    text_print(out, node->name, 120);
}

/* "but LSTM l, of which 120 of 1,792 elements have no useful bound". */
static void add_vague(struct str *out, const struct operator_evidence *evidence)
{
    size_t count;
    const struct node_evidence *vague = operator_evidence_vague(evidence, &count);
    if (!vague)
        return;
    str_add(out, " but ");
    add_node(out, vague);
    if (count > 1)
        str_printf(out, " and %zu more", count - 1);
    str_add(out, ", of which ");
    answer_add_count(out, vague->vague);
    str_add(out, " of ");
    answer_add_count(out, vague->elements);
    str_add(out, " elements have no useful bound");
}

/* ", above 0.0002 in any operator (weakest: Softmax sm)". */
static void add_visible_in_operators(struct str *out, const struct answer_part *all)
{
    size_t count;
    const struct node_evidence *weakest = operator_evidence_weakest(all->evidence);
    str_add(out, all->judged ? ", " : "");
    if (!weakest && operator_evidence_vague(all->evidence, &count)) {
        str_add(out, "any error may pass in its operators");
        return;
    }
    if (!weakest || !(weakest->visible > 0)) {
        str_add(out, all->judged ? "and in any operator" : "any error would have been seen in any operator");
        add_vague(out, all->evidence);
        return;
    }
    str_printf(out, "%s %.2g in any operator", all->judged ? "above" : "an error would have been seen from",
               weakest->visible);
    add_vague(out, all->evidence);
    str_add(out, " (weakest: ");
    add_node(out, weakest);
    str_add(out, ")");
}

/* "an error above 3e-06 would have been seen in the outputs, above 0.0002 in any operator (weakest: Softmax
 * sm)": what would have passed. An error of the result's own size is no figure to give. */
static void add_visible(struct str *out, const struct answer *answer, const struct answer_part *all)
{
    int length = (int)(strlen(answer->unit) - strlen(" value"));
    bool checked = all->evidence && all->evidence->samples;
    str_add(out, all->judged || checked ? "; " : "");
    if (all->judged && all->visible >= 1)
        str_printf(out, "an error of any size may pass in the %.*ss", length, answer->unit);
    else if (all->judged && all->visible > 0)
        str_printf(out, "an error above %.2g would have been seen in the %.*ss", all->visible, length,
                   answer->unit);
    else if (all->judged)
        str_printf(out, "any error would have been seen in the %.*ss", length, answer->unit);
    if (checked)
        add_visible_in_operators(out, all);
}

static void add_errors(struct str *out, const struct answer *answer, const struct answer_part *all)
{
    if (all->judged && all->error > 0)
        str_printf(out, ", largest error %.2g of the largest value", all->error);
    else if (all->judged)
        str_add(out, ", without any error");
    add_visible(out, answer, all);
}

static void add_judged(struct str *out, const struct answer_part *all)
{
    if (all->judged == all->elements) {
        str_add(out, all->elements == 1 ? ", judged" : ", all judged");
        return;
    }
    if (!all->judged && all->by_operator == all->elements) {
        str_add(out,
                ". The whole output has no useful error bound, so each operator was checked; all are right");
        return;
    }
    str_add(out, ", ");
    all->judged ? answer_add_count(out, all->judged) : str_add(out, "none");
    str_add(out, " judged");
    if (all->by_operator) {
        str_add(out, ", ");
        answer_add_count(out, all->by_operator);
        str_add(out, " by their operators alone");
    }
}

static void add_values(struct str *out, const struct answer *answer, const struct answer_part *all)
{
    if (!all->elements) {
        str_printf(out, ", no %s judged", answer->unit);
        return;
    }
    str_add(out, ", ");
    answer_add_count(out, all->elements);
    str_printf(out, " %s%s", answer->unit, all->elements == 1 ? "" : "s");
    add_judged(out, all);
    if (verdict_is(all->kind, CLASS_AGREES) && all->judged + all->by_operator && isfinite(all->error))
        add_errors(out, answer, all);
}

static void add_doubt(struct str *out, const char *between, const char *head, const char *why)
{
    str_printf(out, "%s%s: ", between, head);
    text_print(out, why, 0);
    str_add(out, text_ends(out->data, ".") ? "" : ".");
}

static void add_mistakes(struct str *out, const struct standing *standing, const char *between)
{
    if (!standing || !standing->mistakes)
        return;
    str_printf(out, "%s%s: ", between, standing_mistake_head);
    text_print(out, standing->mistake, 0);
    if (standing->mistakes > 1)
        str_printf(out, " (and %zu more such)", standing->mistakes - 1);
    str_add(out, text_ends(out->data, ".") ? "" : ".");
}

static void add_gap(struct str *out, const struct node_evidence *node, const char *between)
{
    str_printf(out, "%sNot judged: ", between);
    answer_add_count(out, node->left);
    str_add(out, " of ");
    answer_add_count(out, node->elements);
    str_add(out, " elements of ");
    add_node(out, node);
    str_add(out, ".");
}

static void add_doubts(struct str *out, const struct answer *answer, const struct answer_part *all,
                       const char *between)
{
    size_t left = left_of(all);
    if (answer->without)
        add_doubt(out, between, "Not judged by the reference",
                  answer->without + (text_starts(answer->without, reason_head) ? strlen(reason_head) : 0));
    else if (answer->not_judged)
        add_doubt(out, between, "Not judged", answer->not_judged);
    else if (answer->unit && answer->unjudged && left)
        add_doubt(out, between, "Not judged", answer->unjudged);
    else if (answer->unit && left) {
        str_printf(out, "%sNot judged: ", between);
        answer_add_count(out, left);
        str_add(out, " of ");
        answer_add_count(out, all->elements);
        str_printf(out, " %ss; why is not known.", answer->unit);
    }
    if (answer->beyond)
        add_doubt(out, between, "Beyond its type", answer->beyond);
    if (has_gaps(all))
        add_gap(out, operator_evidence_partial(all->evidence), between);
    if (answer->lowered)
        add_doubt(out, between, "Computed in fewer bits than its type has", answer->lowered);
    if (answer->borrowed)
        add_doubt(out, between, "Computed by the reference and not checked", answer->borrowed);
    if (answer->idle)
        add_doubt(out, between, "Not exercised", answer->idle);
    add_mistakes(out, answer->standing, between);
    if (!answer->standing || !answer->standing->troubles)
        return;
    str_printf(out, "%sNot everything was judged: ", between);
    text_print(out, answer->standing->reason, 0);
    if (answer->standing->troubles > 1)
        str_printf(out, " (and %zu more such)", answer->standing->troubles - 1);
    str_add(out, text_ends(out->data, ".") ? "" : ".");
}

/* A sentence begins with a capital letter, but a path or an engine is called as it is called. */
static void add_sentence(struct str *out, const struct answer *answer)
{
    size_t start = out->length;
    if (answer->said)
        str_add(out, answer->said);
    else
        add_clauses(out, answer);
    if (text_starts(out->data + start, "the ") || text_starts(out->data + start, "all "))
        out->data[start] = (char)(out->data[start] - 'a' + 'A');
    str_add(out, text_ends(out->data, ".") ? "" : ".");
}

void answer_add(struct str *out, const struct answer *answer, const char *between)
{
    struct answer_part all = totals(answer);
    add_sentence(out, answer);
    if (answer->evidence) {
        str_printf(out, "%sEvidence: %s", between, answer->evidence);
        if (answer->unit && (all.elements || !answer->without))
            add_values(out, answer, &all);
        str_add(out, ".");
    }
    add_doubts(out, answer, &all, between);
}

void answer_print(struct str *out, const struct answer *answer)
{
    answer_add(out, answer, "\n");
    str_add(out, "\n\n");
}

void answer_json(struct json *json, const struct answer *answer)
{
    struct str text;
    str_init(&text);
    answer_add(&text, answer, " ");
    json_string(json, "answer", text.data);
    str_release(&text);
}
