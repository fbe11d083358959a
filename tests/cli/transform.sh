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
