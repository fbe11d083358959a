# Two releases, so that the output is the same wherever more are fetched.
mkdir -p data/onnxruntime
for version in 1.12.0 1.30.0; do ln -s "$ASSAY_DATA/onnxruntime/$version" data/onnxruntime/; done
ASSAY_DATA=$PWD/data
bugs=$source/tests/known-bugs
assay bisect "$bugs/floor-large-f32" -e onnxruntime
assay bisect "$bugs/layernorm-fusion-keepdims0" -e onnxruntime
assay bisect "$bugs/relu-clip-nanmin" -e onnxruntime --step 1
assay bisect "$bugs/relu-clip-double" -e onnxruntime@1.30.0 --format json | sed -E 's#"(text|message)": ".*"#"\1": "..."#'
assay bisect "$bugs/floor-large-f32/model.onnx" --data "$bugs/floor-large-f32/test_data_set_0" -e onnxruntime:opt=none --no-knobs
cp "$bugs/floor-large-f32/model.onnx" floor.onnx
assay bisect floor.onnx -n 1 -e onnxruntime
assay bisect "$bugs" -e onnxruntime
assay bisect "$bugs/floor-large-f32" -e onnxruntime@0.1
assay bisect "$bugs/floor-large-f32"
