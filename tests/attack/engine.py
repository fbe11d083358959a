#!/usr/bin/env python3
"""An engine that speaks the protocol by hand, so that it can break it; its knob `mode` says how. Where the mode says
nothing it gives its inputs back. What the SDK can do already is in tests/adapters/bad.c."""
import os
import struct
import time

from protobuf import field, fields, number
from texts import ALL, NOT_UTF8

CHUNK = 1 << 20


def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def read_frame():
    return read(struct.unpack("<I", read(4))[0])


def read_payload(size):
    data = b""
    while len(data) < size:
        data += read_frame()
    return data


def write(data):
    while data:
        data = data[os.write(1, data):]


def send(message, payloads=()):
    write(struct.pack("<I", len(message)) + message)
    for payload in payloads:
        for start in range(0, len(payload), CHUNK):
            part = payload[start:start + CHUNK]
            write(struct.pack("<I", len(part)) + part)


def reply(identity, kind, body=b"", payloads=()):
    send(number(1, identity) + field(kind, body), payloads)


ERROR, WELCOME, LOADED, VALUES, DONE = 2, 3, 4, 5, 6


def error(identity, text, kind=0, stage=2):
    reply(identity, ERROR, number(1, stage) + number(2, kind) + field(3, text))


def tensor_value(dims, size, kind=1, name="y"):
    return field(1, field(1, name) + field(3, number(1, kind) + b"".join(number(2, dim) for dim in dims) + number(3, size)))


def wait():
    while True:
        time.sleep(1000)


def hello(mode, identity):
    version, name = "1", "hostile"
    if mode == "frame-huge":
        write(b"\xff\xff\xff\xff")
        wait()
    if mode == "noise":
        write(os.urandom(5000))
        wait()
    if mode in ("text", "version"):
        version = name = ALL
    if mode == "version-long":
        version = "A" * (8 << 20)
    if mode == "not-utf8":
        version = b"1" + NOT_UTF8
    knobs = field(4, field(1, "mode") + field(2, "NAME") + field(4, "how"))
    if mode == "text":
        knobs += field(4, field(1, ALL) + field(2, ALL) + field(3, ALL) + field(4, ALL)) + field(5, ALL)
    if mode == "knobs":
        knobs += b"".join(field(4, field(1, f"k{i}") + field(2, "v")) for i in range(100000))
    reply(identity, WELCOME, number(1, 1) + field(2, name) + field(3, version) + knobs)


def load(mode, identity, request):
    size = dict((key, value) for key, _, value in fields(request)).get(1, 0)
    read_payload(size)
    if mode == "load-text":
        error(identity, ALL, stage=1)
    elif mode == "borrow":
        reply(identity, LOADED, field(1, ALL) + field(2, ALL) + field(3, ALL))
    else:
        reply(identity, LOADED)


def trickle():
    write(struct.pack("<I", 1000))
    while True:
        write(b"\0")
        time.sleep(0.05)


def flood(descriptor):
    while True:
        os.write(descriptor, b"noise " * 5000)


TWO = struct.pack("<2f", 1, 2)
# Answers to run: the message of values, and payloads behind it.
ANSWERS = {
    "none": (b"", []),
    "many": (field(1, field(1, "y") + number(2, 2)) * 90000, []),
    "sequence": (field(1, field(1, "y") + number(2, 1)), []),
    "absent": (field(1, field(1, "y") + number(2, 2)), []),
    "type": (tensor_value([2], 8, kind=4242), [TWO]),
    "negative": (tensor_value([-2], 8), [TWO]),
    "overflow": (tensor_value([1 << 58], 1 << 60), []),
    "announced": (tensor_value([3900 << 18], 3900 << 20), []),
    "string": (tensor_value([1], 8, kind=8), [b"\xff\xff\xff\xff1234"]),
    "string-text": (tensor_value([1], 4 + len(ALL.encode()), kind=8),
                    [struct.pack("<I", len(ALL.encode())) + ALL.encode()]),
    "names": (tensor_value([2], 8, name=ALL), [TWO]),
    "bounds": (field(1, field(1, "y") + field(3, number(1, 1) + number(2, 2) + number(3, 8)) + field(4, number(1, 1))),
               [TWO] + [b"\xff" * 16] * 4),
}


def run(mode, identity, inputs, payloads):
    same = b"".join(field(1, one) for one in inputs)
    if mode in ANSWERS:
        reply(identity, VALUES, *ANSWERS[mode])
    elif mode in ("text", "run-text"):
        os.write(2, ALL.encode() + NOT_UTF8 + b"\n")
        error(identity, ALL)
    elif mode == "reject-text":
        error(identity, ALL, kind=2)
    elif mode == "not-utf8":
        os.write(2, NOT_UTF8 + b"\0\n")
        error(identity, NOT_UTF8)
    elif mode == "stack":
        os.write(2, b"crash: stack of the engine\n/x/lib.so(evil```\n\x1b[31m<script>+0x1) [0x1]\n/x/l.so(f<b>+1) [0x1]\n")
        os.abort()
    elif mode == "noise-run":
        write(os.urandom(5000))
        wait()
    elif mode == "twice":
        reply(identity, VALUES, same, payloads)
        reply(identity, VALUES, same, payloads)
    elif mode == "ahead":
        reply(identity, VALUES, same, payloads)
        reply(identity + 1, DONE)
        reply(identity + 2, LOADED)
        reply(identity + 3, VALUES, same, payloads)
    elif mode == "wrong-id":
        reply(identity + 7, VALUES, same, payloads)
    elif mode == "wrong-kind":
        reply(identity, LOADED)
    elif mode == "trickle":
        trickle()
    elif mode == "flood-out":
        flood(1)
    elif mode == "flood-err":
        flood(2)
    elif mode == "close":
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        wait()
    else:
        reply(identity, VALUES, same, payloads)
    if mode == "announced":
        wait()


def main():
    mode = ""
    while True:
        identity, verb, body = 0, 0, b""
        for key, _, value in fields(read_frame()):
            if key == 1:
                identity = value
            elif 2 <= key <= 6:
                verb, body = key, value
        if verb == 2:
            knobs = [dict((key, value) for key, _, value in fields(one)) for key, _, one in fields(body) if key == 2]
            mode = next((knob[2].decode() for knob in knobs if knob.get(1) == b"mode"), "")
            hello(mode, identity)
        elif verb == 3:
            load(mode, identity, body)
        elif verb == 4:
            inputs = [value for key, _, value in fields(body) if key == 1]
            tensors = [tensor for one in inputs for key, _, tensor in fields(one) if key == 3]
            payloads = [read_payload(dict((key, value) for key, _, value in fields(one)).get(3, 0)) for one in tensors]
            run(mode, identity, inputs, payloads)
        elif verb == 6:
            reply(identity, DONE)
        else:
            error(identity, "no gradients")


main()
