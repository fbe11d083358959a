# Two releases, so that the output is the same wherever more are fetched.
mkdir -p data/onnxruntime
for version in 1.12.0 1.30.0; do ln -s "$ASSAY_DATA/onnxruntime/$version" data/onnxruntime/; done
ASSAY_DATA=$PWD/data
bugs=$source/tests/known-bugs
assay bisect "$bugs/floor-large-f32" -e onnxruntime
# With the older release under three more names, and the newer one under another, there are stretches.
mkdir -p more/onnxruntime
for version in 1.10.0 1.10.1 1.11.0 1.12.0; do ln -s "$ASSAY_DATA/onnxruntime/1.12.0" more/onnxruntime/$version; done
for version in 1.30.0 1.30.1; do ln -s "$ASSAY_DATA/onnxruntime/1.30.0" more/onnxruntime/$version; done
(ASSAY_DATA=$PWD/more && assay bisect "$bugs/floor-large-f32" -e onnxruntime --no-knobs)
assay bisect "$bugs/layernorm-fusion-keepdims0" -e onnxruntime
assay bisect "$bugs/relu-clip-nanmin" -e onnxruntime --step 1
assay bisect "$bugs/relu-clip-double" -e onnxruntime@1.30.0 --format json | sed -E 's#"(text|message)": ".*"#"\1": "..."#'
assay bisect "$bugs/floor-large-f32/model.onnx" --data "$bugs/floor-large-f32/test_data_set_0" -e onnxruntime:opt=none --no-knobs
cp "$bugs/floor-large-f32/model.onnx" floor.onnx
assay bisect floor.onnx -n 1 -e onnxruntime
assay bisect "$bugs" -e onnxruntime
assay bisect "$bugs/floor-large-f32" -e onnxruntime@0.1
assay bisect "$bugs/floor-large-f32"
# A model that ONNX forbids has no expected output: that a release answers it is what is found, replayed and looked for in others.
forbidden="$build/tests/found/cases/onnxruntime/cast-type-undefined"
assay bisect "$forbidden" -e onnxruntime --no-knobs | sed -E 's/[0-9]+\.[0-9]+\.[0-9]+ to [0-9.]+[0-9]/FIRST to LAST/g; s/(LAST +)[0-9]+/\1N/; s/[0-9]+ installed.*/N installed releases/; s/  +/  /g'
quietly report "$forbidden" -e onnxruntime@1.30.0 --no-reduce -o forbidden
grep -oE '^- Affected|other releases were not tried' forbidden/report.md
assay replay forbidden
