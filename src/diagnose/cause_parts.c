#define _GNU_SOURCE /* strcasestr */
#include "diagnose/cause_parts.h"

#include "diagnose/mates.h"
#include "judge/message.h"
#include "ops/param_value.h"

#include <ctype.h>
#include <string.h>

bool cause_is_function(const struct op *op)
{
    return op->work == WORK_ELEMENTS && op->inputs.most == 1;
}

/* The name that stands for an operator: another where that was shown to fail alike. */
static const char *kind_of(const struct cause_subject *subject, const char *name)
{
    const struct finding_evidence *evidence = subject->evidence;
    if (evidence->shown & EVIDENCE(COUNTS_MATES))
        return mates_first(name);
    return *evidence->shared && text_equal(name, evidence->main) ? evidence->shared : name;
}

static bool is_integers(const char *types)
{
    return strncmp(types, "int", 3) == 0 || strncmp(types, "uint", 4) == 0;
}

static bool is_axes(const char *parameter)
{
    return text_equal(parameter, "axis") || text_equal(parameter, "axes");
}

/* Whether the value holds a negative whole number. Fractions are data, whose sign means nothing. */
static bool is_negative(const char *value)
{
    bool negative = false;
    for (const char *c = value; *c; c++)
        negative |= *c == '-' && isdigit((unsigned char)c[1]);
    return negative && !strchr(value, '.');
}

/* Whether the message names a file of source code and a line. */
static bool names_place(const char *message)
{
    static const char *const ends[] = {".cpp:#", ".cc:#", ".h:#", ".hpp:#", ".cxx:#"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(message, ends[i]))
            return true;
    return false;
}

/* The operators to blame that are not inside a body; the last of them is *name. */
static size_t count_outer(const struct signature *signature, char name[SIGNATURE_PART_SIZE + 1])
{
    size_t count = signature->larger;
    *name = '\0';
    for (size_t i = 0; i < signature->n_named; i++) {
        const struct signature_operator *one = &signature->named[i];
        if (one->outer >= 0)
            continue;
        memcpy(name, signature->operators + one->start, one->length);
        name[one->length] = '\0';
        count++;
    }
    return count;
}

static void find_operators(struct cause_subject *subject)
{
    const struct signature *signature = subject->signature;
    size_t count = count_outer(signature, subject->blamed);
    if (count != 1 || signature->blame != BLAME_OPERATORS || signature->larger)
        *subject->blamed = '\0';
    subject->operator_name = *subject->evidence->main ? subject->evidence->main : subject->blamed;
    if (count > 1 && signature->blame == BLAME_OPERATORS)
        subject->facts |= EVIDENCE(NAMES_SEVERAL);
}

static uint64_t facts_of_operator(const struct cause_subject *subject, const char *name)
{
    const struct op *op = op_find(name);
    uint64_t facts = 0;
    bool operands = op && op->work == WORK_ELEMENTS && op->inputs.most > 1;
    if (operands)
        facts |= EVIDENCE(ON_OPERANDS);
    if (operands && op->data == DATA_ALL && op->result != RESULT_LIKE_INPUT)
        facts |= EVIDENCE(BROADCASTS);
    if (op && (op->flags & OP_VECTORS) && !(subject->facts & EVIDENCE(NAMES_SEVERAL)))
        facts |= EVIDENCE(READS_VECTORS);
    if (op && cause_is_function(op))
        facts |= EVIDENCE(IS_FUNCTION);
    if (op && op->slope == SLOPE_EVERYWHERE)
        facts |= EVIDENCE(KEEPS_NAN);
    if (param_named(op, "kernel_shape") && param_named(op, "pads") && !param_named(op, "output_padding") &&
        !param_named(op, "output_shape"))
        facts |= EVIDENCE(COUNTS_WINDOWS);
    return facts;
}

/* Whether one operand alone is broadcast to the other (PRelu): another shape of it may then happen to fit. */
static bool broadcasts_one(const char *name)
{
    const struct op *op = op_find(name);
    return op && op->work == WORK_ELEMENTS && op->inputs.most > 1 && op->data == DATA_ALL &&
           op->result == RESULT_LIKE_INPUT;
}

void cause_subject_init(struct cause_subject *subject, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    *subject = (struct cause_subject){.signature = signature,
                                      .evidence = evidence,
                                      .facts = evidence->shown,
                                      .kin = verdict_row(symptom_verdict(signature->symptom))->kin};
    find_operators(subject);
    subject->facts |= facts_of_operator(subject, subject->operator_name);
    if (broadcasts_one(subject->operator_name))
        subject->facts &= ~EVIDENCE(CURED_COLUMNS);
    const struct {
        enum cause_fact fact;
        bool holds;
    } facts[] = {
        {HAS_PASS, evidence->n_passes > 0},
        {HAS_PARAMETER, *evidence->parameter},
        {HAS_KERNEL, *evidence->kernel},
        {HAS_FUSION, *evidence->made_by && (subject->facts & EVIDENCE(NAMES_SEVERAL))},
        {HAS_TYPE, *evidence->made},
        {HAS_MESSAGE, *signature->message},
        {HAS_STACK, *evidence->stack},
        {NAMES_PLACE, names_place(signature->message)},
        {NAMES_OPERATOR, *subject->blamed},
        {NAMES_ANOTHER, *subject->blamed && !text_equal(subject->blamed, subject->operator_name)},
        {HAS_OPERATOR, *subject->operator_name},
        {OWNS_PARAMETER, *evidence->parameter && text_equal(evidence->owner, subject->blamed)},
        {IS_AXES, is_axes(evidence->parameter)},
        {IS_NEGATIVE, is_negative(evidence->value)},
        {READS_INTEGERS, is_integers(evidence->constant)},
        {WANTS_INTEGERS, is_integers(evidence->wanted)},
        {CURED_VARIABLE_ALONE, (evidence->shown & EVIDENCE_CURES) == EVIDENCE(CURED_VARIABLE)},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].holds)
            subject->facts |= EVIDENCE(facts[i].fact);
}

void cause_operator(struct str *out, const struct cause_subject *subject)
{
    str_add(out, subject->operator_name);
}

void cause_kind(struct str *out, const struct cause_subject *subject)
{
    if (*subject->operator_name || subject->signature->blame != BLAME_OPERATORS)
        str_add(out, kind_of(subject, subject->operator_name));
    else
        cause_operators(out, subject);
}

static void add_kind(struct str *out, const struct cause_subject *subject, enum cause_fact of,
                     const char *all)
{
    bool one = subject->facts & EVIDENCE(of);
    str_add(out, one ? all : kind_of(subject, subject->operator_name));
}

/* Whether the message names a file of source code that is called like the operator: code that no other
 * operator runs. */
static bool names_own_file(const char *message, const char *operator_name)
{
    const char *own = *operator_name ? strcasestr(message, operator_name) : NULL;
    return own && own[strcspn(own, " :")] == ':' && names_place(own);
}

void cause_shared_kind(struct str *out, const struct cause_subject *subject)
{
    if (names_own_file(subject->signature->message, subject->operator_name))
        cause_kind(out, subject);
    else
        add_kind(out, subject, BROADCASTS, "elementwise");
}

void cause_window_kind(struct str *out, const struct cause_subject *subject)
{
    add_kind(out, subject, COUNTS_WINDOWS, "windows");
}

/* One kernel computes many functions of elements, each by a formula of its own, so the operator is named
 * too. */
void cause_kernel(struct str *out, const struct cause_subject *subject)
{
    const struct op *op = op_find(subject->operator_name);
    const char *kernel = subject->evidence->kernel;
    str_add(out, kind_of(subject, kernel));
    if (*kernel && (!op || op->work != WORK_ELEMENTS))
        return;
    str_add(out, *kernel ? " of " : "");
    cause_kind(out, subject);
}

void cause_fusion(struct str *out, const struct cause_subject *subject)
{
    str_add(out, subject->evidence->made_by);
}

void cause_owner_kind(struct str *out, const struct cause_subject *subject)
{
    str_add(out, kind_of(subject, subject->evidence->owner));
}

/* The row of the parameter to blame; NULL when the operator's row has none of the name. */
static const struct op_param *parameter_of(const struct finding_evidence *evidence)
{
    return param_named(op_find(evidence->owner), evidence->parameter);
}

static bool is_flag(const struct finding_evidence *evidence)
{
    const struct op_param *param = parameter_of(evidence);
    return param && param->legal && text_equal(param->legal, "0|1");
}

/* Whether the value is a text of which no list tells what it may be: an equation, with letters of chance. */
static bool is_free_text(const struct finding_evidence *evidence)
{
    const struct op_param *param = parameter_of(evidence);
    return param && param->kind == PARAM_STRING && !param->legal;
}

void cause_spoiler(struct str *out, const struct cause_subject *subject)
{
    str_add(out, kind_of(subject, subject->evidence->spoiler));
}

void cause_parameter_name(struct str *out, const struct cause_subject *subject)
{
    const char *parameter = subject->evidence->parameter; /* some operators call it axis, others axes */
    str_add(out, is_axes(parameter) ? "axes" : parameter);
}

/* What matters of a value: of words and flags all, of numbers the sign, of axes whether there are several. */
void cause_parameter(struct str *out, const struct cause_subject *subject)
{
    const char *value = subject->evidence->value;
    cause_parameter_name(out, subject);
    if (is_free_text(subject->evidence))
        return;
    if (subject->facts & EVIDENCE(IS_AXES)) /* another experiment tells whether their sign matters */
        str_add(out, strchr(value, ',') ? " of several" : "");
    else if (isalpha((unsigned char)*value) || is_flag(subject->evidence))
        str_printf(out, strchr(value, '[') ? "" : "=%s",
                   value); /* "float32 [2,3]" is what an input is like */
    else
        str_add(out, is_negative(value) ? "<0" : "");
}

/* "LayerNormFusion" of "LayerNormFusionL1": the level at which a pass is run is no part of its name. */
void cause_passes(struct str *out, const struct cause_subject *subject)
{
    for (size_t i = 0; i < subject->evidence->n_passes; i++) {
        const char *pass = subject->evidence->passes[i];
        size_t length = strlen(pass);
        if (length > 2 && isdigit((unsigned char)pass[length - 1]) && pass[length - 2] == 'L')
            length -= 2;
        str_printf(out, "%s%.*s", i ? ", " : "", (int)length, pass);
    }
}

/* Whether the word names an element type, as engines written in C++ call them. */
static bool is_type_word(const char *word, size_t length)
{
    static const char *const words[] = {"Bool", "Byte", "Char",  "Short",  "Int",
                                        "Long", "Half", "Float", "Double", "BFloat16"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
            return true;
    return false;
}

void cause_message(struct str *out, const struct cause_subject *subject)
{
    const char *message = subject->signature->message;
    size_t length = message_length(message);
    for (size_t at = 0; at < length;) {
        size_t word = 0;
        while (at + word < length && isalnum((unsigned char)message[at + word]))
            word++;
        if (is_type_word(message + at, word))
            str_add(out, "T");
        else
            str_append(out, message + at, word ? word : 1);
        at += word ? word : 1;
    }
}

void cause_place(struct str *out, const struct cause_subject *subject)
{
    const char *message = subject->signature->message;
    if (subject->facts & EVIDENCE(NAMES_PLACE))
        str_append(out, message, strcspn(message, ":"));
    else
        cause_message(out, subject);
}

void cause_coarse_types(struct str *out, const struct cause_subject *subject)
{
    const char *types = subject->signature->types;
    str_add(out, is_integers(types) ? "integers" : types);
}

/* An engine that has no integers has none of any size, so they are one type. Where several nodes are blamed,
 * the types in the signature are those of the first, so those of the wrong output count. */
void cause_wrong_type(struct str *out, const struct cause_subject *subject)
{
    const struct finding_evidence *evidence = subject->evidence;
    bool any = text_equal(subject->signature->types, "any") && *evidence->wanted;
    const char *types = any || !*subject->blamed ? evidence->wanted : subject->signature->types;
    const char *to = strchr(types, '>');
    if (to && *types == 'f' && (text_equal(to, ">bool") || text_equal(to, ">int"))) /* of a Cast, say */
        str_add(out, "floats>integers");
    else
        str_add(out, is_integers(types) ? "integers" : types);
    str_printf(out, ">%s", evidence->made);
}

void cause_constant(struct str *out, const struct cause_subject *subject)
{
    if (*subject->evidence->constant)
        str_add(out, subject->evidence->constant);
    else
        cause_coarse_types(out, subject);
}

void cause_stack(struct str *out, const struct cause_subject *subject)
{
    str_add(out, subject->evidence->stack);
    if (text_equal(subject->evidence->stack, EVIDENCE_HEAP)) {
        str_add(out, " of ");
        cause_kind(out, subject);
    }
}

void cause_operators(struct str *out, const struct cause_subject *subject)
{
    int depth = 0;
    for (const char *c = subject->signature->operators; *c; c++) {
        depth += *c == '(';
        if (!depth)
            str_append(out, c, 1);
        depth -= *c == ')';
    }
}

/* How much work an operator does: it is told apart from smaller ones around it. */
static int work_of(const char *name)
{
    const struct op *op = op_find(name);
    return op ? (int)op->work : WORK_ELEMENTS;
}

/* The operators with most work, each once: MatMul of "Mul+MatMul". Which others a pass fuses with them, or
 * moves across them, differs from finding to finding. */
void cause_main_operators(struct str *out, const struct cause_subject *subject)
{
    const struct signature *signature = subject->signature;
    const char *names[SIGNATURE_OPERATORS];
    struct arena arena;
    size_t count = 0;
    int most = 0;
    arena_init(&arena);
    for (size_t i = 0; i < signature->n_named; i++) {
        const struct signature_operator *one = &signature->named[i];
        const char *name = arena_copy(&arena, signature->operators + one->start, one->length);
        if (one->outer >= 0 || work_of(name) < most)
            continue;
        if (work_of(name) > most)
            count = 0;
        most = work_of(name);
        bool again = false;
        for (size_t k = 0; k < count; k++)
            again |= text_equal(names[k], name);
        if (!again)
            names[count++] = name;
    }
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%s", i ? ", " : "", names[i]);
    if (!count)
        cause_operators(out, subject);
    arena_release(&arena);
}

void cause_taker(struct str *out, const struct cause_subject *subject)
{
    str_add(out, subject->evidence->computed);
}

void cause_scalar(struct str *out, const struct cause_subject *subject)
{
    str_add(out, subject->facts & EVIDENCE(GIVES_SCALAR) ? "to a scalar" : "");
}
