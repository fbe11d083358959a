"""Planted mistakes in expected outputs: models, inputs, and outputs that belong to another model or another input. Shared by
bench/expectations. Each mistake is a model with inputs, and one of: another model, other inputs, or outputs changed by hand."""
import math
import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import campaign  # noqa: E402
from mistaken_files import npy, put, tensor, varint  # noqa: E402

TYPES = {"<f4": (1, "f"), "<f8": (11, "d"), "<i8": (7, "q"), "<i4": (6, "i"), "|u1": (2, "B"), "<f2": (10, "e")}
SAMPLES = 2


class Array:
    """An array of numbers: NumPy's code, dims, values."""

    def __init__(self, code, dims, values):
        self.code, self.dims, self.values = code, list(dims), list(values)

    def bytes(self):
        return struct.pack(f"<{len(self.values)}{TYPES[self.code][1]}", *self.values)

    def npy(self):
        return npy(self.dims, self.code, self.bytes())

    def pb(self, name):
        return tensor(self.dims, TYPES[self.code][0], self.bytes(), name)

    def like(self, values, dims=None, code=None):
        return Array(code or self.code, self.dims if dims is None else dims, values)


def read_npy(path):
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + length].decode(), {})  # pylint: disable=eval-used; written by assay itself
    code = head["descr"]
    size = struct.calcsize(TYPES[code][1])
    return Array(code, head["shape"], struct.unpack(f"<{(len(data) - 10 - length) // size}{TYPES[code][1]}", data[10 + length:]))


# Models: in ONNX's text form, or files of the zoo with a field changed.
def floats(rng, dims, scale=1.0):
    count = math.prod(dims)
    return "{" + ", ".join(f"{rng.gauss(0, scale):.5f}" for _ in range(count)) + "}"


def text_model(text):
    """The bytes of a model in text form, with a head unless it has one."""
    text = text if text.startswith("<") else '<ir_version: 8, opset_import: ["": 17]>\n' + text
    program = os.path.join(campaign.BUILD, "tests", "text-model")
    path = os.path.join(campaign.SCRATCH, "text.onnx")
    subprocess.run([program, path], input=text, text=True, check=True)
    return open(path, "rb").read()


def zoo(name):
    return open(os.path.join(campaign.ROOT, "models", name, name + ".onnx"), "rb").read()


def fields(data):
    """The fields of a protobuf message: [number, wire type, value]."""
    at, out = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        wire = key & 7
        if wire == 0:
            value = number()
        else:
            size = number() if wire == 2 else 4 if wire == 5 else 8
            value = data[at:at + size]
            at += size
        out.append([key >> 3, wire, value])
    return out


def pack(all_fields):
    out = b""
    for number, wire, value in all_fields:
        out += varint(number << 3 | wire) + (varint(value) if wire == 0 else (varint(len(value)) if wire == 2 else b"") + value)
    return out


def edit(data, path, change):
    """Replaces what lies at a path of field numbers, in every place, by what change(bytes or number) makes of it."""
    out = []
    for number, wire, value in fields(data):
        if number == path[0]:
            value = change(value) if len(path) == 1 else edit(value, path[1:], change)
        out.append([number, wire, value])
    return pack(out)


def epsilon(data, factor):
    """Every epsilon of the model, times a factor: graph, node, attribute."""
    def attribute(value):
        if b"epsilon" not in [f[2] for f in fields(value) if f[0] == 1]:
            return value
        return edit(value, [2], lambda raw: struct.pack("<f", struct.unpack("<f", raw)[0] * factor))

    return edit(data, [7, 1, 5], attribute)


def weights(data, which, factor):
    """The initializer of that number among those of more than 8 floats, times a factor."""
    seen = 0

    def initializer(value):
        nonlocal seen
        parts = {f[0]: f[2] for f in fields(value)}
        raw = parts.get(9, b"")
        if parts.get(2) != 1 or len(raw) < 32:
            return value
        seen += 1
        if seen != which:
            return value
        numbers = struct.unpack(f"<{len(raw) // 4}f", raw)
        return edit(value, [9], lambda _: struct.pack(f"<{len(numbers)}f", *[n * factor for n in numbers]))

    return edit(data, [7, 5], initializer)


# Inputs.
def draw(rng, dims, code="<f4", high=4):
    count = math.prod(dims)
    return Array(code, dims, [rng.gauss(0, 1) for _ in range(count)] if code == "<f4" else [rng.randrange(high) for _ in range(count)])


def digits(number):
    """Digits of MNIST: the samples of the models folder."""
    path = os.path.join(campaign.ROOT, "models", "samples", "samples.npy")
    whole = read_npy(path)
    size = math.prod(whole.dims[1:])
    return [{"x": Array("<f4", [1] + whole.dims[1:], whole.values[i * size:(i + 1) * size])} for i in range(number)]


def each(samples, change):
    return [{name: change(array) for name, array in sample.items()} for sample in samples]


def scaled(factor, offset=0.0):
    return lambda array: array.like([v * factor + offset for v in array.values])


def turned(array):
    """Rows and columns of the last two axes exchanged, of a square or not."""
    rows, columns = array.dims[-2:]
    blocks = [array.values[i:i + rows * columns] for i in range(0, len(array.values), rows * columns)]
    return array.like([block[r * columns + c] for block in blocks for c in range(columns) for r in range(rows)],
                      array.dims[:-2] + [columns, rows])


def channels_reversed(array):
    size = math.prod(array.dims[2:])
    return array.like([v for c in reversed(range(array.dims[1])) for v in array.values[c * size:(c + 1) * size]])


def channels_last(array):
    """The values of an image with its channels last, under the dims of one with them first."""
    channels, size = array.dims[1], math.prod(array.dims[2:])
    return array.like([array.values[c * size + i] for i in range(size) for c in range(channels)])


class Mistake:
    """name, kind; model: bytes; samples: inputs; and what the expected outputs come from. shown: whether it is to be seen."""

    def __init__(self, name, kind, model, samples, other=None, inputs=None, change=None):
        self.name, self.kind, self.model, self.samples = name, kind, model, samples
        self.other, self.inputs, self.change = other, inputs, change


def zoo_mistakes():
    two = digits(SAMPLES)
    for name in ("resnet20", "mobilenetv2", "inception"):
        yield Mistake(f"{name}-epsilon", "other epsilon", zoo(name), two, other=epsilon(zoo(name), 3000))
    for name, which, factor in (("lenet1", 2, 0.7), ("lenet4", 2, 0.7), ("rnn", 1, 0.6), ("gru", 1, 0.6), ("lstm", 1, 0.6), ("transformer", 4, 0.3)):
        yield Mistake(f"{name}-weights", "other weights", zoo(name), two, other=weights(zoo(name), which, factor))
    for name in ("lenet5", "rnn", "bilstm"):
        yield Mistake(f"{name}-order", "other input", zoo(name), two, inputs=two[::-1])
    for name, change in (("lenet5", scaled(0.1)), ("resnet20", scaled(3.2, -0.4)), ("vgg", scaled(0.02, 0.4))):
        yield Mistake(f"{name}-scale", "scaled preprocessing", zoo(name), two, inputs=each(two, change))
    yield Mistake("lenet4-turned", "transposed input", zoo("lenet4"), two, inputs=each(two, turned))
    yield Mistake("lenet1-logarithms", "logarithms of probabilities", zoo("lenet1"), two,
                  change=lambda outputs: [{n: a.like([math.log(max(v, 1e-30)) for v in a.values]) for n, a in o.items()} for o in outputs])


def pairs(rng):
    """Models in text form and what becomes of them in another export: name, kind, inputs, text, (old, new)..."""
    image, rows, wide = {"x": [1, 3, 6, 6]}, {"x": [2, 5]}, {"x": [2, 3, 4]}
    w33, w55, w4 = floats(rng, [4, 3, 3, 3], 0.4), floats(rng, [5, 5]), floats(rng, [4], 0.5)
    norm = f"float[3] s = {floats(rng, [3])}, float[3] b = {floats(rng, [3])}, float[3] m = {floats(rng, [3], 0.2)}, float[3] v = {{0.01, 0.02, 0.03}}"
    yield ("batch-norm", "other epsilon", image, f"g (float[1,3,6,6] x) => (float[1,3,6,6] y) <{norm}> {{ y = BatchNormalization<epsilon = 0.00001>(x, s, b, m, v) }}",
           ("0.00001", "0.001"))
    yield ("layer-norm", "other epsilon", wide, f"g (float[2,3,4] x) => (float[2,3,4] y) <float[4] s = {w4}> {{ y = LayerNormalization<epsilon = 0.00001>(x, s) }}",
           ("0.00001", "0.05"))
    yield ("instance-norm", "other epsilon", image,
           f"g (float[1,3,6,6] x) => (float[1,3,6,6] y) <float[3] s = {floats(rng, [3])}, float[3] b = {floats(rng, [3])}> {{ y = InstanceNormalization<epsilon = 0.00001>(x, s, b) }}",
           ("0.00001", "0.05"))
    yield ("lp-norm", "other attribute", wide, "g (float[2,3,4] x) => (float[2,3,4] y) { y = LpNormalization<axis = 2, p = 2>(x) }", ("p = 2", "p = 1"))
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ h = Relu(x) y = {op}<axis = 1>(h) }}"
        yield (f"{op.lower()}-axis", "off-by-one axis", wide, text, ("axis = 1", "axis = 2"))
        yield (f"{op.lower()}-opset-11", "old opset semantics", wide, '<ir_version: 8, opset_import: ["": 13]>\n' + text, ('"": 13', '"": 11'))
    yield ("concat-axis", "off-by-one axis", {"x": [2, 2], "z": [2, 2]}, "g (float[2,2] x, float[2,2] z) => (float[N,M] y) { y = Concat<axis = 0>(x, z) }", ("axis = 0", "axis = 1"))
    yield ("reduce-axis", "off-by-one axis", {"x": [3, 3, 3]}, "g (float[3,3,3] x) => (float[3,1,3] y) { y = ReduceMean<axes = [1]>(x) }",
           ("axes = [1]", "axes = [2]"), ("[3,1,3]", "[3,3,1]"))
    yield ("sum-axis", "off-by-one axis", {"x": [3, 3]}, "g (float[3,3] x) => (float[3,3] y) <int64 a = {0}> { y = CumSum(x, a) }", ("a = {0}", "a = {1}"))
    yield ("argmax-axis", "off-by-one axis", {"x": [4, 4]}, "g (float[4,4] x) => (int64[4] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }", ("axis = 1", "axis = 0"))
    yield ("gather-axis", "off-by-one axis", {"x": [4, 4]}, "g (float[4,4] x) => (float[N,M] y) <int64[2] i = {1, 3}> { y = Gather<axis = 0>(x, i) }", ("axis = 0", "axis = 1"))
    conv = f"g (float[1,3,6,6] x) => (float[N,C,H,W] y) <float[4,3,3,3] w = {w33}> {{ y = Conv<KNOB>(x, w) }}"
    for name, one, two in (("same-pad", 'auto_pad = "SAME_UPPER", strides = [2, 2]', 'auto_pad = "SAME_LOWER", strides = [2, 2]'),
                           ("dilation", "dilations = [1, 1], pads = [1, 1, 1, 1]", "dilations = [2, 2], pads = [2, 2, 2, 2]"),
                           ("stride", "pads = [1, 1, 1, 1]", "pads = [1, 1, 1, 1], strides = [2, 2]")):
        yield (f"conv-{name}", "other padding", image, conv.replace("KNOB", one), (one, two))
    pool = "g (float[1,3,6,6] x) => (float[N,C,H,W] y) { y = AveragePool<KNOB>(x) }"
    base = "kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 0"
    yield ("pool-pad", "other padding", image, pool.replace("KNOB", base), ("pad = 0", "pad = 1"))
    yield ("pool-ceil", "other shape", image, pool.replace("KNOB", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 0"), ("ceil_mode = 0", "ceil_mode = 1"))
    yield ("leaky", "other activation", rows, "g (float[2,5] x) => (float[2,5] y) { y = LeakyRelu<alpha = 0.01>(x) }", ("0.01", "0.1"))
    yield ("elu", "other activation", rows, "g (float[2,5] x) => (float[2,5] y) { y = Elu<alpha = 1.0>(x) }", ("1.0", "0.5"))
    yield ("hard-sigmoid", "other activation", rows, "g (float[2,5] x) => (float[2,5] y) { y = HardSigmoid<alpha = 0.2>(x) }", ("0.2", "0.16667"))
    gelu = "g (float[2,5] x) => (float[2,5] y) <float h = {0.5}, float one = {1.0}, float r = {0.70710678}> { s = Mul(x, r) e = Erf(s) o = Add(e, one) p = Mul(x, o) y = Mul(p, h) }"
    yield ("gelu-quick", "other activation", rows, gelu, ("{ s =", "{ u = Identity(one) s ="), ("Erf(s)", "Tanh(s)"))
    yield ("gemm-turned", "transposed weights", rows, f"g (float[2,5] x) => (float[2,5] y) <float[5,5] w = {w55}> {{ y = Gemm<transB = 0>(x, w) }}", ("transB = 0", "transB = 1"))
    yield ("bias-lost", "bias lost", rows, f"g (float[2,5] x) => (float[2,5] y) <float[5,5] w = {w55}, float[5] b = {floats(rng, [5])}> {{ h = MatMul(x, w) y = Add(h, b) }}",
           ("y = Add(h, b)", "y = Identity(h)"))
    def recurrent(op, gates, knob, more="", bias=""):
        return (f"g (float[4,1,3] x) => (float[4,1,1,2] y) <float[1,{gates},3] w = {floats(rng, [gates * 3])}, "
                f"float[1,{gates},2] r = {floats(rng, [gates * 2])}{bias}> {{ y = {op}<hidden_size = 2, {knob}>(x, w, r{more}) }}")

    yield ("lstm-direction", "other direction", {"x": [4, 1, 3]}, recurrent("LSTM", 8, 'direction = "forward"'), ('"forward"', '"reverse"'))
    yield ("gru-reset", "other gate order", {"x": [4, 1, 3]},
           recurrent("GRU", 6, "linear_before_reset = 0", ", b", f", float[1,12] b = {floats(rng, [12])}"), ("reset = 0", "reset = 1"))
    resize = 'g (float[1,3,6,6] x) => (float[N,C,H,W] y) <float[0] e = {}, float[4] s = {1.0, 1.0, 1.5, 1.5}> { y = Resize<KNOB>(x, e, s) }'
    for name, one, two in (("align", 'mode = "linear", coordinate_transformation_mode = "half_pixel"', 'mode = "linear", coordinate_transformation_mode = "asymmetric"'),
                           ("mode", 'mode = "linear"', 'mode = "nearest"')):
        yield (f"resize-{name}", "other resampling", image, resize.replace("KNOB", one), (one, two))
    yield ("pad-mode", "other padding", {"x": [4, 4]}, 'g (float[4,4] x) => (float[6,6] y) <int64[4] p = {1, 1, 1, 1}> { y = Pad<mode = "constant">(x, p) }', ('"constant"', '"reflect"'))
    yield ("causal-mask", "mask lost", {"x": [1, 4, 4]},
           "g (float[1,4,4] x) => (float[1,4,4] y) { t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(x, t) k = Trilu<upper = 0>(s) a = Softmax<axis = -1>(k) y = MatMul(a, x) }",
           ("k = Trilu<upper = 0>(s)", "k = Identity(s)"))
    yield ("where-inverted", "condition inverted", rows, "g (float[2,5] x) => (float[2,5] y) <float z = {0.0}> { c = Greater(x, z) y = Where(c, x, z) }", ("Where(c, x, z)", "Where(c, z, x)"))
    yield ("topk-order", "other order", rows, "g (float[2,5] x) => (float[2,2] y, int64[2,2] i) <int64[1] k = {2}> { y, i = TopK<largest = 1>(x, k) }", ("largest = 1", "largest = 0"))
    yield ("quantised", "quantised export", rows,
           f"g (float[2,5] x) => (float[2,5] y) <float[5,5] w = {w55}, float s = {{0.1}}, uint8 z = {{128}}> {{ q = Identity(x) y = MatMul(q, w) }}",
           ("q = Identity(x)", "u = QuantizeLinear(x, s, z) q = DequantizeLinear(u, s, z)"))
    yield ("mean-pool", "other reduction", image, "g (float[1,3,6,6] x) => (float[1,3,1,1] y) { y = GlobalAveragePool(x) }", ("GlobalAveragePool", "GlobalMaxPool"))
    yield ("half", "other precision", {"x": [2, 40]}, "g (float[2,40] x) => (float[2,1] y) { e = Exp(x) y = ReduceSum<keepdims = 1>(e, a) }".replace("{ e", "<int64[1] a = {1}> { e"),
           ("e = Exp(x)", "c = Cast<to = 16>(x) d = Exp(c) e = Cast<to = 1>(d)"))


def text_mistakes(rng):
    for name, kind, inputs, text, *changes in pairs(rng):
        other = text
        for old, new in changes:
            if old not in other:
                sys.exit(f"bench/expectations: {name}: {old} is not in its model")
            other = other.replace(old, new)
        samples = [{key: draw(rng, dims) for key, dims in inputs.items()} for _ in range(SAMPLES)]
        yield Mistake(name, kind, text_model(text), samples, other=text_model(other))


def changed_mistakes(rng):
    """Outputs that were changed on their way into the file, and inputs that went another way."""
    w = floats(rng, [4, 4])
    square = text_model(f"g (float[4,4] x) => (float[4,4] y) <float[4,4] w = {w}> {{ h = MatMul(x, w) y = Tanh(h) }}")
    split = text_model("g (float[2,4] x) => (float[2,2] a, float[2,2] b) { a, b = Split<axis = 1>(x) }")
    classes = text_model(f"g (float[4,4] x) => (int64[4] y) <float[4,4] w = {w}> {{ h = MatMul(x, w) y = ArgMax<axis = 1, keepdims = 0>(h) }}")
    image = text_model(f"g (float[1,3,6,6] x) => (float[1,4,6,6] y) <float[4,3,3,3] w = {floats(rng, [4, 3, 3, 3], 0.4)}> {{ y = Conv<pads = [1, 1, 1, 1]>(x, w) }}")
    four = [{"x": draw(rng, [4, 4])} for _ in range(SAMPLES)]
    flat = [{"x": draw(rng, [2, 4])} for _ in range(SAMPLES)]
    pictures = [{"x": draw(rng, [1, 3, 6, 6])} for _ in range(SAMPLES)]

    def one(change):
        return lambda outputs: [{name: change(array) for name, array in output.items()} for output in outputs]

    def last_only(outputs):
        return outputs[:-1] + [{n: a.like([v + 1 for v in a.values]) for n, a in outputs[-1].items()}]

    for name, kind, model, samples, change in (
            ("transposed", "transposed", square, four, one(turned)),
            ("flat", "other shape", square, four, one(lambda a: a.like(a.values, [16]))),
            ("no-batch", "other shape", image, pictures, one(lambda a: a.like(a.values, a.dims[1:]))),
            ("double", "wrong dtype", square, four, one(lambda a: a.like(a.values, code="<f8"))),
            ("half-type", "wrong dtype", square, four, one(lambda a: a.like(a.values, code="<f2"))),
            ("integers", "wrong dtype", square, four, one(lambda a: a.like([int(v) for v in a.values], code="<i4"))),
            ("truncated-values", "cast to integer", square, four, one(lambda a: a.like([float(int(v)) for v in a.values]))),
            ("index-type", "wrong dtype", classes, four, one(lambda a: a.like(a.values, code="<i4"))),
            ("counted-from-one", "off by one", classes, four, one(lambda a: a.like([v + 1 for v in a.values]))),
            ("one-decimal", "rounded", square, four, one(lambda a: a.like([round(v, 1) for v in a.values]))),
            ("one-element", "one element", image, pictures, one(lambda a: a.like(a.values[:-1] + [a.values[-1] + 0.05]))),
            ("nan", "not a number", square, four, one(lambda a: a.like([math.nan] + a.values[1:]))),
            ("zeros", "never written", square, four, one(lambda a: a.like([0.0] * len(a.values)))),
            ("last-sample", "last sample", square, four, last_only),
            ("swapped-outputs", "swapped outputs", split, flat, lambda outputs: [{"a": o["b"], "b": o["a"]} for o in outputs])):
        yield Mistake(name, kind, model, samples, change=change)
    for name, kind, model, samples, inputs in (
            ("channel-order", "other channel order", image, pictures, each(pictures, channels_reversed)),
            ("channels-last", "other layout", image, pictures, each(pictures, channels_last)),
            ("other-seed", "other input", square, four, [{"x": draw(rng, [4, 4])} for _ in range(SAMPLES)]),
            ("zero-input", "other input", square, four, each(four, scaled(0))),
            ("double-scaled", "scaled preprocessing", image, pictures, each(pictures, scaled(1 / 255)))):
        yield Mistake(name, kind, model, samples, inputs=inputs)


def all_mistakes(seed):
    rng = random.Random(seed)
    return [*zoo_mistakes(), *text_mistakes(rng), *changed_mistakes(rng)]


def output_names(model):
    """The names of a model's outputs: graph, output, name."""
    graph = next(f[2] for f in fields(model) if f[0] == 7)
    return [next(g[2] for g in fields(f[2]) if g[0] == 1).decode() for f in fields(graph) if f[0] == 12]


def answers(model, samples):
    """What the reference computes: for each sample the outputs by name."""
    here = os.path.join(campaign.SCRATCH, "answers")
    subprocess.run(["rm", "-rf", here], check=True)
    write_case(here, model, samples, None)
    done = subprocess.run([campaign.ASSAY, "run", f"{here}/model.onnx", "-e", "reference", "--data", here, "--save", "npy", "-o", f"{here}/out"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench/expectations: assay run: {done.stdout}")
    return [{name: read_npy(f"{here}/out/reference/test_data_set_{i}/output_{k}.npy") for k, name in enumerate(output_names(model))}
            for i in range(len(samples))]


def expected_of(mistake):
    """The right outputs, and those that the mistake expects, under the names of the right model's."""
    right = answers(mistake.model, mistake.samples)
    if mistake.change:
        return right, mistake.change(right)
    wrong = answers(mistake.other or mistake.model, mistake.inputs or mistake.samples)
    return right, [dict(zip(one, other.values())) for one, other in zip(right, wrong)]


def visible(right, wrong):
    """Whether the two differ by more than the tolerance of conform and compare, in numbers or in form."""
    for one, other in zip(right, wrong):
        for a, b in zip(one.values(), other.values()):
            if (a.code, a.dims) != (b.code, b.dims):
                return True
            exact = a.code[1] in "iu"
            floor = max(1e-5, 1e-5 * max((abs(v) for v in b.values if math.isfinite(v)), default=0))
            if any(not (x == y if exact else abs(x - y) <= floor + 1e-3 * abs(y)) for x, y in zip(a.values, b.values)):
                return True
    return False


def write_case(folder, model, samples, outputs):
    """A folder in ONNX's backend-test layout; outputs may be None."""
    put(f"{folder}/model.onnx", model)
    for number, sample in enumerate(samples):
        for k, (name, array) in enumerate(sample.items()):
            put(f"{folder}/test_data_set_{number}/input_{k}.pb", array.pb(name))
        for k, (name, array) in enumerate((outputs[number] if outputs else {}).items()):
            put(f"{folder}/test_data_set_{number}/output_{k}.pb", array.pb(name))
