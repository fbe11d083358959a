#include "findings/cause_key.h"

#include "judge/message.h"
#include "ops/op.h"

#include <ctype.h>
#include <string.h>

/*
 * Cures that name a class of inputs; the others tell only that the graph must look just so. The first that
 * cures counts: an equivalent form proves more than other data, which may hide a failure by chance.
 */
enum class_kind {
    CLASS_AXES,
    CLASS_OPERANDS,
    CLASS_CONSTANTS,
    CLASS_TYPES,
    CLASS_OTHER,
    CLASS_EXTREME,
    CLASS_KINDS
};
static const struct {
    const char *cure;
    enum class_kind kind;
} classes[] = {
    {"axes-sorted", CLASS_AXES},
    {"two-dims", CLASS_OPERANDS},
    {"expanded", CLASS_OPERANDS},
    {"broadcast-expanded", CLASS_OPERANDS},
    {"pairwise", CLASS_OPERANDS},
    {"initializer-as-input", CLASS_CONSTANTS},
    {"constant-by-cast", CLASS_CONSTANTS},
    {"constant-as-bits", CLASS_CONSTANTS},
    {"input-as-initializer", CLASS_CONSTANTS},
    {"defaults", CLASS_OTHER},
    {"above-lowest", CLASS_EXTREME}, /* -infinity is one of these; of whatever type */
    {"moderate", CLASS_EXTREME},
    {"other-type", CLASS_TYPES},
    {"another-type", CLASS_TYPES},
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

static void cut(struct str *text, size_t length)
{
    text->length = length;
    text->data[length] = '\0';
}

static enum kin kin_of(const struct signature *signature)
{
    return verdict_row(symptom_verdict(signature->symptom))->kin;
}

/* The operators to blame that are not inside a body. */
static size_t count_outer(const struct signature *signature)
{
    size_t count = signature->larger;
    for (size_t i = 0; i < signature->n_named; i++)
        count += signature->named[i].outer < 0;
    return count;
}

/* Whether several operators are named, and no place in the engine's code. */
static bool is_of_several(const struct signature *signature)
{
    return signature->blame == BLAME_OPERATORS && count_outer(signature) > 1;
}

/* The only operator to blame that is not inside a body; "" when there are several. */
static void only_operator(const struct signature *signature, char name[SIGNATURE_PART_SIZE + 1])
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

/* "Mul+If" of "Mul+If(Abs,Neg)". */
static void add_without_bodies(struct str *out, const char *operators)
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

/* Of data the sign is chance. */
static bool is_negative(const char *value)
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
    str_add(out, is_negative(value) ? "<0" : "");
}

/* Operators on elements of several operands: a row in the place of one list may fit the others by chance. */
static bool has_operands(const char *name)
{
    const struct op *op = op_find(name);
    return op && op->work == WORK_ELEMENTS && op->inputs.most > 1;
}

/* Add, Less, Max ...: elements of several operands, none of which has the shape of the result always. */
static bool is_broadcasting(const char *name)
{
    const struct op *op = op_find(name);
    return op && op->work == WORK_ELEMENTS && op->inputs.most > 1 && op->data == DATA_ALL &&
           op->result != RESULT_LIKE_INPUT;
}

/* PRelu: one operand is broadcast to the other, and another shape of it may fit by chance. */
static bool broadcasts_one(const char *name)
{
    const struct op *op = op_find(name);
    return has_operands(name) && op->data == DATA_ALL && op->result == RESULT_LIKE_INPUT;
}

static bool has_parameter(const struct op *op, const char *name)
{
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, name))
            return true;
    return false;
}

/* Convolutions and pools have the same rule for how many windows there are. */
static bool has_windows(const char *name)
{
    const struct op *op = op_find(name);
    return has_parameter(op, "kernel_shape") && has_parameter(op, "pads") &&
           !has_parameter(op, "output_padding") && !has_parameter(op, "output_shape");
}

static const char *coarse_type(const char *types)
{
    return strncmp(types, "int", 3) == 0 || strncmp(types, "uint", 4) == 0 ? "integers" : types;
}

/* "cured by filled", and of which kind that is; CLASS_KINDS and nothing when no cure is about a class. */
static enum class_kind add_cure(struct str *out, const struct finding_evidence *evidence)
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
    return kind == CLASS_CONSTANTS && text_equal(coarse_type(evidence->constant), "integers") &&
           (evidence_has_cure(evidence, "initializer-as-input") ||
            evidence_has_cure(evidence, "constant-by-cast"));
}

/* The operators of a kind, and what cures them. False when no cure is about a class of inputs. How operands
 * are brought together, and which types they may have, all broadcasting operators share. */
static bool add_classes(struct str *out, const char *name, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    struct str cure;
    str_init(&cure);
    enum class_kind kind = add_cure(&cure, evidence);
    bool operands = is_shared(kind) && is_broadcasting(name);
    const char *types = coarse_type(signature->types);
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

static bool names_source(const char *message)
{
    static const char *const ends[] = {".cpp:#", ".cc:#", ".h:#", ".hpp:#", ".cxx:#"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(message, ends[i]))
            return true;
    return false;
}

static bool names_axes(const char *parameter)
{
    return text_equal(parameter, "axis") || text_equal(parameter, "axes");
}

static void add_parameter(struct str *out, const struct finding_evidence *evidence)
{
    str_printf(out, "parameter %s", names_axes(evidence->parameter) ? "axes" : evidence->parameter);
    if (!names_axes(evidence->parameter)) /* whether their sign matters, another experiment tells */
        add_value(out, evidence);
    else if (strchr(evidence->value, ','))
        str_add(out, " of several");
}

/* The first parameter to blame, without its value. */
static void add_parameter_of(struct str *out, const char *name, const struct finding_evidence *evidence)
{
    str_printf(out, "%s|parameter ", cause_mates(name));
    if (names_axes(evidence->parameter)) /* operators of a kind call them either way */
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

/* Without the names of element types, and without what follows a message that was passed on at load. */
static void add_message(struct str *out, const char *message)
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

static bool is_one_operator(const struct finding_evidence *evidence)
{
    return *evidence->main && !strchr(evidence->main, '+');
}

/* An operator that needs one of its inputs to be a constant says so in many places. */
static bool add_wants_constant(struct str *out, const struct signature *signature,
                               const struct finding_evidence *evidence)
{
    static const char which[] = "frozen-";
    for (const char *at = evidence->cures; (at = strstr(at, which)) && is_one_operator(evidence); at++)
        if (at == evidence->cures || at[-1] == '+') {
            size_t length = strcspn(at, "+");
            str_printf(out, "%s|cured by %.*s", evidence->main, (int)length, at);
            return true;
        }
    if (signature->n_named > 1 || !*evidence->parameter ||
        !evidence_has_cure(evidence, "input-as-initializer"))
        return false;
    str_printf(out, "%s|parameter %s|cured by input-as-initializer", evidence->owner, evidence->parameter);
    return true;
}

/* "LayerNormFusion" of "LayerNormFusionL1": the level at which a pass is run is no part of its name. */
static void add_passes(struct str *out, const char *passes)
{
    size_t length = strlen(passes);
    if (length > 2 && isdigit((unsigned char)passes[length - 1]) && passes[length - 2] == 'L')
        length -= 2;
    str_add(out, "pass ");
    str_append(out, passes, length);
}

/* The pass, and where the engine noticed; that the types of what the pass made do not fit is said in several
 * ways. */
static bool add_refused_pass(struct str *out, const struct signature *signature,
                             const struct finding_evidence *evidence)
{
    if (!*evidence->passes)
        return false;
    add_passes(out, evidence->passes);
    str_add(out, "|");
    if (names_source(signature->message))
        str_append(out, signature->message, strcspn(signature->message, ":"));
    else if (strstr(signature->message, "Type Error"))
        str_add(out, "types");
    else
        add_message(out, signature->message);
    return true;
}

/* That an operator does not expect tensors without elements is noticed in many places. */
static bool add_refused_empty(struct str *out, const struct signature *signature,
                              const struct finding_evidence *evidence)
{
    if (!evidence->empty || !is_one_operator(evidence) || !names_source(signature->message))
        return false;
    str_printf(out, "%s|empty", cause_mates(evidence->main));
    return true;
}

/* Sums within one operand, which are noticed wherever the operands are brought together. */
static bool add_refused_sum(struct str *out, const struct signature *signature,
                            const struct finding_evidence *evidence)
{
    if (!is_one_operator(evidence) || !evidence_has_cure(evidence, "letters-kept") ||
        !names_source(signature->message))
        return false;
    str_printf(out, "%s|cured by letters-kept", evidence->main);
    return true;
}

/* And so does one that needs one of its inputs not to be a constant, of a type that the engine has. */
static bool add_wants_variable(struct str *out, const struct finding_evidence *evidence)
{
    if (!is_one_operator(evidence) || evidence->no_inputs || *evidence->parameter ||
        is_broadcasting(evidence->main) || !text_equal(evidence->cures, "initializer-as-input") ||
        !text_equal(evidence->constant, "float32"))
        return false;
    str_printf(out, "%s|cured by initializer-as-input", cause_mates(evidence->main));
    return true;
}

/* Negative numbers that a source file does not expect, wherever in it that is noticed: pads before and after,
 * say. */
static bool add_negative(struct str *out, size_t start, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    if (!*evidence->parameter || !is_one_operator(evidence) || names_axes(evidence->parameter) ||
        strchr(evidence->parameter, '+') || !is_negative(evidence->value) ||
        !names_source(signature->message))
        return false;
    cut(out, start);
    str_printf(out, "%s|", cause_mates(evidence->owner));
    add_parameter(out, evidence);
    str_printf(out, "|%.*s", (int)strcspn(signature->message, ":"), signature->message);
    return true;
}

/* Whether it is the node that is refused, whatever its parameters; where the engine names another operator,
 * it may be any that comes by. */
static bool is_of_node(const struct signature *signature, const struct finding_evidence *evidence)
{
    char named[SIGNATURE_PART_SIZE + 1];
    only_operator(signature, named);
    return evidence->by_operator && is_one_operator(evidence) && names_source(signature->message) &&
           (!*named || text_equal(named, evidence->main));
}

/* Tensors without elements that a library refuses in the same words, whoever calls it. */
static bool add_refused_in_words(struct str *out, const struct signature *signature,
                                 const struct finding_evidence *evidence)
{
    if (!evidence->empty || !is_one_operator(evidence) || !evidence_has_cure(evidence, "filled") ||
        names_source(signature->message) || *evidence->parameter)
        return false;
    str_add(out, "empty|");
    add_message(out, signature->message);
    return true;
}

/* The engine's own words tell more than experiments. */
static bool add_refusal(struct str *out, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    if (!*signature->message)
        return false;
    if (!*evidence->passes &&
        (add_wants_constant(out, signature, evidence) || add_wants_variable(out, evidence)))
        return true;
    size_t start = out->length;
    if (add_refused_pass(out, signature, evidence) || add_refused_empty(out, signature, evidence) ||
        add_refused_sum(out, signature, evidence) || add_refused_in_words(out, signature, evidence))
        return true;
    if (names_source(signature->message)) {
        /* Many callers may come to that place, each with inputs of its own; constants come with most. Of
         * several nodes, those in front may be why it is reached. */
        if (add_cure(out, evidence) == CLASS_CONSTANTS)
            cut(out, start);
        if (signature->blame == BLAME_OPERATORS && count_outer(signature) != 1) {
            cut(out, start);
            add_without_bodies(out, signature->operators);
        }
    } else if (evidence->no_inputs)
        str_add(out, "no inputs");
    else
        add_without_bodies(out, signature->operators);
    if (add_negative(out, start, signature, evidence))
        return true;
    if (*evidence->parameter && is_one_operator(evidence) &&
        names_source(signature->message)) /* the place may be one that all come by; scalars are a reason */
        str_printf(out, "%s%s%s", out->length > start ? "|" : "", cause_mates(evidence->owner),
                   evidence->scalar ? " to a scalar" : "");
    else if (is_of_node(signature, evidence))
        str_printf(out, "%s%s", out->length > start ? "|" : "", cause_mates(evidence->main));
    str_add(out, out->length > start ? "|" : "");
    add_message(out, signature->message);
    return true;
}

/* How much an operator does, so that those around it can be told apart. */
static int work_of(const char *name)
{
    const struct op *op = op_find(name);
    return op ? (int)op->work : WORK_ELEMENTS;
}

/* The operators that do most of the work, each once: MatMul of "Mul+MatMul", DequantizeLinear of
 * "DequantizeLinear+Reshape". What a pass fuses with them, or moves across them, varies. */
static void add_main_operators(struct str *out, const struct signature *signature)
{
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
        str_printf(out, "%s%s", i ? "+" : "", names[i]);
    if (!count)
        add_without_bodies(out, signature->operators);
    arena_release(&arena);
}

static bool add_pass(struct str *out, const struct signature *signature,
                     const struct finding_evidence *evidence)
{
    if (!*evidence->passes)
        return false;
    add_passes(out, evidence->passes);
    if (kin_of(signature) == KIN_TYPE) /* what the pass made has none, or a wrong one */
        return true;
    str_add(out, "|");
    add_main_operators(out, signature);
    str_printf(out, "|%s|%s", signature->types, signature->message);
    return true;
}

/* Axes in another order are not about their values; the operands of a broadcasting operator are no
 * parameters. */
static bool is_class_first(const char *name, const struct finding_evidence *evidence)
{
    struct str cure;
    str_init(&cure);
    enum class_kind kind = add_cure(&cure, evidence);
    str_release(&cure);
    return kind == CLASS_AXES || (is_shared(kind) && is_broadcasting(name)) ||
           reads_integers(evidence, kind) || evidence_has_cure(evidence, "constant-as-bits") ||
           evidence_has_cure(evidence, "finite");
}

/* An engine that dies of a model without inputs, always in the same place. */
static bool add_death(struct str *out, const struct signature *signature,
                      const struct finding_evidence *evidence)
{
    if (kin_of(signature) != KIN_CRASH || !evidence->no_inputs || !*signature->message)
        return false;
    str_printf(out, "no inputs|%s|%s", signature->types, signature->message);
    if (evidence->empty) /* that may be what matters */
        str_printf(out, "|%s", cause_mates(evidence->main));
    return true;
}

static bool add_experiment(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence)
{
    char name[SIGNATURE_PART_SIZE + 1];
    size_t start = out->length;
    only_operator(signature, name);
    if (!*name && kin_of(signature) == KIN_CRASH && *evidence->parameter) { /* as below */
        add_parameter_of(out, evidence->owner, evidence);
        return true;
    }
    bool of_type = kin_of(signature) == KIN_TYPE && *evidence->made;
    if (!*name && of_type && text_equal(coarse_type(evidence->wanted), "integers")) {
        str_printf(out, "integers>%s", evidence->made);
        return true;
    }
    if (!*name)
        return false;
    if (of_type) { /* an engine without integers has them nowhere */
        bool any = text_equal(signature->types, "any") && *evidence->wanted;
        const char *types = any ? evidence->wanted : signature->types, *to = strchr(types, '>');
        if (to && *types == 'f' && (text_equal(to, ">bool") || text_equal(to, ">int"))) /* of a Cast, say */
            str_add(out, "floats>integers");
        else
            str_add(out, coarse_type(types));
        str_printf(out, ">%s", evidence->made);
        return true;
    }
    if (kin_of(signature) == KIN_NUMBERS && evidence_has_cure(evidence, "another-size")) {
        /* it is chance which parameters bring the sizes out */
        str_printf(out, "%s|cured by another-size", cause_mates(name));
        return true;
    }
    bool done = is_class_first(name, evidence) && add_classes(out, name, signature, evidence);
    if (!done && *evidence->parameter && text_equal(evidence->owner, name)) {
        bool windows = kin_of(signature) == KIN_SHAPE && has_windows(name);
        str_printf(out, "%s|", windows ? "windows" : cause_mates(name));
        add_parameter(out, evidence);
        done = true;
    }
    if (done && kin_of(signature) == KIN_CRASH && *evidence->parameter) {
        /* With one parameter at fault it is chance of what the engine dies, and where. */
        cut(out, start);
        add_parameter_of(out, name, evidence);
        return true;
    }
    if (done || add_classes(out, name, signature, evidence)) {
        str_printf(out, "|%s", signature->message);
        return true;
    }
    if (!evidence->by_operator)
        return false;
    /* What ends the engine in the same place for operators of a kind, does so for one reason. */
    bool death = kin_of(signature) == KIN_CRASH, same_place = death && *signature->message;
    str_printf(out, "%s|%s|%s|%s", same_place ? cause_mates(name) : name, signature->types,
               death ? "" : signature->attributes, signature->message);
    return true;
}

/* Whether a cure of the list is there. */
static bool has_any_cure(const struct finding_evidence *evidence, const char *const *cures)
{
    for (; *cures; cures++)
        if (evidence_has_cure(evidence, *cures))
            return true;
    return false;
}

/* A class of inputs that the engine fails on whatever the operator; the symptom is chance. Another class
 * whose lack cures may be the narrower one. */
static bool add_general(struct str *out, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    static const char *const than_lists[] = {"axes-sorted", "filled", "finite", "other-type", NULL};
    static const char *const than_constants[] = {
        "axes-sorted", "axes-forward", "steps-forward", "ranked",   "filled",       "finite",
        "other-type",  "another-type", "identity",      "defaults", "above-lowest", NULL};
    const char *class = NULL;
    bool columns = (evidence_has_cure(evidence, "as-columns") && !broadcasts_one(evidence->main)) ||
                   evidence_has_cure(evidence, "made-two-dims") || evidence_has_cure(evidence, "deeper");
    if (text_equal(evidence->main, "MatMul") && !is_of_several(signature)) { /* a vector is no list to it */
        if (columns || evidence_has_cure(evidence, "two-dims"))
            class = "MatMul|vectors";
    } else if (evidence_has_word(evidence->general, "lists") && kin_of(signature) != KIN_TYPE &&
               !evidence_has_cure(evidence, "ranked") &&
               (columns || !(has_operands(evidence->main) || has_any_cure(evidence, than_lists))))
        class = "lists";
    else if (evidence_has_word(evidence->general, "constants") && !has_any_cure(evidence, than_constants))
        class = "constants alone";
    if (class)
        str_printf(out, "any|%s|%s", signature->engine, class);
    return class != NULL;
}

/* How axes are written down, which means the same in any way; the symptom is chance. */
static bool add_axes(struct str *out, const struct signature *signature,
                     const struct finding_evidence *evidence)
{
    static const char *const cures[] = {"axes-forward", "axes-sorted"};
    for (size_t i = 0; is_one_operator(evidence) && i < sizeof cures / sizeof *cures; i++)
        if (evidence_has_cure(evidence, cures[i])) {
            str_printf(out, "any|%s|%s|cured by %s", signature->engine, cause_mates(evidence->main),
                       cures[i]);
            return true;
        }
    return false;
}

/* Slices that go backwards: the cure is about these, whatever stands around them, and the symptom is chance.
 */
static bool add_steps(struct str *out, const struct signature *signature,
                      const struct finding_evidence *evidence)
{
    if (!evidence_has_cure(evidence, "steps-forward"))
        return false;
    str_printf(out, "any|%s|cured by steps-forward", signature->engine);
    return true;
}

/* Constants that the engine has to compute: given, they are the same, and the symptom is chance. */
static bool add_computed(struct str *out, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    if (*evidence->computed)
        str_printf(out, "any|%s|%s|computed constants", signature->engine, evidence->computed);
    return *evidence->computed;
}

/* Operands that are broadcast: written out they mean the same, and the symptom is chance. Of a list among
 * them it is the same matter, where that it is a list is none. */
static bool add_operands(struct str *out, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    static const char *const cures[] = {"expanded", "broadcast-expanded", NULL};
    bool ranks = has_operands(evidence->main) && evidence_has_cure(evidence, "two-dims");
    if (!is_one_operator(evidence) || is_of_several(signature) || !(ranks || has_any_cure(evidence, cures)))
        return false;
    str_printf(out, "any|%s|%s|cured by expanded", signature->engine,
               is_broadcasting(evidence->main) ? "elementwise" : cause_mates(evidence->main));
    return true;
}

/* Of an answer, leaving out a wrong result always helps: it is to blame where nothing else does, whatever the
 * parameters, and where it is not an element type that the engine does not have. */
static bool is_never_right(const struct signature *signature, const struct finding_evidence *evidence)
{
    bool of_type = kin_of(signature) == KIN_TYPE && text_equal(coarse_type(evidence->wanted), "integers");
    struct str cure;
    str_init(&cure);
    bool otherwise = add_cure(&cure, evidence) != CLASS_KINDS;
    str_release(&cure);
    return evidence->by_operator && !otherwise && !of_type;
}

/* What a pass makes of tensors without elements: the symptom is chance. */
static bool add_empty_pass(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence)
{
    if (!*evidence->passes || !evidence_has_cure(evidence, "filled"))
        return false;
    str_printf(out, "any|%s|", signature->engine);
    add_passes(out, evidence->passes);
    str_add(out, "|cured by filled");
    return true;
}

/* Results that a node need not give; without an answer it is chance where that is noticed. */
static bool add_outputs(struct str *out, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    bool answered = kin_of(signature) != KIN_REFUSAL && kin_of(signature) != KIN_CRASH;
    if (!is_one_operator(evidence) || !evidence_has_cure(evidence, "fewer-outputs") ||
        (answered && !is_never_right(signature, evidence)))
        return false;
    str_printf(out, "any|%s|%s|cured by fewer-outputs", signature->engine, evidence->main);
    return true;
}

/* Rules with which the symptom is chance; the first that applies counts. A class of inputs that unrelated
 * operators fail on comes before what is found of the operator. */
static bool (*const any_symptom[])(struct str *out, const struct signature *signature,
                                   const struct finding_evidence *evidence) = {
    add_general, add_computed, add_axes, add_steps, add_operands, add_outputs,
};

/* With one parameter at fault it is chance of what the engine dies, and whether wrong numbers are none; so it
 * is where a constant is. */
static const char *kind_of_symptom(const struct signature *signature, const struct finding_evidence *evidence)
{
    if (*evidence->parameter && kin_of(signature) == KIN_CRASH)
        return "crash";
    bool constants = text_equal(evidence->cures, "initializer-as-input");
    if (kin_of(signature) == KIN_NUMBERS && ((*evidence->parameter && !*evidence->cures) || constants))
        return "wrong";
    return symptom_word(signature->symptom);
}

void cause_key(struct str *out, const struct signature *whole, const struct finding_evidence *evidence)
{
    size_t start = out->length;
    struct signature alone;
    const struct signature *signature =
        *evidence->alone && signature_parse(&alone, evidence->alone) ? &alone : whole;
    bool own = signature->symptom == SYMPTOM_COUNT || text_equal(signature->message, "gradient") ||
               symptom_verdict(signature->symptom) == VERDICT_INCONSISTENT;
    if (!own && add_empty_pass(out, signature, evidence))
        return;
    for (size_t i = 0; !own && !*evidence->passes && i < sizeof any_symptom / sizeof *any_symptom; i++)
        if (any_symptom[i](out, signature, evidence))
            return;
    str_printf(out, "%s|%s|", own ? symptom_word(signature->symptom) : kind_of_symptom(signature, evidence),
               signature->engine);
    if (!own && (kin_of(signature) == KIN_REFUSAL
                     ? add_refusal(out, signature, evidence)
                     : add_pass(out, signature, evidence) || add_death(out, signature, evidence) ||
                           add_experiment(out, signature, evidence)))
        return;
    cut(out, start);
    str_add(out, signature->text);
}
