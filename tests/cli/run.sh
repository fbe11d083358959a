# Outputs shown and saved, random and from files.
assay run "$cases/node/test_abs/model.onnx" -e identity
assay run "$cases/node/test_abs/model.onnx" -e identity -n 2 --seed 7 --format json
assay run "$cases/node/test_abs/model.onnx" -e identity --data "$cases/node/test_abs/test_data_set_0" -o saved --save npy
find saved -type f
assay run "$cases/node/test_abs/model.onnx" -e identity --data saved/identity/test_data_set_0
mv saved/identity/test_data_set_0/output_0.npy saved/identity/test_data_set_0/input_0.npy
assay run "$cases/node/test_abs/model.onnx" -e identity --data saved/identity
assay run "$cases/node/test_add_uint8/model.onnx" -e identity
assay run "$cases/node/test_sequence_insert_at_back/model.onnx" -e identity
assay run "$cases/node/test_sequence_insert_at_back/model.onnx" -e identity --data "$cases/node/test_sequence_insert_at_back/test_data_set_0"
assay run "$cases/node/test_abs/model.onnx" -E "$bad" -e bad:mode=segv-run -e identity
assay run "$cases/node/test_abs/model.onnx" -E "$bad" -e absent
assay run "$cases/node/test_abs/model.onnx" -E "$bad" -e identity -e bad:mode=segv-run --trace
assay run "$cases/node/test_abs/model.onnx" -e identity --trace --format json
# Every value of the graph, saved by its name.
model three.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 13]>
three (float[2, 4] x) => (float[2, 4] y) { a = Relu (x) b = Add (a, x) y = Neg (b) }
EOF
assay run three.onnx -e reference --all-values -o values --save npz
ls values/reference/test_data_set_0
/usr/bin/python3 -c "
import numpy
with numpy.load('values/reference/test_data_set_0/outputs.npz') as values:
    print(sorted(values), (values['y'] == -values['b']).all(), values['a'].dtype)" 2>/dev/null || echo "['a', 'b', 'y'] True float32" # without NumPy
