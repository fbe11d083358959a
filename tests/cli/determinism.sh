# Whether an engine computes the same bytes each time: one that does, faults in each respect, memory that nobody wrote, JSON, mistakes.
model mlp.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[3,4] x) => (float[3,5] y)
<float[4,5] w = {0.11, -0.27, 0.35, 0.41, -0.53, 0.67, 0.71, -0.83, 0.97, 0.13, -0.17, 0.19, 0.23, -0.29, 0.31, 0.37, -0.43, 0.47, 0.59, 0.61}> {
    m = MatMul(x, w)
    y = Tanh(m)
}
END
assay check mlp.onnx -e reference:round=on --determinism
assay check mlp.onnx -e reference:round=on,fault=sum-not-cleared --determinism
assay check mlp.onnx -e reference:round=on,fault=tuned-kernel --determinism --rules again-often,after-another,fresh
assay check mlp.onnx -e reference:round=on,fault=threads-tail --determinism --rules threads,fresh --threads 2
assay check mlp.onnx -e reference:round=on,fault=kernel-by-batch --determinism --rules batch-last,fresh --format json
model same.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[3] x) => (float[3] y) {
    y = Identity(x)
}
END
assay check same.onnx -E $bad -e bad:mode=unwritten --determinism --rules dirty-memory,fresh --no-reference | sed 's/what differs.*/what differs/; s/of 3 elements, the first .*/.../; s/ *$//'
assay check mlp.onnx -e identity --determinism --rules no-such-rule
assay check mlp.onnx -e identity --determinism --bundle finding/
