# Models of some hundred bytes that ask for all the memory there is: whatever command computes them stays within --memory,
# and half as much again for what a kernel has beside its values; the sanitizers keep freed memory for a while.
doubled=('g (float[2] x) => (float[n] y) {')
for i in $(seq 30); do doubled+=("v$i = Concat <axis = 0> (${last:-x}, ${last:-x})"); last=v$i; done
doubled+=("y = Identity ($last) }")
echo '<ir_version: 8, opset_import: ["" : 17]>' "${doubled[@]}" | model doubled.onnx
model square.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1] x) => (float[m,n] y) {
  s = Constant <value_ints = [12000, 12000]> ()
  a = Expand (x, s)  b = Expand (x, s)  c = Add (a, b)  y = MatMul (c, c)
}
END
for file in doubled square; do
    for command in "localize --random 1" "localize --random 1 --method both" reduce "check --time 2s" "compare --random 1" "grad --random 1"; do
        # shellcheck disable=SC2086
        frugal 725 ${command%% *} $file.onnx $(echo "$command" | cut -s -d' ' -f2-) -e identity --memory 250M --deadline 5s
    done
done
says 'memory' err out
