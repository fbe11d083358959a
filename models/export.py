"""From a trained torch module to a tidy ONNX file."""
import numpy
import onnx
import torch
from onnx import helper, numpy_helper

OPSET = 13


def constants(graph):
    known = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            known[node.output[0]] = numpy_helper.to_array(helper.get_attribute_value(node.attribute[0]))
    return known


def constants_to_initializers(graph):
    """Engines read parameters of a node (bounds of Clip, shapes) from initialisers more readily."""
    for node in [n for n in graph.node if n.op_type == "Constant"]:
        tensor = helper.get_attribute_value(node.attribute[0])
        tensor.name = node.output[0]
        graph.initializer.append(tensor)
        graph.node.remove(node)


def evaluate(node, inputs):
    """What a node makes of constants; None for operators that are not about the layout of weights."""
    if node.op_type == "Slice":
        data, starts, ends, axes = inputs[:4]
        cut = [slice(None)] * data.ndim
        for start, end, axis in zip(starts, ends, axes):
            cut[axis] = slice(start, end)
        return data[tuple(cut)]
    if node.op_type == "Concat":
        return numpy.concatenate(inputs, node.attribute[0].i)
    if node.op_type == "Unsqueeze":
        return numpy.expand_dims(inputs[0], tuple(inputs[1].tolist()))
    return None


def fold(graph):
    """Recurrent weights are cut up and put together in ONNX's order of gates: that can be done here."""
    known = constants(graph)
    for node in list(graph.node):
        if all(name in known for name in node.input) and node.op_type != "Constant":
            value = evaluate(node, [known[name] for name in node.input])
            if value is not None:
                known[node.output[0]] = value
                graph.initializer.append(numpy_helper.from_array(numpy.ascontiguousarray(value), node.output[0]))
                graph.node.remove(node)


def bypass(graph, node):
    """Takes a node out; its readers read its first input instead."""
    for reader in graph.node:
        for i, name in enumerate(reader.input):
            if name == node.output[0]:
                reader.input[i] = node.input[0]
    graph.node.remove(node)


def same_padding(graph):
    """A Pad in front of a Conv comes from nets.SameConv: auto_pad=SAME_UPPER says the same in one node, as long as
    the image's size is a multiple of the stride. Depthwise ones with a stride get pads that are not symmetric."""
    for pad in [n for n in graph.node if n.op_type == "Pad"]:
        conv, = [n for n in graph.node if pad.output[0] in n.input]
        assert conv.op_type == "Conv"
        known = {a.name: helper.get_attribute_value(a) for a in conv.attribute if a.name != "pads"}
        if known["group"] > 1 and known["strides"] != [1, 1]:
            low = [(k - s) // 2 for k, s in zip(known["kernel_shape"], known["strides"])]
            high = [(k - s + 1) // 2 for k, s in zip(known["kernel_shape"], known["strides"])]
            known["pads"] = low + high
        else:
            known["auto_pad"] = "SAME_UPPER"
        del conv.attribute[:]
        conv.attribute.extend(helper.make_attribute(name, value) for name, value in sorted(known.items()))
        bypass(graph, pad)


def no_identity(graph):
    """Weights that were equal before the training share one initialiser through Identity."""
    for node in [n for n in graph.node if n.op_type == "Identity"]:
        bypass(graph, node)


def relu6(graph):
    """Relu, then Clip from 0 to 6: Clip alone."""
    for relu in [n for n in graph.node if n.op_type == "Relu"]:
        readers = [n for n in graph.node if relu.output[0] in n.input]
        if len(readers) == 1 and readers[0].op_type == "Clip":
            bypass(graph, relu)


def zero_states(graph):
    """The states a recurrent node starts from are zero by default: no need to build them from the batch size."""
    for node in graph.node:
        if node.op_type in ("RNN", "GRU", "LSTM"):
            del node.input[4:]


def last_step(graph):
    """states[-1] of a forward net is the node's own output Y_h; X -> Y_h -> Squeeze."""
    known = constants(graph)
    for gather in [n for n in graph.node if n.op_type == "Gather"]:
        squeeze = [n for n in graph.node if gather.input[0] in n.output]
        cell = [n for n in graph.node if squeeze and squeeze[0].input[0] in n.output]
        if cell and cell[0].op_type in ("RNN", "GRU", "LSTM") and known[gather.input[1]] == -1:
            cell[0].output[0] = ""
            axes = "last_step_axes"
            graph.initializer.append(helper.make_tensor(axes, onnx.TensorProto.INT64, [1], [0]))
            at = list(graph.node).index(gather)
            graph.node.remove(gather)
            graph.node.remove(squeeze[0])
            graph.node.insert(at - 1, helper.make_node("Squeeze", [cell[0].output[1], axes], [gather.output[0]],
                                                       name="last_step"))


def prune(graph):
    """Nodes and initialisers nobody reads."""
    while True:
        used = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
        dead = [n for n in graph.node if not used & set(n.output)]
        if not dead:
            break
        for node in dead:
            graph.node.remove(node)
    for tensor in [t for t in graph.initializer if t.name not in used]:
        graph.initializer.remove(tensor)


def tidy(path):
    model = onnx.load(path)
    graph = model.graph
    same_padding(graph)
    no_identity(graph)
    relu6(graph)
    zero_states(graph)
    last_step(graph)
    prune(graph)
    fold(graph)
    constants_to_initializers(graph)
    prune(graph)
    del graph.value_info[:]
    graph.name, model.producer_name = path.stem, "assay-zoo"
    model = onnx.shape_inference.infer_shapes(model)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return len(graph.node), sorted({n.op_type for n in graph.node})


def batch_major(source, path):
    """The bidirectional LSTM with layout=1: the batch comes first and nothing is transposed. Needs opset 14."""
    model = onnx.load(source)
    graph = model.graph
    cell, = [n for n in graph.node if n.op_type == "LSTM"]
    before, = [n for n in graph.node if cell.input[0] in n.output]
    after, = [n for n in graph.node if cell.output[0] in n.input]
    mean, = [n for n in graph.node if n.op_type == "ReduceMean"]
    assert before.op_type == after.op_type == "Transpose"
    bypass(graph, before)
    bypass(graph, after)
    cell.attribute.append(helper.make_attribute("layout", 1))
    del cell.output[1:]
    next(a for a in mean.attribute if a.name == "axes").ints[:] = [1]
    model.opset_import[0].version = 14
    del graph.value_info[:]
    graph.name = path.stem
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return len(graph.node), sorted({n.op_type for n in graph.node})


def write(net, example, path):
    """PRESERVE keeps batch normalisation a node of its own, which evaluation mode would fold away."""
    torch.onnx.export(net, example, path, opset_version=OPSET, training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=True, input_names=["image"], output_names=["output"],
                      dynamic_axes={"image": {0: "N"}, "output": {0: "N"}})
    return tidy(path)
