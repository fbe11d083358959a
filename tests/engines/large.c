/*
 * A model over 2 GB, in several commands: right answers, and who holds how much of it.
 *
 *     large ASSAY [COMMAND...]
 *
 * 34 tables of 64 MiB in one file, mostly holes, and a model that gathers three rows of each, so that an
 * answer shows where it was read. Each command runs the program and is watched through /proc every 10
 * milliseconds: of assay and of each engine the largest anonymous memory (RssAnon: what the process itself
 * holds; pages of the mapped file are not in it) and the largest resident memory (VmHWM: those included) are
 * printed. Assay may hold MOST_ASSAY at most; engines, and localize, which computes single nodes itself,
 * MOST_TABLES tables. Exit status 1 when something is wrong, 77 when ONNX Runtime 1.30.0 is not there.
 */
#include "../external_data.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/paths.h"
#include "model/build.h"
#include "model/data.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TABLES = 34,
    ROWS = 8192,
    COLUMNS = 1024,
    PICKS = 3,
    MAX_PROCESSES = 1024,
    TABLE = 64, /* MiB */
    MOST_ASSAY = TABLE,
    MOST_TABLES = 4 /* one as the reference has it takes two */
};

static const int64_t picks[PICKS] = {0, 5000, ROWS - 1};
static const size_t table_bytes = (size_t)ROWS * COLUMNS * sizeof(double);

static void die(const char *what, const char *why)
{
    fprintf(stderr, "large: %s: %s\n", what, why);
    exit(1);
}

static double entry_of(size_t table, size_t pick)
{
    return (double)table + (double)pick * 100 + 0.5;
}

/* Column t of the picked rows of table t; the rest is a hole. */
static void write_tables(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)(TABLES * table_bytes)) < 0)
        die(path, "cannot be written");
    for (size_t t = 0; t < TABLES; t++)
        for (size_t k = 0; k < PICKS; k++) {
            double value = entry_of(t, k);
            size_t at = t * table_bytes + ((size_t)picks[k] * COLUMNS + t) * sizeof value;
            if (pwrite(fd, &value, sizeof value, (off_t)at) != sizeof value)
                die(path, "cannot be written");
        }
    close(fd);
}

static void add_table(struct model *model, size_t t)
{
    struct arena *arena = &model->arena;
    Onnx__TensorProto *table = arena_alloc(arena, sizeof *table);
    onnx__tensor_proto__init(table);
    table->name = arena_printf(arena, "table%zu", t);
    table->has_data_type = true;
    table->data_type = DTYPE_DOUBLE;
    table->n_dims = 2;
    table->dims = arena_copy(arena, (int64_t[]){ROWS, COLUMNS}, 2 * sizeof(int64_t));
    external_place(arena, table, "tables.bin", t * table_bytes, table_bytes);
    graph_add_initializer(arena, model->graph, table);
    const char *row = arena_printf(arena, "rows%zu", t);
    model_add_node(model, "Gather", row, 2, (const char *const[]){table->name, "x"}, 1, &row);
}

/* y = the sum of all tables' rows, then those of the first and of the last table. */
static void write_model(const char *path)
{
    struct model *model = model_new(13);
    struct error err = {0};
    const char *rows[TABLES];
    uint8_t *data;
    size_t size;
    model_add_input(model, "x", DTYPE_INT64, &(struct shape){.rank = 1, .dims = {PICKS}});
    for (size_t t = 0; t < TABLES; t++) {
        add_table(model, t);
        rows[t] = model->graph->node[t]->output[0];
    }
    model_add_node(model, "Sum", "sum", TABLES, rows, 1, (const char *const[]){"s"});
    Onnx__NodeProto *concat =
        model_add_node(model, "Concat", "concat", 3, (const char *const[]){"s", rows[0], rows[TABLES - 1]}, 1,
                       (const char *const[]){"y"});
    node_set_int(&model->arena, concat, "axis", 0);
    model_add_output(model, "y", DTYPE_DOUBLE, &(struct shape){.rank = 2, .dims = {3 * PICKS, COLUMNS}});
    if (model_pack(model, &data, &size, &err) || file_write(path, data, size, &err))
        die(path, err.message);
    free(data);
    model_free(model);
}

static void write_tensor(const char *folder, const char *name, enum dtype type, const struct shape *shape,
                         const void *data, size_t size)
{
    struct value value;
    struct tensor tensor;
    struct error err = {0};
    char *path = file_join(folder, name);
    value_init(&value);
    if (tensor_from_bytes(&tensor, type, shape, data, size, &err))
        die(path, err.message);
    value_set_tensor(&value, &tensor);
    if (data_write(USERS_PATH, path, &value, &err))
        die(path, err.message);
    value_release(&value);
    free(path);
}

static void write_data(const char *folder)
{
    static double y[3 * PICKS][COLUMNS];
    for (size_t k = 0; k < PICKS; k++) {
        for (size_t t = 0; t < TABLES; t++)
            y[k][t] = entry_of(t, k);
        y[PICKS + k][0] = entry_of(0, k);
        y[2 * PICKS + k][TABLES - 1] = entry_of(TABLES - 1, k);
    }
    mkdir(folder, 0755);
    write_tensor(folder, "input_0.pb", DTYPE_INT64, &(struct shape){.rank = 1, .dims = {PICKS}}, picks,
                 sizeof picks);
    write_tensor(folder, "output_0.pb", DTYPE_DOUBLE,
                 &(struct shape){.rank = 2, .dims = {3 * PICKS, COLUMNS}}, y, sizeof y);
}

/* Memory, in MiB. */
struct process {
    pid_t pid;
    char name[64];
    double held, resident;
};
struct watch {
    size_t count;
    struct process processes[MAX_PROCESSES];
};

static void look_at(struct process *process)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        double size = strtod(line + strcspn(line, "\t "), NULL) / 1024;
        if (strncmp(line, "RssAnon:", 8) == 0 && size > process->held)
            process->held = size;
        if (strncmp(line, "VmHWM:", 6) == 0 && size > process->resident)
            process->resident = size;
    }
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process->pid);
    file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file))
        snprintf(process->name, sizeof process->name, "%s", file_base(line));
    if (file)
        fclose(file);
}

static pid_t parent_of(pid_t pid)
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    if (file)
        fclose(file);
    return parent;
}

static struct process *process_of(struct watch *watch, pid_t pid)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->processes[i].pid == pid)
            return &watch->processes[i];
    if (watch->count == MAX_PROCESSES)
        die("watch", "too many processes");
    watch->processes[watch->count] = (struct process){.pid = pid};
    return &watch->processes[watch->count++];
}

/* The program and what it started. */
static void look(struct watch *watch, pid_t program)
{
    DIR *all = opendir("/proc");
    struct dirent *item;
    look_at(process_of(watch, program));
    while (all && (item = readdir(all))) {
        pid_t pid = (pid_t)strtol(item->d_name, NULL, 10);
        if (pid > 0 && parent_of(pid) == program)
            look_at(process_of(watch, pid));
    }
    if (all)
        closedir(all);
}

/* Its exit status; what it wrote is in *output. */
static int run(char *const *argv, const char *output, struct watch *watch)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        look(watch, pid);
        usleep(10000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Of processes of the same name the largest. */
static void print_watch(const struct watch *watch)
{
    const struct process *all = watch->processes;
    for (size_t i = 0; i < watch->count; i++) {
        struct process most = all[i];
        bool first = true;
        for (size_t k = 0; k < watch->count; k++) {
            if (strcmp(all[k].name, most.name) != 0)
                continue;
            first &= k >= i;
            most.held = fmax(most.held, all[k].held);
            most.resident = fmax(most.resident, all[k].resident);
        }
        if (first && *most.name)
            printf("  %-24s holds at most %5.0f MiB, with mapped files %5.0f MiB\n", most.name, most.held,
                   most.resident);
    }
}

struct command {
    const char *name;
    bool slow; /* run when named */
    int status;
    const char *says;      /* a part of its output */
    size_t most;           /* MiB that assay may hold */
    const char *words[12]; /* CASE, MODEL, DATA and OUT stand for paths */
};

static const struct command commands[] = {
    {.name = "compare",
     .says = "onnxruntime@1.30.0 agrees with the reference",
     .most = MOST_TABLES * TABLE, /* each operator is checked, with its table */
     .words = {"MODEL", "--data", "DATA", "-e", "onnxruntime@1.30.0"}},
    {.name = "conform",
     .says = "onnxruntime@1.30.0:opt=none      1     1",
     .most = MOST_ASSAY,
     .words = {"CASE", "--no-reference", "-e", "onnxruntime@1.30.0", "-e", "onnxruntime@1.30.0:opt=none"}},
    /* With all values shown, the model is another one. */
    {.name = "localize",
     .says = "0 of 36 nodes above the third quartile",
     .most = MOST_ASSAY,
     .words = {"MODEL", "--data", "DATA", "--method", "rate", "-e", "onnxruntime@1.30.0", "-e",
               "onnxruntime@1.30.0:opt=none"}},
    {.name = "localize",
     .slow = true,
     .says = "agrees: every node is within its bound",
     .most = MOST_TABLES * TABLE,
     .words = {"MODEL", "--data", "DATA", "--method", "local", "-e", "onnxruntime@1.30.0"}},
    {.name = "reduce",
     .slow = true,
     .status = 1,
     .says = "1 nodes to 1, 9216 elements to 3",
     .most = MOST_TABLES * TABLE,
     .words = {"MODEL", "--data", "DATA", "-e", "reference:fault=concat-three", "-o", "OUT"}},
    {.name = "report",
     .slow = true,
     .status = 1,
     .says = "in ",
     .most = MOST_TABLES * TABLE,
     .words = {"CASE", "-e", "reference:fault=concat-three", "-o", "OUT"}},
};

static const char *word_of(const char *word, const char *folder, char path[static 512])
{
    static const char *const names[][2] = {
        {"CASE", ""}, {"MODEL", "/model.onnx"}, {"DATA", "/test_data_set_0"}, {"OUT", "/out"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i][0]) == 0) {
            snprintf(path, 512, "%s%s", folder, names[i][1]);
            return path;
        }
    return word;
}

static bool check(const struct command *command, const char *assay, const char *folder)
{
    char paths[12][512], output[512];
    const char *argv[20] = {assay, command->name};
    static struct watch watch;
    char *text;
    size_t size, n = 2;
    struct error err = {0};
    watch.count = 0;
    argv[n++] = "--deadline";
    argv[n++] = "300s"; /* of a busy machine */
    for (size_t i = 0; command->words[i]; i++)
        argv[n++] = word_of(command->words[i], folder, paths[i]);
    snprintf(output, sizeof output, "%s/output.txt", folder);
    double start = clock_seconds();
    int status = run((char *const *)(uintptr_t)argv, output, &watch);
    printf("%s: exit status %d, %.1f s\n", command->name, status, clock_seconds() - start);
    print_watch(&watch);
    if (file_read(output, 1 << 20, &text, &size, &err))
        die(output, err.message);
    bool right = status == command->status && strstr(text, command->says);
    bool small = watch.processes[0].held <= (double)command->most;
    for (size_t i = 1; i < watch.count; i++)
        small &= watch.processes[i].held <= MOST_TABLES * TABLE;
    if (!right)
        printf("  expected status %d and '%s'; it says\n%s\n", command->status, command->says, text);
    if (!small)
        printf("  assay may hold %zu MiB, an engine %d MiB\n", command->most, MOST_TABLES * TABLE);
    free(text);
    return right && small;
}

static void make_case(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tables.bin", folder);
    write_tables(path);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_model(path);
    snprintf(path, sizeof path, "%s/test_data_set_0", folder);
    write_data(path);
    printf("weights of %zu MiB in one file, %d tables\n", TABLES * table_bytes >> 20, TABLES);
}

static bool is_fetched(void)
{
    char *data = paths_data(), *release = file_join(data, "onnxruntime/1.30.0");
    bool found = file_exists(release);
    free(release);
    free(data);
    return found;
}

int main(int argc, char **argv)
{
    char folder[256];
    bool good = true;
    const char *tmp = getenv("TMPDIR");
    if (argc < 2)
        die("usage", "large ASSAY [COMMAND...]");
    if (!is_fetched()) {
        printf("skipped: tools/fetch onnxruntime --tests brings ONNX Runtime 1.30.0\n");
        return 77;
    }
    snprintf(folder, sizeof folder, "%s/assay-large-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        die(folder, "cannot be made");
    make_case(folder);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        bool wanted = argc == 2 && !commands[i].slow;
        for (int k = 2; k < argc; k++)
            wanted |= strcmp(argv[k], commands[i].name) == 0;
        if (wanted)
            good &= check(&commands[i], argv[1], folder);
    }
    file_remove_tree(folder, NULL);
    return good ? 0 : 1;
}
