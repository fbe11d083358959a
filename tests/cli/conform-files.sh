# Cases whose own files are missing or broken are not the engine's fault, and are not forgotten.
mkdir -p suite/good suite/broken suite/empty/test_data_set_0 suite/nodata suite/none
cp -r "$cases/node/test_identity/." suite/good
cp -r "$cases/node/test_identity/." suite/broken
head -c 20 suite/good/model.onnx >suite/empty/model.onnx
cp suite/good/model.onnx suite/nodata
printf 'rubbish' >suite/broken/test_data_set_0/input_0.pb
assay conform suite -e identity --list
assay conform suite/good suite/broken -e identity --format junit
