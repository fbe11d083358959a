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
# A transformer block in float16, whose rounding has no bound as a whole: every operator is judged, as it stands and as
# it is fused, and that is an answer.
{
    echo '<ir_version: 8, opset_import: ["": 17]> block (int64[N,T] ids) => (float16[N,T,10] logits)'
    echo "<float[10,8] table = {$(numbers 80 1)}, float[8,8] m = {$(numbers 64 0.6)}, float[8,32] up = {$(numbers 256 0.6)}, float[32,8] down = {$(numbers 256 0.4)},"
    echo " float[8] one = {1, 1, 1, 1, 1, 1, 1, 1}, float[1] root = {2.83}, float[1] two = {1.414}, float[1] unit = {1}, float[1] half = {0.5}, float[8,10] head = {$(numbers 80 1)}> {"
    for name in table m up down one root two unit half head; do echo "h_$name = Cast<to = 10>($name)"; done
    echo 'v0 = Gather(h_table, ids)'
    for i in 0 1; do
        echo "n$i = LayerNormalization(v$i, h_one) q$i = MatMul(n$i, h_m) k$i = MatMul(q$i, h_m) t$i = Transpose<perm = [0, 2, 1]>(k$i)"
        echo "s$i = MatMul(q$i, t$i) d$i = Div(s$i, h_root) a$i = Softmax(d$i) o$i = MatMul(a$i, n$i) r$i = Add(v$i, o$i)"
        echo "l$i = LayerNormalization(r$i, h_one) u$i = MatMul(l$i, h_up) x$i = Div(u$i, h_two) e$i = Erf(x$i) f$i = Add(e$i, h_unit)"
        echo "g$i = Mul(u$i, f$i) j$i = Mul(g$i, h_half) w$i = MatMul(j$i, h_down) v$((i + 1)) = Add(r$i, w$i)"
    done
    echo 'logits = MatMul(v2, h_head) }'
} | model block.onnx
assay compare block.onnx -e onnxruntime@1.30.0 --random 5 --time 5m | sed -n '1,3p;/^\[/p'
assay localize block.onnx -e onnxruntime@1.30.0 | sed -n '1,2p;/^\[/p'
