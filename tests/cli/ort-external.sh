# Weights in a second file, in every command: what it says of them is what it says of the same model in one file.
mkdir -p data/onnxruntime
for version in 1.12.0 1.30.0; do ln -s "$ASSAY_DATA/onnxruntime/$version" data/onnxruntime/; done
ASSAY_DATA=$PWD/data
# ONNX Runtime 1.12.0 has Floor wrong for what is beyond int32.
model whole.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[2,3] x) => (float[2,4] y) {
    w = Constant <value: tensor = float[3,4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> ()
    b = Constant <value: tensor = float[4] {1e20, -3e15, 0.25, 1e20}> ()
    p = MatMul(x, w)
    s = Add(p, b)
    y = Floor(s)
}
END
split whole.onnx floor.onnx
rm whole.onnx
old=onnxruntime@1.12.0:opt=none new=onnxruntime@1.30.0:opt=none
assay run floor.onnx -e $new -e reference:round=on
# A data folder that is set to nothing is not set, also for engines in the sandbox.
mkdir -p home/.local/share
ln -s "$PWD/data" home/.local/share/assay
HOME=$PWD/home XDG_DATA_HOME= ASSAY_DATA= assay run floor.onnx -e $new
assay compare floor.onnx -n 3 -e $old -e $new
assay localize floor.onnx -e $old
assay bisect floor.onnx -n 1 -e onnxruntime:opt=none --no-knobs
assay reduce floor.onnx -e $old -o small
ls small/model*
assay conform small -e $old -e $new --no-reference
assay report floor.onnx -e $old -o bundle
ls bundle/model*
assay replay bundle -e $old -e $new --list
# A case of the user's own, in a folder. Bundled as it is, it needs its second file no more.
mkdir -p case/test_data_set_0
cp floor.onnx case/model.onnx
cp floor.onnx.weights case
model same.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]> agraph (float[2,3] x) => (float[2,3] y) { y = Identity(x) }
END
quietly run same.onnx -e identity -o drawn
quietly run floor.onnx -e reference:round=on -o expected
cp drawn/identity/test_data_set_0/output_0.pb case/test_data_set_0/input_0.pb
cp expected/reference:round=on/test_data_set_0/output_0.pb case/test_data_set_0
assay conform case -e $old -e $new --list
assay replay case -e $old -e $new --list
assay report case -e $old --no-reduce --no-bisect -o kept
rm -r case
ls kept/model*
assay replay kept -e $old -e $new --list
# Answers that are kept are those of these weights.
kept() { "$build/src/cli/assay" compare floor.onnx -n 3 -e $new --keep answers --format json | grep '"kept"'; }
kept
kept
printf 'x' | dd of=floor.onnx.weights bs=1 seek=26 conv=notrunc status=none
kept
# Blocks are harvested from it.
assay blocks harvest floor.onnx -o blocks
# Weights lie beside the model, and nowhere else.
mkdir elsewhere
mv floor.onnx.weights elsewhere
for command in run compare bisect reduce localize; do assay $command floor.onnx -e $new; done
assay report floor.onnx -e $new -o none
ln -s elsewhere/floor.onnx.weights floor.onnx.weights
assay compare floor.onnx -e $new
