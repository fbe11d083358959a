# Of a thousand samples an engine is wrong on two, and right on the twenty that are spread evenly over them.
model rare.onnx <<'END'
<ir_version: 8, opset_import: ["": 17]>
net (float[N,4] x) => (float[N,4] y) { h = ThresholdedRelu <alpha = 1.0> (x) y = Softmax(h) }
END
# Zeros, but for the ones at x[123,1] and x[777,1], of which the engine believes that they are above 1.
npy rare.npy '<f4' '1000, 4' 0
{
    head -c $((16 * 123 + 4)) /dev/zero && printf '\0\0\200\077'
    head -c $((16 * 654 - 4)) /dev/zero && printf '\0\0\200\077'
    head -c $((16 * 223 - 8)) /dev/zero
} >>rare.npy
rare=reference:fault=thresholdedrelu-ge
assay compare rare.onnx -e $rare --data rare.npy --time 5m
# Fewer are judged where that is asked for, and the first sentence tells how many.
assay compare rare.onnx -e $rare --data rare.npy --judge 20 --operators 20
# Beside another engine those on which they differ are judged, too.
assay compare rare.onnx -e $rare -e reference:round=on --data rare.npy --judge 20 --operators 20 | sed -n '1,2p;/^\[/p'
# Where the time is not enough for all, that is no all-clear.
assay compare rare.onnx -e $rare --data rare.npy --time 0.0001s |
    sed -nE 's/[0-9]+ of (1,?000)/N of \1/; 1,2p; /^Not everything/p; /^\[/p'
