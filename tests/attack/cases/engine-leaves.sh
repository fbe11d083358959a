# A process that leaves the engine's group and floods its stdout and stderr ends with it, with and without a sandbox, and
# an engine that trickles its answer meets the deadline once.
models good
for mode in default off; do
    start=$SECONDS
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=leave-writer --sandbox $mode --deadline 20s
    [ $((SECONDS - start)) -lt 15 ] || fail "it took $((SECONDS - start)) s with --sandbox $mode"
    left=$(find /proc/[0-9]*/cwd -maxdepth 0 -printf "%l\n" 2>/dev/null | grep -F "$PWD/assay-" || true)
    [ -z "$left" ] || fail "something is left: $left"
    start=$SECONDS
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=trickle --sandbox $mode --deadline 2s
    [ $((SECONDS - start)) -lt 12 ] || fail "a trickle took $((SECONDS - start)) s with --sandbox $mode"
done
