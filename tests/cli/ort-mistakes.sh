# What the user did is not the engine's fault, and an engine that cannot start is not tested.
model table.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[3, 2] table, int64[n] ids) => (float[n, 2] y) { y = Gather(table, ids) }
END
mkdir narrow range
npy narrow/input_0.npy '<f4' '3, 2' 24
npy narrow/input_1.npy '<i4' '2,' 8
npy range/input_0.npy '<f4' '3, 2' 24
npy range/input_1.npy '<i8' '1,' '\143\0\0\0\0\0\0\0'
assay compare table.onnx --data narrow -e onnxruntime@1.30.0
assay compare table.onnx --data range -e onnxruntime@1.30.0 -e onnxruntime@1.12.0
assay run table.onnx --data range -e onnxruntime@1.30.0
export ASSAY_LIBRARY_ONNXRUNTIME=/nowhere.so
assay fuzz -e onnxruntime --count 1000 -o campaign
assay compare "$cases/node/test_relu/model.onnx" -e onnxruntime
unset ASSAY_LIBRARY_ONNXRUNTIME
ls campaign
# Where so few bite, before or behind the folder, depends on what was open already.
( ulimit -n 14; quietly fuzz -e onnxruntime@1.30.0 --count 1000 -o campaign )
