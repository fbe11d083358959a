# A handful of cases, one of which ONNX Runtime 1.12.0 gets wrong and 1.30.0 right (the official cases of a newer libonnx are of
# an opset that 1.12.0 has not).
assay conform "$source/tests/known-bugs/convtranspose-same-upper" -e onnxruntime@1.12.0 -e onnxruntime@1.30.0:opt=none
assay conform "$cases" -m 'node/test_sequence_insert*' -e onnxruntime@1.30.0 --list
assay conform "$cases/simple" -m 'test_[egs][erx]*' -e onnxruntime@1.30.0 --list
assay conform "$source/tests/known-bugs/div-int-zero" -e onnxruntime@1.12.0 -e onnxruntime@1.30.0 --list
