# Where the fault is: the node by local judgement, beside it CRADLE's rate; one engine, two, a refusal, nobody.
model net.onnx <<'EOF'
<ir_version: 7, opset_import: ["": 13]>
net (float[1,2,5,5] x, float[2] scale, float[2] shift, float[2] mean, float[2] var) => (float[1,6,5,5] y)
<float[2,2,1,1] w = {0.5, -1.0, 1.5, 0.25}>
{
    c = Conv(x, w)
    v = Abs(var)
    n = BatchNormalization <epsilon: float = 0.5> (c, scale, shift, mean, v)
    r = Relu(n)
    t = Concat <axis: int = 1> (r, n, c)
    y = Tanh(t)
}
EOF
assay localize net.onnx -e reference:fault=bn-sqrt-var
assay localize net.onnx -e reference:fault=concat-three --method local
assay localize net.onnx -e reference:fault=concat-three -e reference:round=on --method rate
assay localize net.onnx -e reference:fault=concat-three -n 3 --format json
assay localize net.onnx -e reference:round=on
# A node that is wrong behind another one only: that one is named, but not to blame.
model behind.onnx <<'EOF'
<ir_version: 7, opset_import: ["": 13]>
net (float[1,1,1,7] x) => (float[1,1,1,7] y)
<float[1,1,1,1] w = {-1.5}>
{
    c = Conv(x, w)
    r = Relu(c)
    y = Neg(r)
}
EOF
assay localize behind.onnx -e reference:fault=relu-tail --method local
assay compare behind.onnx -e reference:fault=relu-tail
# The cause: a parameter; none.
assay localize net.onnx -e reference:fault=bn-sqrt-var --method causal
assay localize net.onnx -e reference:fault=concat-three --method causal
# Audee's thresholds: no node has a rate that large; not a number.
assay localize net.onnx -e reference:fault=bn-sqrt-var --method causal --t1 1e30
assay localize net.onnx -e reference:fault=bn-sqrt-var --method causal --t2 none
# Implementations swapped node by node: one differs; none does; the wrong kind of number.
assay localize net.onnx -e reference:round=on -e reference:round=on,fault=concat-three --method swap
assay localize net.onnx -e reference:round=on -e reference:round=on,threads=2 --method swap
assay localize net.onnx -e reference:round=on -e reference --method swap --tc zero
assay localize net.onnx -e reference:round=on -e reference --method swap --tc 0
# Groups of a few hundred bytes find the same.
assay localize net.onnx -e reference:fault=concat-three --method local --group 300
# No answer: the part on which the engine ends in the same way.
assay localize net.onnx -E "$bad" -e bad:mode=segv-run --method local
# Usage.
assay localize net.onnx
assay localize net.onnx -e reference -e reference:round=on -e reference:fault=concat-three
assay localize net.onnx -e reference --sample 3
assay localize net.onnx -e reference --sample x
