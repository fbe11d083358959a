# Blocks: the list, one of them, a harvest and what it brings.
assay blocks list | grep -E '^(block|attention|residual) '
assay blocks list --operators | grep -E '^Conv '
assay blocks --format json | head -14
assay blocks show channel-shuffle Relu
assay blocks show nosuch
assay blocks frobnicate
assay blocks harvest
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 13]>
net (float[1, 4, 8] x, float[8, 6] w) => (float[1, 4, 6] y) { a = Relu (x) b = MatMul (a, w) y = Softmax (b) }
EOF
assay blocks harvest net.onnx -o cut
assay blocks harvest net.onnx --most 1 -o cut1 --format json
cat cut/cut-MatMul-Softmax-*.onnxtxt
assay blocks show $(basename cut/cut-Relu-MatMul-Softmax-* .onnxtxt) --blocks cut
echo rubbish >cut/bad.onnxtxt
assay blocks list --blocks cut
echo rubbish >bad.onnx
assay blocks harvest bad.onnx -o cut
