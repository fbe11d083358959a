/*
 * What listing and applying changes of parameters share: how a node's parameters are found and read.
 */
#ifndef LOCATE_PARAM_READ_H
#define LOCATE_PARAM_READ_H

#include "case/test_case.h"
#include "ops/op.h"

#define PARAM_LEFT_OUT "left out" /* as a value: the attribute or input is not there */

/* The parameters of a row, then its extras; NULL behind the last. */
const struct op_param *param_at(const struct op *op, size_t number);

/* The row of a node; NULL when the table has none. */
const struct op *param_row(const Onnx__NodeProto *node);

/* The value that is an input parameter of the node; NULL when it is left out. */
const char *param_input_name(const Onnx__NodeProto *node, const struct op_param *param);

/* The number of the initialiser of that name; -1 when there is none. */
long param_initializer(const struct model *model, const char *name);

/* The input of the case of that name, if it is a tensor; else NULL. */
struct value *param_given(const struct test_case *test, const char *name);

/* A copy of a value that the case or the model gives. Fails when it is computed. */
int param_read(const struct test_case *test, const struct model *model, const char *name,
               struct tensor *tensor, struct error *err);

#endif
