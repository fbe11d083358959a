/* Running the model of a net: the library loads it, computes it once, and gives the outputs. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int net_refused(const struct net *net, const char *stage)
{
    const char *said = net->lite->said.data;
    return walk_unsupported(net->call, "%s: %s", stage, said && *said ? said : "refused without a message");
}

/* Kernels that learn of a type or a size only when they compute. */
int net_failed(const struct net *net)
{
    static const char *const lacks[] = {
        "not supported", "unsupported",  "Unsupported",       "not currently supported",
        "only supports", "Only support", "Does not support",  "only support",
        "type !=",       " types",       "failed to prepare", NULL};
    const char *said = net->lite->said.data ? net->lite->said.data : "";
    /* Some give no reason, such as CAST of a type that it lacks: then only the operator is named. */
    if (adapter_says(said, lacks) || text_starts(said, "Node number"))
        return net_refused(net, "invoke");
    return error_set(net->call->err, ERROR_IO, "%s: invoke fails: %s", net->call->node->op_type,
                     *said ? said : "without a message");
}

/* The model of the last node that ran, for whoever wants to try it without Assay. */
static void keep(const struct net *net, const struct flat *file)
{
    FILE *out = net->lite->save[0] ? fopen(net->lite->save, "wb") : NULL;
    if (!out)
        return;
    fwrite(file->data, 1, file->size, out);
    fclose(out);
}

static const char *op_name(enum lite_op code)
{
    switch (code) {
#define LITE_OP_NAME(name, number) \
    case OP_##name:                \
        return #name;
        LITE_OPS(LITE_OP_NAME)
#undef LITE_OP_NAME
    }
    return "unknown";
}

static void tell(const struct net *net)
{
    for (size_t i = 0; i < net->n_ops && adapter_traces(net->call->adapter); i++)
        adapter_trace_kernel(net->call->adapter, op_name(net->ops[i].code), NULL, NULL);
}

int net_finish(struct net *net)
{
    struct flat file = {0};
    net_ends(net);
    if (net->refused)
        return net_refuse(net, net->refused);
    str_clear(&net->lite->said);
    net_write(net, &file);
    keep(net, &file);
    tell(net);
    int result = net->lite->compute(net, &file);
    free(file.data);
    net_release(net);
    return result;
}
