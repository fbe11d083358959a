# Tolerances with a reason: what no right engine fails, what it sees, and the files that teams keep.
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,3] x) => (float[2,2] y, int64[2] top, float[2,2] e)
<float[3,2] w = {0.5, -0.25, 0.75, 1, -1, 0.5}>
{
  y = MatMul (x, w)
  top = ArgMax <axis = 1, keepdims = 0> (y)
  e = Exp (y)
}
EOF
# The digits depend on the sizes of bounds: whether there are any is what counts.
digits() { sed -E 's/[0-9](\.[0-9]+)?e-[0-9]+f?|0\.0[0-9]+/N/g; s/ +/ /g'; }
assay bounds net.onnx --nodes | digits
assay bounds net.onnx --precision bfloat16 --error 0.1 | digits
assay bounds net.onnx --rtol 1e-3 --atol 1e-7 | digits
assay bounds net.onnx --rtol 0.5 --atol 0.5 | digits
assay bounds net.onnx --format pytest | digits
for format in backend-test ort iree opencv; do
    assay bounds $cases/node/test_softmax_example $cases/node/test_acosh --format $format | digits
done
assay bounds $cases/node/test_softmax_example --format json | digits
assay bounds $cases/node/test_nobody
assay bounds
# What such files cannot say is told on stderr, and so is why cases are left out of them.
model random.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
draws (float[2] x) => (float[2] y) { y = RandomUniformLike (x) }
EOF
assay bounds random.onnx
model apart.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
apart (float[3] x) => (float[3] large, float[3] small)
<float[1] w = {1000000}, float[1] v = {0.0001}>
{
  a = Mul (x, w)
  b = Add (a, w)
  c = Exp (x)
  small = Mul (c, v)
  large = Div (b, w)
}
EOF
assay bounds apart.onnx --format backend-test | digits
assay bounds $cases/node/test_maxunpool_export_with_output_shape $cases/node/test_roialign_aligned_true --format ort | digits
assay bounds $cases/node/test_maxunpool_export_with_output_shape | digits
