# CRADLE's distances with classes, with true outputs and without labels. Abs against identity: the answers differ wherever
# an input is negative.
abs="$cases/node/test_abs/model.onnx"
quietly run "$abs" -e identity -n 12 -o data --save npy
for set in data/identity/*; do mv "$set/output_0.npy" "$set/input_0.npy"; done
mv data/identity labelled
for ((i = 0; i < 12; i++)); do echo $((i * 5)); done >labelled/labels.txt
assay compare "$abs" -e onnxruntime@1.30.0 -e identity -e onnxruntime@1.12.0 --data labelled
assay compare "$abs" -e onnxruntime@1.30.0 -e identity --data labelled --format json
assay compare "$abs" -e onnxruntime@1.30.0 -e onnxruntime@1.12.0 --data labelled --format junit
for ((i = 0; i < 12; i++)); do for ((k = 0; k < 60; k++)); do printf '0.5 '; done; echo; done >labelled/labels.txt
assay compare "$abs" -e onnxruntime@1.30.0 -e identity --data labelled
assay compare "$abs" -e onnxruntime@1.30.0 -e onnxruntime@1.30.0:opt=none -n 3
assay compare "$cases/node/test_softmax_example/model.onnx" -e onnxruntime@1.30.0 -e onnxruntime@1.12.0 -n 3
# Two outputs, of which only the first differs, in the first sample.
assay compare "$build/tests/found/cases/onnxruntime/maxpool-quantize-indices/model.onnx" --data "$build/tests/found/cases/onnxruntime/maxpool-quantize-indices/test_data_set_0" -e onnxruntime@1.30.0 -e onnxruntime@1.30.0:opt=none
