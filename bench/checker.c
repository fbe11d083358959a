#include "checker.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int checker_start(struct checker *checker, const char *program, struct error *err)
{
    int in[2], out[2];
    checker->program = program;
    if (pipe(in) || pipe(out))
        return error_errno(err, "no pipe for %s", program);
    signal(SIGPIPE, SIG_IGN);
    checker->pid = fork();
    if (checker->pid < 0)
        return error_errno(err, "no process for %s", program);
    if (checker->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    checker->to = fdopen(in[1], "w");
    checker->from = fdopen(out[0], "r");
    return 0;
}

void checker_stop(struct checker *checker)
{
    if (!checker->to)
        return;
    fclose(checker->to);
    fclose(checker->from);
    waitpid(checker->pid, NULL, 0);
}

static int died(struct checker *checker, struct error *err)
{
    checker_stop(checker);
    if (checker_start(checker, checker->program, err))
        return -1;
    return error_set(err, ERROR_IO, "the checker died of this model");
}

int checker_ask(struct checker *checker, const void *model, size_t size, int infer, struct error *err)
{
    char line[2000];
    unsigned char head[5] = {(unsigned char)infer, (unsigned char)size, (unsigned char)(size >> 8),
                             (unsigned char)(size >> 16), (unsigned char)(size >> 24)};
    if (fwrite(head, 1, sizeof head, checker->to) != sizeof head ||
        fwrite(model, 1, size, checker->to) != size || fflush(checker->to) ||
        !fgets(line, sizeof line, checker->from))
        return died(checker, err);
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "ok") == 0)
        return 0;
    return strcmp(line, "newer") == 0 ? 1 : error_set(err, ERROR_INVALID, "%s", line);
}
