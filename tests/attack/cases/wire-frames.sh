# Frames of no message, of the wrong number, twice, ahead of the question, or that never end.
models good
hostile frame-huge noise noise-run twice ahead wrong-id trickle close announced
holds run good.onnx "${engines[@]}" --deadline 5s
bad garbage text wrong-id die-writing close-output
holds run good.onnx "${engines[@]}" --deadline 5s
