# External data that leaves the folder of the model, is no file, or is not so long, is never read. The FIFO has a case of
# its own.
names=$("$ATTACK/models.py" --list | grep '^external' | grep -v fifo)
# shellcheck disable=SC2086
models $names
for name in $names; do
    holds run "$name.onnx" --random 1 -e reference --deadline 10s
    if [ "$name" = external-good ]; then
        [ "$status" = 0 ] || fail "good external data is refused"
    else
        [ "$status" = 2 ] || { cat out err; fail "$name is read"; }
    fi
done
