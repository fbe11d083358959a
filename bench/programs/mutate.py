"""Models changed at random, by their structure or byte by byte; the same for the same seed."""
import os
import copy
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/attack"))
from protobuf import fields, varint  # noqa: E402

NUMBERS = [0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 63) - 1,
           1 << 63, (1 << 64) - 1]
WORDS = [b"", b"x", b"y", b"Loop", b"If", b"Conv", b"Scan", b"Reshape", b"auto_pad", b"\xff\xfe", b"A" * 5000, "\u202e".encode(),
         b"\x1b[2J", b"../w.bin"]
DEPTH = 12


def parse(data, depth=0):
    """A tree: each field is [number, wire type, value], where the value of a message is a list of fields."""
    tree = []
    for number, kind, value in fields(data):
        inner = None
        if kind == 2 and depth < DEPTH and len(value) > 1 and not all(32 <= byte < 127 for byte in value):
            try:
                inner = parse(value, depth + 1)
            except ValueError:
                pass
        tree.append([number, kind, value if inner is None else inner])
    return tree


def write(tree):
    out = bytearray()
    for number, kind, value in tree:
        out += varint(number << 3 | kind)
        if kind == 0:
            out += varint(value)
        else:
            data = write(value) if isinstance(value, list) else value
            out += (varint(len(data)) if kind == 2 else b"") + data
    return bytes(out)


def places(tree, found):
    for index, field in enumerate(tree):
        found.append((tree, index))
        if isinstance(field[2], list):
            places(field[2], found)
    return found


def change_text(text, rng):
    data = bytearray(text)
    choice = rng.randrange(4)
    if choice == 0 and data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    return bytes(data[:rng.randrange(len(data) + 1)]) if choice == 1 else rng.choice(WORDS)


def change_tree(tree, rng):
    every = places(tree, [])
    parent, index = rng.choice(every)
    field, action = parent[index], rng.random()
    if action < 0.12:
        del parent[index]
    elif action < 0.22:
        parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(field))
    elif action < 0.30:
        other, place = rng.choice(every)
        parent.insert(index, copy.deepcopy(other[place]))  # which may hold the place itself
    elif action < 0.36:
        field[0] = rng.randrange(1, 30)
    elif field[1] == 0:
        field[2] = rng.choice(NUMBERS) if rng.random() < 0.7 else (field[2] + rng.choice([-1, 1])) % (1 << 64)
    elif isinstance(field[2], bytes):
        field[2] = change_text(field[2], rng) if field[1] == 2 else rng.randbytes(len(field[2]))


def change_bytes(data, rng):
    data, choice = bytearray(data), rng.randrange(4)
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.randrange(1, 20))
    if choice == 0:
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif choice == 1:
        del data[start:]
    elif choice == 2:
        del data[start:end]
    else:
        data[start:start] = data[start:end]
    return bytes(data)


def mutate(data, seed):
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return change_bytes(data, rng)
    tree = parse(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if tree:
            change_tree(tree, rng)
    return write(tree)
