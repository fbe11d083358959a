# Numbers beyond what their type holds are named: the node, how many, how far, and what the engine did about them.
said() { assay "$@" | grep -oE '[A-Z][A-Za-z]* \(node [a-z]*\) (over|under)flows.*|worst-case rounding .*' | sort -u; }
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
# 300, -400, 20 and 1, and ten-thousandths.
npy large.npy '<f4' '1, 4' '\0\0\226\103\0\0\310\303\0\0\240\101\0\0\200\077'
npy tiny.npy '<f4' '1, 4' '\027\267\321\070\027\267\321\270\027\267\321\070\027\267\321\070'
said compare half.onnx --data large.npy -e reference:round=on
said localize half.onnx --data large.npy -e reference:round=on
said compare half.onnx --data tiny.npy -e reference:round=on
# Within the type nothing is named.
npy small.npy '<f4' '1, 4' '\0\0\100\100\0\0\200\300\0\0\240\101\0\0\200\077'
said compare half.onnx --data small.npy -e reference:round=on
# Pow as exporters write a norm: the node whose result does not fit is named, and not the mean that reads it.
model norm.onnx <<'END'
<ir_version: 8, opset_import: ["": 17]> g (float16[N, 4] x) => (float16[N, 4] y) <float[1] two = {2}> {
    e = Cast<to = 10>(two)
    pow = Pow(x, e)
    mean = ReduceMean<axes = [-1]>(pow)
    root = Sqrt(mean)
    y = Div(x, root)
}
END
# 300, -400, 20 and 1 in float16.
npy halves.npy '<f2' '1, 4' '\260\134\100\336\0\115\0\074'
said compare norm.onnx --data halves.npy -e reference:round=on
# Rounding that adds up over layers is no overflow; where nothing is seen of the layers the bound cannot be had.
{
    echo '<ir_version: 8, opset_import: ["": 17]> g (float[1, 8] x) => (float[1, 8] y)'
    echo "<float[8, 8] w = {$(numbers 64 1)}, float[8] s = {1, 1, 1, 1, 1, 1, 1, 1}> { v0 = Cast<to = 10>(x) m = Cast<to = 10>(w) t = Cast<to = 10>(s)"
    for i in 0 1 2 3 4 5 6 7; do echo "a$i = MatMul(v$i, m) v$((i + 1)) = LayerNormalization(a$i, t)"; done
    echo 'y = Cast<to = 1>(v8) }'
} | model deep.onnx
said compare deep.onnx -e reference:round=on
said compare deep.onnx -E "$bad" -e bad | sed -E 's/(as|by) -?[0-9.e+]+/\1 N/g' | sort -u
