# An engine's own build, declared to be like the engine, has its known issues.
cat >own.ini <<END_INI
[ort-dev]
command = {libexec}/assay-engine-onnxruntime
library = {data}/onnxruntime/1.30.0/libonnxruntime.so
like = onnxruntime

[ort-dev-2]
command = {libexec}/assay-engine-onnxruntime
library = {data}/onnxruntime/1.30.0/libonnxruntime.so
like = ort-dev
END_INI
found=$source/docs/found/onnxruntime/gelu-half-read
assay compare "$found/model.onnx" --data "$found/test_data_set_0" -E own.ini -e ort-dev -e ort-dev-2
