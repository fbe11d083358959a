# An engine that computes float16 with float32 between its nodes keeps what float16 cannot hold.
model half.onnx <<'END'
<ir_version: 8, opset_import: ["": 17]> g (float[1, 4] x) => (float[1, 4] y) {
    h = Cast<to = 10>(x)
    square = Mul(h, h)
    mean = ReduceMean<axes = [-1]>(square)
    root = Sqrt(mean)
    n = Div(h, root)
    y = Cast<to = 1>(n)
}
END
npy large.npy '<f4' '1, 4' '\0\0\226\103\0\0\310\303\0\0\240\101\0\0\200\077'
for command in compare localize; do
    assay $command half.onnx --data large.npy -e onnxruntime@1.30.0 | grep -oE 'Mul \(node square\) overflows.*' | sort -u
done
