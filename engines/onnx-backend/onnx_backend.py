"""
Hosts a module of the interface onnx.backend: whatever has prepare(model, device) and, from that, run(inputs). ONNX
Runtime, OpenVINO, TVM, onnx-mlir and others bring one, so that one adapter serves all of them:

    [mine]
    command = /usr/bin/python3 {libexec}/onnx-backend/onnx_backend.py my_package.backend

The backend is a module, or a class in it: my_package.backend:MyBackend. It needs the Python package onnx, with whose
classes the interface is defined.
"""
import importlib
import inspect
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sdk", "python"))
from assay_adapter import OTHER_TYPES, STRING, Engine, Knob, Rejected, Tensor, Unsupported, serve  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx.backend.base import Backend  # noqa: E402

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
         10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128}
# Types that NumPy has from a package, for backends that use it.
OWN_TYPES = {16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz",
             21: "uint4", 22: "int4", 23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2"}
try:
    import ml_dtypes
    TYPES.update({number: getattr(ml_dtypes, name) for number, name in OWN_TYPES.items() if hasattr(ml_dtypes, name)})
except ImportError:
    pass
NUMBERS = {np.dtype(type): number for number, type in TYPES.items()}

# What an exception says of a backend that lacks something, by its class: Python's own, that of unittest and of ONNX's
# tests, and those that libraries named after them; and by its text, where one class stands for several things.
LACKING_CLASSES = ("NotImplemented", "Unsupported", "NotSupported", "SkipTest", "BackendIsNotSupposedToImplementIt")
LACKING_TEXTS = ("not implemented", "only implemented", "upported", "upports", "does not support", "only support",
                 "Could not find an implementation", "No Op registered for", "is not a registered function/op",
                 "is higher than the checker", "No corresponding Numpy type")


def lacks(error):
    """SkipTest is how backends tell ONNX's own runner that they have nothing to show."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return any(word in name for name in names for word in LACKING_CLASSES) or \
        any(word in str(error) for word in LACKING_TEXTS)


def words(error):
    return f"{type(error).__name__}: {error}"


def find_backend(named):
    """The module or class that `named` means: MODULE, or MODULE:NAME."""
    module, _, path = named.partition(":")
    if not module:
        raise Rejected("no backend is named: give the knob backend, or the module's name behind the program's")
    found = importlib.import_module(module)
    for name in path.split(".") if path else []:
        found = getattr(found, name)
    if hasattr(found, "prepare"):
        return found
    own = [kind for _, kind in inspect.getmembers(found, inspect.isclass)
           if issubclass(kind, Backend) and kind.__module__ == found.__name__]
    if len(own) == 1:
        return own[0]
    raise Rejected(f"{named} has no function prepare, and {len(own)} classes of the interface onnx.backend: name one, "
                   f"as in {module}:MyBackend")


def version_of(backend, named):
    """Of the module, or of the package that it belongs to."""
    parts = named.partition(":")[0].split(".")
    places = [backend] + [sys.modules.get(".".join(parts[:count])) for count in range(len(parts), 0, -1)]
    return next((str(place.__version__) for place in places if hasattr(place, "__version__")), "unknown")


def to_strings(tensor):
    texts, at = [], 0
    while at < len(tensor.data):
        size, = struct.unpack_from("<I", tensor.data, at)
        texts.append(tensor.data[at + 4:at + 4 + size].decode("utf-8", "surrogateescape"))
        at += 4 + size
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(tensor.dims)


def to_array(value):
    """A copy, which the backend may write to."""
    if value is None:
        return None
    if isinstance(value, list):
        return [to_array(tensor) for tensor in value]
    if value.type == STRING:
        return to_strings(value)
    if value.type not in TYPES:
        name = OTHER_TYPES.get(value.type, value.type)
        raise Unsupported(f"the interface onnx.backend passes arrays of NumPy, which has no {name}")
    return np.frombuffer(value.data, TYPES[value.type]).reshape(value.dims).copy()


def from_strings(array):
    texts = [text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape") for text in array.reshape(-1)]
    return Tensor(STRING, array.shape, b"".join(struct.pack("<I", len(text)) + text for text in texts))


def from_array(name, given):
    """What a backend may return for an output: an array, a number, a list of arrays, or None."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)):
        return [from_array(name, element) for element in given]
    array = np.asarray(given)
    if array.dtype.kind in "OUS":
        return from_strings(array)
    if array.dtype not in NUMBERS:
        raise TypeError(f"the backend returned {type(given).__name__} of {array.dtype} for output {name}, for which ONNX "
                        "has no type")
    return Tensor(NUMBERS[array.dtype], array.shape, np.ascontiguousarray(array).tobytes())


class OnnxBackend(Engine):
    knobs = [Knob("backend", "MODULE", sys.argv[1] if len(sys.argv) > 1 else "",
                  "a module with prepare and run, or a class in one: MODULE:CLASS"),
             Knob("device", "DEVICE", "CPU", "what prepare is asked for")]

    def start(self, knobs):
        self.device, self.name = knobs["device"], knobs["backend"].partition(":")[0]
        self.backend = find_backend(knobs["backend"])
        if hasattr(self.backend, "supports_device") and not self.backend.supports_device(self.device):
            raise Unsupported(f"supports_device({self.device!r}) of {knobs['backend']} says no")
        return version_of(self.backend, knobs["backend"])

    def load(self, model):
        proto = onnx.load_model_from_string(model.data)
        if model.folder is not None:
            onnx.load_external_data_for_model(proto, model.folder)
        weights = {tensor.name for tensor in proto.graph.initializer}
        self.inputs = [value.name for value in proto.graph.input if value.name not in weights]
        self.outputs, self.wanted = [value.name for value in proto.graph.output], model.outputs
        missing = [name for name in self.wanted if name not in self.outputs]
        if missing:
            raise Rejected(f"{missing[0]} is no output of the model")
        self.prepared = self.prepare(proto)

    def prepare(self, proto):
        """An exception of a class of its own, or of ONNX's, is a refusal in the backend's own words; one of Python's own
        classes is an accident in it."""
        if hasattr(self.backend, "is_compatible"):
            if not self.asked(self.backend.is_compatible, proto, self.device):
                raise Unsupported("is_compatible says no")
        try:
            prepared = self.asked(self.backend.prepare, proto, self.device)
        except Exception as error:
            if isinstance(error, Unsupported) or type(error).__module__ == "builtins":
                raise
            raise Rejected(words(error)) from error
        if not hasattr(prepared, "run"):
            raise TypeError(f"prepare returned {type(prepared).__name__}, which has no run")
        return prepared

    def asked(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:
            if lacks(error):
                raise Unsupported(words(error)) from error
            raise

    def run(self, inputs):
        given = [to_array(inputs.get(name)) for name in self.inputs]
        returned = self.asked(self.prepared.run, given)
        if isinstance(returned, dict):
            missing = [name for name in self.wanted if name not in returned]
            if missing:
                raise KeyError(f"the backend returned no output {missing[0]}")
            return {name: from_array(name, returned[name]) for name in self.wanted}
        if not isinstance(returned, (list, tuple)):
            returned = [returned]
        if len(returned) != len(self.outputs):
            raise ValueError(f"the backend returned {len(returned)} outputs, and the model has {len(self.outputs)}")
        found = dict(zip(self.outputs, returned))
        return {name: from_array(name, found[name]) for name in self.wanted}

    def unload(self):
        self.prepared = None


serve(OnnxBackend())
