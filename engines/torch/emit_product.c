/* Matrix products and Einsum. */
#include "emit.h"

#include <math.h>
#include <string.h>

static int write_matmul(struct emit *e)
{
    const struct shape *a = emit_shape(e, 0), *b = emit_shape(e, 1);
    if (a->rank == 0 || b->rank == 0)
        return emit_invalid(e, "a scalar");
    return emit_out(e, 0, "torch.matmul(%s, %s)", emit_in(e, 0), emit_in(e, 1));
}

/* A factor for the library: whole numbers only where the matrix is of integers. */
static int factor(struct emit *e, const char *name, const char **text)
{
    double value = (double)node_float(e->node, name, 1);
    if (!emit_is_float(e, 0) && value != rint(value))
        return emit_unsupported(e, "%s %g for integers", name, value);
    *text = emit_number(e, emit_type(e, 0), (long double)value);
    return 0;
}

static int write_gemm(struct emit *e)
{
    const char *a = emit_in(e, 0), *b = emit_in(e, 1), *alpha = NULL, *beta = NULL;
    if (factor(e, "alpha", &alpha) < 0 || factor(e, "beta", &beta) < 0)
        return -1;
    if (emit_shape(e, 0)->rank != 2 || emit_shape(e, 1)->rank != 2)
        return emit_invalid(e, "no matrices");
    if (emit_attr(e, "transA", 0))
        a = emit_let(e, "torch.t(%s)", a);
    if (emit_attr(e, "transB", 0))
        b = emit_let(e, "torch.t(%s)", b);
    if (!emit_has(e, 2))
        return emit_out(e, 0, "torch.mul(torch.mm(%s, %s), %s)", a, b, alpha);
    return emit_out(e, 0, "torch.addmm(%s, %s, %s, beta=%s, alpha=%s)", emit_in(e, 2), a, b, beta, alpha);
}

/* An operand of MatMulInteger as int32, less its zero point: one number, or one for each row of A or column
 * of B. */
static int operand(struct emit *e, size_t input, const char **text)
{
    *text = emit_let(e, "torch.to(%s, %d)", emit_in(e, input), face_scalar_type(DTYPE_INT32));
    if (!emit_has(e, input + 2))
        return 0;
    const struct shape *zero = emit_shape(e, input + 2);
    const char *z = emit_let(e, "torch.to(%s, %d)", emit_in(e, input + 2), face_scalar_type(DTYPE_INT32));
    if (zero->rank > 1)
        return emit_unsupported(e, "a zero point of rank %d", zero->rank);
    if (input == 0 && zero->rank == 1 && zero->dims[0] != 1)
        z = emit_let(e, "torch.unsqueeze(%s, 1)", z);
    *text = emit_let(e, "torch.sub(%s, %s)", *text, z);
    return 0;
}

static int write_matmul_integer(struct emit *e)
{
    const char *a, *b;
    if (operand(e, 0, &a) < 0 || operand(e, 1, &b) < 0)
        return -1;
    return emit_out(e, 0, "torch.matmul(%s, %s)", a, b);
}

static int write_einsum(struct emit *e)
{
    const char *equation;
    size_t size;
    if (!node_string(e->node, "equation", &equation, &size))
        return emit_invalid(e, "no equation");
    for (size_t i = 0; i < size; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.-> ", equation[i]) || !equation[i])
            return emit_invalid(e, "equation");
    if (face_is_before(1, 8) && memchr(equation, '.', size))
        return emit_unsupported(e, "dims behind ... broadcast from 1.8 on");
    struct str list;
    str_init(&list);
    for (size_t i = 0; i < e->n_inputs; i++)
        str_printf(&list, "%s%s", i ? ", " : "", emit_in(e, i));
    const char *result = emit_let(e, "torch.einsum('%.*s', [%s])", (int)size, equation, list.data);
    str_release(&list);
    /* Where it sums without a product, the library widens integers. */
    return dtype_is_integer(emit_type(e, 0))
               ? emit_out(e, 0, "torch.to(%s, %d)", result, face_scalar_type(emit_type(e, 0)))
               : emit_out(e, 0, "%s", result);
}

const struct emit_op emit_product[] = {
    {.name = "Einsum", .write = write_einsum},
    {.name = "Gemm", .write = write_gemm},
    {.name = "MatMul", .write = write_matmul},
    {.name = "MatMulInteger", .write = write_matmul_integer},
    {.name = NULL},
};
