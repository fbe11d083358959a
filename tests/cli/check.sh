# An engine held against itself: a model that it answers alike in all forms, a fault that one form shows, faults in every form, mistakes.
model conv.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[1,2,5,5] x, float[3,2,2,2] w) => (float[1,3,5,5] y) {
    c = Conv <auto_pad: string = "SAME_UPPER", kernel_shape: ints = [2, 2]> (x, w)
    y = Relu(c)
}
END
only=auto-pad,identity,renamed,again,exposed
assay check conv.onnx -e reference:round=on --rules $only
assay check conv.onnx -e reference:round=on,fault=same-pad-side --rules $only
assay check conv.onnx -e reference:round=on,fault=same-pad-side --rules $only --no-reference
# A tolerance of one's own, as wide as the fault, and without a use for it.
assay check conv.onnx -e reference:round=on,fault=same-pad-side --rules $only --no-reference --atol 100
assay check conv.onnx -e reference:round=on --rules $only --atol 100
assay check conv.onnx -e reference:round=on,fault=conv-rotated --rules identity,again
assay check conv.onnx -e reference:round=on,fault=same-pad-side --rules auto-pad --format json
assay check conv.onnx -e reference:round=on --rules identity --combine 5 --depth 2 --sites 1
# --random are samples, as everywhere.
assay check conv.onnx -e reference:round=on --rules identity --random 3 --sites 1
assay rules --apply auto-pad@c conv.onnx -o rewritten
assay conform rewritten -e reference:round=on,fault=same-pad-side -e reference:round=on --no-reference
assay check conv.onnx -e reference --rules auto-pat
assay check conv.onnx -e reference --rules auto-pad --random x
assay check -e reference
assay check missing.onnx -e reference
assay rules --apply auto-pad@nowhere conv.onnx -o other
assay rules --apply auto-pad@c conv.onnx
assay rules conv.onnx
