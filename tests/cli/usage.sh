# Usage errors say what is wrong and what to do next.
assay
assay frobnicate
assay conform
assay conform "$cases/node/test_abs"
assay conform "$cases/node/test_abs" --frobnicate
assay conform "$cases/node/test_abs" -x
assay conform "$cases/node/test_abs" -e
assay conform "$cases/node/test_abs" -e identity --format yaml
assay conform "$cases/node/test_abs" -e identity --deadline soon
assay conform "$cases/node/test_abs" -e identity --memory much
assay conform "$cases/node/test_abs" -e identity --list=yes
assay conform "$scratch/none" -e identity
assay conform "$scratch/here" -e identity
assay conform "$cases/node/test_abs" -e identity --match 'nothing*'
assay run -e identity
assay run none.onnx -e identity
assay run "$cases/node/test_abs/model.onnx" -e identity --data . --random 3
assay run "$cases/node/test_abs/model.onnx" -e identity --dim batch
assay run "$cases/node/test_abs/model.onnx" -e identity --dim batch=2
assay compare "$cases/node/test_abs/model.onnx" -e identity
assay compare "$cases/node/test_abs/model.onnx" -e identity -e identity --top 0
