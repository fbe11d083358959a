#!/usr/bin/env python3
"""An engine that speaks the protocol by hand, so that it can break it; its knob `mode` says how. Where the mode says
nothing it gives its inputs back. What the SDK can do already is in tests/adapters/bad.c."""
import ctypes
import os
import socket
import struct
import subprocess
import time

from protobuf import field, fields, number
from texts import ALL, NOT_UTF8

CHUNK = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


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


def step(name, device="", made_by="", output="y"):
    return field(8, field(1, name) + field(3, device) + field(4, made_by) + field(5, output))


# What an engine tells of what it did, with its answer to run.
TRACES = {
    "trace-text": step(ALL, ALL, ALL, ALL) + field(8, field(1, ALL) + number(2, 1)),
    "trace-not-utf8": step(NOT_UTF8, NOT_UTF8, NOT_UTF8, NOT_UTF8) + field(8, number(2, 4242)),
    "trace-many": step("kernel") * 12000,
    "trace-long": step("A" * (8 << 20), "B" * (2 << 20), "C" * (2 << 20), "D" * (2 << 20)),
    "trace-outputs": field(8, field(1, "kernel") + field(5, "value") * 60000),
}


def error(identity, text, kind=0, stage=2):
    reply(identity, ERROR, number(1, stage) + number(2, kind) + field(3, text))


def tensor_value(dims, size, kind=1, name="y"):
    return field(1, field(1, name) + field(3, number(1, kind) + b"".join(number(2, dim) for dim in dims) + number(3, size)))


def wait():
    while True:
        time.sleep(1000)


def hello(mode, identity, source):
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
    if mode == "source-text":
        knobs += field(4, field(1, "source") + field(2, "FILE") + field(4, "lines of a program"))
        if source:
            with open(source, "w", encoding="utf-8") as file:
                file.write(ALL)
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


def stream(identity):
    """An answer of 3 GB at 4 MB a second: it flows, and would take a quarter of an hour."""
    send(number(1, identity) + field(VALUES, tensor_value([768 << 20], 3 << 30)))
    while True:
        write(struct.pack("<I", 1 << 18) + bytes(1 << 18))
        time.sleep(0.06)


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


def leave():
    """Starts a process that leaves the engine's group, closes its pipes and stays, and waits until it has done so."""
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        LIBC.prctl(15, b"assay-left", 0, 0, 0)
        for descriptor in (0, 1, 2, ready):
            os.close(descriptor)
        os.close(done)
        time.sleep(300)
        os._exit(0)
    os.close(done)
    os.read(ready, 1)


def call(number, *arguments):
    """A system call by its number on x86-64, for those that Python does not have."""
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def parent_memory():
    with open(f"/proc/{os.getppid()}/maps", encoding="ascii") as maps:
        place = next(line for line in maps if "[heap]" in line).split("-")[0]
    with open(f"/proc/{os.getppid()}/mem", "r+b", buffering=0) as memory:
        memory.seek(int(place, 16))
        return memory.read(8)


def write_to(path):
    with open(path, "wb") as file:
        file.write(b"x")
    os.unlink(path)


def write_beside(path):
    """What stands there is changed, so that whoever sees the real file can tell."""
    with open(path, "r+b") as file:
        file.write(b"x")


def start_process():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def many_processes():
    children = []
    try:
        for _ in range(1100):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


def large_file():
    """Beyond the memory allowed, which is the limit of files as well; a hole takes no disk."""
    try:
        with open("large", "wb") as file:
            file.truncate(64 << 30)
    finally:
        os.unlink("large")


def others_seen():
    if sum(name.isdigit() for name in os.listdir("/proc")) <= 2:
        raise OSError("nobody else")


def open_files():
    """Descriptors besides the pipes, the shared memory and the folder that is being read."""
    names = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
             if os.path.lexists(f"/proc/self/fd/{number}")]
    if all(name.startswith(("pipe:", "/memfd:assay", "/proc/")) for name in names):
        raise OSError("nothing")


# What an engine might reach, and how it is tried; `home` is the folder of who started Assay, `process` one of theirs.
REACHED = {
    "passwords": lambda home, process: open("/etc/passwd", "rb").read(1),
    "shadow": lambda home, process: open("/etc/shadow", "rb").read(1),
    "host-name-file": lambda home, process: open("/etc/hostname", "rb").read(1),
    "root-home": lambda home, process: open("/root/.profile", "rb").read(1),
    "homes": lambda home, process: os.listdir("/home")[0],
    "logs": lambda home, process: os.listdir("/var/log"),
    "boot": lambda home, process: os.listdir("/boot"),
    "own-home": lambda home, process: open(os.path.join(home, "secret"), "rb").read(1),
    "write-home": lambda home, process: write_beside(os.path.join(home, "secret")),
    "write-own-folder": lambda home, process: write_to(os.path.join(os.path.dirname(os.path.abspath(__file__)), "evil-was-here")),
    "write-system": lambda home, process: write_to("/usr/evil-was-here"),
    "write-root": lambda home, process: write_to("/evil-was-here"),
    "write-dev": lambda home, process: write_to("/dev/evil-was-here"),
    "write-var": lambda home, process: write_to("/var/tmp/evil-was-here"),
    "variable": lambda home, process: os.environ["SURVEY_SECRET"],
    "socket-inet": lambda home, process: socket.socket(),
    "socket-unix": lambda home, process: socket.socket(socket.AF_UNIX),
    "socket-netlink": lambda home, process: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "trace-parent": lambda home, process: call(101, 16, os.getppid(), 0, 0),
    "parent-memory": lambda home, process: parent_memory(),
    "parent-environment": lambda home, process: open(f"/proc/{os.getppid()}/environ", "rb").read(1)[0],
    "parent-files": lambda home, process: os.readlink(f"/proc/{os.getppid()}/fd/0"),
    "signal-assay": lambda home, process: os.kill(process, 0),
    "other-processes": lambda home, process: others_seen(),
    "open-files": lambda home, process: open_files(),
    "user-namespace": lambda home, process: call(272, 0x10000000),
    "mount": lambda home, process: call(165, b"none", b"/tmp", b"tmpfs", 0, None),
    "chroot": lambda home, process: call(161, b"/tmp"),
    "kernel-programs": lambda home, process: call(321, 5, 0, 0),
    "performance-events": lambda home, process: call(298, 0, 0, -1, -1, 0),
    "keys": lambda home, process: call(250, 0, -3, 0),
    "io-uring": lambda home, process: call(425, 1, 0),
    "large-file": lambda home, process: large_file(),
    "many-processes": lambda home, process: many_processes(),
    "process": lambda home, process: start_process(),
    "program": lambda home, process: subprocess.run(["/bin/true"], check=True),
}


def survey(home, process):
    reached = []
    for name, attempt in REACHED.items():
        try:
            attempt(home, int(process))
            reached.append(name)
        except Exception:  # whatever keeps it from it
            pass
    return " ".join(reached)


def run(mode, identity, inputs, payloads):
    same = b"".join(field(1, one) for one in inputs)
    if mode in ANSWERS:
        reply(identity, VALUES, *ANSWERS[mode])
    elif mode in TRACES:
        send(number(1, identity) + field(VALUES, same) + TRACES[mode], payloads)
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
    elif mode == "stream":
        stream(identity)
    elif mode == "killed":
        os.kill(os.getpid(), 9)
    elif mode == "pleads":
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc': out of memory\n")
        os.abort()
    elif mode == "leave":
        leave()
        reply(identity, VALUES, same, payloads)
    elif mode.startswith("survey"):
        error(identity, f"reached: {survey(*mode.split('@')[1:])} and no more")
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
            knobs = {knob.get(1): knob.get(2, b"").decode() for knob in knobs}
            mode = knobs.get(b"mode", "")
            hello(mode, identity, knobs.get(b"source"))
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
