# What an engine says of itself and of a case, in whatever way, harms no terminal.
models good
hostile text version load-text run-text reject-text not-utf8 stack borrow names string-text
holds run good.onnx "${engines[@]}" --deadline 20s
holds compare good.onnx "${engines[@]}" --deadline 20s
