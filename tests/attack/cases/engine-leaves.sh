# A process that leaves the engine's group ends with it, with and without a sandbox, also when it floods stdout and stderr;
# and an engine that trickles its answer meets the deadline once.
models good
left()
{
    grep -lx assay-left /proc/[0-9]*/comm 2>/dev/null || true
}
[ -z "$(left)" ] || fail "something was left before: $(left)"
for walls in default off; do
    hostile leave
    holds run good.onnx --random 1 "${engines[@]}" --sandbox $walls
    [ "$status" = 0 ] || { cat out err; fail "no answer with --sandbox $walls"; }
    [ -z "$(left)" ] || fail "left with --sandbox $walls: $(left)"
    start=$SECONDS
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=leave-writer --sandbox $walls --deadline 20s
    [ $((SECONDS - start)) -lt 15 ] || fail "it took $((SECONDS - start)) s with --sandbox $walls"
    start=$SECONDS
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=trickle --sandbox $walls --deadline 2s
    [ $((SECONDS - start)) -lt 12 ] || fail "a trickle took $((SECONDS - start)) s with --sandbox $walls"
done
