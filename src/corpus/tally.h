/*
 * What a set of cases covers of ONNX's operators, those of the operator table in ONNX's own domain: which
 * operators, in which of their forms, with which element types, attributes and classes of their values
 * (guide/coverage_param.h). A form begins at each opset in which the table's types or parameters of the
 * operator change, from OPSET_FIRST on.
 */
#ifndef CORPUS_TALLY_H
#define CORPUS_TALLY_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "case/test_case.h"
#include "guide/coverage_record.h"

enum tally_kind {
    TALLY_OPERATORS,
    TALLY_FORMS,      /* operator and form */
    TALLY_TYPES,      /* operator, form, types of its first input and first output */
    TALLY_ATTRIBUTES, /* operator, form, a parameter that is given */
    TALLY_VALUES,     /* operator, form, a parameter and the class of its value, or that it is left out */
    TALLY_INPUTS,     /* operator, which of its inputs are given */
    TALLY_RANKS,      /* operator, rank of its first input */
    TALLY_KINDS
};
extern const char *const tally_names[TALLY_KINDS];

struct tally {
    struct arena arena;
    struct map seen[TALLY_KINDS];
};

void tally_init(struct tally *tally);
void tally_release(struct tally *tally);
size_t tally_count(const struct tally *tally, enum tally_kind kind);

/* Adds what the nodes of the case's graph are; other operators and those in bodies are left out. Fails where
 * the model cannot be read. */
int tally_add(struct tally *tally, const struct test_case *test, struct error *err);

/*
 * What a case would add: a line each, such as "auto_pad=SAME_LOWER" or "float16 to float16", appended to
 * *out; nothing is added. *part, unless NULL, becomes the parameter of the first that has one, in the model's
 * memory, or "".
 */
int tally_peek(const struct tally *tally, const struct test_case *test, struct str *out, const char **part,
               struct error *err);

/* The opset at which the operator's form at an opset began; the opset itself below OPSET_FIRST. */
int tally_form(const struct op *op, int opset);

#endif
