# An engine that cannot do with the memory allowed "does not fit into --memory", whatever it says or dies of, and is not
# called faulty by any command. Values of 576 MB, on ONNX Runtime where there is one, and gradients on the reference's
# engine, which dies when its payload does not fit.
model square.onnx <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1] x) => (float[m,n] y) {
  s = Constant <value_ints = [12000, 12000]> ()
  a = Expand (x, s)  b = Expand (x, s)  y = Add (a, b)
}
END_OF_MODEL
model small.onnx <<'END_OF_MODEL'
<ir_version: 8, opset_import: ["" : 17]>
g (float[3000,3000] x) => (float[m,n] y) { y = Add (x, x) }
END_OF_MODEL
innocent()
{
    holds "$@" --deadline 30s --format json
    ! grep -q '"finding": true\|"verdict": "crash"\|"outcome": "crash"\|engine bug' out err ||
        { head -c 3000 out; fail "called faulty by assay $*"; }
    [ "$status" = 2 ] || { head -c 3000 out err; fail "status $status of assay $*"; }
    grep -q 'allowed (--memory)' out err || { head -c 3000 out err; fail "nobody speaks of --memory in assay $*"; }
}
innocent grad small.onnx --random 1 -e reference:fault=add-gradient --memory 100M
"$ASSAY" engines 2>/dev/null | grep -q '^onnxruntime' || exit 77
for command in run compare localize "check --time 2s"; do
    # shellcheck disable=SC2086
    innocent ${command%% *} square.onnx --random 1 -e onnxruntime --memory 500M $(echo "$command" | cut -s -d' ' -f2-)
done
