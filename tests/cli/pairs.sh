# Two equivalent forms, of which one alone shows nothing without the reference: kept, reduced together, run again.
model conv.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
agraph (float[1,2,5,5] x, float[3,2,2,2] w) => (float[1,3,5,5] y) {
    r = Relu(x)
    c = Conv <auto_pad: string = "SAME_UPPER", kernel_shape: ints = [2, 2]> (r, w)
    n = Neg(c)
    y = Relu(n)
}
END
faulty=reference:round=on,fault=same-pad-side
assay check conv.onnx -e $faulty --rules auto-pad --no-reference --bundle pair
assay reduce pair -e $faulty -o small
assay reduce pair -e $faulty --no-reference --format json | grep -E '"(verdict|rewriting|nodes)"'
ls small
assay replay small -e $faulty -e reference:round=on --no-reference
assay reduce pair -e reference:round=on
