#define _GNU_SOURCE
#include "filter.h"

#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <unistd.h>

/* Newer than libseccomp of Debian 12; such numbers are the same on every processor. */
enum { FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, OPEN_TREE_ATTR = 467, FILE_SETATTR = 469 };

/* io_uring is a second door to sockets, and opening by handle one around the view of files. */
static const int always[] = {
    SCMP_SYS(socket),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(kcmp),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(open_tree),
    OPEN_TREE_ATTR,
    SCMP_SYS(move_mount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fspick),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    /* Memory that belongs to no process, in one form or another; the memory of the protocol is Assay's. */
    SCMP_SYS(shmget),
    SCMP_SYS(semget),
    SCMP_SYS(msgget),
    SCMP_SYS(mq_open),
};

/* What others have made of that kind. */
static const int about_queues[] = {
    SCMP_SYS(shmat),  SCMP_SYS(shmctl), SCMP_SYS(semop),  SCMP_SYS(semtimedop), SCMP_SYS(semctl),
    SCMP_SYS(msgsnd), SCMP_SYS(msgrcv), SCMP_SYS(msgctl), SCMP_SYS(mq_unlink),
};

/* As if the kernel had them not: libraries then use what is older. clone3 has its flags where a filter cannot
 * look. */
static const int absent[] = {SCMP_SYS(clone3), SCMP_SYS(memfd_create), SCMP_SYS(memfd_secret)};

/* Landlock guards what is in files and which there are, and nothing else of them. */
static const int about_files[] = {
    SCMP_SYS(chmod),       SCMP_SYS(fchmod),       SCMP_SYS(fchmodat),      FCHMODAT2,
    SCMP_SYS(chown),       SCMP_SYS(fchown),       SCMP_SYS(lchown),        SCMP_SYS(fchownat),
    SCMP_SYS(utime),       SCMP_SYS(utimes),       SCMP_SYS(futimesat),     SCMP_SYS(utimensat),
    SCMP_SYS(setxattr),    SCMP_SYS(lsetxattr),    SCMP_SYS(fsetxattr),     SETXATTRAT,
    SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),  REMOVEXATTRAT,
    FILE_SETATTR,          SCMP_SYS(quotactl),     SCMP_SYS(fanotify_init),
};

static const unsigned long about_files_by_ioctl[] = {FS_IOC_SETFLAGS, FS_IOC_SETVERSION, FS_IOC_FSSETXATTR,
                                                     0x40806685 /* FS_IOC_ENABLE_VERITY */};

static const unsigned long namespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                           CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

struct filter {
    scmp_filter_ctx context;
    int problem; /* the first one, as errno */
};

static void refuse_if(struct filter *filter, int call, int with, unsigned count, struct scmp_arg_cmp test)
{
    int result = seccomp_rule_add(filter->context, SCMP_ACT_ERRNO((unsigned)with), call, count, test);
    if (result && !filter->problem)
        filter->problem = -result;
}

static void refuse(struct filter *filter, int call, int with)
{
    refuse_if(filter, call, with, 0, (struct scmp_arg_cmp){0});
}

static void refuse_all(struct filter *filter, const int *calls, size_t count, int with)
{
    for (size_t i = 0; i < count; i++)
        refuse(filter, calls[i], with);
}

/* The kernel reads 32 bits of such an argument, whatever stands before them. */
static struct scmp_arg_cmp is(unsigned argument, unsigned long value)
{
    return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, value);
}

static void refuse_namespaces(struct filter *filter)
{
    for (size_t i = 0; i < COUNT(namespaces); i++)
        refuse_if(filter, SCMP_SYS(clone), EACCES, 1,
                  SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
}

static void refuse_files(struct filter *filter)
{
    refuse_all(filter, about_files, COUNT(about_files), EPERM);
    for (size_t i = 0; i < COUNT(about_files_by_ioctl); i++)
        refuse_if(filter, SCMP_SYS(ioctl), EPERM, 1, is(1, about_files_by_ioctl[i]));
}

/* A file that is opened for reading alone can be cut off on the way. */
static void refuse_lengths(struct filter *filter)
{
    const unsigned long both = O_TRUNC | O_ACCMODE;
    refuse(filter, SCMP_SYS(truncate), EPERM);
    refuse(filter, SCMP_SYS(openat2), ENOSYS);
    refuse_if(filter, SCMP_SYS(open), EPERM, 1, SCMP_A1(SCMP_CMP_MASKED_EQ, both, O_TRUNC));
    refuse_if(filter, SCMP_SYS(openat), EPERM, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, both, O_TRUNC));
}

/* Queues, limits and priorities of others: whoever is asked for by number is somebody else. */
static void refuse_others(struct filter *filter)
{
    refuse_all(filter, about_queues, COUNT(about_queues), EPERM);
    refuse_if(filter, SCMP_SYS(prlimit64), EPERM, 1, SCMP_A0(SCMP_CMP_NE, 0));
    refuse_if(filter, SCMP_SYS(sched_setparam), EPERM, 1, SCMP_A0(SCMP_CMP_NE, 0));
    refuse_if(filter, SCMP_SYS(sched_setscheduler), EPERM, 1, SCMP_A0(SCMP_CMP_NE, 0));
    refuse_if(filter, SCMP_SYS(sched_setattr), EPERM, 1, SCMP_A0(SCMP_CMP_NE, 0));
    refuse_if(filter, SCMP_SYS(setpriority), EPERM, 1, SCMP_A1(SCMP_CMP_NE, 0));
    refuse_if(filter, SCMP_SYS(setpriority), EPERM, 1, is(0, PRIO_USER));
    refuse(filter, SCMP_SYS(ioprio_set), EPERM);
    refuse(filter, SCMP_SYS(move_pages), EPERM);
    refuse(filter, SCMP_SYS(migrate_pages), EPERM);
}

/* Only to itself; a program that it starts gets no signal at all through. */
static void refuse_signals(struct filter *filter)
{
    static const int to_process[] = {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                                     SCMP_SYS(rt_tgsigqueueinfo)};
    for (size_t i = 0; i < COUNT(to_process); i++)
        refuse_if(filter, to_process[i], EPERM, 1, SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    refuse(filter, SCMP_SYS(tkill), EPERM);
    refuse(filter, SCMP_SYS(pidfd_send_signal), EPERM);
    refuse_if(filter, SCMP_SYS(fcntl), EPERM, 1, is(1, F_SETOWN));
    refuse_if(filter, SCMP_SYS(fcntl), EPERM, 1, is(1, F_SETOWN_EX));
}

static void fill(struct filter *filter, const struct sandbox *sandbox, const struct walls *walls)
{
    /* A search by halves: most calls of an engine are none of these. */
    seccomp_attr_set(filter->context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    refuse_all(filter, always, COUNT(always), EACCES);
    refuse_all(filter, absent, COUNT(absent), ENOSYS);
    refuse_namespaces(filter);
    if (sandbox->off)
        return;
    if (!walls->view)
        refuse_files(filter);
    if (!walls->view && !walls->lengths)
        refuse_lengths(filter);
    if (!walls->network)
        refuse_others(filter);
    if (!walls->signals)
        refuse_signals(filter);
}

int filter_load(const struct sandbox *sandbox, const struct walls *walls)
{
    struct filter filter = {.context = seccomp_init(SCMP_ACT_ALLOW)};
    if (!filter.context) {
        errno = ENOMEM;
        return -1;
    }
    fill(&filter, sandbox, walls);
    if (!filter.problem)
        filter.problem = -seccomp_load(filter.context);
    seccomp_release(filter.context);
    errno = filter.problem;
    return filter.problem ? -1 : 0;
}
