# A model names an opset far beyond all there are: what tries smaller ones tries no more than for others.
model far.onnx <<'END'
<ir_version: 8, opset_import: ["" : 4294967295]>
g (float[3] x) => (float[3] y) { y = Asin (x) }
END
frugal 1100 reduce far.onnx -e identity -o smaller --deadline 2s
frugal 1100 report far.onnx -e identity -o bundle --deadline 2s
