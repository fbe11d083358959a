#include "serve/private_file.h"

#include "base/folder.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From an open file; errors are without its name. */
static int read_line(int fd, char *line, size_t size, struct error *err)
{
    struct stat file;
    ssize_t got = read(fd, line, size - 1);
    if (got < 0 || fstat(fd, &file))
        return error_errno(err, "cannot be read");
    if (file.st_mode & (S_IRWXG | S_IRWXO))
        return error_set(err, ERROR_FORMAT, "others may read it; 'chmod 600' mends that");
    if (file.st_size > got)
        return error_set(err, ERROR_FORMAT, "it is longer than one line of %zu characters", size - 2);
    line[got] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return 0;
}

int private_file_read(const char *path, char *line, size_t size, struct error *err)
{
    int fd = folder_open_file(USERS_PATH, path, err);
    if (fd < 0)
        return -1;
    int status = read_line(fd, line, size, err) ? folder_prefix(USERS_PATH, path, err) : 0;
    close(fd);
    return status;
}

int private_file_write(const char *path, const char *text, struct error *err)
{
    mode_t before = umask(077);
    int status = folder_write(USERS_PATH, path, text, strlen(text), err);
    umask(before);
    return status;
}
