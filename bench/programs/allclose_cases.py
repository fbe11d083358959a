"""The models of bench/allclose: mistakes that a relative tolerance of 1e-3 passes, and right answers that it fails.

A mistake computes the outputs of a model in NumPy otherwise than the model says, as kernels do it by mistake or for speed: a
constant that is cut short, an attribute that is ignored, the last element that is left out, a fast approximation, fewer bits. Each
is beyond what rounding can explain: ten bits in place of 24 in a sum of thousands are not, as a long sum may lose as much by itself.
"""
import math

import numpy
import onnx.parser

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '


def model(text):
    return onnx.parser.parse_model(HEAD + text).SerializeToString()


def draw(seed, shape, low=0.5, high=1.5):
    return numpy.random.default_rng(seed).uniform(low, high, shape).astype(numpy.float32)


def normal(seed, shape):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)


def half(x):
    return x.astype(numpy.float16).astype(numpy.float64)


def bits(x, kept):
    """The numbers with so many bits behind the leading one."""
    mantissa, exponent = numpy.frexp(x.astype(numpy.float64))
    return numpy.ldexp(numpy.round(mantissa * 2 ** (kept + 1)) / 2 ** (kept + 1), exponent)


def windows(x, size):
    return numpy.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))


def convolved(x, w):
    return numpy.einsum("nchwij,mcij->nmhw", windows(x, w.shape[2]), w)


def erf(x):
    return numpy.vectorize(math.erf)(x.astype(numpy.float64))


def fast_erf(x):
    """Abramowitz and Stegun, 7.1.25."""
    t = 1 / (1 + 0.47047 * numpy.abs(x))
    return numpy.sign(x) * (1 - (0.3480242 * t - 0.0958798 * t ** 2 + 0.7478556 * t ** 3) * numpy.exp(-(x.astype(numpy.float64) ** 2)))


def fast_exp(x):
    """2^n times a polynomial of the third degree."""
    power = x.astype(numpy.float64) * math.log2(math.e)
    whole = numpy.round(power)
    rest = (power - whole) * math.log(2)
    return numpy.ldexp(1 + rest * (1 + rest * (0.5 + rest * (1 / 6 + rest / 24))), whole.astype(int))


def softmax(x, exp=numpy.exp):
    e = exp(x.astype(numpy.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalised(x, axes, epsilon):
    x = x.astype(numpy.float64)
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + epsilon)


def away_from_zero(seed, shape):
    """Of variance 1, without elements near the mean."""
    x = normal(seed, shape)
    return (numpy.where(numpy.abs(x) < 0.1, 0.5, x)).astype(numpy.float32)


def resized(x, scale, kept):
    """Bilinear, with weights of so many bits."""
    size = x.shape[2]
    at = numpy.clip((numpy.arange(int(scale * size)) + 0.5) / scale - 0.5, 0, size - 1)
    low = numpy.floor(at).astype(int)
    weight = numpy.round((at - low) * 2 ** kept) / 2 ** kept
    high = numpy.minimum(low + 1, size - 1)
    rows = x[:, :, low].astype(numpy.float64) * (1 - weight)[:, None] + x[:, :, high] * weight[:, None]
    return rows[..., low] * (1 - weight) + rows[..., high] * weight


A, B = draw(1, (8, 2500)), draw(2, (2500, 8))
LONG, TALL = draw(3, (4, 2500)), draw(4, (4, 40, 40))
IMAGE, KERNEL = draw(5, (1, 16, 12, 12)), draw(6, (8, 16, 3, 3))
WIDE, CENTRED = draw(7, (64, 16), 0.3, 3), away_from_zero(8, (2, 8, 16, 16))
SHORT_A, SHORT_B = draw(10, (64, 16)), draw(11, (16, 64))
SHORT = "(float[64,16] a, float[16,64] b) => (float[64,64] y) "
MATMUL = "(float[8,2500] a, float[2500,8] b) => (float[8,8] y) { y = MatMul(a, b) }"
UNARY = "(float[64,16] x) => (float[64,16] y) "
CONV = "(float[1,16,12,12] x, float[8,16,3,3] w) => (float[1,8,10,10] y) { y = Conv(x, w) }"


def unary(operator):
    return f"{UNARY}{{ y = {operator}(x) }}"


def gelu(erf_of):
    x = WIDE.astype(numpy.float64)
    return 0.5 * x * (1 + erf_of(x / math.sqrt(2)))


def tanh_gelu():
    x = WIDE.astype(numpy.float64)
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


GELU = UNARY + "{ h = Constant <value = float {0.5}> () o = Constant <value = float {1}> () s = Constant <value = float {1.41421356}> () " \
    "q = Div(x, s) e = Erf(q) f = Add(e, o) g = Mul(x, f) y = Mul(g, h) }"

# (what is wrong, the model's text, its inputs, what it gives)
FAULTS = [
    ("MatMul leaves out the last of 2500 products", MATMUL, [A, B], A[:, :-1].astype(float) @ B[:-1]),
    ("MatMul leaves out the first of 2500 products", MATMUL, [A, B], A[:, 1:].astype(float) @ B[1:]),
    ("MatMul rounds its inputs to 10 bits (TF32)", SHORT + "{ y = MatMul(a, b) }", [SHORT_A, SHORT_B], bits(SHORT_A, 10) @ bits(SHORT_B, 10)),
    ("MatMul rounds one input to 7 bits (bfloat16)", SHORT + "{ y = MatMul(a, b) }", [SHORT_A, SHORT_B], SHORT_A.astype(float) @ bits(SHORT_B, 7)),
    ("MatMul rounds its result to float16", MATMUL, [A, B], half(A.astype(float) @ B)),
    ("Gemm ignores alpha = 1.0005", "(float[8,2500] a, float[2500,8] b) => (float[8,8] y) { y = Gemm <alpha = 1.0005> (a, b) }", [A, B],
     A.astype(float) @ B),
    ("Einsum rounds its inputs to 10 bits", SHORT + '{ y = Einsum <equation = "ij,jk->ik"> (a, b) }', [SHORT_A, SHORT_B],
     bits(SHORT_A, 10) @ bits(SHORT_B, 10)),
    ("Conv rounds its weights to 7 bits", CONV, [IMAGE, KERNEL], convolved(IMAGE.astype(float), bits(KERNEL, 7))),
    ("Conv rounds its input to 7 bits", CONV, [IMAGE, KERNEL], convolved(bits(IMAGE, 7), KERNEL.astype(float))),
    ("Conv accumulates each channel in float16", CONV, [IMAGE, KERNEL],
     sum(half(convolved(IMAGE[:, c:c + 1].astype(float), KERNEL[:, c:c + 1].astype(float))) for c in range(16))),
    ("ReduceSum leaves out the last of 2500", "(float[4,2500] x) => (float[4,1] y) { a = Constant <value = int64[1] {1}> () y = ReduceSum(x, a) }",
     [LONG], LONG[:, :-1].astype(float).sum(1, keepdims=True)),
    ("ReduceMean divides by one more", "(float[4,2500] x) => (float[4,1] y) { y = ReduceMean <axes = [1]> (x) }", [LONG],
     LONG.astype(float).sum(1, keepdims=True) / 2501),
    ("ReduceL2 squares in 10 bits", "(float[64,16] x) => (float[64,1] y) { y = ReduceL2 <axes = [1]> (x) }", [WIDE],
     numpy.sqrt((bits(WIDE, 10) ** 2).sum(1, keepdims=True))),
    ("ReduceLogSumExp by a fast Exp", "(float[64,16] x) => (float[64,1] y) { y = ReduceLogSumExp <axes = [1]> (x) }", [WIDE],
     numpy.log(fast_exp(WIDE).sum(1, keepdims=True))),
    ("GlobalAveragePool divides by one less", "(float[1,4,40,40] x) => (float[1,4,1,1] y) { y = GlobalAveragePool(x) }", [TALL[None]],
     TALL[None].astype(float).sum((2, 3), keepdims=True) / 1599),
    ("Softmax leaves the last of 2500 out of its sum", "(float[4,2500] x) => (float[4,2500] y) { y = Softmax <axis = 1> (x) }", [LONG],
     numpy.exp(LONG.astype(float)) / numpy.exp(LONG[:, :-1].astype(float)).sum(1, keepdims=True)),
    ("Softmax in float16", "(float[4,2500] x) => (float[4,2500] y) { y = Softmax <axis = 1> (x) }", [LONG], softmax(LONG, lambda x: half(numpy.exp(x)))),
    ("LayerNormalization takes 4e-4 for epsilon", "(float[2,8,16,16] x, float[16] s) => (float[2,8,16,16] y) { y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, s) }",
     [CENTRED + 0, numpy.ones(16, numpy.float32)], normalised(CENTRED, (3,), 4e-4)),
    ("BatchNormalization ignores epsilon = 1e-3", "(float[2,8,16,16] x, float[8] s, float[8] b, float[8] m, float[8] v) => (float[2,8,16,16] y) "
     "{ y = BatchNormalization <epsilon = 0.001> (x, s, b, m, v) }",
     [CENTRED, *(numpy.full(8, value, numpy.float32) for value in (1, 0, 0, 1))], CENTRED.astype(float)),
    ("InstanceNormalization ignores epsilon = 1e-3", "(float[2,8,16,16] x, float[8] s, float[8] b) => (float[2,8,16,16] y) "
     "{ y = InstanceNormalization <epsilon = 0.001> (x, s, b) }", [CENTRED, *(numpy.full(8, value, numpy.float32) for value in (1, 0))],
     normalised(CENTRED, (2, 3), 0)),
    ("LRN does not divide alpha by its size", "(float[1,16,12,12] x) => (float[1,16,12,12] y) { y = LRN <size = 3, alpha = 0.0001> (x) }", [IMAGE],
     IMAGE / (1 + 1e-4 * sum(numpy.pad(IMAGE.astype(float) ** 2, ((0, 0), (1, 1), (0, 0), (0, 0)))[:, i:i + 16] for i in range(3))) ** 0.75),
    ("Div by a reciprocal of 12 bits", "(float[64,16] a, float[64,16] b) => (float[64,16] y) { y = Div(a, b) }", [WIDE, draw(9, (64, 16))],
     WIDE * bits(1 / draw(9, (64, 16)).astype(float), 11)),
    ("Sqrt by a reciprocal root of 12 bits", unary("Sqrt"), [WIDE], WIDE * bits(1 / numpy.sqrt(WIDE.astype(float)), 11)),
    ("Exp by a polynomial of the fourth degree", unary("Exp"), [WIDE], fast_exp(WIDE)),
    ("Exp in float16", unary("Exp"), [WIDE], half(numpy.exp(WIDE.astype(float)))),
    ("Tanh by a short continued fraction", unary("Tanh"), [WIDE / 2], WIDE / 2. * (945 + 105 * (WIDE / 2.) ** 2 + (WIDE / 2.) ** 4) /
     (945 + 420 * (WIDE / 2.) ** 2 + 15 * (WIDE / 2.) ** 4)),
    ("Sigmoid by float16's Exp", unary("Sigmoid"), [WIDE], 1 / (1 + half(numpy.exp(-WIDE.astype(float))))),
    ("Erf by four terms", unary("Erf"), [WIDE], fast_erf(WIDE)),
    ("GELU by Tanh in place of Erf", GELU, [WIDE], tanh_gelu()),
    ("GELU by a fast Erf", GELU, [WIDE], gelu(fast_erf)),
    ("Selu with its constants cut to four digits", unary("Selu"), [WIDE], 1.0507 * WIDE),
    ("Softplus by a fast Exp", unary("Softplus"), [WIDE], numpy.log1p(fast_exp(WIDE))),
    ("LeakyRelu with alpha = 0.01 in float16", unary("LeakyRelu"), [-WIDE], -WIDE * float(numpy.float16(0.01))),
    ("HardSigmoid with alpha = 0.2 in float16", unary("HardSigmoid"), [WIDE / 2], numpy.clip(WIDE / 2 * float(numpy.float16(0.2)) + 0.5, 0, 1)),
    ("Pow by a logarithm of 12 bits", "(float[64,16] a, float[64,16] b) => (float[64,16] y) { y = Pow(a, b) }", [WIDE, draw(9, (64, 16))],
     2 ** (draw(9, (64, 16)).astype(float) * bits(numpy.log2(WIDE.astype(float)), 11))),
    ("Sin by three terms", unary("Sin"), [WIDE / 3], WIDE / 3. * (1 - (WIDE / 3.) ** 2 / 6 * (1 - (WIDE / 3.) ** 2 / 20))),
    ("Resize with weights of 11 bits", "(float[1,4,20,20] x) => (float[1,4,48,48] y) { r = Constant <value = float[0] {}> () "
     's = Constant <value = float[4] {1.0, 1.0, 2.4, 2.4}> () y = Resize <mode = "linear"> (x, r, s) }', [TALL[None, :, :20, :20]],
     resized(TALL[None, :, :20, :20], 2.4, 11)),
]


N, M = normal(20, (256, 512)), normal(21, (512, 256))
PICTURE, FILTER = normal(22, (1, 32, 40, 40)), normal(23, (16, 32, 3, 3))
NEAR = numpy.linspace(1e-4, 2e-3, 1024).astype(numpy.float32).reshape(64, 16)
LARGE = numpy.linspace(1e3, 1e5, 1024).astype(numpy.float32).reshape(64, 16)
SURE = numpy.concatenate([normal(24, (64, 15)), numpy.full((64, 1), 14, numpy.float32)], 1)
ONE = "o = Constant <value = float {1}> () "
HALF = "(float16[64,16] x) => (float16[64,16] y) "
HALVES = WIDE.astype(numpy.float16)


def chain(*operators):
    names = ["x", *(f"t{i}" for i in range(1, len(operators))), "y"]
    return "{ " + " ".join(f"{after} = {operator}({before})" for operator, before, after in zip(operators, names, names[1:])) + " }"


# (why a relative tolerance fails it, the model's text, its inputs)
RIGHTS = [
    ("MatMul of numbers of both signs", "(float[256,512] a, float[512,256] b) => (float[256,256] y) { y = MatMul(a, b) }", [N, M]),
    ("Gemm", "(float[256,512] a, float[512,256] b, float[256] c) => (float[256,256] y) { y = Gemm(a, b, c) }", [N, M, N[0, :256]]),
    ("Einsum", '(float[256,512] a, float[512,256] b) => (float[256,256] y) { y = Einsum <equation = "ij,jk->ik"> (a, b) }', [N, M]),
    ("Conv", "(float[1,32,40,40] x, float[16,32,3,3] w) => (float[1,16,38,38] y) { y = Conv(x, w) }", [PICTURE, FILTER]),
    ("ConvTranspose", "(float[1,32,40,40] x, float[32,16,3,3] w) => (float[1,16,42,42] y) { y = ConvTranspose(x, w) }",
     [PICTURE, FILTER.transpose(1, 0, 2, 3).copy()]),
    ("Conv in one dimension", "(float[8,32,200] x, float[16,32,5] w) => (float[8,16,196] y) { y = Conv(x, w) }",
     [normal(26, (8, 32, 200)), normal(27, (16, 32, 5))]),
    ("AveragePool", "(float[1,32,40,40] x) => (float[1,32,31,31] y) { y = AveragePool <kernel_shape = [10, 10]> (x) }", [PICTURE]),
    ("ReduceSum", "(float[4096,512] x) => (float[4096,1] y) { a = Constant <value = int64[1] {1}> () y = ReduceSum(x, a) }", [normal(47, (4096, 512))]),
    ("GlobalAveragePool", "(float[1,4096,16,16] x) => (float[1,4096,1,1] y) { y = GlobalAveragePool(x) }", [normal(48, (1, 4096, 16, 16))]),
    ("Conv in groups", "(float[1,32,40,40] x, float[32,1,5,5] w) => (float[1,32,36,36] y) { y = Conv <group = 32> (x, w) }",
     [PICTURE, normal(49, (32, 1, 5, 5))]),
    ("MatMul in three dimensions", "(float[4,128,256] a, float[4,256,128] b) => (float[4,128,128] y) { y = MatMul(a, b) }",
     [normal(50, (4, 128, 256)), normal(51, (4, 256, 128))]),
    ("ReduceMean of ReduceSum", "(float[512,32,64] x) => (float[512,64] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }", [normal(28, (512, 32, 64))]),
    ("CumSum", "(float[256,512] x) => (float[256,512] y) { a = Constant <value = int64 {1}> () y = CumSum(x, a) }", [N]),
    ("LayerNormalization", "(float[256,512] x, float[512] s, float[512] b) => (float[256,512] y) { y = LayerNormalization(x, s, b) }",
     [N + 3, N[0] + 2, N[1]]),
    ("BatchNormalization", "(float[1,32,40,40] x, float[32] s, float[32] b, float[32] m, float[32] v) => (float[1,32,40,40] y) "
     "{ y = BatchNormalization(x, s, b, m, v) }", [PICTURE + 5, *(draw(29 + i, (32,)) for i in range(4))]),
    ("InstanceNormalization", "(float[1,32,40,40] x, float[32] s, float[32] b) => (float[1,32,40,40] y) { y = InstanceNormalization(x, s, b) }",
     [PICTURE + 5, draw(33, (32,)), draw(34, (32,))]),
    ("MeanVarianceNormalization", "(float[1,32,40,40] x) => (float[1,32,40,40] y) { y = MeanVarianceNormalization(x) }", [PICTURE + 5]),
    ("Log of Softmax near 1", "(float[64,16] x) => (float[64,16] y) " + chain("Softmax <axis = 1> ", "Log"), [SURE]),
    ("Exp less 1", UNARY + "{ " + ONE + "e = Exp(x) y = Sub(e, o) }", [NEAR / 100]),
    ("1 less Cos", UNARY + "{ " + ONE + "c = Cos(x) y = Sub(o, c) }", [NEAR]),
    ("1 less Tanh", UNARY + "{ " + ONE + "t = Tanh(x) y = Sub(o, t) }", [WIDE * 3]),
    ("1 less Sigmoid", UNARY + "{ " + ONE + "t = Sigmoid(x) y = Sub(o, t) }", [WIDE * 5]),
    ("1 less Erf", UNARY + "{ " + ONE + "t = Erf(x) y = Sub(o, t) }", [WIDE * 1.2]),
    ("a difference of roots", UNARY + "{ " + ONE + "n = Add(x, o) a = Sqrt(n) b = Sqrt(x) y = Sub(a, b) }", [LARGE]),
    ("a difference of quotients", UNARY + "{ " + ONE + "n = Add(x, o) a = Div(o, n) b = Div(o, x) y = Sub(a, b) }", [LARGE]),
    ("a variance by squares", "(float[256,512] x) => (float[256,1] y) { s = Mul(x, x) a = ReduceMean <axes = [1]> (s) b = ReduceMean <axes = [1]> (x) "
     "c = Mul(b, b) y = Sub(a, c) }", [N + 100]),
    ("a mean that is taken off", "(float[256,512] x) => (float[256,512] y) { a = ReduceMean <axes = [1]> (x) y = Sub(x, a) }", [N + 100]),
    ("Log of a product near 1", UNARY + "{ a = Sqrt(x) b = Mul(a, a) c = Div(b, x) y = Log(c) }", [WIDE]),
    ("Sin of a large product", UNARY + "{ a = Mul(x, x) b = Mul(a, x) y = Sin(b) }", [LARGE / 1000]),
    ("Tan near a pole", UNARY + "{ a = Exp(x) y = Tan(a) }", [WIDE]),
    ("a chain in float16", HALF + chain("Exp", "Log", "Exp", "Sqrt", "Log"), [HALVES]),
    ("MatMul in float16", "(float16[256,512] a, float16[512,256] b) => (float16[256,256] y) { y = MatMul(a, b) }",
     [N.astype(numpy.float16), M.astype(numpy.float16)]),
    ("LayerNormalization in float16", "(float16[256,512] x, float16[512] s) => (float16[256,512] y) { y = LayerNormalization(x, s) }",
     [N.astype(numpy.float16), numpy.ones(512, numpy.float16)]),
    ("Softmax and its differences", UNARY + "{ a = Softmax <axis = 1> (x) m = ReduceMean <axes = [1]> (a) y = Sub(a, m) }", [NEAR]),
    ("codes of QuantizeLinear", "(float[64,16] x) => (uint8[64,16] y) { s = Constant <value = float {0.1}> () z = Constant <value = uint8 {3}> () "
     "a = Mul(x, x) b = Sqrt(a) y = QuantizeLinear(b, s, z) }", [(numpy.arange(1024).reshape(64, 16) % 200 * 0.1 + 0.05).astype(numpy.float32)]),
    ("GRU", "(float[40,4,16] x, float[1,96,16] w, float[1,96,32] r) => (float[40,1,4,32] y) { y = GRU <hidden_size = 32> (x, w, r) }",
     [normal(40, (40, 4, 16)), normal(41, (1, 96, 16)) / 4, normal(42, (1, 96, 32)) / 4]),
    ("LSTM", "(float[40,4,16] x, float[1,128,16] w, float[1,128,32] r) => (float[40,1,4,32] y) { y = LSTM <hidden_size = 32> (x, w, r) }",
     [normal(43, (40, 4, 16)), normal(44, (1, 128, 16)) / 4, normal(45, (1, 128, 32)) / 4]),
    ("two layers and Relu", "(float[256,512] a, float[512,256] b, float[256,64] c) => (float[256,64] y) { h = MatMul(a, b) r = Relu(h) y = MatMul(r, c) }",
     [N, M, normal(46, (256, 64))]),
]
