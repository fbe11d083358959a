"""Models made of others, as converters make them: int8 with QuantizeLinear and DequantizeLinear, int8 with QLinearConv and QLinearMatMul,
float16, bfloat16.

quantize(model, values), to_products(model) and to_half(model, type) give new models; damage(...) spoils one layer of a quantised one.
"""
import copy

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

PRODUCTS = ("Conv", "Gemm", "MatMul")
ACTIVATIONS = ("Relu", "Clip")


def expose(model):
    """The model with every value as an output, and their names."""
    model = onnx.shape_inference.infer_shapes(model)
    have = {o.name for o in model.graph.output}
    known = {v.name: v for v in model.graph.value_info}
    names = []
    for node in model.graph.node:
        for name in node.output:
            if name in known and name not in have and known[name].type.tensor_type.elem_type == TensorProto.FLOAT:
                model.graph.output.append(known[name])
    names = [o.name for o in model.graph.output]
    return model, names


def weight_axis(node):
    """The axis of a product's weights that counts output channels."""
    if node.op_type == "Conv":
        return 0
    if node.op_type == "Gemm":
        return 0 if any(a.name == "transB" and a.i for a in node.attribute) else 1
    return 1


class Quantized:
    """A model in int8, and where its scales and zero points are."""

    def __init__(self, model):
        self.model = model
        self.weights = []  # (node's name, names of levels and scale, axis)
        self.tensors = []  # (name of the node that makes it, or of the input; scale; zero point)
        self.biases = []  # (levels, scale, scale of the input, scale of the weights, the bias itself)

    def constant(self, name):
        return next(i for i in self.model.graph.initializer if i.name == name)

    def array(self, name):
        return numpy_helper.to_array(self.constant(name)).copy()

    def set(self, name, array):
        self.constant(name).CopyFrom(numpy_helper.from_array(numpy.asarray(array), name))


def quantize(model, values):
    """Static, per channel for weights, per tensor for activations; scales from the least and largest value."""
    made = copy.deepcopy(model)
    graph = made.graph
    result = Quantized(made)
    weights = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    makers = {o: n for n in graph.node for o in n.output}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    outputs = {o.name for o in graph.output}
    wanted = []
    for node in graph.node:
        if node.op_type not in PRODUCTS:
            continue
        wanted += [name for name in node.input[:2] if name not in weights]
        end = node.output[0]
        if len(readers.get(end, [])) == 1 and readers[end][0].op_type in ACTIVATIONS:
            end = readers[end][0].output[0]
        wanted.append(end)
    nodes, scales, renamed = [], {}, {}

    def initializer(name, array):
        graph.initializer.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def levels_of(name, after):
        low, high = min(0.0, float(values[name].min())), max(0.0, float(values[name].max()))
        scale = numpy.float32((high - low) / 255 or 1)
        zero = numpy.uint8(min(255, max(0, round(-low / scale))))
        s, z = initializer(name + "_scale", scale), initializer(name + "_zero_point", zero)
        after.append(helper.make_node("QuantizeLinear", [name, s, z], [name + "_Q"], name + "_QuantizeLinear"))
        after.append(helper.make_node("DequantizeLinear", [name + "_Q", s, z], [name + "_DQ"], name + "_DequantizeLinear"))
        renamed[name] = name + "_DQ"
        scales[name] = scale
        result.tensors.append((makers[name].name if name in makers else name, s, z))

    todo = {name for name in wanted if name not in outputs and name in values}
    for name in [i.name for i in graph.input]:
        if name in todo:
            levels_of(name, nodes)
    for node in graph.node:
        node = copy.deepcopy(node)
        sources = list(node.input)
        for k, name in enumerate(sources):
            if name in renamed:
                node.input[k] = renamed[name]
        product = node.op_type in PRODUCTS and len(sources) > 1 and sources[1] in weights
        if product and sources[1] + "_q" not in {i.name for i in graph.initializer}:
            w, axis = weights[sources[1]], weight_axis(node)
            around = tuple(a for a in range(w.ndim) if a != axis)
            scale = numpy.maximum(numpy.abs(w).max(axis=around), 1e-8).astype(numpy.float32) / 127
            shape = [-1 if a == axis else 1 for a in range(w.ndim)]
            q = numpy.clip(numpy.rint(w / scale.reshape(shape)), -127, 127).astype(numpy.int8)
            s = initializer(sources[1] + "_scale", scale)
            z = initializer(sources[1] + "_zero_point", numpy.zeros(len(scale), numpy.int8))
            initializer(sources[1] + "_q", q)
            nodes.append(helper.make_node("DequantizeLinear", [sources[1] + "_q", s, z], [sources[1] + "_DQ"],
                                          sources[1] + "_DequantizeLinear", axis=axis))
            result.weights.append((node.name, sources[1] + "_q", s, axis, sources[1]))
            if len(sources) > 2 and sources[2] and sources[0] in scales:
                bias = (scales[sources[0]] * scale).astype(numpy.float32)
                levels = numpy.rint(weights[sources[2]] / bias).astype(numpy.int32)
                initializer(sources[2] + "_q", levels)
                initializer(sources[2] + "_scale", bias)
                initializer(sources[2] + "_zero_point", numpy.zeros(len(bias), numpy.int32))
                nodes.append(helper.make_node("DequantizeLinear", [sources[2] + "_q", sources[2] + "_scale", sources[2] + "_zero_point"],
                                              [sources[2] + "_DQ"], sources[2] + "_DequantizeLinear", axis=0))
                result.biases.append((sources[2] + "_q", sources[2] + "_scale", sources[0] + "_scale", sources[1] + "_scale", weights[sources[2]]))
                node.input[2] = sources[2] + "_DQ"
        if product:
            node.input[1] = sources[1] + "_DQ"
        nodes.append(node)
        for name in node.output:
            if name in todo:
                levels_of(name, nodes)
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.value_info[:]
    onnx.checker.check_model(made)
    return result


def damage(quantized, kind, random):
    """Spoils one layer of a copy. Returns it, the name of the node to blame, and words. The scales of biases stay those of
    inputs times weights, as engines that compute with the levels expect it."""
    bad, node, words = spoil(copy.deepcopy(quantized), kind, random)
    for levels, scale, inputs, weights, bias in bad.biases:
        scales = (bad.array(inputs) * bad.array(weights)).astype(numpy.float32)
        bad.set(scale, scales)
        bad.set(levels, numpy.rint(bias / scales).astype(numpy.int32))
    return bad, node, words


def spoil(bad, kind, random):
    if kind == "scale":  # one channel's scale does not fit its levels
        node, levels, scale, axis, weight = bad.weights[random.integers(len(bad.weights))]
        scales = bad.array(scale)
        channel = int(random.integers(len(scales)))
        factor = float(random.choice([0.25, 0.5, 2, 4]))
        scales[channel] *= numpy.float32(factor)
        bad.set(scale, scales)
        return bad, node, f"scale of channel {channel} of {weight} times {factor}"
    if kind == "channel":  # one channel is clipped: its scale is too small, and its levels saturate
        node, levels, scale, axis, weight = bad.weights[random.integers(len(bad.weights))]
        scales, q = bad.array(scale), bad.array(levels)
        channel = int(random.integers(len(scales)))
        at = tuple(channel if a == axis else slice(None) for a in range(q.ndim))
        q[at] = numpy.clip(q[at].astype(numpy.int32) * 4, -127, 127).astype(numpy.int8)
        scales[channel] /= 4
        bad.set(scale, scales)
        bad.set(levels, q)
        return bad, node, f"channel {channel} of {weight} clipped to a quarter"
    node, scale, zero = bad.tensors[random.integers(len(bad.tensors))]
    if kind == "zero":  # the zero point of one tensor
        old = int(bad.array(zero))
        new = old + int(random.choice([-64, -40, 40, 64]))
        new = min(255, max(0, new if 0 <= new <= 255 else 2 * old - new))
        if random.integers(2):  # of both nodes: the range is shifted, and one end is clipped
            bad.set(zero, numpy.uint8(new))
            return bad, node, f"zero point of {zero} from {old} to {new}"
        bad.model.graph.initializer.append(numpy_helper.from_array(numpy.asarray(numpy.uint8(new)), zero + "_other"))
        for reader in bad.model.graph.node:
            if reader.op_type == "DequantizeLinear" and reader.input[2] == zero:
                reader.input[2] = zero + "_other"
        return bad, node, f"zero point of {zero} from {old} to {new} in DequantizeLinear alone"
    factor = float(random.choice([3, 4, 6]))  # one layer is clipped
    bad.set(scale, (bad.array(scale) / factor).astype(numpy.float32))
    return bad, node, f"range of {scale} divided by {factor}"


def to_products(model):
    """A model quantised with nodes around its products, with QLinearConv and QLinearMatMul in their place: where both operands and the
    result are levels, an activation between included, which the range of the result's levels then does. Also the product into which each
    such activation has gone, by their names."""
    made = copy.deepcopy(model)
    graph = made.graph
    makers = {o: n for n in graph.node for o in n.output}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def levels_of(name):
        """Levels, scale and zero point behind which the numbers are."""
        maker = makers.get(name)
        return list(maker.input) if maker is not None and maker.op_type == "DequantizeLinear" else None

    def quantizer_of(name):
        """The QuantizeLinear that alone reads the value, behind an activation or not."""
        after = readers.get(name, [])
        if len(after) == 1 and after[0].op_type in ACTIVATIONS:
            after = readers.get(after[0].output[0], [])
        return after[0] if len(after) == 1 and after[0].op_type == "QuantizeLinear" else None

    gone, nodes, within = set(), [], {}
    for node in graph.node:
        first, second = (levels_of(name) for name in list(node.input)[:2]) if node.op_type in ("Conv", "MatMul") else (None, None)
        end = quantizer_of(node.output[0]) if first and second else None
        bias = levels_of(node.input[2]) if len(node.input) > 2 else []
        if end is None or bias is None:
            nodes.append(node)
            continue
        inputs = first + second + [end.input[1], end.input[2]] + (bias[:1] if bias else [])
        product = helper.make_node("QLinear" + node.op_type, inputs, [end.output[0]], node.name)
        product.attribute.extend(node.attribute)
        nodes.append(product)
        gone.add(end.name)
        within.update({after.name: node.name for after in readers[node.output[0]] if after.op_type in ACTIVATIONS})
    nodes = [node for node in nodes if node.name not in gone and node.name not in within]
    wanted = {o.name for o in graph.output}
    kept = []
    for node in reversed(nodes):
        if any(name in wanted for name in node.output):
            kept.insert(0, node)
            wanted |= set(node.input)
    del graph.node[:]
    graph.node.extend(kept)
    left = [i for i in graph.initializer if i.name in wanted]
    del graph.initializer[:]
    graph.initializer.extend(left)
    del graph.value_info[:]
    onnx.checker.check_model(made)
    return made, within


def in_type(tensor, to):
    """A float32 tensor in one of 16 bits. numpy has no bfloat16: its bits are the upper half of those of float32, rounded to even."""
    array = numpy_helper.to_array(tensor)
    if to == TensorProto.FLOAT16:
        return numpy_helper.from_array(array.astype(numpy.float16), tensor.name)
    bits = numpy.ascontiguousarray(array, numpy.float32).view(numpy.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")
    return TensorProto(name=tensor.name, data_type=to, dims=tensor.dims, raw_data=rounded.tobytes())


def to_half(model, to):
    """All numbers in float16 or bfloat16, but the inputs and outputs, which are cast."""
    made = copy.deepcopy(model)
    graph = made.graph
    for i in graph.initializer:
        if i.data_type == TensorProto.FLOAT:
            i.CopyFrom(in_type(i, to))
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.TENSOR and a.t.data_type == TensorProto.FLOAT:
                a.t.CopyFrom(in_type(a.t, to))
            if node.op_type == "Cast" and a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = to
    floats = {i.name for i in graph.input if i.type.tensor_type.elem_type == TensorProto.FLOAT}
    first = [helper.make_node("Cast", [name], [name + "_half"], name + "_Cast", to=to) for name in sorted(floats)]
    ends = {o.name for o in graph.output if o.type.tensor_type.elem_type == TensorProto.FLOAT}
    for node in graph.node:
        for k, name in enumerate(node.input):
            node.input[k] = name + "_half" if name in floats or name in ends else name
        for k, name in enumerate(node.output):
            node.output[k] = name + "_half" if name in ends else name
    last = [helper.make_node("Cast", [name + "_half"], [name], name + "_Cast", to=TensorProto.FLOAT) for name in sorted(ends)]
    nodes = first + list(graph.node) + last
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]
    if to == TensorProto.BFLOAT16:
        in_opset_22(made)
    else:
        onnx.checker.check_model(made)
    return made


def in_opset_22(model):
    """The first opset in which all of these operators take bfloat16. Of those that the zoo has, only ReduceMean changed its form."""
    model.ir_version = 10
    next(o for o in model.opset_import if not o.domain).version = 22
    for node in model.graph.node:
        axes = [a for a in node.attribute if a.name == "axes"] if node.op_type == "ReduceMean" else []
        if axes:
            name = node.name + "_axes"
            model.graph.initializer.append(numpy_helper.from_array(numpy.array(axes[0].ints, numpy.int64), name))
            node.input.append(name)
            node.attribute.remove(axes[0])
