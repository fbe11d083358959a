"""A writer and reader of protobuf's wire format, and on it ONNX models: it can write what no library would."""
import struct

FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def field(number_of_field, value):
    """A text, bytes or a message."""
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return varint(number_of_field << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("no number")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """The fields of a message as (number, wire type, value)."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = read_varint(data, at)
            if size is None or key < 8 or at + size > len(data):
                raise ValueError("no field")
            value = data[at:at + size]
            at += size
        yield key >> 3, kind, value


def tensor(name, kind, dims, data=b"", numbers=None, external=None):
    out = b"".join(number(1, dim) for dim in dims) + number(2, kind) + field(8, name)
    if numbers is not None:
        return out + field(7, b"".join(varint(one) for one in numbers))
    if external is not None:
        return out + b"".join(field(13, field(1, key) + field(2, value)) for key, value in external) + number(14, 1)
    return out + field(9, data)


def longs(name, values):
    return tensor(name, INT64, [len(values)], numbers=values)


def scalar(name, value):
    return tensor(name, INT64, [], numbers=[value])


def value_info(name, kind, dims):
    out = number(1, kind)
    if dims is not None:
        out += field(2, b"".join(field(1, number(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims))
    return field(1, name) + field(2, field(1, out))


def attribute(name, value):
    """An integer, a text, a list of integers, or a graph as bytes."""
    out = field(1, name)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return out + field(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return out + field(6, value) + number(20, 5)
    return out + b"".join(number(8, one) for one in value) + number(20, 7)


def node(operator, inputs, outputs, attributes=(), name="", domain=""):
    return (b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) + field(3, name) +
            field(4, operator) + b"".join(field(5, one) for one in attributes) + field(7, domain))


def graph(nodes, inputs, outputs, initializers=(), name="g"):
    return (b"".join(field(1, one) for one in nodes) + field(2, name) + b"".join(field(5, one) for one in initializers) +
            b"".join(field(11, one) for one in inputs) + b"".join(field(12, one) for one in outputs))


def function(name, inputs, outputs, nodes):
    return (field(1, name) + b"".join(field(4, one) for one in inputs) + b"".join(field(5, one) for one in outputs) +
            b"".join(field(7, one) for one in nodes) + b"".join(field(9, field(1, domain) + number(2, version))
                                                                for domain, version in (("", 13), ("own", 1))) +
            field(10, "own"))


def model(body, opset=13, functions=(), texts=()):
    return (number(1, 8) + field(2, "attack") + field(7, body) + field(8, field(1, "") + number(2, opset)) +
            (field(8, field(1, "own") + number(2, 1)) if functions else b"") +
            b"".join(field(14, field(1, key) + field(2, value)) for key, value in texts) +
            b"".join(field(25, one) for one in functions))


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)
