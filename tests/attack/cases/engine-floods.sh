# An engine that writes without end to stdout or stderr meets its deadline.
models good
hostile flood-out flood-err
holds run good.onnx "${engines[@]}" --deadline 2s
[ "$(cat out err | wc -c)" -lt 100000 ] || fail "$(cat out err | wc -c) bytes on the terminal"
