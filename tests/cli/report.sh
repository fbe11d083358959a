# A case that ONNX forbids is a mistake of whoever made it; that the engine ends over it is reported all the same.
model gather.onnx <<'TEXT'
<ir_version: 8, opset_import: ["": 13]>
g (float[3] x, int64[1] i) => (float[1] y) { y = Gather(x, i) }
TEXT
mkdir data
npy data/input_0.npy '<f4' '3,' '\0\0\200\077\0\0\0\100\0\0\100\100'
npy data/input_1.npy '<i8' '1,' '\003\0\0\0\0\0\0\0'
assay report gather.onnx --data data -E "$bad" -e bad -o good
assay report gather.onnx --data data -E "$bad" -e bad:mode=segv-run -o ends
sed '/^Stack/,/^ONNX/d' ends/report.md | head -n 5
cat ends/forbidden.txt
assay replay ends -E "$bad"
