"""
Backends with one mistake each, around a right one: a few operators by NumPy, or the backend that PLANTED_AROUND names.
MISTAKES says what Assay must make of each, as `assay conform` calls it, and at which stage; QUIET are mistakes that ONNX's
own runner does not report.
"""
import ctypes
import importlib
import os
import sys
import time
import unittest

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt


class NumpyPrepared(BackendRep):
    OPERATORS = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Not": np.logical_not, "Tanh": np.tanh,
        "Relu": lambda x: np.maximum(x, x.dtype.type(0)), "Neg": np.negative, "Abs": np.abs,
        "Identity": lambda x: x, "SequenceInsert": lambda s, x: s + [x],
        "DynamicQuantizeLinear": lambda x: quantised(x),
    }

    def __init__(self, model):
        self.graph = model.graph
        for node in self.graph.node:
            if node.op_type not in self.OPERATORS:
                raise NotImplementedError(f"operator {node.op_type}")

    def run(self, inputs, **kwargs):
        values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        values.update(zip([value.name for value in self.graph.input if value.name not in values], inputs))
        for node in self.graph.node:
            with np.errstate(all="ignore"):
                found = self.OPERATORS[node.op_type](*[values[name] for name in node.input])
            values.update(zip(node.output, found if isinstance(found, tuple) else (found,)))
        return [values[value.name] for value in self.graph.output]


def quantised(x):
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = np.float32((high - low) / np.float32(255))
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8), scale, zero


class NumpyBackend(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return NumpyPrepared(model)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


AROUND = importlib.import_module(os.environ["PLANTED_AROUND"]) if os.environ.get("PLANTED_AROUND") else NumpyBackend


def fall(*_):
    ctypes.string_at(0)


def wait(*_):
    time.sleep(3600)


def fill_memory(*_):
    kept = []
    while True:
        kept.append(np.ones(1 << 25))


def raised(error):
    def fail(*_):
        raise error
    return fail


class OwnError(Exception):
    """What libraries raise: an exception of a class of their own."""


class NotSupposed(unittest.SkipTest):
    pass


def floats(array):
    """An array of integers and bools has another type then too."""
    return array.astype(np.float64 if array.dtype != np.float64 else np.float32)


def off(array):
    return array + array.dtype.type(1) if array.dtype != bool else ~array


def with_nan(array):
    changed = np.array(array)
    changed.reshape(-1)[0] = np.nan
    return changed


def each(change):
    return lambda outputs: [change(output) for output in outputs]


# name: (where, what, verdict, stage). `where` is what is replaced: is_compatible, prepare or run; `outputs` changes what run
# returns, `prepared` what prepare does.
MISTAKES = {
    "says_it_is_not_compatible": ("is_compatible", lambda *_: False, "unsupported", "load"),
    "lacks_by_not_implemented": ("prepare", raised(NotImplementedError("no such operator")), "unsupported", "load"),
    "lacks_by_skip_test": ("prepare", raised(unittest.SkipTest("not this one")), "unsupported", "load"),
    "lacks_by_a_class_of_skip_test": ("prepare", raised(NotSupposed("not this one")), "unsupported", "load"),
    "lacks_at_run": ("run", raised(NotImplementedError("no kernel")), "unsupported", "run"),
    "refuses_by_its_own_class": ("prepare", raised(OwnError("the model is not valid")), "rejected", "load"),
    "refuses_by_the_checker": ("prepare", raised(onnx.checker.ValidationError("no such attribute")), "rejected", "load"),
    "fails_in_prepare": ("prepare", raised(KeyError("conv_1")), "failed", "load"),
    "prepares_nothing": ("prepare", lambda *_: None, "failed", "load"),
    "crashes_in_prepare": ("prepare", fall, "crash", "load"),
    "hangs_in_prepare": ("prepare", wait, "hang", "load"),
    "fails_in_run": ("run", raised(RuntimeError("no stream")), "failed", "run"),
    "fails_by_attribute": ("run", raised(AttributeError("no attribute 'data'")), "failed", "run"),
    "crashes_in_run": ("run", fall, "crash", "run"),
    "aborts_in_run": ("run", lambda *_: os.abort(), "crash", "run"),
    "ends_in_run": ("run", lambda *_: os._exit(0), "crash", "run"),
    "exits_in_run": ("run", lambda *_: sys.exit(0), "crash", "run"),
    "hangs_in_run": ("run", wait, "hang", "run"),
    "fills_memory": ("run", fill_memory, "memory", "run"),
    "gives_too_few": ("outputs", lambda outputs: outputs[:-1], "failed", "run"),
    "gives_too_many": ("outputs", lambda outputs: outputs + outputs, "failed", "run"),
    "gives_another_type": ("outputs", each(floats), "dtype", "run"),
    "gives_another_shape": ("outputs", each(lambda array: array[np.newaxis]), "shape", "run"),
    "gives_no_numbers": ("outputs", each(with_nan), "nan", "run"),
    "is_off_by_one": ("outputs", each(off), "wrong", "run"),
    "gives_an_object": ("outputs", each(lambda array: np.array({"a": 1}.keys(), object)), "dtype", "run"),
}


def in_half(array):
    return array.astype(np.float16).astype(array.dtype) if array.dtype == np.float32 else array


def next_half(array):
    return np.nextafter(array, np.array(np.inf, array.dtype))


def without_epsilon(model):
    for node in model.graph.node:
        node.attribute.append(onnx.helper.make_attribute("epsilon", 0.0))


# Mistakes that ONNX's own runner passes at its tolerance, or reports as something else, on the case that is named.
QUIET = {
    "adds_with_an_error_of_5e-4": ("outputs", each(lambda y: y * y.dtype.type(1 + 5e-4)), "test_add"),
    "raises_to_powers_by_a_table": ("outputs", each(lambda y: y * y.dtype.type(1 - 9e-4)), "test_exp"),
    "multiplies_in_float16": ("inputs", in_half, "test_mul"),
    "rounds_float16_upwards": ("outputs", each(next_half), "test_cast_FLOAT_to_FLOAT16"),
    "leaves_out_epsilon": ("model", without_epsilon, "test_batchnorm_example"),
    "gives_bytes_for_bools": ("outputs", each(lambda y: y.astype(np.uint8)), "test_not_2d"),
    "loses_the_end_of_a_sequence": ("outputs", lambda outputs: [outputs[0][:-1]], "test_sequence_insert_at_back"),
    "ends_the_process_well": ("run", lambda *_: os._exit(0), "test_relu"),
    "crashes": ("run", fall, "test_relu"),
    "hangs": ("run", wait, "test_relu"),
    "skips_what_it_cannot_do": ("run", raised(unittest.SkipTest("not this one")), "test_relu"),
    "is_not_supposed_to_do_it": ("run", raised(BackendIsNotSupposedToImplementIt("not this one")), "test_relu"),
    "is_compatible_with_nothing": ("is_compatible", lambda *_: False, "test_relu"),
    "supports_no_device": ("supports_device", lambda *_: False, "test_relu"),
}


class PlantedPrepared(BackendRep):
    def __init__(self, prepared, where, what):
        self.prepared, self.where, self.what = prepared, where, what

    def run(self, inputs, **kwargs):
        if self.where == "run":
            return self.what(inputs)
        if self.where == "inputs":
            inputs = [self.what(array) for array in inputs]
        outputs = list(self.prepared.run(inputs))
        return self.what(outputs) if self.where == "outputs" else outputs


def planted(name, where, what):
    class Planted(Backend):
        @classmethod
        def is_compatible(cls, model, device="CPU", **kwargs):
            return what() if where == "is_compatible" else True

        @classmethod
        def supports_device(cls, device):
            return what() if where == "supports_device" else AROUND.supports_device(device)

        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            if where == "model":
                what(model)
            return what() if where == "prepare" else PlantedPrepared(AROUND.prepare(model, device), where, what)
    Planted.__name__ = Planted.__qualname__ = name.replace("-", "_")
    return Planted


right = planted("right", "", None)
for name, (where, what, _, _) in MISTAKES.items():
    globals()[name] = planted(name, where, what)
for name, (where, what, _) in QUIET.items():
    globals()[name.replace("-", "_")] = planted(name, where, what)
