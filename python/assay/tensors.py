"""Arrays of NumPy, torch and others as tensors of the library, and back.

NumPy has no bfloat16 and no floats or integers of 8 bits and less beyond its own. Such elements are

- arrays of the types of the package ml_dtypes, where it is installed: ``x.astype(ml_dtypes.bfloat16)``;
- else their codes, with the type stated beside them: ``assay.Tensor(codes, "bfloat16")``, codes being an array of
  uint16 for bfloat16 and of uint8, one element to a byte, for all narrower ones.
"""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from assay import library
from assay.library import AssayError

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class Element(NamedTuple):
    number: int               # in ONNX's TensorProto.DataType
    codes: Optional[str]      # the type of NumPy that it has in memory; None: strings
    bits: int = 0             # of those that NumPy lacks; 0: it has this type
    scalar: str = ""          # its name in ml_dtypes, where that is another


ELEMENTS: Dict[str, Element] = {
    "float32": Element(1, "f4"), "uint8": Element(2, "u1"), "int8": Element(3, "i1"), "uint16": Element(4, "u2"),
    "int16": Element(5, "i2"), "int32": Element(6, "i4"), "int64": Element(7, "i8"), "string": Element(8, None),
    "bool": Element(9, "?"), "float16": Element(10, "f2"), "float64": Element(11, "f8"), "uint32": Element(12, "u4"),
    "uint64": Element(13, "u8"), "complex64": Element(14, "c8"), "complex128": Element(15, "c16"),
    "bfloat16": Element(16, "u2", 16), "float8e4m3fn": Element(17, "u1", 8, "float8_e4m3fn"),
    "float8e4m3fnuz": Element(18, "u1", 8, "float8_e4m3fnuz"), "float8e5m2": Element(19, "u1", 8, "float8_e5m2"),
    "float8e5m2fnuz": Element(20, "u1", 8, "float8_e5m2fnuz"), "uint4": Element(21, "u1", 4),
    "int4": Element(22, "u1", 4), "float4e2m1": Element(23, "u1", 4, "float4_e2m1fn"),
    "float8e8m0": Element(24, "u1", 8, "float8_e8m0fnu"), "uint2": Element(25, "u1", 2), "int2": Element(26, "u1", 2),
}
NAMES = {element.number: name for name, element in ELEMENTS.items()}
# What ml_dtypes and torch call them.
SCALARS = {element.scalar or name: name for name, element in ELEMENTS.items() if element.bits}


class Tensor:
    """An array of the codes of a type that NumPy lacks, with the type's name: ``Tensor(codes, "bfloat16")``."""

    def __init__(self, codes: Any, type: str) -> None:
        need_numpy()
        if type not in ELEMENTS:
            raise AssayError(f"there is no element type {type!r}; there are {', '.join(ELEMENTS)}")
        element, array = ELEMENTS[type], numpy.asarray(codes)
        if element.bits and array.dtype.itemsize != numpy.dtype(element.codes).itemsize:
            raise AssayError(f"codes of {type} are an array of {numpy.dtype(element.codes)}, not of {array.dtype}")
        self.type = type
        self.codes = array.view(element.codes) if element.bits and array.size else array


def need_numpy() -> None:
    if numpy is None:
        raise AssayError("judging arrays takes NumPy, which is not installed (the command assay and the plugin for pytest "
                         "do without): pip install numpy", "not found")


def from_torch(tensor: Any) -> Any:
    tensor = tensor.detach().cpu().contiguous()
    name = SCALARS.get(str(tensor.dtype).replace("torch.", ""))
    if name is None:
        return tensor.numpy()
    import torch
    return Tensor(tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()]).numpy(), name)


def typed(given: Any) -> Tuple[str, "numpy.ndarray"]:
    """The name of the element type, and an array of the codes that it has in memory."""
    if isinstance(given, Tensor):
        return given.type, given.codes
    if type(given).__module__.split(".")[0] == "torch" and hasattr(given, "detach"):
        given = from_torch(given)
        if isinstance(given, Tensor):
            return given.type, given.codes
    array = numpy.asarray(given)
    if array.dtype.kind in "OUS":
        return "string", array
    if array.dtype.name in SCALARS:
        name = SCALARS[array.dtype.name]
        codes = numpy.ascontiguousarray(array).view(ELEMENTS[name].codes).reshape(array.shape)
        bits = ELEMENTS[name].bits  # a signed number of 4 bits has its sign in all bits of the byte
        return name, codes & ((1 << bits) - 1) if bits < 8 else codes
    if array.dtype.name not in ELEMENTS:
        raise AssayError(f"ONNX has no element type for arrays of {array.dtype}")
    return array.dtype.name, array


def pack(codes: "numpy.ndarray", bits: int) -> "numpy.ndarray":
    """Several elements to a byte, the first in the low bits."""
    each = 8 // bits
    flat = numpy.zeros(-(-codes.size // each) * each, numpy.uint8)
    flat[:codes.size] = codes.reshape(-1) & ((1 << bits) - 1)
    packed = numpy.zeros(flat.size // each, numpy.uint8)
    for i in range(each):
        packed |= flat[i::each] << numpy.uint8(i * bits)
    return packed


def unpack(packed: "numpy.ndarray", bits: int, count: int) -> "numpy.ndarray":
    each = 8 // bits
    codes = numpy.zeros(packed.size * each, numpy.uint8)
    for i in range(each):
        codes[i::each] = (packed >> numpy.uint8(i * bits)) & ((1 << bits) - 1)
    return codes[:count]


class Tensors:
    """Tensors for one call, with what they point to."""

    def __init__(self, named: Sequence[Tuple[Optional[str], Any]]) -> None:
        self.count = len(named)
        self.items = (library.Tensor * max(self.count, 1))()
        self.kept: List[Any] = []
        for item, (name, given) in zip(self.items, named):
            self.fill(item, name, given)

    def shape_of(self, name: str) -> Tuple[int, ...]:
        """() where there is no such tensor."""
        for item in self.items[:self.count]:
            if item.name == name.encode():
                return tuple(item.shape[:item.rank])
        return ()

    def keep(self, what: Any) -> Any:
        self.kept.append(what)
        return what

    def fill(self, item: library.Tensor, name: Optional[str], given: Any) -> None:
        word, array = typed(given)
        element = ELEMENTS[word]
        item.name = name.encode() if name is not None else None
        item.type, item.rank = element.number, array.ndim
        item.shape = self.keep((ctypes.c_int64 * max(array.ndim, 1))(*array.shape))
        if element.codes is None:
            item.data = ctypes.cast(self.strings(array), ctypes.c_void_p)
            return
        dense = numpy.require(array, numpy.dtype(element.codes).newbyteorder("="), ["C", "A"])
        if element.bits and element.bits < 8:
            dense = pack(dense, element.bits)
        item.data = self.keep(dense).ctypes.data

    def strings(self, array: "numpy.ndarray") -> Any:
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.reshape(-1)]
        if any(b"\0" in text for text in texts):
            raise AssayError("a string with a 0 in it cannot be given")
        return self.keep((ctypes.c_char_p * max(len(texts), 1))(*texts))


Given = Union[Mapping[str, Any], Sequence[Any], Any]


def is_single(given: Any) -> bool:
    return isinstance(given, Tensor) or hasattr(given, "__array__") or hasattr(given, "detach")


def by_name(given: Given, names: Sequence[str], what: str) -> List[Tuple[Optional[str], Any]]:
    """What is given as (name, array); `names` are those of the model, `what` says whether inputs or outputs."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(str(name), array) for name, array in given.items() if array is not None]
    if is_single(given):
        given = [given]
    if not isinstance(given, (list, tuple)):
        raise AssayError(f"{what} are a dict by name, a list in the model's order, or one array, not {type(given).__name__}")
    if len(given) > len(names):
        raise AssayError(f"the model has {len(names)} {what}, and {len(given)} are given")
    return [(name, array) for name, array in zip(names, given) if array is not None]


def array_of(value: library.Value) -> "numpy.ndarray":
    """A copy of the value's elements: of the type of NumPy or ml_dtypes, else their codes (uint16 or uint8)."""
    word = NAMES[value.type]
    element, shape = ELEMENTS[word], tuple(value.shape[i] for i in range(value.rank))
    if element.codes is None:
        texts = ctypes.cast(value.data, ctypes.POINTER(ctypes.c_char_p))
        array = numpy.empty(value.count, object)
        for i in range(value.count):
            array[i] = texts[i].decode("utf-8", "surrogateescape")
        return array.reshape(shape)
    codes = numpy.frombuffer(ctypes.string_at(value.data, value.size) if value.size else b"", element.codes).copy()
    if element.bits and element.bits < 8:
        codes = unpack(codes, element.bits, value.count)
    codes = codes.reshape(shape)
    scalar = getattr(ml_dtypes, element.scalar or word, None) if element.bits and ml_dtypes else None
    if scalar is None:
        return codes
    return codes.view(scalar) if element.bits >= 8 else narrow(codes, element.bits, word).astype(scalar)


def narrow(codes: "numpy.ndarray", bits: int, word: str) -> "numpy.ndarray":
    """The numbers that codes of 4 and 2 bits stand for."""
    if word.startswith("float4"):
        return numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], numpy.float32)[codes & 15]
    numbers = codes.astype(numpy.int8)
    return numpy.where(numbers >= 1 << (bits - 1), numbers - (1 << bits), numbers) if word.startswith("int") else numbers


def row_of(pointer: Any, value: library.Value) -> Optional["numpy.ndarray"]:
    """Numbers of each element: a copy, in the value's shape."""
    if not pointer or not value.count:
        return None
    shape = tuple(value.shape[i] for i in range(value.rank))
    return numpy.ctypeslib.as_array(pointer, (value.count,)).copy().reshape(shape)
