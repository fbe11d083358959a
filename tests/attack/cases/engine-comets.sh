# Processes that start another one and end, each in a session of its own, are hard to catch and hold nobody: Assay is done
# in time, and where the kernel can tell what belongs to an engine (namespaces, or signals that Landlock keeps inside), none
# is left. They would end by themselves after 20 s; each lives for 10 ms, so that what is not yet reaped does not fill the
# system's table of processes.
models good
cat >comets.c <<'END_OF_PROGRAM'
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)
{
    time_t until = time(0) + 20;
    prctl(PR_SET_NAME, words[count - 1]);
    for (int i = 0; i < 8; i++) {
        if (fork())
            continue;
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        while (time(0) < until) {
            setsid();
            nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
            if (fork() > 0)
                _exit(0);
        }
        _exit(0);
    }
    return 0;
}
END_OF_PROGRAM
cc -O1 -static -o comets comets.c || exit 77
sed "s|{here}|$ATTACK|; \$ a see = $PWD/comets" "$ATTACK/engines.ini" >comets.ini
engines=(-E comets.ini -e "hostile:mode=start@$PWD/comets@comet-$$")
left()
{
    grep -lx "comet-$$" /proc/[0-9]*/comm 2>/dev/null || true
}
fly() # SETTING SANDBOX
{
    setting "$1"
    start=$SECONDS
    holds run good.onnx --random 1 "${engines[@]}" --sandbox "$2"
    [ "$status" = 0 ] || { cat out err; fail "no answer in setting $1 with --sandbox $2"; }
    [ $((SECONDS - start)) -lt 12 ] || fail "$1, --sandbox $2: they held Assay for $((SECONDS - start)) s"
}
fly here default
[ -z "$(left)" ] || fail "left behind by default"
unshare -Ur true 2>/dev/null || exit 77
scoped=$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1) >= 6)')
fly here off
[ "$scoped" = False ] || [ -z "$(left)" ] || fail "left behind with --sandbox off"
fly bare default
[ "$scoped" = False ] || [ -z "$(left)" ] || fail "left behind without namespaces"
fly old default
while [ -n "$(left)" ]; do
    [ $((SECONDS - start)) -lt 60 ] || fail "they do not end"
    sleep 1
done
