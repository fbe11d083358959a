# Usage errors say what is wrong and what to do next.
assay
assay frobnicate
assay help frobnicate
assay localise model.onnx
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
# Numbers that mean nothing, values that are options, slips of the pen.
assay run "$cases/node/test_abs/model.onnx" -e identity --random 0
assay run "$cases/node/test_abs/model.onnx" -e identity --workers 0
assay run "$cases/node/test_abs/model.onnx" -e identity --deadline 0
assay run "$cases/node/test_abs/model.onnx" -e identity --sed 3
assay run "$cases/node/test_abs/model.onnx" -e identity --data --format json
assay run '' -e identity
assay compare "$cases/node/test_abs/model.onnx" -e identity --percent 101
assay compare "$cases/node/test_abs/model.onnx" -e identity --data "$cases/node/test_abs/test_data_set_0" --dim batch=2
assay engines reference nobody
assay fuzz -e identity -o campaign --opset 99 --count 1
assay bisect "$cases/node/test_abs" -e identity --no-knobs
ls
# Files of another kind, pipes, folders.
echo 'no model' >text.onnx
: >empty.onnx
mkfifo pipe.onnx
mkdir folder.onnx
for file in text empty pipe folder; do
    assay run $file.onnx -e identity
done
assay run "$cases/node/test_abs/model.onnx" -e identity --data text.onnx
assay engines -E folder.onnx
# The disk is full.
assay engines identity -o /dev/full
# A list of known issues that would hide too much, a folder without blocks.
printf '[x]\nengine = identity\nsymptom = wrong\noperators = Relu\ncause = it is slow\n' >known.ini
assay fuzz -e identity -o campaign --known known.ini --count 1
assay blocks list --blocks folder.onnx
ls
