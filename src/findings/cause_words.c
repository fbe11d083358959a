#include "findings/cause_words.h"

#include "judge/message.h"
#include "ops/op.h"

#include <ctype.h>
#include <string.h>

/*
 * Cures that name a class of inputs; the others tell only that the graph must look just so. The first that
 * cures counts: an equivalent form proves more than other data, which may hide a failure by chance.
 */
static const struct {
    const char *cure;
    enum class_kind kind;
} classes[] = {
    {"axes-sorted", CLASS_AXES},
    {"two-dims", CLASS_OPERANDS},
    {"expanded", CLASS_OPERANDS},
    {"initializer-as-input", CLASS_CONSTANTS},
    {"constant-by-cast", CLASS_CONSTANTS},
    {"above-lowest", CLASS_EXTREME}, /* -infinity is one of these; of whatever type */
    {"moderate", CLASS_EXTREME},
    {"other-type", CLASS_TYPES},
    {"ranked", CLASS_OTHER},
    {"finite", CLASS_OTHER},
    {"filled", CLASS_OTHER},
};

/* Reductions, those to an index included. */
static bool keeps_dims(const struct op *op)
{
    for (const struct op_param *param = op->params; param && param->name; param++)
        if (text_equal(param->name, "keepdims"))
            return true;
    return false;
}

static bool are_mates(const struct op *a, const struct op *b)
{
    return a->eval == b->eval || (a->fit && a->fit == b->fit) || (keeps_dims(a) && keeps_dims(b));
}

const char *cause_mates(const char *name)
{
    const struct op *op = op_find(name);
    if (!op || !op->eval || (op->work == WORK_ELEMENTS && op->inputs.most == 1))
        return name;
    for (size_t i = 0; i < op_count(); i++)
        if (are_mates(op_at(i), op))
            return op_at(i)->name;
    return name;
}

void cause_cut(struct str *text, size_t length)
{
    text->length = length;
    text->data[length] = '\0';
}

enum kin cause_kin(const struct signature *signature)
{
    return verdict_row(symptom_verdict(signature->symptom))->kin;
}

size_t cause_count_outer(const struct signature *signature)
{
    size_t count = signature->larger;
    for (size_t i = 0; i < signature->n_named; i++)
        count += signature->named[i].outer < 0;
    return count;
}

bool cause_is_of_several(const struct signature *signature)
{
    return signature->blame == BLAME_OPERATORS && cause_count_outer(signature) > 1;
}

void cause_only_operator(const struct signature *signature, char name[SIGNATURE_PART_SIZE + 1])
{
    size_t count = 0;
    *name = '\0';
    for (size_t i = 0; i < signature->n_named; i++) {
        const struct signature_operator *one = &signature->named[i];
        if (one->outer >= 0)
            continue;
        memcpy(name, signature->operators + one->start, one->length);
        name[one->length] = '\0';
        count++;
    }
    if (count != 1 || signature->blame != BLAME_OPERATORS || signature->larger)
        *name = '\0';
}

void cause_add_without_bodies(struct str *out, const char *operators)
{
    int depth = 0;
    for (const char *c = operators; *c; c++) {
        depth += *c == '(';
        if (!depth)
            str_append(out, c, 1);
        depth -= *c == ')';
    }
}

static bool is_flag(const struct finding_evidence *evidence)
{
    const struct op *op = op_find(evidence->owner);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, evidence->parameter))
            return param->legal && text_equal(param->legal, "0|1");
    return false;
}

bool cause_is_negative(const char *value)
{
    bool negative = false;
    for (const char *c = value; *c; c++)
        negative |= *c == '-' && isdigit((unsigned char)c[1]);
    return negative && !strchr(value, '.');
}

/* What matters of a value: words, flags, left out or not, the sign of numbers. */
static void add_value(struct str *out, const struct finding_evidence *evidence)
{
    const char *value = evidence->value;
    if (isalpha((unsigned char)*value) || is_flag(evidence)) {
        if (!strchr(value, '[')) /* "float32 [2,3]" is what an input is like */
            str_printf(out, "=%s", value);
        return;
    }
    str_add(out, cause_is_negative(value) ? "<0" : "");
}

bool cause_has_operands(const char *name)
{
    const struct op *op = op_find(name);
    return op && op->work == WORK_ELEMENTS && op->inputs.most > 1;
}

bool cause_is_broadcasting(const char *name)
{
    const struct op *op = op_find(name);
    return op && op->work == WORK_ELEMENTS && op->inputs.most > 1 && op->data == DATA_ALL &&
           op->result != RESULT_LIKE_INPUT;
}

bool cause_broadcasts_one(const char *name)
{
    const struct op *op = op_find(name);
    return cause_has_operands(name) && op->data == DATA_ALL && op->result == RESULT_LIKE_INPUT;
}

static bool has_parameter(const struct op *op, const char *name)
{
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, name))
            return true;
    return false;
}

bool cause_has_windows(const char *name)
{
    const struct op *op = op_find(name);
    return has_parameter(op, "kernel_shape") && has_parameter(op, "pads") &&
           !has_parameter(op, "output_padding") && !has_parameter(op, "output_shape");
}

const char *cause_coarse_type(const char *types)
{
    return strncmp(types, "int", 3) == 0 || strncmp(types, "uint", 4) == 0 ? "integers" : types;
}

bool cause_has_any_cure(const struct finding_evidence *evidence, const char *const *cures)
{
    for (; *cures; cures++)
        if (evidence_has_cure(evidence, *cures))
            return true;
    return false;
}

enum class_kind cause_add_cure(struct str *out, const struct finding_evidence *evidence)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (evidence_has_cure(evidence, classes[i].cure)) {
            str_printf(out, "cured by %s", classes[i].cure);
            return classes[i].kind;
        }
    return CLASS_KINDS;
}

/* How operands are brought together, and which types they may have, all broadcasting operators share. */
static bool is_shared(enum class_kind kind)
{
    return kind == CLASS_OPERANDS || kind == CLASS_CONSTANTS || kind == CLASS_TYPES;
}

/* How constants of integers are read is no matter of the operator. */
static bool reads_integers(const struct finding_evidence *evidence, enum class_kind kind)
{
    return kind == CLASS_CONSTANTS && text_equal(cause_coarse_type(evidence->constant), "integers") &&
           (evidence_has_cure(evidence, "initializer-as-input") ||
            evidence_has_cure(evidence, "constant-by-cast"));
}

bool cause_add_classes(struct str *out, const char *name, const struct signature *signature,
                       const struct finding_evidence *evidence)
{
    struct str cure;
    str_init(&cure);
    enum class_kind kind = cause_add_cure(&cure, evidence);
    bool operands = is_shared(kind) && cause_is_broadcasting(name);
    const char *types = cause_coarse_type(signature->types);
    if (kind == CLASS_EXTREME || kind == CLASS_OPERANDS)
        types = "any";
    else if (kind == CLASS_CONSTANTS && *evidence->constant) /* whatever it is computed with */
        types = evidence->constant;
    bool read = reads_integers(evidence, kind);
    if (kind != CLASS_KINDS)
        str_printf(out, "%s|%s|%s",
                   read       ? "any"
                   : operands ? "elementwise"
                              : cause_mates(name),
                   types, read ? "constants" : cure.data);
    str_release(&cure);
    return kind != CLASS_KINDS;
}

bool cause_is_class_first(const char *name, const struct finding_evidence *evidence)
{
    struct str cure;
    str_init(&cure);
    enum class_kind kind = cause_add_cure(&cure, evidence);
    str_release(&cure);
    return kind == CLASS_AXES || (is_shared(kind) && cause_is_broadcasting(name)) ||
           reads_integers(evidence, kind) || evidence_has_cure(evidence, "finite");
}

bool cause_names_source(const char *message)
{
    static const char *const ends[] = {".cpp:#", ".cc:#", ".h:#", ".hpp:#", ".cxx:#"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(message, ends[i]))
            return true;
    return false;
}

bool cause_names_axes(const char *parameter)
{
    return text_equal(parameter, "axis") || text_equal(parameter, "axes");
}

void cause_add_parameter(struct str *out, const struct finding_evidence *evidence)
{
    str_printf(out, "parameter %s", cause_names_axes(evidence->parameter) ? "axes" : evidence->parameter);
    if (!cause_names_axes(evidence->parameter)) /* whether their sign matters, another experiment tells */
        add_value(out, evidence);
    else if (strchr(evidence->value, ','))
        str_add(out, " of several");
}

void cause_add_parameter_of(struct str *out, const char *name, const struct finding_evidence *evidence)
{
    str_printf(out, "%s|parameter ", cause_mates(name));
    if (cause_names_axes(evidence->parameter)) /* operators of a kind call them either way */
        str_add(out, "axes");
    else
        str_append(out, evidence->parameter, strcspn(evidence->parameter, "+"));
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

void cause_add_message(struct str *out, const char *message)
{
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

bool cause_is_one_operator(const struct finding_evidence *evidence)
{
    return *evidence->main && !strchr(evidence->main, '+');
}

void cause_add_passes(struct str *out, const char *passes)
{
    size_t length = strlen(passes);
    if (length > 2 && isdigit((unsigned char)passes[length - 1]) && passes[length - 2] == 'L')
        length -= 2;
    str_add(out, "pass ");
    str_append(out, passes, length);
}
