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
# What is right is said as compare says it, and as soon: in no more than twice the time that a processor works for it.
assay reduce concat.onnx -e reference
assay reduce concat.onnx -e reference --format json
TIMEFORMAT='%U %S'
net=$source/models/resnet20/resnet20.onnx
work() { { time "$build/src/cli/assay" "$@" -e reference:round=on >said 2>&1; } 2>&1 | awk '{ print $1 + $2 }'; }
compare=$(work compare "$net")
for command in reduce report; do
    took=$(work $command "$net" -o bundle)
    tail -n 3 said | head -n 1
    awk "BEGIN { exit !($took <= 2 * $compare + 0.2) }" || echo "$command took $took s of work, and compare $compare s"
done
ls bundle 2>&1
# Of several samples the one on which the engine fails is reduced, reported and bisected.
model cast.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]> g (float[1] x) => (int8[1] y) { n = Neg(x) y = Cast<to = 3>(n) }
END
fault=reference:fault=cast-f32-int8
assay run cast.onnx -n 6 -e $fault --format json | grep -A 1 first
assay reduce cast.onnx -n 1 -e $fault
assay reduce cast.onnx -n 6 -e $fault -o six
assay report cast.onnx -n 6 -e $fault -o six-reported | sed -E 's/-[0-9a-f]{12}/-HASH/'
assay bisect cast.onnx -n 6 -e $fault
assay bisect cast.onnx -n 6 -e reference
assay rules --apply identity@y cast.onnx -n 2 -o rewritten
assay reduce concat.onnx
