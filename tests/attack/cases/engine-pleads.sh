# An engine that kills itself, or says before it dies that memory was short, is called what it is, a crash: only what was
# measured against --memory excuses an engine.
models good
for mode in killed pleads; do
    for walls in default off; do
        hostile $mode
        holds run good.onnx --random 1 "${engines[@]}" --sandbox $walls
        [ "$status" = 1 ] || { cat out err; fail "mode $mode, --sandbox $walls: status $status"; }
        ! grep -q 'does not fit\|--memory' out err || { cat out err; fail "mode $mode is excused with --sandbox $walls"; }
    done
done
