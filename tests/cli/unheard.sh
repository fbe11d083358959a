# Status 0 means that every engine answered and every answer was judged; else the first line says what was not.
round=reference:round=on
one="$cases/node/test_identity"
model relu.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { y = Relu(x) }
END
# An engine that gives no outputs, or a sequence, is wrong, and not right when run again.
assay compare relu.onnx -E "$bad" -e bad:mode=no-outputs
assay compare relu.onnx -E "$bad" -e bad:mode=sequence
assay compare relu.onnx -E "$bad" -e absent -e $round --format junit
# Nothing but undecided elements: a third, three times, is 1 give or take its rounding, and nothing is shown of the way there.
model third.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[1] x) => (float[1] y) {
    three = Constant<value = float[1] {3.0}>()
    d = Div(x, three)
    m = Mul(d, three)
    f = Floor(m)
    i = Cast<to = 7>(f)
    table = Constant<value = float[3] {5.0, 1.0, 7.0}>()
    y = Gather(table, i)
}
END
mkdir one
npy one/input_0.npy '<f4' '1,' '\0\0\200\077'
assay compare third.onnx --data one -E "$bad" -e bad
assay compare third.onnx --data one -E "$bad" -e bad --format junit
# Operator by operator it can be judged, where the engine shows its values.
assay compare third.onnx --data one -e $round
# ONNX leaves it open what a number becomes that its type cannot hold: all elements, one output of two, some elements.
model cast.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[2] x) => (int32[2] y) {
    huge = Constant<value = float[2] {1e30, -1e30}>()
    y = Cast<to = 6>(huge)
}
END
model two.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[2] x) => (float[2] r, int32[2] y) {
    huge = Constant<value = float[2] {1e30, -1e30}>()
    r = Relu(x)
    y = Cast<to = 6>(huge)
}
END
model some.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[2] x) => (int32[2] y) {
    huge = Constant<value = float[2] {1e30, 3.0}>()
    y = Cast<to = 6>(huge)
}
END
for name in cast two some; do
    assay compare $name.onnx -e $round
done
model relu2.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Relu(x) }
END
assay localize cast.onnx -e $round
assay bisect cast.onnx -e $round
mkdir -p open/test_data_set_0
cp cast.onnx open/model.onnx
quietly run relu2.onnx -e identity -o kept2
cp kept2/identity/test_data_set_0/output_0.pb open/test_data_set_0/input_0.pb
assay report open -e $round -o bundle
# Refusals that nobody can judge.
lacks="$cases/node/test_momentum"
assay compare "$lacks/model.onnx" -E "$bad" -e bad:mode=reject-load
assay run "$one/model.onnx" -E "$bad" -e absent --format json
# A suite of which an engine supports nothing; a case that brings no answer and that nobody judges.
assay conform "$lacks" -e $round
assay conform "$lacks" -e $round --format junit
assay replay "$lacks" -e $round --format junit
mkdir -p bare/test_data_set_0
cp "$lacks/model.onnx" bare
cp "$lacks"/test_data_set_0/input_*.pb bare/test_data_set_0
assay conform bare -e identity --list
assay replay bare -e identity
# A past finding whose model never loads.
mkdir -p never/test_data_set_0
model never/model.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { y = Relu(x, x) }
END
quietly run relu.onnx -e identity -o kept
cp kept/identity/test_data_set_0/output_0.pb never/test_data_set_0/input_0.pb
echo '{"format": 1, "title": "an old one", "kind": "wrong", "engine": "bad:mode=reject-load"}' >never/finding.json
assay replay never -E "$bad"
assay replay never -E "$bad" --format junit
# A campaign whose engine does not start leaves nothing behind; one whose engine no longer does stops.
assay fuzz -E "$bad" -e absent --count 1000 -o campaign
ls campaign
cat >fading.ini <<END
[fading]
command = /bin/sh -c "mkdir $PWD/started && exec '$build/tests/adapters/assay-engine-bad' || exit 3"
launcher = yes
END
assay fuzz -E fading.ini -e fading:mode=segv-load --count 1000 --ops Relu --no-probe --no-reduce -o campaign |
    grep -v '^ '
