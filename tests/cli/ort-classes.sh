# Engines that differ though both are inside their bounds: which node loses the digits.
model cancel.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
cancel (float[1,8] x) => (float[1,8] y)
<float one = {1}, float million = {1000000}>
{
    a = Abs(x)
    s = Add(a, one)
    l = Log(s)
    e = Exp(l)
    d = Sub(e, s)
    y = Mul(d, million)
}
END
assay compare cancel.onnx -e onnxruntime@1.30.0 -e reference -n 3
assay compare cancel.onnx -e onnxruntime@1.30.0 -e reference -n 3 --no-reference
model near.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
near (float[1,8] x) => (float[1,8] y)
<float ten = {10}>
{
    m = Mul(x, ten)
    a = Abs(m)
    s = Ceil(a)
    l = Log(s)
    e = Exp(l)
    y = Floor(e)
}
END
assay compare near.onnx -e onnxruntime@1.30.0 -e reference -n 3
model open.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
open (float[4] x) => (float[4] y)
<float big = {1e20}>
{
    m = Mul(x, big)
    i = Cast <to: int = 6> (m)
    y = Cast <to: int = 1> (i)
}
END
assay compare open.onnx -e onnxruntime@1.30.0 -e reference -n 3
assay localize open.onnx -e onnxruntime@1.30.0 --method local
