#!/usr/bin/env python3
"""An engine that speaks the protocol by hand, so that it can break it; its knob `mode` says how. Where the mode says
nothing it gives its inputs back. What the SDK can do already is in tests/adapters/bad.c."""
import ctypes
import fcntl
import mmap
import os
import resource
import signal
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
                file.write("@cpp\n" + ALL)
    reply(identity, WELCOME, number(1, 1) + field(2, name) + field(3, version) + knobs)


def load(mode, identity, request):
    size = dict((key, value) for key, _, value in fields(request)).get(1, 0)
    read_payload(size)
    path = next((value.decode() for key, _, value in fields(request) if key == 2), "")
    if mode.startswith("beside"):
        error(identity, beside(path, mode.split("@")[1]), stage=1)
    elif mode == "load-text":
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


def change_back(path):
    """Writes what stands there already."""
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data)


def opened(path, flags):
    os.close(os.open(path, flags))


def may_more():
    """Rights of root, whatever they are called."""
    with open("/proc/self/status", encoding="ascii") as status:
        held = [line for line in status if line.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb"))]
    if all(int(line.split()[1], 16) == 0 for line in held):
        raise OSError("none")


def is_root():
    if os.getuid() and os.geteuid():
        raise OSError("somebody else")


def started(result):
    """A process that a system call made, here and there."""
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)


def clone3(flags):
    return call(435, ctypes.create_string_buffer(struct.pack("<11Q", flags, 0, 0, 0, signal.SIGCHLD, *[0] * 6)), 88)


def kill_by_file(process):
    """A pipe tells its owner by a signal that there is something to read. Who is dead then, the case sees."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, F_SETOWN, process)
    fcntl.fcntl(reader, F_SETSIG, int(signal.SIGKILL))
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")
    raise OSError("not known")


def signal_by_descriptor(process):
    descriptor = os.pidfd_open(process)
    try:
        signal.pidfd_send_signal(descriptor, 0)
    finally:
        os.close(descriptor)


NEW_USER, CHILD = 0x10000000, int(signal.SIGCHLD)
F_SETOWN, F_SETSIG = 8, 10
# What an engine might reach, and how it is tried; `home` is the folder of who started Assay, `process` one of theirs. What
# is done there changes nothing, or `victim`, which the case looks at.
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
    "tokens": lambda home, process: next(value for value in os.environ.values() if value == "canary"),
    "cut-home": lambda home, process: os.truncate(os.path.join(home, "victim"), 3),
    "cut-by-opening": lambda home, process: opened(os.path.join(home, "victim"), os.O_RDONLY | os.O_TRUNC),
    "mode-home": lambda home, process: os.chmod(os.path.join(home, "victim"), 0o666),
    "owner-home": lambda home, process: os.chown(os.path.join(home, "victim"), -1, -1),
    "times-home": lambda home, process: os.utime(os.path.join(home, "victim"), (1, 1)),
    "attributes-home": lambda home, process: os.setxattr(os.path.join(home, "victim"), "user.evil", b"1"),
    "kernel-settings": lambda home, process: change_back("/proc/sys/kernel/core_pattern"),
    "device-mode": lambda home, process: os.chmod("/dev/null", 0o666),
    "device-times": lambda home, process: os.utime("/dev/zero"),
    "capabilities": lambda home, process: may_more(),
    "root": lambda home, process: is_root(),
    "socket-inet": lambda home, process: socket.socket(),
    "socket-unix": lambda home, process: socket.socket(socket.AF_UNIX),
    "socket-netlink": lambda home, process: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "trace-parent": lambda home, process: call(101, 16, os.getppid(), 0, 0),
    "parent-memory": lambda home, process: parent_memory(),
    "parent-environment": lambda home, process: open(f"/proc/{os.getppid()}/environ", "rb").read(1)[0],
    "parent-files": lambda home, process: os.readlink(f"/proc/{os.getppid()}/fd/0"),
    "signal-assay": lambda home, process: os.kill(process, 0),
    "signal-by-descriptor": lambda home, process: signal_by_descriptor(process),
    "signal-by-file": lambda home, process: kill_by_file(process),
    "limits-of-others": lambda home, process: resource.prlimit(process, resource.RLIMIT_CORE),
    "priority-of-others": lambda home, process: os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process)),
    "priority-of-user": lambda home, process: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0)),
    "other-processes": lambda home, process: others_seen(),
    "open-files": lambda home, process: open_files(),
    "user-namespace": lambda home, process: call(272, 0x10000000),
    "clone-namespace": lambda home, process: started(call(56, NEW_USER | CHILD, None, None, None, None)),
    "clone3-namespace": lambda home, process: started(clone3(NEW_USER)),
    "memory-file": lambda home, process: os.memfd_create("evil"),
    "memory-segment": lambda home, process: call(31, call(29, 0, 4096, 0o1600), 0, None),
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


TAKEN, STEP = 1 << 30, 32 << 20


def touch(memory):
    for at in range(0, len(memory), 4096):
        memory[at] = 1


def take_files():
    """Memory that is a file, and that nobody maps."""
    kept = []
    for _ in range(TAKEN // STEP):
        kept.append(os.memfd_create("evil"))
        os.write(kept[-1], bytes(STEP))
    return kept


def take_segments():
    """Memory of System V that nobody holds."""
    for _ in range(TAKEN // STEP):
        segment = call(29, 0, STEP, 0o1600)
        LIBC.shmat.restype = ctypes.c_void_p
        place = LIBC.shmat(segment, None, 0)
        ctypes.memset(place, 1, STEP)
        LIBC.shmdt(ctypes.c_void_p(place))


def take_by_forks(shared, leave):
    """Each process keeps within its own limit, and none is the engine's child in the end if it is to leave."""
    for _ in range(8):
        if os.fork():
            continue
        if leave:
            os.setsid()
            if os.fork():
                os._exit(0)
        flags = (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE) | mmap.MAP_ANONYMOUS
        touch(mmap.mmap(-1, TAKEN // 8, flags))
        time.sleep(60)
        os._exit(0)
    time.sleep(15)


TAKES = {
    "take-files": take_files,
    "take-segments": take_segments,
    "take-forks": lambda: take_by_forks(False, False),
    "take-shared": lambda: take_by_forks(True, False),
    "take-orphans": lambda: take_by_forks(False, True),
}


def take(mode, identity):
    try:
        TAKES[mode]()
        error(identity, f"taken: {TAKEN >> 20} MB")
    except OSError as problem:
        error(identity, f"not taken: {problem}")


def beside(path, secret):
    """Whether anything can be read beside the model but the model."""
    found = []
    with open(path, "rb") as file:
        if len(file.read()) == 0:
            raise OSError("an empty model")
    for attempt in (lambda: open(secret, "rb").read(1), lambda: [name for name in os.listdir(os.path.dirname(path))
                                                                 if name == os.path.basename(secret)][0]):
        try:
            attempt()
            found.append("secret")
        except (OSError, IndexError):
            pass
    return "reached: " + " ".join(found) if found else "read the model alone"


def spy(home):
    """What it can read of secrets: in files of the home folder, in variables, in what other processes were given."""
    seen = [value for value in os.environ.values() if "CANARY" in value]
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names]
    paths += [f"/proc/{process}/{what}" for process in ["self", *range(1, 200)] for what in ("environ", "cmdline")]
    for path in paths:
        try:
            with open(path, "rb") as file:
                data = file.read(1 << 16)
        except OSError:
            continue
        at = data.find(b"CANARY")
        if at >= 0:
            seen.append(data[at:at + 40].decode(errors="replace"))
    return seen


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
    elif mode in TAKES:
        take(mode, identity)
    elif mode.startswith("start@"):
        subprocess.run(mode.split("@")[1:], check=True)
        time.sleep(2)
        reply(identity, VALUES, same, payloads)


    elif mode.startswith("spy@"):
        seen = spy(mode.partition("@")[2])
        if seen:
            error(identity, f"reached: {' '.join(seen)}")
        else:
            reply(identity, VALUES, same, payloads)
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
