# Folders for output in which somebody has put links, pipes or second names of the user's files.
SECONDS_EACH=60
own_files
cp mine/good.onnx .
pristine=pristine

# Of outputs: the engine's folder, the sample's and the file. --force is for outputs of an earlier run.
holds run good.onnx -e reference --random 1 -o pristine
file=$(cd pristine && find . -type f) file=${file#./}
for target in .bashrc new pipe empty; do
    for name in reference "${file%/*}" "$file"; do
        plant "$name" $target
        refuses run good.onnx -e reference --random 1 -o theirs --force
    done
done

# Of answers that are kept.
rm -rf pristine
holds compare good.onnx -e reference --random 2 --keep pristine
file=$(cd pristine && find . -type f) file=${file#./}
for target in new pipe empty; do
    for name in "${file%/*}" "$file"; do
        plant "$name" $target
        refuses compare good.onnx -e reference --random 2 --keep theirs
    done
done
plant "$file" hard:.bashrc
refuses compare good.onnx -e reference --random 2 --keep theirs

# Of blocks and of probes.
model block.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,4] x, float[1,4] z) => (float[1,4] y) { a = Add(x, z) b = Relu(a) c = Mul(b, x) y = Sigmoid(c) }
END
rm -rf pristine
holds blocks harvest block.onnx -o pristine
file=$(cd pristine && ls | head -n 1)
[ -n "$file" ] || fail "no block was harvested"
for target in .bashrc new pipe; do
    plant "$file" $target
    refuses blocks harvest block.onnx -o theirs
    plant "$file" $target
    refuses blocks harvest block.onnx -o theirs --force
done
rm -rf pristine
holds probe -e reference --ops Relu --quick --keep pristine
file=$(cd pristine && ls)
for target in new pipe empty; do
    plant "$file" $target
    refuses probe -e reference --ops Relu --quick --keep theirs
done

# Of reduced cases, which replace only what Assay made.
rm -rf pristine
classes_model
large_input
holds reduce classes.onnx --data x.npy -e reference:fault=softmax-no-max -o pristine
for name in model.onnx test_data_set_0 reduced.json; do
    plant $name .bashrc
    planted=$name
    refuses reduce classes.onnx --data x.npy -e reference:fault=softmax-no-max -o theirs --force
done
[ $through = 0 ] || fail "$through ways lead out of the folder"
