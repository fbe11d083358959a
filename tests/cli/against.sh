# A model against the one that it was made from: whose the loss is, and in which layer.
weights="0.5, -1.0, 0.25, 1.0, 0.75, -0.5, -0.25, 0.5, 1.0, 0.125, -0.75, 0.375"
model float.onnx <<END
<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,3] y)
<float[4,3] w = {$weights}>
{ m = MatMul(x, w) r = Relu(m) y = Add(r, r) }
END
levels()
{
    model "$1" <<END
<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,3] y)
<int8[4,3] q = {64, -127, 32, 127, 95, -64, -32, 64, 127, 16, -95, 48}, int8[3] z = {0, 0, 0},
 float[3] s = {0.007874015748, $2, 0.007874015748}>
{ d = DequantizeLinear<axis = 1>(q, s, z) m = MatMul(x, d) r = Relu(m) y = Add(r, r) }
END
}
levels good.onnx 0.007874015748
levels bad.onnx 0.015748031496
assay compare good.onnx --against float.onnx -e reference:round=on -n 10
assay compare bad.onnx --against float.onnx -e reference:round=on -n 10
# A fault of the engine beside it is the engine's.
assay compare good.onnx --against float.onnx -e reference:fault=fused-tail -n 10
assay compare bad.onnx --against float.onnx -e reference:round=on -n 10 --format json -o out.json
grep -o '"damaged": [0-9a-z]*\|"why": "[^"]*"\|"formats": "[a-z0-9]*"' out.json | head -4
# float16: numbers that it does not have.
model wide.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,4] y)
<float[1] k = {30000}>
{ m = Mul(x, k) y = Div(m, k) }
END
model half.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,4] y)
<float[1] c = {30000}>
{ k = Cast <to: int = 10> (c) h = Cast <to: int = 10> (x) m = Mul(h, k) d = Div(m, k) y = Cast <to: int = 1> (d) }
END
assay compare half.onnx --against wide.onnx -e reference:round=on -n 10
# Nodes kept in float32, and the model with them.
assay compare good.onnx --against float.onnx -e reference:round=on -n 10 --keep-float 0.1% -o mixed.onnx
assay compare mixed.onnx --against float.onnx -e reference:round=on -n 10
# A product of levels is kept as well.
model products.onnx <<END
<ir_version: 8, opset_import: ["": 13]>
g (float[1,4] x) => (float[1,3] y)
<int8[4,3] q = {64, -127, 32, 127, 95, -64, -32, 64, 127, 16, -95, 48}, int8[3] z = {0, 0, 0},
 float[3] s = {0.007874015748, 0.007874015748, 0.007874015748}, float i = {0.03125}, uint8 j = {128},
 float o = {0.03125}, uint8 p = {0}>
{ l = QuantizeLinear(x, i, j) k = QLinearMatMul(l, i, j, q, s, z, o, p) r = DequantizeLinear(k, o, p) y = Add(r, r) }
END
assay compare products.onnx --against float.onnx -e reference:round=on -n 10 --keep-float 1% -o plain.onnx
assay compare plain.onnx --against float.onnx -e reference:round=on -n 10
assay compare bad.onnx --against float.onnx -e reference:round=on -n 10 --format html -o map.html
grep -o '"culprit": true\|"note": "[^"]*"' map.html
# Mistakes.
assay compare good.onnx -e reference:round=on --format html
assay compare good.onnx --against float.onnx -e reference:round=on --keep-float 0.1% -o mixed.onnx
assay compare good.onnx --against float.onnx -e reference:round=on --keep-float little
assay compare good.onnx -e reference:round=on --keep-float 0.1%
assay compare good.onnx bad.onnx --against float.onnx -e reference:round=on
assay compare good.onnx --against nothing.onnx -e reference:round=on
assay compare good.onnx --against wide.onnx -e reference:round=on
