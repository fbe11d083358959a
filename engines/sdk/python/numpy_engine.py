#!/usr/bin/env python3
"""An engine that computes with numpy: the example of docs/writing-an-engine.md. It needs python3-numpy."""
from assay_adapter import SCHEDULE, Engine, Knob, Rejected, Step, Tensor, Unsupported, serve

import numpy as np          # behind assay_adapter, which keeps what a library prints away from the protocol

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
         10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
NUMBERS = {np.dtype(type): number for number, type in TYPES.items()}
FLOATS = (np.float16, np.float32, np.float64)


def to_array(tensor):
    if not isinstance(tensor, Tensor):
        raise Unsupported("sequences and optional values")
    if tensor.type not in TYPES:
        raise Unsupported(f"element type {tensor.type}")
    return np.frombuffer(tensor.data, TYPES[tensor.type]).reshape(tensor.dims)


def to_tensor(array):
    array = np.ascontiguousarray(array).reshape(np.shape(array))     # which makes a scalar a vector
    return Tensor(NUMBERS[array.dtype], array.shape, array.tobytes())


def want_floats(*arrays):
    for array in arrays:
        if array.dtype not in FLOATS:
            raise Unsupported(f"element type {array.dtype}")


def sigmoid(node, opset, x):
    want_floats(x)
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def softmax(node, opset, x):
    want_floats(x)
    if not x.size:
        return x
    axis = node.attributes.get("axis", -1)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def divide(node, opset, a, b):
    if a.dtype in FLOATS:
        return a / b
    if not b.all():
        raise Rejected("division by zero")
    quotient = np.abs(a) // np.abs(b) if a.dtype.kind == "i" else a // b
    return np.where((a < 0) != (b < 0), -quotient, quotient).astype(a.dtype)


def gemm(node, opset, a, b, c=None):
    want_floats(a, b)
    if node.attributes.get("transA", 0):
        a = a.T
    if node.attributes.get("transB", 0):
        b = b.T
    y = a.dtype.type(node.attributes.get("alpha", 1.0)) * (a @ b)
    return y if c is None else y + a.dtype.type(node.attributes.get("beta", 1.0)) * c


def transpose(node, opset, x):
    return np.transpose(x, node.attributes.get("perm"))


def reshape(node, opset, x, shape):
    sizes = [int(size) for size in shape]
    if not node.attributes.get("allowzero", 0):
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return x.reshape(sizes)


def concat(node, opset, *arrays):
    return np.concatenate(arrays, axis=node.attributes["axis"])


def reduce_sum(node, opset, x, axes=None):
    if axes is None or axes.size == 0:
        if node.attributes.get("noop_with_empty_axes", 0):
            return x
        axes = range(x.ndim)
    keep = bool(node.attributes.get("keepdims", 1))
    return x.sum(axis=tuple(int(axis) for axis in axes), keepdims=keep, dtype=x.dtype)


def plain(function):
    return lambda node, opset, *inputs: function(*inputs)


OPERATORS = {
    "Abs": plain(np.abs), "Add": plain(np.add), "Concat": concat, "Div": divide, "Exp": plain(np.exp), "Gemm": gemm,
    "Identity": plain(lambda x: x), "MatMul": plain(np.matmul), "Mul": plain(np.multiply), "Neg": plain(np.negative),
    "ReduceSum": reduce_sum, "Relu": plain(lambda x: np.maximum(x, x.dtype.type(0))), "Reshape": reshape,
    "Sigmoid": sigmoid, "Softmax": softmax, "Sqrt": plain(np.sqrt), "Sub": plain(np.subtract),
    "Tanh": plain(np.tanh), "Transpose": transpose,
}


SINCE = {"ReduceSum": 13, "Softmax": 13}                              # the opset from which on it has them


class NumpyEngine(Engine):
    name = "numpy"
    knobs = [Knob("errors", "ignore|warn", "ignore", "what numpy writes to stderr about NaN and overflow", SCHEDULE)]
    operators = [f"{name}@{SINCE[name]}" if name in SINCE else name for name in sorted(OPERATORS)]
    types = sorted(TYPES)

    def start(self, knobs):
        np.seterr(all=knobs["errors"])
        return np.__version__

    def load(self, model):
        for node in model.graph.nodes:
            if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
                raise Unsupported(f"operator {node.op_type}")
            if model.opset < SINCE.get(node.op_type, 0):
                raise Unsupported(f"{node.op_type} of opset {model.opset}")
        self.model, self.steps = model, []
        self.weights = {name: to_array(tensor) for name, tensor in model.graph.initializers.items()}

    def run(self, inputs):
        self.steps = []
        values = dict(self.weights)
        values.update({name: to_array(tensor) for name, tensor in inputs.items()})
        for node in self.model.graph.nodes:
            known = [values[name] if name else None for name in node.inputs]
            self.steps.append(Step(node.op_type, outputs=node.outputs))
            values[node.outputs[0]] = OPERATORS[node.op_type](node, self.model.opset, *known)
        return {name: to_tensor(values[name]) for name in self.model.outputs}

    def trace(self):
        return self.steps

    def unload(self):
        self.model = self.weights = None


serve(NumpyEngine())
