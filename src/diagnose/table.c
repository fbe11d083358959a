#include "diagnose/table.h"

#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "diagnose/lists.h"
#include "diagnose/narrower.h"
#include "diagnose/spoiled.h"
#include "diagnose/unrelated.h"

#include <string.h>

#define B(bit) EVIDENCE(bit)
enum {
    NUMBERS = 1 << KIN_NUMBERS,
    SHAPE = 1 << KIN_SHAPE,
    TYPE = 1 << KIN_TYPE,
    REFUSAL = 1 << KIN_REFUSAL,
    CRASH = 1 << KIN_CRASH,
    ANSWER = NUMBERS | SHAPE | TYPE,
};

/* The failure needs lists. */
#define OF_LISTS (B(CURED_COLUMNS) | B(CURED_MADE_LISTS) | B(CURED_DEEPER))

/* Cures that name a narrower class of inputs than lists or constants. */
#define NARROWER \
    (B(CURED_AXES_SORTED) | B(CURED_FILLED) | B(CURED_FINITE) | B(CURED_OTHER_TYPE) | B(CURED_RANKED))

/* The failure needs something about the inputs, so the outputs do not matter. */
#define OF_INPUTS                                                                           \
    (NARROWER | B(CURED_TWO_DIMS) | B(CURED_EXPANDED) | B(CURED_VARIABLE) | B(CURED_CAST) | \
     B(CURED_ABOVE_LOWEST) | B(CURED_MODERATE))

/* An operator, or a place in the engine's code, is named. */
#define NAMED (B(NAMES_OPERATOR) | B(NAMES_PLACE))

#define ROW(first_word) .name = first_word

static const struct cause_row rows[] = {
    /* A crash is at one place of the engine's code, whatever led there. */
    {ROW("stack"), .kins = CRASH, .all = B(HAS_STACK), .parts = {cause_stack}},

    /* What the engine did: a pass without which the failure is gone, or a kernel that it fused. A pass that
     * mistreats tensors without elements may show in any way. */
    {ROW("empty in a pass"), .all = B(HAS_PASS) | B(CURED_FILLED), .any_symptom = true,
     .parts = {cause_passes}},
    {ROW("pass"), .kins = ANSWER | CRASH, .all = B(HAS_PASS), .parts = {cause_passes, cause_main_operators}},
    {ROW("pass"), .kins = REFUSAL, .all = B(HAS_PASS) | B(NAMES_OPERATOR),
     .parts = {cause_passes, cause_operator}},
    {ROW("pass"), .kins = REFUSAL, .all = B(HAS_PASS), .parts = {cause_passes, cause_place}},

    {ROW("fused"), .kins = ANSWER, .all = B(HAS_FUSION), .parts = {cause_fusion, cause_kernel}},

    /* Whatever reads a value that an operator overwrites. */
    {ROW("spoils"), .shows = CURED_COPIED, .ask = spoiled_operands, .of_base = true, .kins = NUMBERS,
     .all = B(CURED_COPIED), .parts = {cause_spoiler}},

    /* Lists and constants on which unrelated operators fail as well. Two kinds of operators are left out:
     * those for which a list means a vector, and those with several operands, where a row may happen to fit
     * the others. */
    {ROW("as-columns"), .shows = CURED_COLUMNS, .ask = lists_taken_for_columns},
    {ROW("made-two-dims"), .shows = CURED_MADE_LISTS, .ask = lists_made_are_cured},
    {ROW("deeper"), .shows = CURED_DEEPER, .ask = lists_cured_by_dimension, .late = true},
    {ROW("vectors"), .all = B(READS_VECTORS), .any = OF_LISTS | B(CURED_TWO_DIMS), .any_symptom = true,
     .parts = {cause_operator}},
    {ROW("lists"), .shows = FAILS_ON_LISTS, .ask = unrelated_fail_on_lists, .late = true,
     .kins = ~(unsigned)TYPE, .all = B(FAILS_ON_LISTS), .any = OF_LISTS,
     .none = B(READS_VECTORS) | B(CURED_RANKED), .any_symptom = true},
    {ROW("lists"), .kins = ~(unsigned)TYPE, .all = B(FAILS_ON_LISTS),
     .none = B(READS_VECTORS) | B(ON_OPERANDS) | NARROWER, .any_symptom = true},
    {ROW("constants alone"), .shows = FAILS_ON_CONSTANTS, .ask = unrelated_fail_on_constants,
     .all = B(FAILS_ON_CONSTANTS),
     .none =
         B(READS_VECTORS) | B(CURED_AXES_FORWARD) | B(CURED_STEPS_FORWARD) | B(CURED_ABOVE_LOWEST) | NARROWER,
     .any_symptom = true},

    {ROW("nan"), .shows = FAILS_ON_NAN, .ask = unrelated_fail_on_nan, .late = true, .kins = NUMBERS,
     .all = B(FAILS_ON_NAN) | B(KEEPS_NAN)},

    {ROW("narrower"), .shows = FAILS_NARROWER, .ask = narrower_computed, .kins = NUMBERS,
     .all = B(FAILS_NARROWER) | B(IS_FUNCTION), .parts = {cause_coarse_types}},

    /* The same case in another form. How the failure shows is accidental. */
    {ROW("computed constants"), .shows = CURED_COMPUTED, .ask = constants_computed, .all = B(CURED_COMPUTED),
     .any_symptom = true, .parts = {cause_taker}},
    {ROW("axes-forward"), .shows = CURED_AXES_FORWARD, .make = changed_axes_forward, .cured = CURED_BY_LIFE,
     .all = B(CURED_AXES_FORWARD) | B(HAS_OPERATOR), .any_symptom = true, .parts = {cause_kind}},
    {ROW("axes-sorted"), .shows = CURED_AXES_SORTED, .make = changed_axes_sorted, .cured = CURED_BY_LIFE,
     .all = B(CURED_AXES_SORTED) | B(HAS_OPERATOR), .any_symptom = true, .parts = {cause_kind}},
    {ROW("steps-forward"), .shows = CURED_STEPS_FORWARD, .make = changed_steps_forward,
     .cured = CURED_BY_FAILURE, .all = B(CURED_STEPS_FORWARD), .any_symptom = true},
    {ROW("expanded"), .shows = CURED_EXPANDED, .make = changed_expanded,
     .all = B(CURED_EXPANDED) | B(HAS_OPERATOR), .none = B(NAMES_SEVERAL) | B(FAILS_NARROWER),
     .any_symptom = true, .parts = {cause_shared_kind}},
    {ROW("expanded"), .shows = CURED_TWO_DIMS, .make = lists_given_as_rows,
     .all = B(CURED_TWO_DIMS) | B(ON_OPERANDS), .none = B(NAMES_SEVERAL) | B(FAILS_NARROWER),
     .any_symptom = true, .parts = {cause_shared_kind}},
    {ROW("two-dims"), .shows = CURED_TWO_DIMS, .make = lists_all_as_rows},
    /* To leave out a wrong result always cures a wrong answer, so this counts only where nothing else
     * cures. */
    {ROW("fewer-outputs"), .shows = CURED_FEWER_OUTPUTS, .make = changed_fewer_outputs,
     .cured = CURED_BY_FAILURE | CURED_BY_FORM, .kins = REFUSAL | CRASH,
     .all = B(CURED_FEWER_OUTPUTS) | B(HAS_OPERATOR), .any_symptom = true, .parts = {cause_operator}},
    {ROW("fewer-outputs"), .kins = ANSWER, .all = B(CURED_FEWER_OUTPUTS) | B(HAS_OPERATOR) | B(FAILS_ALWAYS),
     .none = OF_INPUTS | B(WANTS_INTEGERS), .any_symptom = true, .parts = {cause_operator}},

    /* Refusals: an engine may notice in many places what the operator does not expect. */
    {ROW("wants a constant"), .shows = CURED_FROZEN, .ask = constants_wanted, .of_base = true,
     .kins = REFUSAL, .all = B(CURED_FROZEN) | B(HAS_OPERATOR), .parts = {cause_operator}},
    {ROW("wants a variable"), .shows = CURED_VARIABLE, .ask = constants_as_inputs, .of_base = true,
     .kins = REFUSAL, .all = B(CURED_VARIABLE_ALONE) | B(HAS_OPERATOR), .none = B(GIVES_CONSTANTS),
     .parts = {cause_kind}},
    {ROW("letters-kept"), .shows = CURED_LETTERS_KEPT, .make = changed_letters_kept, .kins = REFUSAL,
     .all = B(CURED_LETTERS_KEPT) | B(NAMES_PLACE), .parts = {cause_operator}},
    {ROW("empty"), .kins = REFUSAL, .all = B(GIVES_EMPTY) | B(CURED_FILLED) | B(HAS_MESSAGE),
     .none = B(NAMES_PLACE), .parts = {cause_message}},
    {ROW("negative"), .kins = REFUSAL, .all = B(HAS_PARAMETER) | B(IS_NEGATIVE), .none = B(IS_AXES),
     .parts = {cause_owner_kind, cause_parameter}},
    {ROW("constants"), .kins = REFUSAL | CRASH, .all = B(GIVES_CONSTANTS) | B(HAS_MESSAGE),
     .none = B(NAMES_PLACE), .parts = {cause_message}},

    /* Tensors without elements that end the engine at one place of its code. */
    {ROW("filled"), .kins = CRASH, .all = B(CURED_FILLED) | B(HAS_MESSAGE), .parts = {cause_message}},

    /* Parameters and types. Where the engine ends, the signal and the place are accidental. */
    {ROW("parameter"), .kins = CRASH, .all = B(HAS_PARAMETER),
     .parts = {cause_owner_kind, cause_parameter_name}},
    {ROW("type"), .kins = TYPE, .all = B(HAS_TYPE), .parts = {cause_wrong_type}},
    {ROW("another-size"), /* which parameters lead to the sizes is accidental */ .kins = NUMBERS,
     .all = B(CURED_SIZE) | B(NAMES_OPERATOR), .parts = {cause_kernel}},
    {ROW("integer constants"), /* reading them has nothing to do with the operator */ .shows = CURED_CAST,
     .ask = constants_misread, .kins = ANSWER | CRASH, .all = B(READS_INTEGERS) | B(NAMES_OPERATOR),
     .any = B(CURED_VARIABLE) | B(CURED_CAST), .parts = {cause_constant}},
    {ROW("parameter"), /* convolutions and pools count windows by one rule */ .kins = SHAPE,
     .all = B(OWNS_PARAMETER), .parts = {cause_window_kind, cause_parameter}},
    {ROW("parameter"), .kins = ANSWER, .all = B(OWNS_PARAMETER), .parts = {cause_kernel, cause_parameter}},

    /* Classes of inputs that the failure needs. */
    {ROW("variable"), .kins = ANSWER | CRASH, .all = B(CURED_VARIABLE), .any = NAMED,
     .parts = {cause_kernel, cause_constant}},
    /* This includes -infinity; `also` rules out that the failure needs any number of that size. */
    {ROW("above-lowest"), .shows = CURED_ABOVE_LOWEST, .make = changed_above_lowest, .also = changed_largest,
     .all = B(CURED_ABOVE_LOWEST), .any = NAMED, .parts = {cause_kernel, cause_message}},
    {ROW("moderate"), .shows = CURED_MODERATE, .make = changed_moderate, .all = B(CURED_MODERATE),
     .any = NAMED, .parts = {cause_kernel, cause_message}},
    {ROW("other-type"), .shows = CURED_OTHER_TYPE, .ask = constants_other_type, .of_base = true,
     .all = B(CURED_OTHER_TYPE), .any = NAMED, .parts = {cause_kernel, cause_coarse_types, cause_message}},
    {ROW("ranked"), .shows = CURED_RANKED, .make = changed_ranked, .all = B(CURED_RANKED), .any = NAMED,
     .parts = {cause_kernel, cause_coarse_types, cause_message}},
    {ROW("finite"), .shows = CURED_FINITE, .make = changed_finite, .all = B(CURED_FINITE), .any = NAMED,
     .parts = {cause_kernel, cause_coarse_types, cause_message}},
    {ROW("filled"), .shows = CURED_FILLED, .make = changed_filled, .all = B(CURED_FILLED), .any = NAMED,
     .parts = {cause_kernel, cause_coarse_types, cause_message}},

    /* The engine's own message, and the place where it ended. Many operators may come to one place, and a
     * scalar result may be the reason. */
    {ROW("place"), .kins = REFUSAL, .all = B(NAMES_PLACE), .any = B(FAILS_ALWAYS) | B(HAS_PARAMETER),
     .none = B(NAMES_ANOTHER), .parts = {cause_kind, cause_scalar, cause_message}},
    {ROW("place"), .kins = REFUSAL, .all = B(NAMES_PLACE), .none = B(NAMES_SEVERAL),
     .parts = {cause_message}},
    {ROW("message"), .kins = REFUSAL, .all = B(HAS_MESSAGE), .parts = {cause_operators, cause_message}},
    {ROW("kernel"), .kins = ANSWER, .all = B(HAS_KERNEL) | B(NAMES_OPERATOR),
     .parts = {cause_kernel, cause_coarse_types}},
    {ROW("operator"), .kins = CRASH, .all = B(NAMES_OPERATOR) | B(FAILS_ALWAYS),
     .parts = {cause_kind, cause_message}},
};

size_t cause_row_count(void)
{
    return sizeof rows / sizeof *rows;
}

const struct cause_row *cause_row_at(size_t number)
{
    return &rows[number];
}

static bool applies(const struct cause_row *row, const struct cause_subject *subject)
{
    return (row->all || row->any) && (!row->kins || (row->kins >> subject->kin & 1)) &&
           (subject->facts & row->all) == row->all && !(subject->facts & row->none) &&
           (!row->any || (subject->facts & row->any));
}

/* Whether wrong numbers are NaN is accidental, and so is by which signal an engine ends. */
static const char *symptom_class(const struct cause_subject *subject)
{
    static const char *const words[] = {[KIN_NUMBERS] = "wrong",
                                        [KIN_SHAPE] = "shape",
                                        [KIN_TYPE] = "dtype",
                                        [KIN_REFUSAL] = "refused",
                                        [KIN_CRASH] = "crash"};
    bool apart = verdict_is(symptom_verdict(subject->signature->symptom), CLASS_APART);
    const char *word = apart ? NULL : words[subject->kin];
    return word ? word : symptom_word(subject->signature->symptom);
}

static const char any[] = "any";

static void add_key(struct str *out, const struct cause_row *row, const struct cause_subject *subject)
{
    str_printf(out, "%s|%s|%s", row->name, row->any_symptom ? any : symptom_class(subject),
               subject->signature->engine);
    for (size_t i = 0; i < CAUSE_PARTS && row->parts[i]; i++) { /* a part may be empty */
        struct str part;
        str_init(&part);
        row->parts[i](&part, subject);
        str_printf(out, part.length ? "|%s" : "", part.data);
        str_release(&part);
    }
}

/* No experiment is made on gradients, nor on answers that contradict each other. */
static bool is_apart(const struct signature *signature)
{
    return signature->symptom == SYMPTOM_COUNT || text_equal(signature->message, "gradient") ||
           verdict_row(symptom_verdict(signature->symptom))->of_forms;
}

/* What the cause is about: the finding, or the node that is at fault by itself; *alone holds it then. */
static const struct signature *subject_of(struct cause_subject *subject, const struct signature *whole,
                                          const struct finding_evidence *evidence, struct signature *alone)
{
    const struct signature *signature =
        *evidence->alone && signature_parse(alone, evidence->alone) ? alone : whole;
    cause_subject_init(subject, signature, evidence);
    return signature;
}

void cause_file(struct str *out, const struct signature *whole, const struct finding_evidence *evidence)
{
    struct signature alone;
    struct cause_subject subject;
    subject_of(&subject, whole, evidence, &alone);
    if (subject.facts & EVIDENCE(NAMES_PLACE))
        cause_place(out, &subject);
}

void cause_crash_key(struct str *out, const struct signature *whole, const struct finding_evidence *evidence)
{
    struct signature alone;
    struct cause_subject subject;
    subject_of(&subject, whole, evidence, &alone);
    for (size_t i = 0; subject.kin == KIN_CRASH && i < cause_row_count(); i++)
        if ((rows[i].all & EVIDENCE(HAS_PARAMETER)) && applies(&rows[i], &subject)) {
            add_key(out, &rows[i], &subject);
            return;
        }
}

void cause_key(struct str *out, const struct signature *whole, const struct finding_evidence *evidence,
               const struct cause_row *without)
{
    struct signature alone;
    struct cause_subject subject;
    const struct signature *signature = subject_of(&subject, whole, evidence, &alone);
    for (size_t i = 0; !is_apart(signature) && i < cause_row_count(); i++)
        if (&rows[i] != without && applies(&rows[i], &subject)) {
            add_key(out, &rows[i], &subject);
            return;
        }
    str_add(out, signature->text);
}

bool cause_is_of_any_symptom(const char *key)
{
    const char *second = strchr(key, '|');
    return second && text_starts(second + 1, any) && second[1 + strlen(any)] == '|';
}
