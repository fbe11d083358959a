# Tools that make one model from another, as engines: what they write runs on the reference.
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 4] x) => (float[2, 4] y) { a = Relu (x) b = Add (a, x) y = Neg (b) }
EOF
cat >tools.ini <<'EOF'
[same]
transform = cp {in} {out}
then = reference
[sub]
transform = sh -c "sed s/Add/Sub/ {in} > {out}"
then = reference
[refuses]
transform = sh -c "echo 'first a line' >&2; echo 'cannot do Relu {in} {out}' | sed 's,/[^ ]*,FILE,g' >&2; exit 3"
then = reference
[lacks]
transform = sh -c "echo 'Relu is not supported {in} {out}' | sed 's,/[^ ]*,FILE,g' >&2; exit 1"
then = reference
lacks = no kernel|not supported
[invalid]
transform = sh -c "sed s/Relu/Rolu/ {in} > {out}"
then = reference
[rubbish]
transform = sh -c "echo rubbish {in} > {out}"
then = reference
[nothing]
transform = true {in} {out}
then = reference
[renames]
transform = sh -c "tr y z < {in} > {out}"
then = reference
[crashes]
transform = sh -c "kill -SEGV $$ # {in} {out}"
then = reference
[hangs]
transform = sh -c "sleep 100 # {in} {out}"
then = reference
[twice]
transform = cp {in} {out}
then = sub
EOF
assay compare net.onnx -E tools.ini -e same -e twice -e sub -e refuses -e lacks -e invalid -e rubbish -e nothing -e renames
assay compare net.onnx -E tools.ini -e crashes -e hangs --deadline 2s --format json | grep -E '"(verdict|outcome|signal)"' | sort | uniq -c
assay localize net.onnx -E tools.ini -e sub
assay reduce net.onnx -E tools.ini -e sub -o reduced
ls reduced
assay fuzz -E tools.ini -e same --ops Relu,Add --cases 20 --no-probe -o campaign | grep -c wrong
assay run net.onnx -E tools.ini -e same
# A tool that stores numbers in fewer bits loses precision, and is wrong when it does something else besides.
model floats.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = {0.31, -1.27, 0.845, 0.12, -0.5, 0.77}, float[2] b = {0.1, -0.2}>
{ m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }
END
model int8.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <int8[3, 2] q = {31, -127, 84, 12, -50, 77}, float s = {0.01}, float[2] b = {0.1, -0.2}>
{ w = DequantizeLinear (q, s) m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }
END
model half.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = {0.31, -1.27, 0.845, 0.12, -0.5, 0.77}, float[2] b = {0.1, -0.2}>
{ h = Cast <to = 10> (w) f = Cast <to = 1> (h) m = MatMul (x, f) a = Add (m, b) y = Tanh (a) }
END
model scale.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <int8[3, 2] q = {31, -127, 84, 12, -50, 77}, float s = {0.011}, float[2] b = {0.1, -0.2}>
{ w = DequantizeLinear (q, s) m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }
END
model bias.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <int8[3, 2] q = {31, -127, 84, 12, -50, 77}, float s = {0.01}, float[2] b = {0.1, -0.201}>
{ w = DequantizeLinear (q, s) m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }
END
model sub.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <int8[3, 2] q = {31, -127, 84, 12, -50, 77}, float s = {0.01}, float[2] b = {0.1, -0.2}>
{ w = DequantizeLinear (q, s) m = MatMul (x, w) a = Sub (m, b) y = Tanh (a) }
END
model digits.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
net (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = {0.31, -1.27, 0.84, 0.12, -0.5, 0.77}, float[2] b = {0.1, -0.2}>
{ m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }
END
for tool in int8 half scale bias sub digits; do
    printf '[%s]\ntransform = sh -c "cat {here}/%s.onnx > {out} # {in}"\nthen = reference\n' $tool $tool
done >formats.ini
assay compare floats.onnx -E formats.ini -e int8 -e half --seed 1
assay compare floats.onnx -E formats.ini -e int8 --seed 1 | tail -n 2
assay compare floats.onnx -E formats.ini -e scale -e bias -e sub -e digits --seed 1 | grep -E '^  [a-z]+ is wrong' | cut -d' ' -f1-5
