# The two cases of Gu et al. (2022): attention whose Einsum has a wrong gradient; a Relu that is suspected and innocent.
model attention.onnx <<'END'
<ir_version: 7, opset_import: ["": 13]>
attention (float[2,5,8] x, float[8,2,4] wq, float[8,2,4] wk, float[8,2,4] wv, float[2,4,8] wo) => (float[2,5,8] y)
<float scale = {0.5}>
{
    q = Einsum <equation: string = "bsd,dhe->bhse"> (x, wq)
    k = Einsum <equation: string = "bsd,dhe->bhse"> (x, wk)
    v = Einsum <equation: string = "bsd,dhe->bhse"> (x, wv)
    s = Einsum <equation: string = "bhse,bhte->bhst"> (q, k)
    t = Mul(s, scale)
    p = Softmax <axis: int = -1> (t)
    c = Einsum <equation: string = "bhst,bhte->bhse"> (p, v)
    o = Einsum <equation: string = "bhse,hed->bsd"> (c, wo)
    y = Add(o, x)
}
END
assay localize attention.onnx -e reference:round=on -e reference:round=on,fault=einsum-gradient --method swap
assay localize attention.onnx -e reference:round=on -e reference:round=on,threads=2 --method swap
assay localize "$source/models/mobilenetv2/mobilenetv2.onnx" -e reference:round=on -e reference:round=on,fault=bn-sqrt-var --method swap
