# A library that computes in fewer bits by its own default: right by what its setting says, and said to be so.
model=$source/models/language/tiny/llama-21-int4.onnx
sizes='--dim batch=1 --dim sequence=2 --dim past=3'
assay compare "$model" -e onnxruntime@1.30.0 $sizes | grep -v '^                '
assay compare "$model" -e onnxruntime@1.30.0:accuracy=1 $sizes | grep -E '^Computed|^Settings|computed correctly'
assay localize "$model" -e onnxruntime@1.30.0 $sizes --format json | grep -E '"(answer|lowered|complete)"'
# Which setting decides where tokens part.
assay decode "$model" -e onnxruntime@1.30.0:accuracy=1 -e onnxruntime@1.30.0 --steps 8 --seed 3 | sed -E 's/[0-9.e-]+ apart, .*/N apart .../'
# One layer, by eight bits in a row: 1 * 1 + 2 * 0 is 1.0079.
model eight.onnx <<'END'
<ir_version: 10, opset_import: ["" : 21]>
eight (float[1,32] x) => (float[1,2] y)
<int8[32,2] q = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64}, float s = {0.5}>
{
  w = DequantizeLinear (q, s)
  y = MatMul (x, w)
}
END
assay compare eight.onnx -e onnxruntime@1.30.0 -e onnxruntime@1.30.0:accuracy=1 --random 3 | grep -E '^Computed|^Settings|computed correctly|agrees'
assay conform "$cases/node/test_matmul_2d" -e onnxruntime@1.30.0
