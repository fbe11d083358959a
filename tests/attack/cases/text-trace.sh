# What an engine tells of what it did harms no terminal and takes no memory, asked or not.
models good
hostile trace-text trace-not-utf8 trace-many trace-long trace-outputs
holds run good.onnx "${engines[@]}" --trace --deadline 20s
[ "$(wc -c <out)" -lt 200000 ] || fail "$(wc -c <out) bytes on the terminal"
holds run good.onnx "${engines[@]}" --deadline 20s
says 'is answered by' out
hostile trace-text trace-not-utf8
holds run good.onnx "${engines[@]}" --trace --format json --deadline 20s
