/* The smallest adapter: an engine that says of every model that it does not support it. */
#include "adapter.h"

static int mirror_start(struct adapter_call *call, void **engine, struct str *version)
{
    (void)call;
    *engine = NULL;
    str_add(version, "1.2.3");
    return 0;
}

static int mirror_load(struct adapter_call *call, const struct adapter_model *model,
                       struct adapter_loaded *loaded)
{
    (void)model;
    (void)loaded;
    return adapter_fail(call, ADAPTER_UNSUPPORTED, "no operators");
}

int main(int argc, char **argv)
{
    struct adapter adapter = {.name = "mirror", .start = mirror_start, .load = mirror_load};
    return adapter_main(&adapter, argc, argv);
}
