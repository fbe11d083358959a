"""
The SDK for engine adapters in Python: copy this file beside your own. It needs Python 3.8 and nothing else.

An adapter is a subclass of Engine and a call of serve():

    from assay_adapter import Engine, Knob, Tensor, Unsupported, serve

    class Mine(Engine):
        name = "mine"
        knobs = [Knob("mode", "fast|exact", "fast", "how sums are computed")]
        operators = ["Relu", "Add"]      # Assay generates models of these alone ("Softmax@13": from opset 13 on),
        types = [1, 7]                   # of these element types: float32 and int64

        def start(self, knobs):          # once: opens the library, returns its version
            return "1.0"

        def load(self, model):           # a Model, see below
            for node in model.graph.nodes:
                if node.op_type not in self.operators:
                    raise Unsupported(f"operator {node.op_type}")
            self.model = model

        def run(self, inputs):           # {name: Tensor or list of Tensor or None} to {name: the same}
            return {name: compute(name, inputs) for name in self.model.outputs}

        def trace(self):                 # optional: what the last load or run did, see Step
            return ["relu_avx2"]

    serve(Mine())

A method that fails raises Unsupported (the library lacks something that the case needs), Rejected (it calls the model or
the inputs invalid) or any other exception (it tried, and something went wrong); the exception's text is what the user
reads, with the place where it was raised. The distinction matters: an unsupported model is not a finding, a valid model
that is rejected is one. A name that does not exist (NameError, AttributeError, ImportError) in a file of the adapter's
folder is a mistake of the adapter, for which nobody blames the engine.

Import this file before the library: what is printed from then on goes to stderr, because stdout belongs to the
protocol. docs/writing-an-engine.md is the manual and numpy_engine.py a complete example. The protocol itself is
proto/engine.proto; its messages and those of ONNX are read here without generated code.
"""
import os
import struct
import sys
from types import SimpleNamespace

PROTOCOL = 1
CHUNK = 1 << 20
KERNELS, GRAPH, SCHEDULE = 0, 1, 2                      # kinds of knobs, see engine.proto
FAILED, UNSUPPORTED, REJECTED, ADAPTER = 0, 1, 2, 3      # classes of errors
TENSOR, SEQUENCE, NONE = 0, 1, 2                        # kinds of values
KERNEL, PASS = 0, 1                                     # kinds of steps of a trace
STRING = 8                                              # ONNX's number of that element type
# Element types that NumPy lacks, by their numbers, and how many bits those have that share bytes in a model.
OTHER_TYPES = {14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
               19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0",
               25: "uint2", 26: "int2"}
PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
SIGNED_PACKED = (22, 26)


STDOUT = os.dup(1)                                      # for the protocol alone; what anybody prints goes to stderr
os.dup2(2, 1)


class Unsupported(Exception):
    pass


class Rejected(Exception):
    pass


class Knob:
    """values: "a|b|c" for one of these, or a word in capitals for anything; plain: of a GRAPH knob, the value that
    leaves the graph as it is."""

    def __init__(self, name, values, default, help, kind=KERNELS, plain=""):
        self.name, self.values, self.default, self.help, self.kind, self.plain = name, values, default, help, kind, plain


class Tensor:
    """type: ONNX's number (1 is float32, 7 int64); dims: a list; data: little-endian bytes, dense, row-major. For
    numpy: np.frombuffer(t.data, dtype).reshape(t.dims), and array.tobytes(). Elements of 4 and 2 bits have a byte each:
    int4 and int2 as int8, uint4 and uint2 as uint8, float4 as its bits."""

    def __init__(self, type, dims, data):
        self.type, self.dims, self.data = type, list(dims), data


class Step:
    """One thing that the library did, by the name that it uses itself, which is the same each time: a kernel that
    computed `outputs` (names of values of the model, where known), or a pass that changed the graph. device: which
    backend the kernel belongs to; pass_name: the pass that put it there."""

    def __init__(self, name, kind=KERNEL, device="", pass_name="", outputs=()):
        self.name, self.kind, self.device, self.pass_name, self.outputs = name, kind, device, pass_name, outputs


class Engine:
    """What an adapter overrides; see the head of this file."""
    name = "unnamed"
    knobs = []
    operators = []                                      # empty: it cannot tell beforehand
    types = []                                          # ONNX's numbers of element types; empty: it cannot tell

    def start(self, knobs):
        return "1"

    def load(self, model):
        raise NotImplementedError

    def run(self, inputs):
        raise NotImplementedError

    def gradient(self, inputs, output_gradients, wanted):
        raise Unsupported(f"{self.name} has no gradients")

    def trace(self):
        """After a load or run of a model with `traced`: names of kernels, or Steps."""
        return []

    def unload(self):
        pass


# Protocol Buffers: a message is {field number: (name, type, repeated)}; a type is a letter of `scalars` or another message.

scalars = {"i": 0, "s": "", "b": b"", "f": 0.0, "d": 0.0}


def one(name, type):
    return name, type, False


def many(name, type):
    return name, type, True


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value - (1 << 64) if value >> 63 else value), at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def read_field(data, at):
    """The number, the value and the end of the field at `at`."""
    key, at = read_varint(data, at)
    wire = key & 7
    if wire == 0:
        value, at = read_varint(data, at)
    else:
        size, at = (8, at) if wire == 1 else (4, at) if wire == 5 else read_varint(data, at)
        if wire not in (1, 2, 5) or size < 0 or at + size > len(data):
            raise ValueError("a field that goes beyond its message")
        value, at = data[at:at + size], at + size
    return key >> 3, value, at


def unpack(type, value):
    """The elements of a packed field."""
    if type in "fd":
        return list(struct.unpack(f"<{len(value) // struct.calcsize(type)}{type}", value))
    found, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        found.append(number)
    return found


def scalar(type, value):
    if type == "s":
        return bytes(value).decode("utf-8", "replace")
    if type == "b":
        return bytes(value)
    return unpack(type, value)[0] if type in "fd" else value


def decode(message, data):
    found = SimpleNamespace(**{
        name: [] if repeated else scalars.get(type) if isinstance(type, str) else None
        for name, type, repeated in message.values()})
    data, at = memoryview(data), 0
    while at < len(data):
        number, value, at = read_field(data, at)
        if number not in message:
            continue
        name, type, repeated = message[number]
        is_bytes = not isinstance(value, int)
        if not isinstance(type, str):
            value = decode(type, value)
        elif repeated and type in "ifd" and is_bytes:
            getattr(found, name).extend(unpack(type, value))
            continue
        else:
            value = scalar(type, value)
        if repeated:
            getattr(found, name).append(value)
        else:
            setattr(found, name, value)
    return found


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(message, values):
    """`values` is a dictionary by field names; what is not in it is left out."""
    out = bytearray()
    for number, (name, type, repeated) in message.items():
        if name not in values:
            continue
        for value in values[name] if repeated else [values[name]]:
            if type == "i":
                out += varint(number << 3) + varint(value)
                continue
            data = encode(type, value) if isinstance(type, dict) else value.encode() if type == "s" else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(out)


# The messages of proto/engine.proto.

TENSOR_INFO = {1: one("type", "i"), 2: many("dims", "i"), 3: one("size", "i")}
VALUE = {1: one("name", "s"), 2: one("kind", "i"), 3: many("tensors", TENSOR_INFO)}
REQUEST = {
    1: one("id", "i"),
    2: one("hello", {1: one("protocol", "i"), 2: many("knobs", {1: one("name", "s"), 2: one("value", "s")})}),
    3: one("load", {1: one("model_size", "i"), 2: one("path", "s"), 3: many("outputs", "s"), 4: one("trace", "i")}),
    4: one("run", {1: many("inputs", VALUE)}),
    5: one("gradient", {1: many("inputs", VALUE), 2: many("output_gradients", VALUE), 3: many("wanted", "s")}),
    6: one("unload", {}),
}
REPLY = {
    1: one("id", "i"),
    2: one("error", {1: one("stage", "i"), 2: one("class", "i"), 3: one("message", "s")}),
    3: one("welcome", {
        1: one("protocol", "i"), 2: one("name", "s"), 3: one("version", "s"),
        4: many("knobs", {1: one("name", "s"), 2: one("values", "s"), 3: one("default_value", "s"), 4: one("help", "s"),
                          5: one("kind", "i"), 6: one("plain", "s")}),
        5: many("operators", "s"), 7: many("types", "i")}),
    4: one("loaded", {1: many("inputs", "s"), 2: many("outputs", "s")}),
    5: one("values", {1: many("values", VALUE)}),
    6: one("done", {}),
    8: many("trace", {1: one("name", "s"), 2: one("kind", "i"), 3: one("device", "s"), 4: one("pass", "s"),
                      5: many("outputs", "s")}),
}

# Of onnx.proto what a model without functions and sparse tensors has.

ONNX_TENSOR = {
    1: many("dims", "i"), 2: one("data_type", "i"), 4: many("float_data", "f"), 5: many("int32_data", "i"),
    6: many("string_data", "b"), 7: many("int64_data", "i"), 8: one("name", "s"), 9: one("raw_data", "b"),
    10: many("double_data", "d"), 11: many("uint64_data", "i"),
    13: many("external_data", {1: one("key", "s"), 2: one("value", "s")}), 14: one("data_location", "i"),
}
ONNX_VALUE = {1: one("name", "s"), 2: one("type", {1: one("tensor_type", {1: one("elem_type", "i")})})}
ONNX_ATTRIBUTE = {
    1: one("name", "s"), 2: one("f", "f"), 3: one("i", "i"), 4: one("s", "s"), 5: one("t", ONNX_TENSOR),
    7: many("floats", "f"), 8: many("ints", "i"), 9: many("strings", "s"), 10: many("tensors", ONNX_TENSOR),
    20: one("type", "i"), 21: one("ref_attr_name", "s"),
}
ONNX_NODE = {
    1: many("inputs", "s"), 2: many("outputs", "s"), 3: one("name", "s"), 4: one("op_type", "s"),
    5: many("attribute", ONNX_ATTRIBUTE), 7: one("domain", "s"),
}
ONNX_GRAPH = {
    1: many("nodes", ONNX_NODE), 2: one("name", "s"), 5: many("initializer", ONNX_TENSOR), 11: many("inputs", ONNX_VALUE),
    12: many("outputs", ONNX_VALUE), 15: many("sparse_initializer", {}),
}
ONNX_ATTRIBUTE[6] = one("g", ONNX_GRAPH)
ONNX_MODEL = {
    7: one("graph", ONNX_GRAPH), 8: many("opset_import", {1: one("domain", "s"), 2: one("version", "i")}),
    25: many("functions", {}),
}
ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 9: "tensors"}
# How elements lie in memory, for those that a model may keep as numbers in place of bytes.
LETTERS = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 10: "H", 11: "d", 12: "I", 13: "Q", 16: "H",
           17: "B", 18: "B", 19: "B", 20: "B", 24: "B"}


class Model:
    """
    graph: nodes (op_type, domain, inputs, outputs, name, attributes by name), inputs and outputs (each with a name),
    initializers (Tensors by name). outputs: the names of those that are wanted. opset: of ONNX's own operators. data:
    the model's bytes, for a library that reads models itself; folder: where its other files lie, or None. traced:
    Engine.trace will be asked what the library did.
    """

    def __init__(self, data, folder, wanted, traced=False):
        try:
            model = decode(ONNX_MODEL, data)
        except (ValueError, IndexError, TypeError, struct.error) as error:
            raise Rejected(f"not an ONNX model: {error}")
        if model.graph is None:
            raise Rejected("not an ONNX model: it has no graph")
        if model.functions:
            raise Unsupported("functions of a model")
        self.data, self.folder, self.traced = data, folder, traced
        self.opset = max([entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")], default=1)
        self.graph = finish_graph(model.graph, folder)
        self.outputs = list(wanted) or [value.name for value in self.graph.outputs]


def finish_graph(graph, folder):
    """Attributes by name, tensors with their bytes."""
    if graph.sparse_initializer:
        raise Unsupported("sparse initialisers")
    graph.initializers = {tensor.name: finish_tensor(tensor, folder) for tensor in graph.initializer}
    for node in graph.nodes:
        node.attributes = {attribute.name: attribute_value(attribute, folder) for attribute in node.attribute}
    return graph


def attribute_value(attribute, folder):
    value = getattr(attribute, ATTRIBUTES.get(attribute.type, ""), None)
    if attribute.type == 4:
        return finish_tensor(value, folder)
    if attribute.type == 5:
        return finish_graph(value, folder)
    return [finish_tensor(tensor, folder) for tensor in value] if attribute.type == 9 else value


def external_bytes(tensor, folder):
    facts = {entry.key: entry.value for entry in tensor.external_data}
    location = facts.get("location", "")
    if folder is None or os.path.isabs(location) or ".." in location.split("/"):
        raise Rejected(f"tensor {tensor.name} lies in the file '{location}', which is not beside the model")
    with open(os.path.join(folder, location), "rb") as file:
        file.seek(int(facts.get("offset", 0)))
        return file.read(int(facts["length"]) if "length" in facts else -1)


def unpacked(type, dims, packed):
    """A byte for each of the elements that share bytes, the first one in the lowest bits."""
    bits, count = PACKED_BITS[type], 1
    for dim in dims:
        count *= dim
    each, half = 8 // bits, 1 << bits - 1
    if len(packed) != -(-count // each):
        raise Rejected(f"{len(packed)} bytes of packed elements for {count} of {OTHER_TYPES[type]}")
    codes = (packed[i // each] >> i % each * bits & 2 * half - 1 for i in range(count))
    return bytes((code - 2 * half) & 0xFF if type in SIGNED_PACKED and code >= half else code for code in codes)


def finish_tensor(tensor, folder):
    type = tensor.data_type
    data = external_bytes(tensor, folder) if tensor.data_location == 1 else tensor.raw_data
    if type in PACKED_BITS:
        packed = data or bytes(number & 0xFF for number in tensor.int32_data)
        return Tensor(type, tensor.dims, unpacked(type, tensor.dims, packed))
    if data or tensor.data_location == 1:
        return Tensor(type, tensor.dims, data)
    if type == STRING:
        return Tensor(type, tensor.dims, b"".join(struct.pack("<I", len(text)) + text for text in tensor.string_data))
    numbers = tensor.float_data or tensor.int32_data or tensor.int64_data or tensor.double_data or tensor.uint64_data
    if numbers and type not in LETTERS:
        raise Unsupported(f"numbers of element type {type} that are not kept as bytes")
    if type in (12, 13):                                # read as signed
        numbers = [number & (1 << 64) - 1 for number in numbers]
    data = struct.pack(f"<{len(numbers)}{LETTERS.get(type, 'B')}", *numbers)
    return Tensor(type, tensor.dims, data)


# Frames: everything is a length of four bytes and as many bytes.

class Pipe:
    def __init__(self):
        self.out = os.fdopen(STDOUT, "wb", buffering=CHUNK)
        self.input = os.fdopen(os.dup(0), "rb", buffering=CHUNK)

    def read(self, size):
        data = self.input.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def frame(self):
        return self.read(struct.unpack("<I", self.read(4))[0])

    def payload(self, size):
        data = bytearray()
        while len(data) < size:
            data += self.frame()
        return bytes(data)

    def send(self, reply, payloads=()):
        message = encode(REPLY, reply)
        self.out.write(struct.pack("<I", len(message)) + message)
        for data in payloads:
            for at in range(0, len(data), CHUNK):
                chunk = data[at:at + CHUNK]
                self.out.write(struct.pack("<I", len(chunk)))
                self.out.write(chunk)
        self.out.flush()


# The loop: each reply is sent before the next request is read, so that a crash is put down to the right one.

def describe(error):
    """The class of an exception, and its text with the place where it was raised."""
    if isinstance(error, (Unsupported, Rejected)):
        return UNSUPPORTED if isinstance(error, Unsupported) else REJECTED, str(error)
    frame = error.__traceback__
    while frame and frame.tb_next and frame.tb_next.tb_frame.f_code.co_name != "__getattr__":  # of a module, for names it lacks
        frame = frame.tb_next
    path = os.path.realpath(frame.tb_frame.f_code.co_filename) if frame else ""
    own = os.path.dirname(path) == os.path.dirname(os.path.realpath(__file__))
    where = f" ({os.path.basename(path)}:{frame.tb_lineno} in {frame.tb_frame.f_code.co_name})" if frame else ""
    kind = ADAPTER if own and isinstance(error, (NameError, AttributeError, ImportError)) else FAILED
    return kind, f"{type(error).__name__}: {error}{where}"


class Session:
    def __init__(self, engine):
        self.engine, self.pipe, self.started, self.loaded, self.traced = engine, Pipe(), False, False, False

    def read_values(self, values):
        found = {}
        for value in values:
            tensors = [Tensor(info.type, info.dims, self.pipe.payload(info.size)) for info in value.tensors]
            found[value.name] = tensors[0] if value.kind == TENSOR else tensors if value.kind == SEQUENCE else None
        return found

    def read_payloads(self, request):
        """What follows the request, which must be read even when it cannot be used."""
        if request.load:
            return self.pipe.payload(request.load.model_size)
        if request.gradient:
            return self.read_values(request.gradient.inputs), self.read_values(request.gradient.output_gradients)
        return self.read_values(request.run.inputs) if request.run else None

    def hello(self, hello):
        if self.started:
            raise RuntimeError("hello came twice")
        if hello.protocol != PROTOCOL:
            raise RuntimeError(f"Assay asks for protocol {hello.protocol}, this adapter speaks {PROTOCOL}")
        if sys.byteorder != "little":
            raise RuntimeError("this processor is big-endian, and tensors of the protocol are little-endian: run the engine elsewhere")
        values = {knob.name: knob.default for knob in self.engine.knobs}
        for given in hello.knobs:
            knob = next((knob for knob in self.engine.knobs if knob.name == given.name), None)
            if knob is None:
                raise Rejected(f"no knob '{given.name}'; there are: {', '.join(values) or 'none'}")
            if "|" in knob.values and given.value not in knob.values.split("|"):
                raise Rejected(f"{given.name}={given.value}: the values are {knob.values.replace('|', ', ')}")
            values[given.name] = given.value
        version = self.engine.start(values)
        self.started = True
        knobs = [{"name": knob.name, "values": knob.values, "default_value": knob.default, "help": knob.help,
                  "kind": knob.kind, "plain": knob.plain} for knob in self.engine.knobs]
        return {"welcome": {"protocol": PROTOCOL, "name": self.engine.name, "version": str(version), "knobs": knobs,
                            "operators": self.engine.operators, "types": self.engine.types}}, []

    def unload(self):
        if self.loaded:
            self.engine.unload()
        self.loaded = False

    def load(self, load, data):
        self.unload()
        if load.path:
            with open(load.path, "rb") as file:
                data = file.read()
        self.traced = bool(load.trace)
        model = Model(data, os.path.dirname(load.path) if load.path else None, load.outputs, self.traced)
        self.engine.load(model)
        self.loaded = True
        weights = model.graph.initializers
        return {"loaded": {"inputs": [value.name for value in model.graph.inputs if value.name not in weights],
                           "outputs": model.outputs}}, []

    def values(self, found):
        described, payloads = [], []
        for name, value in found.items():
            tensors = value if isinstance(value, list) else [] if value is None else [value]
            kind = SEQUENCE if isinstance(value, list) else NONE if value is None else TENSOR
            described.append({"name": name, "kind": kind, "tensors": [
                {"type": tensor.type, "dims": tensor.dims, "size": len(tensor.data)} for tensor in tensors]})
            payloads += [tensor.data for tensor in tensors]
        return {"values": {"values": described}}, payloads

    def answer(self, request, payloads):
        if request.hello:
            return self.hello(request.hello)
        if not self.started:
            raise RuntimeError("the engine is not started")
        if request.load:
            return self.load(request.load, payloads)
        if request.unload:
            self.unload()
            return {"done": {}}, []
        if not self.loaded:
            raise RuntimeError("no model is loaded")
        if request.gradient:
            return self.values(self.engine.gradient(*payloads, request.gradient.wanted))
        return self.values(self.engine.run(payloads))

    def trace(self, request):
        """What the library did; that it cannot tell is no failure of the model."""
        if not self.traced or not (request.load or request.run or request.gradient):
            return []
        try:
            steps = [step if isinstance(step, Step) else Step(step) for step in self.engine.trace()]
            return [{"name": step.name, "kind": step.kind, "device": step.device, "pass": step.pass_name,
                     "outputs": step.outputs} for step in steps]
        except Exception as error:
            print(f"no trace: {type(error).__name__}: {error}")
            return []

    def handle(self, request):
        payloads = self.read_payloads(request)
        try:
            reply, sent = self.answer(request, payloads)
        except Exception as error:
            kind, text = describe(error)
            stage = 1 if request.load else 2 if request.run or request.gradient else 0
            reply, sent = {"error": {"stage": stage, "class": kind, "message": text[:4000]}}, []
        self.pipe.send({"id": request.id, "trace": self.trace(request), **reply}, sent)


def serve(engine):
    """Answers requests until stdin ends."""
    session = Session(engine)
    try:
        while True:
            session.handle(decode(REQUEST, session.pipe.frame()))
    except (EOFError, BrokenPipeError):
        pass
