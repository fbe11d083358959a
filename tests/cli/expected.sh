# Expected outputs are a third party beside engine and reference: who is wrong, and nobody blamed for a wrong expectation.
net() # EPSILON FILE
{
    model "$2" <<END
<ir_version: 8, opset_import: ["": 17]>
net (float[N,3,4,4] x) => (float[N,3] y)
<float[3] s = {1.0, 2.0, 0.5}, float[3] b = {0.1, -0.2, 0.3}, float[3] m = {0.2, 0.1, -0.1}, float[3] v = {0.01, 0.02, 0.03}>
{
    h = BatchNormalization <epsilon = $1> (x, s, b, m, v)
    r = Relu(h)
    g = GlobalAveragePool(r)
    y = Flatten(g)
}
END
}
model same.onnx <<'END'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,3,4,4] x) => (float[N,3,4,4] y) { y = Identity(x) }
END
net 0.00001 net.onnx
net 0.001 export.onnx
# case_of FOLDER MODEL FROM: a case of the model, that expects what FROM gives.
case_of()
{
    mkdir -p "$1" && cp "$2" "$1/model.onnx"
    for part in same.onnx:input "$3":output; do
        quietly run "${part%:*}" -e reference -n 2 --dim N=1 -o made --force
        for set in 0 1; do
            mkdir -p "$1/test_data_set_$set"
            cp "made/reference/test_data_set_$set/output_0.pb" "$1/test_data_set_$set/${part#*:}_0.pb"
        done
    done
}
case_of right net.onnx net.onnx
case_of otherexport net.onnx export.onnx
assay conform right otherexport -e reference:round=on
assay conform right otherexport -e reference:fault=bn-sqrt-var
assay conform otherexport -e reference:round=on --format json
assay conform otherexport -e reference:round=on --format junit
assay replay right otherexport -e reference:round=on --list
assay replay otherexport -e reference:fault=bn-sqrt-var
assay replay otherexport -e reference:round=on --format json | grep -v seconds
# Without the reference nobody can refute them.
assay conform otherexport -e reference:round=on --no-reference
# The same in compare: a folder of data sets, files by name, and what belongs to nothing.
assay compare net.onnx -e reference:round=on --data right
assay compare net.onnx -e reference:round=on -e reference:fault=bn-sqrt-var --data otherexport
assay compare net.onnx -e reference:fault=bn-sqrt-var --data right | head -3
assay compare net.onnx -e reference:round=on --data otherexport --format json | grep -A3 '"mistake"\|"expected"\|"not_used"'
assay compare net.onnx -e reference:round=on --data otherexport --format junit
quietly run same.onnx -e reference -n 1 --dim N=1 --save npy -o made --force
mkdir named && cp made/reference/test_data_set_0/output_0.npy named/x.npy && cp named/x.npy named/y.npy
npy named/z.npy '<f4' 3, 12
assay compare net.onnx -e reference:round=on --data named
# In one file, by the names of input and output, and what belongs to nothing: outputs of this model, and of another export.
for part in net export; do
    quietly run $part.onnx -e reference -n 1 --dim N=1 --save npy -o made --force
    cp made/reference/test_data_set_0/output_0.npy $part.npy
done
python3 - <<'END'
import zipfile
for part in "net", "export":
    for name, unused in ("y", "z"), ("labels", "y2"):
        with zipfile.ZipFile(f"{part}-{name}.npz", "w") as archive:
            archive.write("named/x.npy", "x.npy")
            archive.write(f"{part}.npy", f"{name}.npy")
            archive.write(f"{part}.npy", f"{unused}.npy")
END
assay compare net.onnx -e reference:round=on --data net-y.npz | head -2
assay compare net.onnx -e reference:round=on --data export-y.npz
# The same arrays called labels are the true outputs.
for part in net export; do
    assay compare net.onnx -e reference:round=on --data $part-labels.npz | sed -n '1,2p;/^net.onnx: /p;/^\[/p'
done
# More samples than are judged: those that are not as expected are judged all the same.
model relu.onnx <<'END'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,2] x) => (float[N,2] y) { y = Relu(x) }
END
mkdir many && npy many/samples.npy '<f4' 300,2, 2400
{ npy many/y.npy '<f4' 300,2, 2000 && printf '\0\0\200?' && head -c 396 /dev/zero; } >>many/y.npy
assay compare relu.onnx -e reference:round=on --data many --judge 3 --operators 3
# Fewer of them than there are samples; a file cut short; an output too many.
npy many/y.npy '<f4' 299,2, 2392
assay compare relu.onnx -e reference:round=on --data many
head -c 1000 many/samples.npy >many/y.npy
assay compare relu.onnx -e reference:round=on --data many
cp right/test_data_set_0/output_0.pb right/test_data_set_0/output_1.pb
assay compare net.onnx -e reference:round=on --data right
# Labels that the model meets no more often than chance would.
mkdir labelled && npy labelled/samples.npy '<f4' 24,2, 192
for ((i = 0; i < 24; i++)); do echo 1; done >labelled/labels.txt
assay compare relu.onnx -e reference:round=on --data labelled
assay compare relu.onnx -e reference:round=on --data labelled --format junit
for ((i = 0; i < 24; i++)); do echo 0.5 0.25; done >labelled/labels.txt
assay compare relu.onnx -e reference:round=on --data labelled
