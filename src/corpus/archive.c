#include "corpus/archive.h"

#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if ASSAY_ZSTD
#include "base/memory.h"

#include <stdlib.h>
#include <zstd.h>
#endif

enum { BLOCK = 512, NAME = 100, PREFIX = 155 };

/* The head of a file in POSIX's ustar format. */
struct head {
    char name[NAME], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100], magic[6],
        version[2], user[32], group[32], major[8], minor[8], prefix[PREFIX], unused[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "a head is a block");

void archive_init(struct archive *archive)
{
    str_init(&archive->tar);
}

void archive_release(struct archive *archive)
{
    str_release(&archive->tar);
}

/* A long path is cut at a slash: what is before it goes into the prefix. */
static int put_path(struct head *head, const char *path, struct error *err)
{
    size_t length = strlen(path), cut = 0;
    if (length > NAME) {
        for (cut = length - NAME - 1; path[cut] && path[cut] != '/'; cut++)
            ;
        if (!path[cut] || cut > PREFIX)
            return error_set(err, ERROR_LIMIT, "the path %s is too long for a tar file", path);
        memcpy(head->prefix, path, cut++);
    }
    memcpy(head->name, path + cut, length - cut);
    return 0;
}

static void put_sum(struct head *head)
{
    unsigned sum = 0;
    const unsigned char *bytes = (const unsigned char *)head;
    memset(head->sum, ' ', sizeof head->sum);
    for (size_t i = 0; i < sizeof *head; i++)
        sum += bytes[i];
    snprintf(head->sum, sizeof head->sum, "%06o", sum);
}

static void fill_block(struct str *tar)
{
    static const char zeros[BLOCK];
    str_append(tar, zeros, (BLOCK - tar->length % BLOCK) % BLOCK);
}

int archive_add(struct archive *archive, const char *path, const void *data, size_t size, struct error *err)
{
    struct head head = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    if (size >= (size_t)1 << 33)
        return error_set(err, ERROR_LIMIT, "%s is too large for a tar file", path);
    if (put_path(&head, path, err))
        return -1;
    memcpy(head.mode, "0000644", sizeof head.mode);
    memcpy(head.uid, "0000000", sizeof head.uid);
    memcpy(head.gid, "0000000", sizeof head.gid);
    memcpy(head.time, "00000000000", sizeof head.time);
    snprintf(head.size, sizeof head.size, "%011llo", (unsigned long long)size);
    put_sum(&head);
    str_append(&archive->tar, &head, sizeof head);
    str_append(&archive->tar, data, size);
    fill_block(&archive->tar);
    return 0;
}

#if ASSAY_ZSTD
enum { LEVEL = 15 };

static int pack(const struct str *tar, struct str *out, struct error *err)
{
    size_t room = ZSTD_compressBound(tar->length);
    char *packed = memory_zeroed(room, 1);
    size_t size = ZSTD_compress(packed, room, tar->data, tar->length, LEVEL);
    int status = ZSTD_isError(size) ? error_set(err, ERROR_IO, "Zstandard: %s", ZSTD_getErrorName(size)) : 0;
    if (!status)
        str_append(out, packed, size);
    free(packed);
    return status;
}
#else
static int pack(const struct str *tar, struct str *out, struct error *err)
{
    (void)tar;
    (void)out;
    return error_set(
        err, ERROR_UNSUPPORTED,
        "this Assay was built without libzstd: name a file that ends in .tar, and compress it by zstd");
}
#endif

int archive_finish(struct archive *archive, bool packed, struct str *out, struct error *err)
{
    static const char end[2 * BLOCK];
    str_append(&archive->tar, end, sizeof end);
    if (packed)
        return pack(&archive->tar, out, err);
    str_append(out, archive->tar.data, archive->tar.length);
    return 0;
}
