# Models that keep the reference busy for minutes, in one node or in a loop: every command that evaluates them itself ends
# soon after --deadline, and says why.
make()
{
    { echo '<ir_version: 8, opset_import: ["" : 17]>'; cat; } | model "$1.onnx"
}
make product <<'END'
g (double[1,1] x) => (double[m,n] y) { s = Constant <value_ints = [2500,2500]> () e = Expand(x, s) y = MatMul(e, e) }
END
make window <<'END'
g (float[1,1,1,1] x) => (float[a,b,c,d] y) { s = Constant <value_ints = [1,1,1000,1000]> () e = Expand(x, s)
  y = AveragePool <kernel_shape = [500,500]> (e) }
END
make loop <<'END'
g (float[1] x) => (float[a] y) { m = Constant <value_int = 100000> () c = Constant <value = bool {1}> ()
  s = Constant <value_ints = [100000]> () e = Expand(x, s)
  y = Loop <body = b (int64 i, bool ci, float[100000] v) => (bool co, float[100000] vo) { co = Identity(ci) vo = Exp(v) }> (m, c, e) }
END
make sum <<'END'
g (float[1,1] x) => (float[a,b] y) { s = Constant <value_ints = [700,700]> () e = Expand(x, s)
  y = Einsum <equation = "ab,bc,cd->ad"> (e, e, e) }
END
for name in product window loop sum; do
    SECONDS_EACH=30 holds reduce $name.onnx -e identity --random 1 --deadline 1s
    grep -qE 'takes longer than the 1 s allowed|no answer within 1 s' out err || { cat out err; fail "nobody says why"; }
    [ "$status" = 2 ] || fail "status $status"
done
SECONDS_EACH=60 holds localize product.onnx -e identity --random 1 --deadline 1s
SECONDS_EACH=60 holds check loop.onnx -e identity --deadline 1s --time 2s
