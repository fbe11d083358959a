# Planted faults among nodes that have no part in them: wrong values, a crash, a fault inside an If; nothing to reduce.
model concat.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[2,3] a, float[2,3] b) => (float[2,3] y, float[6,3] z) {
    s = Add(a, b)
    t = Tanh(s)
    f = Sub(t, a)
    c = Concat <axis: int = 0> (s, f, b)
    z = Sigmoid(c)
    y = Mul(f, t)
}
END
assay reduce concat.onnx -e reference:fault=concat-three -o small
assay conform small -e reference:fault=concat-three -e reference --no-reference
assay reduce small -e reference:fault=concat-three
assay reduce concat.onnx -e reference:fault=concat-three --format json | sed -E 's#"seconds": .*,#"seconds": T,#'
model gemm.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[4,3] a, float[5,3] b, float[5] c) => (float[4,5] y) {
    p = Exp(a)
    g = Gemm <transB: int = 1, alpha: float = 0.5> (p, b, c)
    y = Relu(g)
}
END
assay reduce gemm.onnx -e reference:fault=gemm-shape-crash
model if.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[4] a, bool q) => (float[12] y) {
    n = Neg(a)
    y = If (q) <
        then_branch = g1 () => (float[12] u) { e = Abs(n)  m = Sub(e, a)  c = Concat <axis: int = 0> (e, m, n)  u = Tanh(c) },
        else_branch = g2 () => (float[12] v) { e2 = Abs(n)  m2 = Sub(e2, a)  c2 = Concat <axis: int = 0> (m2, e2, n)  v = Neg(c2) }
    >
}
END
assay reduce if.onnx -e reference:fault=concat-three
assay reduce concat.onnx -e reference
assay reduce concat.onnx
