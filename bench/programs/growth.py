"""The work of bench/growth: see there.

usage: growth.py ASSAY [--quick] [--only COMMAND] [--limit SECONDS]"""
import argparse
import math
import os
import pathlib
import sys
import tempfile

import numpy
from onnx import TensorProto, helper, save

import growth_plot
from measured import Measured

# Without its optimiser, whose own time grows with the square of the nodes (31 s of processor time to load 10,000).
ENGINE, FAULTY = "onnxruntime@1.30.0:opt=none", "reference:fault=bn-sqrt-var"
STEEPEST = 1.15
MB = 1 << 20
SIZES = {"nodes": (10, 100, 1000, 10000), "weights": (1 * MB, 8 * MB, 64 * MB, 512 * MB, 2048 * MB, 8192 * MB),
         "samples": (1, 10, 100, 1000, 10000)}
QUICK = {"nodes": (10, 40, 160), "weights": (1 * MB, 4 * MB), "samples": (1, 10, 100)}
COMMANDS = "compare", "localize", "check", "reduce", "decode"
# What is above linear, or is expected to be, and why; nothing else may be.
NAMED = {("compare", "nodes"): "88 % is the engine's, which loads 10,000 nodes with all values as outputs",
         ("localize", "nodes"): "81 % is the engine's, the same"}


class Network:
    """Blocks of a product, an addition to what came before, and Clip, so that numbers stay
    in their type; in their middle a BatchNormalization, which one engine gets
    wrong. `blocks` of them share their one matrix, unless `own` says that each has its own."""

    def __init__(self, blocks, width, own):
        self.nodes, self.weights, self.width, self.own, self.chunks = [], [], width, own, []
        for name, value in (("low", -1), ("high", 1)):
            self.weights.append(TensorProto(name=name, data_type=TensorProto.FLOAT, raw_data=numpy.float32(value).tobytes()))
        random = numpy.random.RandomState(1)
        self.draw = lambda: (random.standard_normal((width, width)) * width ** -0.5 / 4).astype(numpy.float32)
        x = "x"
        for i in range(blocks):
            name = f"w{i}" if own or i == 0 else "w0"
            if own or i == 0:
                self.chunks.append((name, self.draw()))
            self.add("MatMul", [x, name], f"p{i}")
            self.add("Add", [f"p{i}", x], f"s{i}")
            x = self.add("Clip", [f"s{i}", "low", "high"], f"r{i}")
            if i == blocks // 2:
                x = self.norm(x)
        self.last = x

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def norm(self, x):
        for name, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 0.5)):
            values = numpy.full(self.width, value, numpy.float32)
            self.weights.append(TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[self.width], raw_data=values.tobytes()))
        return self.add("BatchNormalization", [x, "scale", "bias", "mean", "var"], "bn", epsilon=0.25)

    def save(self, path):
        data = pathlib.Path(f"{path}.data")
        with data.open("wb") as out:
            for name, values in self.chunks:
                tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=values.shape, data_location=TensorProto.EXTERNAL)
                for key, value in (("location", data.name), ("offset", out.tell()), ("length", values.nbytes)):
                    tensor.external_data.add(key=key, value=str(value))
                self.weights.append(tensor)
                out.write(values.tobytes())
        shape = ["n", self.width]
        graph = helper.make_graph(self.nodes, "growth", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, shape)], self.weights)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def network(path, nodes=31, weights=0):
    blocks = max(1, (nodes - 1) // 3)
    width = max(16, int((weights / 4 / blocks) ** 0.5) // 8 * 8)
    Network(blocks, width, weights > 0).save(path)


def language(path, nodes=0, weights=0):
    """A language model of about so many nodes, or bytes."""
    arguments, sys.argv = sys.argv, ["make.py", "--size", "medium" if weights else "tiny", str(path)]
    try:
        source = pathlib.Path("models/language/make.py").read_text()
        code = compile(source, "models/language/make.py", "exec")
        hidden = max(32, int((weights / 4 / 48) ** 0.5) // 32 * 32)
        layers = max(1, (nodes - 20) // 47) if nodes else 4
        size = hidden, layers, 4, 2, 2 * hidden, 96, 256
        space = {"__name__": "make", "__file__": "models/language/make.py"}
        exec(code, space)
        space["SIZES"]["llama", "medium" if weights else "tiny"] = size
        space["main"]()
    finally:
        sys.argv = arguments


def command_of(assay, word, axis, size, folder):
    """The command for one size. Sizes that do not grow are small."""
    model = folder / "model.onnx"
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    make = language if word == "decode" else network
    child = os.fork()  # what it takes to make the model must not count: a child's largest size begins with that of its parent
    if not child:
        make(model, **({axis: size} if axis != "samples" else {}))
        os._exit(0)
    os.waitpid(child, 0)
    base = [assay, word, str(model), "-e", FAULTY if word == "reduce" else ENGINE, "--deadline", "1000"]
    if word == "decode":
        return base + ["--prompt", "3,17,4", "--steps", str(size if axis == "samples" else 2)]
    base += ["-n", str(size if axis == "samples" else 1), "--dim", "n=1"]
    if word == "check":
        base += ["--sites", "1"]
    return base


def measure(assay, word, axis, sizes, limit, status):
    """Rows of size, seconds and MiB, up to the first that takes longer than the limit."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            got = Measured(*command_of(assay, word, axis, size, pathlib.Path(name)))
            if got.status not in status or "an engine takes at least" in got.said:  # refused before it began
                print(f"{word}, {axis} {size}: status {got.status}: {got.said.splitlines()[0] if got.said else ''}", flush=True)
                break
            rows.append((size, got.cpu, got.memory))
            if got.cpu > limit:
                break
    return rows


def exponent(rows, column):
    """The slope in logarithms over the larger half of the sizes, without what the smallest costs; None: nothing grows."""
    least = rows[0][column]
    grown = [(math.log(r[0]), math.log(r[column] - least)) for r in rows[1:] if r[column] > least * 1.3]
    grown = grown[-max(2, (len(rows) + 1) // 2):]
    if len(grown) < 2:
        return None
    mx, my = (sum(p[i] for p in grown) / len(grown) for i in (0, 1))
    return sum((x - mx) * (y - my) for x, y in grown) / sum((x - mx) ** 2 for x, _ in grown)


def shown(axis, size):
    return f"{size // MB} MB" if axis == "weights" else f"{size}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay", type=os.path.abspath)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--limit", type=float, default=150)
    options = parser.parse_args()
    sizes, steep, curves = QUICK if options.quick else SIZES, [], 0
    print(f"{'command':9} {'against':8} {'largest':>8} {'CPU s':>8} {'MiB':>6} {'exponent: time':>14} {'memory':>7}   CPU s by size")
    for word in COMMANDS:
        if options.only not in (None, word):
            continue
        plot = {}
        for axis, steps in sizes.items():
            most = steps[:2] if options.quick and word in ("reduce", "decode") else steps
            rows = measure(options.assay, word, axis, most, options.limit, (1,) if word == "reduce" else (0, 2))
            if len(rows) < 2:
                print(f"{word:9} {axis:8} too slow, or not run: nothing to fit", flush=True)
                continue
            plot[axis] = rows
            powers = [exponent(rows, column) for column in (1, 2)]
            steep += [(word, axis) for power in powers if power and power > STEEPEST and (word, axis) not in NAMED]
            curves += 1
            texts = [f"{power:.2f}" if power is not None else "-" for power in powers]
            print(f"{word:9} {axis:8} {shown(axis, rows[-1][0]):>8} {rows[-1][1]:8.1f} {rows[-1][2]:6.0f} {texts[0]:>14} {texts[1]:>7}"
                  f"   {', '.join(f'{shown(axis, r[0])}: {r[1]:.2f}' for r in rows)}{'   ' + NAMED.get((word, axis), '')}", flush=True)
        if plot and not options.quick:
            growth_plot.write(pathlib.Path("docs/growth") / f"{word}.svg", word, plot)
    print(f"growth: {len(set(steep))} of {curves} curves above linear and not named"
          f"{': ' + ', '.join(f'{w} by {a}' for w, a in sorted(set(steep))) if steep else ''} (target 0)")
    sys.exit(1 if steep or not curves else 0)


main()
