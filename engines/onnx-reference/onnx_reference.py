"""
onnx.reference, the evaluator that ONNX itself brings: written in Python and numpy, by others than the reference of
Assay and from the same text. It is slow, and meant to be asked when something is to be called wrong (--second-opinion).
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sdk", "python"))
from assay_adapter import OTHER_TYPES, Engine, Tensor, Unsupported, serve  # noqa: E402

import numpy as np  # noqa: E402
try:
    import onnx  # noqa: E402
    from onnx.reference import ReferenceEvaluator  # noqa: E402
    from onnx.reference.op_run import RuntimeContextError, RuntimeImplementationError  # noqa: E402
except ImportError:
    sys.exit("no release; tools/fetch-root trixie onnx-reference")

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
         10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
NUMBERS = {np.dtype(type): number for number, type in TYPES.items()}


def to_array(tensor):
    if not isinstance(tensor, Tensor):
        raise Unsupported("sequences and optional values")
    if tensor.type not in TYPES:
        raise Unsupported(f"element type {OTHER_TYPES.get(tensor.type, tensor.type)}")
    return np.frombuffer(tensor.data, TYPES[tensor.type]).reshape(tensor.dims)


def to_tensor(array):
    if isinstance(array, np.generic):
        array = np.asarray(array)
    if not isinstance(array, np.ndarray) or array.dtype not in NUMBERS:
        raise Unsupported(f"a result of type {getattr(array, 'dtype', type(array).__name__)}")
    return Tensor(NUMBERS[array.dtype], array.shape, array.tobytes())


def element_types(graph):
    """Of all tensors that a graph names: those of bfloat16 and the like have no type in numpy."""
    for tensor in graph.initializer:
        yield tensor.data_type
    for value in list(graph.input) + list(graph.output) + list(graph.value_info):
        yield value.type.tensor_type.elem_type
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype", "output_dtype", "stash_type"):
                yield attribute.i
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t.data_type
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from element_types(attribute.g)


class OnnxReference(Engine):
    name = "onnx-reference"

    def start(self, knobs):
        return onnx.__version__

    def load(self, model):
        proto = onnx.load_model_from_string(model.data)
        if model.folder is not None:
            onnx.load_external_data_for_model(proto, model.folder)
        strange = [number for number in element_types(proto.graph) if number and number not in TYPES]
        if strange:
            raise Unsupported(f"element type {OTHER_TYPES.get(strange[0], strange[0])}")
        self.outputs = model.outputs
        try:
            self.evaluator = ReferenceEvaluator(proto)
        except (NotImplementedError, RuntimeImplementationError, RuntimeContextError) as error:
            raise Unsupported(str(error))
        except RuntimeError as error:
            if str(error).startswith("No implementation"):
                raise Unsupported(str(error))
            raise

    def run(self, inputs):
        try:
            with np.errstate(all="ignore"):
                results = self.evaluator.run(self.outputs, {name: to_array(tensor) for name, tensor in inputs.items()})
        except (NotImplementedError, RuntimeImplementationError) as error:
            raise Unsupported(str(error))
        return {name: to_tensor(result) for name, result in zip(self.outputs, results)}

    def unload(self):
        self.evaluator = None


serve(OnnxReference())
