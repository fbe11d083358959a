# libonnx's shape inference, in a process of its own, has the limits of the command: this model makes it multiply sizes for
# gigabytes.
model wide.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[1] x) => (float[n] y) {
  s = Constant <value_ints = [200000000]> ()  c = ConstantOfShape <value = int64[1] {1}> (s)
  e = Expand (x, c)  r = Shape (c)  q = Tile (c, r)  y = Expand (x, q)
}
END
for command in reduce localize check; do
    frugal 1100 $command wide.onnx -e identity --memory 500M --deadline 5s
done
