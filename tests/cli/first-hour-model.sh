# The first hour with a model of one's own: the answer comes first, in words, with its evidence and its doubts.
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,4] x) => (float[N,2] y)
<float[2,4] w = {0.5, -1.0, 1.5, 0.25, 1.0, 2.0, -0.5, 0.75}, float[2] b = {0.1, -0.2}>
{
    h = Gemm <transB = 1> (x, w, b)
    y = Softmax(h)
}
EOF
answer() { assay "$@" | awk 'BEGIN { top = 1 } top || /^\[[0-9]+\]$/ { print } /^$/ { top = 0 } END { print "" }'; }
# Which engines are right, where another fails, on what evidence. The rest of the output is detail.
assay compare net.onnx -e reference:round=on -n 5
answer compare net.onnx -e reference:round=on -e reference:round=on,fault=gemm-turned-short -E "$bad" -e bad:mode=reject-load -n 5
answer compare net.onnx -E "$bad" -e bad:mode=segv-run -e absent
answer localize net.onnx -e reference:round=on,fault=gemm-turned-short
answer localize net.onnx -e reference:round=on -n 3
answer run net.onnx -e reference:round=on -n 3
answer grad net.onnx -e reference:round=on
answer check net.onnx -e reference:round=on --rules identity
answer search net.onnx -e reference:round=on -e reference -n 40 -o found | sed 's/ in [0-9]* s,/ in T s,/'
answer conform "$cases/node/test_abs" "$cases/node/test_add" -e reference:round=on -e identity
# CRADLE's numbers are shown on demand, with what they mean.
assay compare net.onnx -e reference:round=on -e reference -n 5 --metrics
assay localize net.onnx -e reference:round=on --metrics
# The same sentence in JSON, in JUnit and on the map.
assay compare net.onnx -e reference:round=on -n 5 --format json | grep '"answer"'
assay compare net.onnx -e reference:round=on -n 5 --format junit | grep '"answer"'
assay conform "$cases/node/test_abs" -e reference:round=on --format junit | grep '"answer"'
assay grad net.onnx -e reference:round=on --format json | grep '"answer"'
quietly localize net.onnx -e reference:round=on --format html -o map.html
grep -o '"answer": *"[^"]*"' map.html
# What could not be judged says why; nothing judged is never called correct.
model max.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17]>
net (float[3,4] x) => (int64[3,1] y, float[3,4] z)
{
    y = ArgMax <axis = 1> (x)
    z = Relu(x)
}
EOF
npy nan.npy '<f4' 3,4, '\0\0\200?\0\0\0@\0\0\0@\0\0\200?\0\0\200?\0\0\300\177\0\0\0@\0\0\200?\0\0\200?\0\0\0@\0\0\0@\0\0\200?'
answer compare max.onnx -e reference:round=on --data nan.npy
# It is told by sample and by index of the file, where rows are samples and where each has a file of its own.
model row.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[1,4] x) => (int64[1,1] y) { y = ArgMax<axis = 1>(x) }
END
answer compare row.onnx -e reference:round=on --data nan.npy
mkdir -p sets/test_data_set_0 sets/test_data_set_1
npy sets/test_data_set_0/input_0.npy '<f4' '1, 4' '\0\0\200?\0\0\0@\0\0\0@\0\0\200?'
npy sets/test_data_set_1/input_0.npy '<f4' '1, 4' '\0\0\200?\0\0\0@\0\0\300\177\0\0\200?'
answer compare row.onnx -e reference:round=on --data sets
model odd.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17, "com.example": 1]>
net (float[3] x) => (float[3] y) { y = com.example.Own(x) }
EOF
answer compare odd.onnx -E "$bad" -e bad -e bad:mode=negative
answer compare odd.onnx -E "$bad" -e bad
# Open dimensions have several sizes, the same for one name, unless --dim says otherwise.
model two.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,T,2] a, float[N,T,2] b) => (float[N,T,2] y) { y = Add(a, b) }
EOF
answer compare two.onnx -e reference:round=on -n 5
answer compare two.onnx -e reference:round=on -n 5 --dim T=4 --seed 2
answer run two.onnx -e reference
answer run two.onnx -e reference --dim U=2
# Sizes with which the model does not run are given up, and it is said; a model that needs larger ones gets them.
model fixed.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,T] x) => (float[1,8] y) <int64[2] s = {1, -1}, float[2,8] w = {1,2,3,4,5,6,7,8,8,7,6,5,4,3,2,1}>
{
    r = Reshape(x, s)
    y = MatMul(r, w)
}
EOF
answer run fixed.onnx -e reference -n 5
model conv.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,1,H,W] x) => (float[N,1,P,Q] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}>
{
    y = Conv(x, w)
}
EOF
answer run conv.onnx -e reference -n 5
# Data in a file of its own.
npy x.npy '<f4' 3,4, 48
npy one.npy '<f4' 4, 16
python3 - <<'EOF'
import zipfile
for name, method, members in (
        ("x.npz", zipfile.ZIP_STORED, {"x": "x.npy"}), ("packed.npz", zipfile.ZIP_DEFLATED, {"arr_0": "x.npy"}),
        ("only.npz", zipfile.ZIP_DEFLATED, {"anything": "x.npy"}), ("both.npz", zipfile.ZIP_DEFLATED, {"u": "x.npy", "v": "x.npy"})):
    with zipfile.ZipFile(name, "w", method) as archive:
        for key, file in members.items():
            archive.writestr(key + ".npy", open(file, "rb").read())
EOF
printf 'no archive' >bad.npz
printf '\10\1\10\4\20\1J\20' >x.pb
head -c 16 /dev/zero >>x.pb
mkdir folder
cp x.npy folder/z.npy
for data in x.npy x.npz packed.npz only.npz x.pb both.npz bad.npz one.npy folder none net.onnx; do
    answer run net.onnx -e reference --data $data
done
answer run two.onnx -e reference --data x.npy
answer run two.onnx -e reference --data both.npz
# A seed is any number of 64 bits.
for seed in 0 18446744073709551615 -1 -9223372036854775808 18446744073709551616 x 1.5; do
    assay run max.onnx -e reference --seed $seed --format json | grep -A4 '"first"\|takes'
done
