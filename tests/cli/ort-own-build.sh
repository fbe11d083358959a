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

[ort-old]
command = {libexec}/assay-engine-onnxruntime
library = {data}/onnxruntime/1.12.0/libonnxruntime.so
like = onnxruntime
END_INI
found=$build/tests/found/cases/onnxruntime/gelu-half-read
assay compare "$found/model.onnx" --data "$found/test_data_set_0" -E own.ini -e ort-dev -e ort-dev-2
# Two builds of one library are no two libraries that agree against the reference.
found=$build/tests/found/cases/onnxruntime/erf-nan
assay compare "$found/model.onnx" --data "$found/test_data_set_0" -E own.ini -e ort-old -e onnxruntime@1.12.0 | grep -E '^  (ort|onnx).*reference|^  (ort|onnx).*bug|^\['
# Its report has the library's programs.
assay report "$found/model.onnx" --data "$found/test_data_set_0" -E own.ini -e ort-old -o bundle
grep -oE 'onnxruntime_c_api.h|ort.InferenceSession' bundle/report.md
