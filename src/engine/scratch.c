#include "engine/scratch.h"

#include "base/file.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* The start of the folders' names, before letters that are drawn: nobody can make one beforehand and so keep
 * this user from working. */
static void put_prefix(struct str *name)
{
    str_printf(name, "assay-scratch-%ld-", (long)getuid());
}

/* A locked descriptor of the folder, or -1 when somebody holds it or it is not a private one of this user. */
static int lock_folder(const char *folder)
{
    struct stat info;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &info) < 0 || info.st_uid != getuid() || (info.st_mode & 077) ||
                    flock(fd, LOCK_EX | LOCK_NB) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void remove_abandoned(void)
{
    struct str prefix;
    char **names;
    size_t count;
    if (file_list(temporary(), &names, &count, NULL))
        return;
    str_init(&prefix);
    put_prefix(&prefix);
    for (size_t i = 0; i < count; i++) {
        char *folder = file_join(temporary(), names[i]);
        int fd = text_starts(names[i], prefix.data) ? lock_folder(folder) : -1;
        if (fd >= 0) {
            file_remove_tree(folder, NULL);
            close(fd);
        }
        free(folder);
    }
    str_release(&prefix);
    file_names_free(names, count);
}

/* Between making the folder and locking it, another process may take it for an abandoned one and remove it;
 * then this is tried again. */
static bool make_locked(struct scratch *scratch)
{
    struct str template;
    str_init(&template);
    str_printf(&template, "%s/", temporary());
    put_prefix(&template);
    str_add(&template, "XXXXXX");
    char *folder = template.data;
    struct stat here, there;
    if (mkdtemp(folder)) {
        scratch->lock = lock_folder(folder);
        if (scratch->lock >= 0 && fstat(scratch->lock, &here) == 0 && stat(folder, &there) == 0 &&
            here.st_ino == there.st_ino) {
            scratch->folder = folder;
            return true;
        }
        if (scratch->lock >= 0)
            close(scratch->lock);
    }
    free(folder);
    return false;
}

static int make_handed(const struct scratch *scratch)
{
    char *path = file_join(scratch->folder, SCRATCH_HANDED);
    int status = mkdir(path, 0700);
    free(path);
    return status;
}

int scratch_open(struct scratch *scratch, struct error *err)
{
    *scratch = (struct scratch){.lock = -1};
    remove_abandoned();
    for (int attempt = 0; attempt < 5 && !scratch->folder; attempt++)
        make_locked(scratch);
    if (!scratch->folder || make_handed(scratch))
        return error_errno(err, "cannot make a scratch folder in %s", temporary());
    return 0;
}

static int make_folder(struct scratch *scratch, const char *under, char **folder, struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, "%s%s/%zu", scratch->folder, under, scratch->made++);
    if (mkdir(path.data, 0700) < 0) {
        int result = error_errno(err, "cannot make folder %s", path.data);
        str_release(&path);
        return result;
    }
    *folder = path.data;
    return 0;
}

int scratch_add(struct scratch *scratch, char **folder, struct error *err)
{
    return make_folder(scratch, "", folder, err);
}

int scratch_add_handed(struct scratch *scratch, char **folder, struct error *err)
{
    return make_folder(scratch, "/" SCRATCH_HANDED, folder, err);
}

void scratch_close(struct scratch *scratch)
{
    if (!scratch->folder)
        return;
    file_remove_tree(scratch->folder, NULL);
    close(scratch->lock);
    free(scratch->folder);
    scratch->folder = NULL;
}
