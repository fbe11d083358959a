# Data sets: stacks of samples, answers that are kept, labels of one model alone, a wrong engine among right ones.
cp -r "$source/models/samples" data
lenet="$source/models/lenet5/lenet5.onnx"
assay compare "$lenet" -e reference:round=on -e reference:fault=conv-rotated --data data --batch 4 --judge 2 --time 10m --keep kept
ls kept | sed 's/-.*/-HASH/'
assay compare "$lenet" -e reference:round=on -e reference:fault=conv-rotated -e reference:round=on,opt=all --data data --batch 4 --time 10m --keep kept
# A file cut short: what is lost is run again.
for file in kept/*/*; do truncate -s -5 "$file"; done
quietly compare "$lenet" -e reference:round=on -e reference --data data --batch 4 --keep kept
# Samples that mix are run alone.
model mixed.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
mixed (float[N, 2] x) => (float[N, 2] y) { y = Softmax<axis = 0>(x) }
END
assay compare mixed.onnx -e reference:round=on -n 3 --dim N=1
# An engine that dies on a stack is asked for each sample alone, and blamed for those it dies on; kept answers say the same.
model open.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
open (float[N, 1] x) => (float[N, 1] y) { y = Identity(x) }
END
assay compare open.onnx -E "$bad" -e reference:round=on -e bad:mode=negative -n 6 --seed 8 --dim N=1 --keep open
quietly compare open.onnx -E "$bad" -e reference:round=on -e bad:mode=negative -n 6 --seed 8 --dim N=1 --keep open
