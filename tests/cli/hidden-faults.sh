# An engine that computes a node wrongly is called wrong, though the last layer hides it from the outputs, or the bound of
# the whole network is too wide to show it.
cnn() # FILE OUTPUT LAST-NODE SCALE-OF-LOGITS
{
    model "$1" <<END
<ir_version: 8, opset_import: ["": 17]>
cnn (float[N,3,16,16] x) => ($2)
<float[4,3,3,3] w1 = {$(numbers 108 0.4)}, float[4,4,3,3] w2 = {$(numbers 144 0.4)}, float[4,4,3,3] w3 = {$(numbers 144 0.4)},
 float[4] s = {1.0, 0.8, 1.2, 0.9}, float[4] b = {0.1, -0.2, 0.3, 0.0}, float[4] m = {0.2, 0.1, -0.1, 0.0}, float[4] v = {0.9, 1.1, 1.2, 0.8},
 float[5,4] g = {$(numbers 20 "$4")}>
{
    c1 = Conv <pads = [1, 1, 1, 1]> (x, w1)
    b1 = BatchNormalization(c1, s, b, m, v)
    r1 = Relu(b1)
    p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
    c2 = Conv <pads = [1, 1, 1, 1]> (p1, w2)
    b2 = BatchNormalization(c2, s, b, m, v)
    r2 = Relu(b2)
    p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r2)
    c3 = Conv <pads = [1, 1, 1, 1]> (p2, w3)
    b3 = BatchNormalization(c3, s, b, m, v)
    r3 = Relu(b3)
    p3 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r3)
    a = GlobalAveragePool(p3)
    f = Flatten(a)
    l = Gemm <transB = 1> (f, g)
    $3
}
END
}
answer() { assay "$@" | sed -E '/^$/,/^\[/{/^\[/!d}'; }
cnn saturated.onnx 'float[N,5] y' 'y = Softmax(l)' 400
cnn argmax.onnx 'int64[N,1] y' 'y = ArgMax <axis = 1> (l)' 1
cnn cnn.onnx 'float[N,5] y' 'y = Softmax(l)' 1
for name in saturated argmax; do
    answer compare $name.onnx -e reference:fault=conv-rotated
    answer compare $name.onnx -e reference:round=on
done
# The outputs as a whole show nothing of this one: it is far below the bound of 16 nodes.
answer compare cnn.onnx -e reference:fault=bn-sqrt-var -n 3 --time 5m
assay localize cnn.onnx -e reference:fault=bn-sqrt-var | sed -n '2p;/^\[/p'
# A healthy engine is right on it.
answer compare cnn.onnx -e reference:round=on -n 3 --time 5m
