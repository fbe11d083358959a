# Answers that lie about types, shapes and sizes, or are others than were asked for.
models good
hostile none many sequence absent type negative overflow string names bounds wrong-kind
holds run good.onnx "${engines[@]}" --deadline 20s
hostile many
holds compare good.onnx "${engines[@]}" --deadline 20s
says '89900 more outputs' out
[ "$(wc -c <out)" -lt 100000 ] || fail "$(wc -c <out) bytes on the terminal"
hostile none sequence bounds
holds compare good.onnx "${engines[@]}" --deadline 20s
bad wrong-length huge shared-beyond shared-inputs shared-short shared-long
holds run good.onnx "${engines[@]}" --deadline 20s
