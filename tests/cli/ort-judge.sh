# The planted faults among healthy releases; reduced precision that is nobody's fault; a fusion.
bn="$cases/node/test_batchnorm_epsilon"
assay compare "$bn/model.onnx" --data "$bn/test_data_set_0" -e reference:fault=bn-sqrt-var -e onnxruntime@1.30.0 -e onnxruntime@1.12.0 -e reference
model conv.onnx <<'END'
<ir_version: 7, opset_import: ["": 11]>
test_conv_with_strides_padding (float[1,1,7,5] x, float[1,1,3,3] W) => (float[1,1,4,3] y) {
    y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x, W)
}
END
assay compare conv.onnx -n 2 -e onnxruntime@1.12.0 -e reference:fault=conv-rotated -e onnxruntime@1.30.0:opt=none
model concat.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[4] a, float[4] b) => (float[12] y) {
    s = Add(a, b)
    d = Sub(a, b)
    c = Concat <axis: int = 0> (s, d, b)
    y = Tanh(c)
}
END
assay compare concat.onnx -e onnxruntime@1.30.0 -e onnxruntime@1.12.0 -e reference:fault=concat-three
# One after the other, 200000 equal numbers are added with errors that all point the same way.
model cumsum.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[1] x) => (float[200000] y) {
    shape = Constant <value: tensor = int64[1] {200000}> ()
    axis = Constant <value: tensor = int64 {0}> ()
    wide = Expand(x, shape)
    y = CumSum(wide, axis)
}
END
assay compare cumsum.onnx -e onnxruntime@1.30.0:opt=none
assay compare "$source/tests/known-bugs/layernorm-fusion-keepdims0/model.onnx" --data "$source/tests/known-bugs/layernorm-fusion-keepdims0/test_data_set_0" -e onnxruntime@1.30.0:opt=all -e onnxruntime@1.30.0:opt=none
