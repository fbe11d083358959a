# Answers that lie about types, shapes and sizes, or are others than were asked for.
models good
hostile none many sequence absent type negative overflow string names bounds wrong-kind
holds run good.onnx "${engines[@]}" --deadline 20s
hostile none sequence bounds
holds compare good.onnx "${engines[@]}" --deadline 20s
bad wrong-length huge shared-beyond shared-inputs shared-short shared-long
holds run good.onnx "${engines[@]}" --deadline 20s
