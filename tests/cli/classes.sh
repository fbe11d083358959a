# Whose matter a finding is, in words and in JSON.
model softmax.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
soft (float[1,3] x) => (float[1,3] y)
<float big = {1000}>
{
    b = Mul(x, big)
    y = Softmax <axis: int = 1> (b)
}
END
assay compare softmax.onnx -e reference:round=on -e reference:fault=softmax-no-max -n 3
assay localize softmax.onnx -e reference:fault=softmax-no-max -n 3 --method local
assay localize softmax.onnx -e reference:fault=softmax-no-max -n 1 --method local --format json
assay compare softmax.onnx -e reference:round=on -e reference:fault=softmax-no-max -n 1 --format json
