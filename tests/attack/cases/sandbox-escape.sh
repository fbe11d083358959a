# Sockets, processes, ptrace and the size of the shared memory are refused to an engine in every mode but "off".
models good
for mode in default strict; do
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=escape --sandbox $mode
    ! grep -q 'possible: ' out err || { cat out err; fail "with --sandbox $mode"; }
done
