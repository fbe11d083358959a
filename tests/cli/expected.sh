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
