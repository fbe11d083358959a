# Cases whose own files are missing or broken are not the engine's fault, and are not forgotten.
mkdir -p suite/good suite/broken suite/empty/test_data_set_0 suite/nodata suite/none
cp -r "$cases/node/test_identity/." suite/good
cp -r "$cases/node/test_identity/." suite/broken
head -c 20 suite/good/model.onnx >suite/empty/model.onnx
cp suite/good/model.onnx suite/nodata
printf 'rubbish' >suite/broken/test_data_set_0/input_0.pb
assay conform suite -e identity --list
assay conform suite/good suite/broken -e identity --format junit
# Elements that a mask leaves out are not compared; a mask of another shape is a mistake.
mkdir -p masked/test_data_set_0
model masked/model.onnx <<'END_MODEL'
<ir_version: 7, opset_import: ["": 13]>
g (float[2] x) => (float[2] y) { y = Abs(x) }
END_MODEL
set=masked/test_data_set_0
printf '\x08\x02\x10\x01\x4a\x08\0\0\x80\x3f\0\0\0\x40' >$set/input_0.pb
printf '\x08\x02\x10\x01\x4a\x08\0\0\x80\x3f\0\0\0\x41' >$set/output_0.pb
assay conform masked -e reference --no-reference --list
printf '\x08\x02\x10\x09\x4a\x02\x01\0' >$set/mask_0.pb
assay conform masked -e reference --no-reference --list
printf '\x08\x02\x10\x09\x4a\x02\0\x01' >$set/mask_0.pb
assay conform masked -e reference --no-reference --list
printf '\x08\x01\x10\x09\x4a\x01\x01' >$set/mask_0.pb
assay conform masked -e reference --list
