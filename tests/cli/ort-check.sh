# A rewritten form that an engine refuses is judged like any refusal: a fault where the graph runs untouched, a lack where a node alone is lacking.
assay check "$source/models/lenet5/lenet5.onnx" -e onnxruntime@1.12.0 -e onnxruntime@1.12.0:opt=none --rules elementwise-transposed
assay check "$source/models/lenet5/lenet5.onnx" -e onnxruntime@1.12.0 --rules elementwise-transposed --format json | grep -E '"(original|same|changed|not_run|rewriting|verdict)":'
model mod.onnx <<'END_MODEL'
<ir_version: 7, opset_import: ["": 14]>
g (int16[2,3] a, int16[2,3] b) => (int16[2,3] y) { y = Mod(a, b) }
END_MODEL
assay check mod.onnx -e onnxruntime@1.30.0 --rules mod-formula,identity
assay check mod.onnx -e onnxruntime@1.30.0 --rules mod-formula --format json | grep -A 3 first_not_run
