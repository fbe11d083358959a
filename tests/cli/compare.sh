# Pairs of engines: agreement, crashes on some samples, several models.
abs="$cases/node/test_abs/model.onnx"
assay compare "$abs" -e identity -e identity -n 4
assay compare "$abs" "$cases/node/test_identity/model.onnx" -E "$bad" -e identity -e bad:mode=negative -n 6 --seed 2
assay compare "$abs" -E "$bad" -e identity -e bad:mode=segv-load -n 2 --format json
assay compare "$abs" -E "$bad" -e identity -e bad:mode=segv-load -n 2 --format junit
assay compare "$abs" -E "$bad" -e identity -e absent
# The folder of a case, such as a bundle, is its model on its inputs.
assay compare "$cases/node/test_abs" -e identity
assay localize "$cases/node/test_abs" -e identity | head -2
assay compare "$cases/node" -e identity
assay compare none.onnx -e identity -e identity
