# Gradients judged by bounds: the engine and the node at fault, text, JSON, JUnit, training, mistakes.
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 17]>
net (float[2,3] x) => (float[2,2] y)
<float[3,4] w1 = {0.5, -0.25, 0.75, 1, -1, 0.5, 0.25, -0.75, 0.125, 1, -0.5, 0.25},
 float[4] b1 = {0.1, -0.2, 0.3, 0.4}, float[4,2] w2 = {1, -1, 0.5, 0.25, -0.75, 1, 0.5, -0.5}>
{
  h = MatMul (x, w1)
  s = Add (h, b1)
  a = Tanh (s)
  y = MatMul (a, w2)
}
EOF
# The last column depends on the sizes of bounds.
table() { assay "$@" | sed -E '/ float32 /s/ +[0-9.e+]+$/ N/; s/(parameters end) [0-9.e-]+/\1 D/'; }
table grad net.onnx -e reference:round=on
table grad net.onnx -e reference:fault=tanh-gradient -e reference:round=on -n 3
assay grad net.onnx -e reference:fault=matmul-gradient --loss y --format json
assay grad net.onnx -e reference:fault=add-gradient --format junit
assay grad net.onnx -e identity
table grad net.onnx -e reference:round=on -e reference:fault=tanh-gradient --train 5 --rate 0.1
assay grad net.onnx -e reference:round=on --train 12 --optimizer adam --format junit
assay grad net.onnx -e reference:round=on --loss nobody
assay grad net.onnx
