#!/usr/bin/env python3
"""Writes hostile models, and what lies beside them.

usage: tests/attack/models.py FOLDER [NAME...]      writes FOLDER/NAME.onnx; without names all of them
       tests/attack/models.py --list                prints the names
"""
import os
import sys

from protobuf import (BOOL, FLOAT, INT64, attribute, field, floats, function, graph, longs, model, node, number, scalar,
                      tensor, value_info)
from texts import ALL, NAME, PARTS

X, Y = value_info("x", FLOAT, [2]), value_info("y", FLOAT, [2])
OPEN_Y = value_info("y", FLOAT, None)
LEAST, MOST = -(1 << 63), (1 << 63) - 1
MODELS = {}


def hostile(name, data):
    """data: the bytes, or a function that makes them, for those that take a while."""
    MODELS[name] = data


def relu(dims):
    return model(graph([node("Relu", ["x"], ["y"])], [value_info("x", FLOAT, dims)], [value_info("y", FLOAT, dims)]))


def computed(name, nodes, initializers=(), outputs=(OPEN_Y,)):
    hostile(name, model(graph(nodes, [X], outputs, initializers)))


hostile("good", relu([2]))
hostile("cut-off", relu([2])[:40])
hostile("empty", b"")
hostile("noise", bytes(i * 37 % 256 for i in range(4096)))
hostile("dims-huge", relu([1 << 40, 1 << 40]))
hostile("dims-8g", relu([(1 << 31) - 1]))
hostile("dims-negative", relu([-5, 3]))
for name, dims in (("negative", [-1, 2]), ("huge", [1 << 62]), ("overflow", [1 << 32, 1 << 32])):
    hostile("weight-" + name, model(graph([node("Add", ["x", "w"], ["y"])], [X], [Y], [tensor("w", FLOAT, dims)])))


def nested(depth):
    inner = graph([node("Identity", ["x"], ["o0"])], [], [value_info("o0", FLOAT, [2])])
    for level in range(1, depth):
        other = graph([node("Identity", ["x"], ["e"])], [], [value_info("e", FLOAT, [2])])
        both = [attribute("then_branch", inner), attribute("else_branch", other)]
        inner = graph([node("If", ["c"], [f"o{level}"], both)], [], [value_info(f"o{level}", FLOAT, [2])])
    both = [attribute("then_branch", inner), attribute("else_branch", inner if depth < 4 else graph(
        [node("Identity", ["x"], ["e"])], [], [value_info("e", FLOAT, [2])]))]
    return model(graph([node("If", ["c"], ["y"], both)], [X, value_info("c", BOOL, [])], [Y]))


for depth in (10, 40, 2000):
    hostile(f"nested-{depth}", lambda depth=depth: nested(depth))
computed("cycle", [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])])
computed("cycle-self", [node("Add", ["x", "y"], ["y"])])
computed("output-twice", [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])])
hostile("input-twice", model(graph([node("Relu", ["x"], ["y"])], [X, X], [Y, Y])))
computed("weight-twice", [node("Add", ["x", "w"], ["y"])], [tensor("w", FLOAT, [2], floats(1, 2)),
                                                          tensor("w", FLOAT, [1], floats(3))])
computed("undefined", [node("Relu", ["nothing"], ["y"])])
computed("no-outputs", [node("Relu", ["x"], ["y"])], outputs=())
hostile("names-empty", model(graph([node("Relu", [""], [""])], [value_info("", FLOAT, [2])], [value_info("", FLOAT, [2])])))
hostile("nodes-100000", lambda: model(graph([node("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 99999 else "y"])
                                             for i in range(100000)], [X], [Y])))


def calling(functions):
    return model(graph([node(functions[-1][0], ["x"], ["y"], domain="own")], [X], [Y]),
                 functions=[function(name, ["a"], ["b"], nodes) for name, nodes in functions])


hostile("function-self", calling([("F", [node("F", ["a"], ["b"], domain="own")])]))
hostile("function-mutual", calling([("G", [node("F", ["a"], ["b"], domain="own")]),
                                    ("F", [node("G", ["a"], ["b"], domain="own")])]))
hostile("function-doubling", calling([("F0", [node("Relu", ["a"], ["b"])])] + [
    (f"F{i}", [node(f"F{i - 1}", ["a"], ["t"], domain="own"), node(f"F{i - 1}", ["t"], ["b"], domain="own")])
    for i in range(1, 41)]))


def doubling(times):
    names = ["x"] + [f"k{i}" for i in range(times - 1)] + ["y"]
    return [node("Concat", [names[i]] * 2, [names[i + 1]], [attribute("axis", 0)]) for i in range(times)]


def looping():
    body = graph([node("Identity", ["more"], ["again"]), node("Relu", ["v"], ["w"]), node("Identity", ["w"], ["kept"])],
                 [value_info("i", INT64, []), value_info("more", BOOL, []), value_info("v", FLOAT, [2])],
                 [value_info("again", BOOL, []), value_info("w", FLOAT, [2]), value_info("kept", FLOAT, [2])])
    return [node("Loop", ["m", "c", "x"], ["last", "y"], [attribute("body", body)])]


PLANE = longs("ax", [0, 1, 2])
AS_PLANE = node("Unsqueeze", ["x", "ax"], ["p"])
POINT = tensor("w", FLOAT, [1, 1, 1, 1], floats(1))
computed("heavy-concat", doubling(60))
computed("heavy-loop", looping(), [scalar("m", 1 << 62), tensor("c", BOOL, [], b"\1")])
computed("heavy-tile", [node("Tile", ["x", "r"], ["y"])], [longs("r", [1 << 36])])
computed("heavy-expand", [node("Expand", ["x", "s"], ["y"])], [longs("s", [1 << 35, 2])])
computed("heavy-constant", [node("ConstantOfShape", ["s"], ["c"]), node("ReduceSum", ["c"], ["y"])], [longs("s", [10**12])])
computed("heavy-range", [node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["y"], [attribute("to", FLOAT)])],
         [scalar("a", 0), scalar("b", 1 << 62), scalar("c", 1)])
computed("heavy-einsum", [node("Expand", ["x", "s"], ["a"]),
                          node("Einsum", ["a"] * 4, ["y"], [attribute("equation", "ab,cd,ef,gh->abcdefgh")])],
         [longs("s", [1000, 2])])
computed("heavy-equation", [node("Einsum", ["x"], ["y"], [attribute("equation", "a" * 100000 + "->")])])
computed("heavy-matmul", [node("Expand", ["x", "s"], ["a"]), node("Transpose", ["a"], ["b"]),
                          node("MatMul", ["a", "b"], ["y"])], [longs("s", [50000, 2])])
computed("heavy-convtranspose", [AS_PLANE, node("ConvTranspose", ["p", "w"], ["y"],
                                                [attribute("output_padding", [0, 1 << 40]),
                                                 attribute("strides", [1, 1 << 41])])], [PLANE, POINT])
computed("heavy-conv", [AS_PLANE, node("Conv", ["p", "w"], ["y"], [attribute("pads", [1 << 62] * 4),
                                                                   attribute("dilations", [1 << 62] * 2)])], [PLANE, POINT])
computed("heavy-pad", [node("Pad", ["x", "p"], ["y"])], [longs("p", [1 << 62, 1 << 62])])
computed("heavy-resize", [AS_PLANE, node("Resize", ["p", "", "", "s"], ["y"])],
         [PLANE, longs("s", [1, 1, 1 << 20, 1 << 20])])
computed("heavy-onehot", [node("OneHot", ["i", "d", "v"], ["y"])],
         [longs("i", [0, 1]), scalar("d", 1 << 40), tensor("v", FLOAT, [2], floats(0, 1))])
computed("heavy-pool", [AS_PLANE, node("MaxPool", ["p"], ["y"], [attribute("kernel_shape", [1 << 40] * 2),
                                                                 attribute("pads", [1 << 39] * 4)])], [PLANE])
computed("edge-gather", [node("Gather", ["x", "i"], ["y"])], [longs("i", [LEAST, MOST])])
computed("edge-topk", [node("TopK", ["x", "k"], ["y", "i"])], [longs("k", [1 << 62])])
computed("edge-split", [node("Split", ["x", "s"], ["y", "z"])], [longs("s", [MOST, LEAST + 3])])
computed("edge-reshape", [node("Reshape", ["x", "s"], ["y"])], [longs("s", [1 << 32, 1 << 32])])
for name, values in (("forward", [LEAST, MOST, 0, MOST]), ("back", [MOST, LEAST, 0, LEAST])):
    computed("edge-slice-" + name, [node("Slice", ["x", "a", "b", "c", "d"], ["y"])],
             [longs(letter, [value]) for letter, value in zip("abcd", values)])
computed("edge-cumsum", [node("CumSum", ["x", "a"], ["y"])], [scalar("a", LEAST)])
for name, size in (("huge", 1 << 40), ("zero", 0)):
    computed("edge-depth-" + name, [AS_PLANE, node("DepthToSpace", ["p"], ["y"], [attribute("blocksize", size)])], [PLANE])

# External data that lies elsewhere, is no file, or is not so long.
for name, entries in {
    "good": [("location", "w.bin"), ("length", "8")],
    "above": [("location", "../../../etc/passwd")],
    "above-inner": [("location", "inner/../../w.bin")],
    "absolute": [("location", "/etc/passwd")],
    "link": [("location", "link.bin")],
    "link-inner": [("location", "inner/up/w.bin")],
    "fifo": [("location", "fifo.bin")],
    "device": [("location", "zero.bin")],
    "folder": [("location", "inner")],
    "nameless": [("location", "")],
    "dot": [("location", ".")],
    "nul": [("location", "w.bin\0x")],
    "far": [("location", "w.bin"), ("offset", str(MOST))],
    "farther": [("location", "w.bin"), ("offset", str((1 << 64) - 1))],
    "long": [("location", "w.bin"), ("offset", "4"), ("length", str(MOST - 7))],
    "before": [("location", "w.bin"), ("offset", "-4")],
    "text": [("location", PARTS["title"] + PARTS["c1"] + "../x")],
}.items():
    computed("external-" + name, [node("Add", ["x", "w"], ["y"])], [tensor("w", FLOAT, [2], external=entries)])

LARGE = 72 << 20  # bytes, more than are sent to an engine
computed("large-external", [node("Gather", ["w", "i"], ["g"]), node("Add", ["x", "g"], ["y"])],
         [longs("i", [0, 1]), tensor("w", FLOAT, [LARGE // 4], external=[("location", "large.bin")])])


def named(text, **others):
    """Every name of a model is this text; the value is computed wrongly by engines that give back their inputs."""
    body = graph([node("Neg", ["x" + text], ["y" + text], name=text, **others)], [value_info("x" + text, FLOAT, [2])],
                 [value_info("y" + text, FLOAT, [2])], name=text)
    return model(body, texts=[(text, text)])


hostile("names-markup", named(NAME))
for name, text in PARTS.items():
    hostile("names-" + name, named(text))
hostile("names-not-utf8", named("\udcff\udcfe\udcc0"))
computed("operator-text", [node(ALL, ["x"], ["y"], domain=ALL)])
computed("attribute-text", [node("Cast", ["x"], ["y"], [attribute("to", FLOAT), attribute("note", ALL)])])
computed("dims-text", [node("Neg", ["x"], ["y"])], outputs=[value_info("y", FLOAT, [ALL])])
hostile("doc-text", model(graph([node("Neg", ["x"], ["y"]) + field(6, ALL)], [X], [Y]) + field(10, ALL)) + field(6, ALL) +
        number(5, MOST))


def beside(folder):
    """The files that external data names."""
    os.makedirs(os.path.join(folder, "inner"), exist_ok=True)
    with open(os.path.join(folder, "w.bin"), "wb") as file:
        file.write(floats(1, 2))
    with open(os.path.join(folder, "large.bin"), "wb") as file:
        file.truncate(LARGE)
    for name, make in (("link.bin", lambda path: os.symlink("/etc/passwd", path)),
                       ("inner/up", lambda path: os.symlink("..", path)),
                       ("zero.bin", lambda path: os.symlink("/dev/zero", path)), ("fifo.bin", os.mkfifo)):
        if not os.path.lexists(os.path.join(folder, name)):
            make(os.path.join(folder, name))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--list":
        print("\n".join(MODELS))
        return
    folder = sys.argv[1]
    beside(folder)
    for name in sys.argv[2:] or MODELS:
        data = MODELS[name]
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(data if isinstance(data, bytes) else data())


if __name__ == "__main__":
    main()
