# A known issue is recognised inside a larger model, where the engine dies or refuses it as a whole.
model larger.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[2, 3] x, int32[2] a, int32[2] b) => (float[2, 3] y, int32[2] z) {
    r = Relu(x)
    m = Mul(r, x)
    q = Div(a, b)
    y = Tanh(m)
    z = Neg(q)
}
END
mkdir least
npy least/input_0.npy '<f4' '2, 3' 24
npy least/input_1.npy '<i4' '2,' '\0\0\0\200\1\0\0\0'
npy least/input_2.npy '<i4' '2,' '\377\377\377\377\1\0\0\0'
assay compare larger.onnx --data least -e onnxruntime@1.30.0 | grep -oE '^onnxrun.*|known: .*'
model refused.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[1, 1, 4] x) => (float[1, 1, 2] y, float[1, 1, 4] z) {
    r = Relu(x)
    m = Mul(r, x)
    p = MaxPool<auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [2]>(r)
    y = Tanh(p)
    z = Neg(m)
}
END
assay compare refused.onnx -e onnxruntime@1.30.0 | grep -oE '^onnxrun.*|known: .*'
