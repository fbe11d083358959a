# A version of 8 MB and 100,000 knobs are refused or shown in part.
models good
for mode in version-long knobs; do
    hostile $mode
    holds run good.onnx "${engines[@]}"
    [ "$(cat out err | wc -c)" -lt 100000 ] || fail "mode $mode: $(cat out err | wc -c) bytes on the terminal"
done
