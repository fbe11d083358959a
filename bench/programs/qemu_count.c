/*
 * A plugin of qemu-user: how many instructions a program executes, written to the file that COUNT_INTO names.
 * The declarations are those of qemu-plugin.h, which Debian's package leaves out.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

struct qemu_plugin_tb;
enum { ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*translated)(uint64_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *counter,
                                              uint64_t number);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void *context), void *context);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

EXPORTED extern int qemu_plugin_version;
int qemu_plugin_version = 1;
static uint64_t executed;

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed, qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *context)
{
    const char *path = getenv("COUNT_INTO");
    FILE *file = path ? fopen(path, "w") : NULL;
    (void)id;
    (void)context;
    if (file) {
        fprintf(file, "%" PRIu64 "\n", executed);
        fclose(file);
    }
}

EXPORTED int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
