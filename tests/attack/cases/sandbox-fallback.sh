# Where no namespaces can be made, strict refuses to run, and default says on a terminal what is missing, once, and nowhere
# else. Here they cannot be made: in a namespace in which no further one is allowed.
models good
cat >without <<'END'
for kind in user mnt pid net ipc; do echo 0 >/proc/sys/user/max_${kind}_namespaces || exit 77; done
exec "$@"
END
unshare -Ur true 2>/dev/null || exit 77
without() { unshare -Ur bash without "$@" </dev/null; }
said=0
without "$ASSAY" run good.onnx -e identity --sandbox strict >out 2>err || said=$?
[ $said != 77 ] || exit 77
grep -q 'the sandbox is strict' out err || { cat out err; fail "strict ran an engine without walls"; }
without "$ASSAY" run good.onnx -e identity >out 2>err || { cat err; fail "default does not run without namespaces"; }
! grep -q 'not whole' out err || fail "it is said where nobody reads it"
without python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
    "$ASSAY" run good.onnx -e identity -e identity:perturb=1 >terminal || { cat terminal; fail "no run on a terminal"; }
[ "$(grep -c 'The sandbox is not' terminal)" = 1 ] || { cat terminal; fail "it is not said once"; }
