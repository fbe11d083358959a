#include "findings/postgres_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* The functions in the order of their members. */
static const char *const names[] = {
#define POSTGRES_NAME(name) #name,
    POSTGRES_FUNCTIONS(POSTGRES_NAME)
#undef POSTGRES_NAME
};
enum { FUNCTIONS = sizeof names / sizeof *names };
_Static_assert(sizeof(struct postgres_library) == FUNCTIONS * sizeof(void *), "a member is a function");

int postgres_library_load(struct postgres_library *library, struct error *err)
{
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return error_set(err, ERROR_UNSUPPORTED,
                         "a campaign in PostgreSQL needs libpq, which is not installed (%s); in Debian it is "
                         "the package libpq5",
                         dlerror());
    int status = 0;
    for (size_t i = 0; i < FUNCTIONS && !status; i++) {
        void *symbol = dlsym(handle, names[i]);
        memcpy((char *)library + i * sizeof symbol, &symbol, sizeof symbol);
        if (!symbol)
            status = error_set(err, ERROR_UNSUPPORTED, "libpq has no %s: Assay needs version 12 or later",
                               names[i]);
    }
    dlclose(handle);
    return status;
}
