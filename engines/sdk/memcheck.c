#include "memcheck.h"

#include <stdlib.h>
#ifdef HAVE_MEMCHECK
#include <valgrind/memcheck.h>
#endif

bool memcheck_wanted(void)
{
    const char *wanted = getenv("ASSAY_MEMCHECK");
    return wanted && text_equal(wanted, "on");
}

#ifdef HAVE_MEMCHECK
static int check_tensor(struct adapter_call *call, const struct value *value, const struct tensor *tensor)
{
    if (tensor->type == DTYPE_STRING || !tensor->size)
        return 0;
    uintptr_t from = (uintptr_t)tensor->data;
    uintptr_t first = (uintptr_t)VALGRIND_CHECK_MEM_IS_DEFINED(tensor->data, tensor->size);
    if (!first)
        return 0;
    return adapter_fail(call, ADAPTER_FAILED,
                        WIRE_MEMCHECK "element %zu of output %s is made of memory that nobody wrote",
                        (size_t)(first - from) / dtype_size(tensor->type), value->name ? value->name : "");
}

int memcheck_outputs(struct adapter_call *call, const struct adapter_outputs *outputs)
{
    if (!RUNNING_ON_VALGRIND)
        return adapter_fail(call, ADAPTER_AT_FAULT, "memcheck=on, and this is not valgrind");
    for (size_t i = 0; i < outputs->count; i++)
        for (size_t k = 0; k < outputs->values[i].count; k++)
            if (check_tensor(call, &outputs->values[i], &outputs->values[i].tensors[k]))
                return -1;
    return 0;
}
#else
int memcheck_outputs(struct adapter_call *call, const struct adapter_outputs *outputs)
{
    (void)outputs;
    return adapter_fail(call, ADAPTER_AT_FAULT, "the adapter was built without valgrind's header");
}
#endif
