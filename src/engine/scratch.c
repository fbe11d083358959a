#include "engine/scratch.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of all Assay processes of this user. Nobody else may write to it, even where everybody may write
 * to TMPDIR. */
static int open_root(char **root, struct error *err)
{
    struct str path;
    const char *tmp = getenv("TMPDIR");
    str_init(&path);
    str_printf(&path, "%s/assay-%ld", tmp && *tmp ? tmp : "/tmp", (long)getuid());
    *root = path.data;
    struct stat info;
    mkdir(*root, 0700);
    if (lstat(*root, &info) < 0)
        return error_errno(err, "cannot make folder %s", *root);
    if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077))
        return error_set(err, ERROR_IO, "%s is not a private folder of this user", *root);
    return 0;
}

/* The start of each folder's name there; anything with another name is not Assay's and is not removed. */
static const char prefix[] = "scratch-";

/* A locked descriptor of the folder, or -1 when somebody holds it. */
static int lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void remove_abandoned(const char *root)
{
    char **names;
    size_t count;
    if (file_list(root, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char *folder = file_join(root, names[i]);
        int fd = text_starts(names[i], prefix) ? lock_folder(folder) : -1;
        if (fd >= 0) {
            file_remove_tree(folder, NULL);
            close(fd);
        }
        free(folder);
    }
    file_names_free(names, count);
}

/* Between making the folder and locking it, another process may take it for an abandoned one and remove it;
 * then this is tried again. */
static bool make_locked(struct scratch *scratch, const char *root)
{
    struct str template;
    str_init(&template);
    str_printf(&template, "%s/%sXXXXXX", root, prefix);
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
    char *root;
    int result = open_root(&root, err);
    if (!result) {
        remove_abandoned(root);
        for (int attempt = 0; attempt < 5 && !scratch->folder; attempt++)
            make_locked(scratch, root);
        if (!scratch->folder || make_handed(scratch))
            result = error_errno(err, "cannot make a scratch folder in %s", root);
    }
    free(root);
    return result;
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
