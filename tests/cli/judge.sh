# Who is wrong and at which operator: planted faults of the reference engine, one or several nodes, all formats.
bn="$cases/node/test_batchnorm_epsilon" conv="$cases/node/test_conv_with_strides_padding"
assay compare "$bn/model.onnx" --data "$bn/test_data_set_0" -e reference:fault=bn-sqrt-var -e reference:round=on
assay compare "$conv/model.onnx" -e reference:fault=conv-rotated -e reference:round=on --format junit
assay compare "$conv/model.onnx" -n 3 -e reference:fault=conv-rotated -e reference -e reference:round=on --format json
# Among several nodes the one at fault is named; what comes behind it is right on what it was given.
model concat.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[4] a, float[4] b) => (float[12] y) {
    s = Add(a, b)
    d = Sub(a, b)
    c = Concat <axis: int = 0> (s, d, b)
    y = Tanh(c)
}
END
assay compare concat.onnx -n 2 -e reference:fault=concat-three -e reference:round=on
# One engine is enough; a crash and a hang are its own; what the reference lacks is put to the vote.
assay compare "$conv/model.onnx" -e reference:round=on
assay compare "$conv/model.onnx" -e reference --no-reference
assay compare "$conv/model.onnx" -E "$bad" -e bad:mode=segv-run -e bad:mode=hang --deadline 1s
# Nobody is at fault where one engine is right and the other lacks an operator.
assay compare concat.onnx -E "$bad" -e reference:round=on -e bad:mode=lack-load
lacks="$cases/node/test_momentum"
assay compare "$lacks/model.onnx" -E "$bad" -e identity -e bad:mode=none -e bad:mode=segv-run
assay compare "$lacks/model.onnx" -e identity
assay compare "$lacks/model.onnx" -e identity --format json
# The answer a case brings decides; the judge stands beside it.
cp -r "$cases/node/test_abs" abs-wrong && cp abs-wrong/test_data_set_0/input_0.pb abs-wrong/test_data_set_0/output_0.pb
assay conform "$bn" "$conv" "$lacks" abs-wrong -e reference:fault=bn-sqrt-var -e reference --list
assay conform abs-wrong -E "$bad" -e bad:mode=lack-load # expected outputs of what an engine lacks are of no interest
assay conform "$bn" -e reference:fault=bn-sqrt-var --format json
assay conform "$bn" -e reference:fault=bn-sqrt-var --format junit
assay conform "$bn" -e reference:fault=bn-sqrt-var --no-reference
# Slice as it was before opset 10: its lists are attributes.
model slice9.onnx <<'END'
<ir_version: 4, opset_import: ["": 9]>
slice9 (float[3, 4] x) => (float[2, 2] y) { y = Slice<starts = [1, -3], ends = [3, 3], axes = [0, 1]>(x) }
END
assay compare slice9.onnx -e reference:round=on
