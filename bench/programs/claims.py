"""Whether the sentences of a report.md are so: each that says something about an engine is tried, by running the case.

check(folder, finding, assay, releases) gives (tried, refuted): how many claims were tried, and sentences that are not so. Tried are:

- values: "gives A instead of B", "N of M elements are wrong": as a new process shows them
- releases: every release at hand is on the line that says what it does, and "other releases were not tried" only without others
- fusion: "wrong only where they are fused", "not when the graph is run as it is written": on the plain setting
- "with the optimiser pass P switched off it is gone"; "the same release with S gives the expected result"
- other engines that give the expected result, or do not
- conditions: a cause that is cured by another value of an attribute; a constant, an infinity or NaN that the title names:
  the case with that alone changed is right
"""
import json
import os
import re
import subprocess
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper, shape_inference

# The setting that leaves the graph as it is written.
PLAIN = {"onnxruntime": "opt=none", "opencv": "fusion=off", "torch": "mode=eager"}


def split(label):
    name, release, knobs = re.match(r"([^@:]*)(?:@([^:]*))?(?::(.*))?", label).groups()
    return name, release or "", knobs or ""


def joined(name, release, knobs):
    return name + ("@" + release if release else "") + (":" + knobs if knobs else "")


def with_knob(label, knob):
    """The label with one knob set, and no other of that name."""
    name, release, knobs = split(label)
    others = [one for one in knobs.split(",") if one and one.partition("=")[0] != knob.partition("=")[0]]
    return joined(name, release, ",".join(others + [knob]))


class Case:
    """A bundle, and what engines say of it; each is asked once."""

    def __init__(self, folder, finding, assay):
        self.folder, self.finding, self.assay, self.said = folder, finding, assay, {}
        with open(os.path.join(folder, "report.md"), encoding="utf-8") as file:
            self.text = re.sub(r"\\([_*`<>\[\]#|])", r"\1", file.read())
        self.title = self.text.splitlines()[0]
        self.head = self.text.partition("## How to run it")[0]

    def ask(self, labels):
        """Runs the case on those that were not asked yet."""
        new = [one for one in dict.fromkeys(labels) if one not in self.said]
        if not new:
            return
        words = [word for one in new for word in ("-e", one)]
        done = subprocess.run([self.assay, "replay", "--fresh", self.folder, *words, "--format", "json"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        try:
            rows = json.loads(done.stdout)["replayed"]
        except (ValueError, KeyError):
            rows = []
        for row in rows:
            self.said[row["engine"]] = row

    def of(self, label):
        self.ask([label])
        return self.said.get(label, {"state": "trouble", "verdict": "", "text": ""})

    def is_right(self, label):
        return self.of(label)["state"] == "agrees"


def said_releases(case, releases):
    """{release: word} of the lines under Versions; None for a release that is good."""
    said = {}
    for kind, text in re.findall(r"^- (Affected(?: \(.*?\))?|Not affected): (.*)$", case.text, re.MULTILINE):
        word = None if kind.startswith("Not") else (re.search(r"\((.*)\)", kind) or [None, case.finding["kind"]])[1]
        text = re.sub(r" \([^)]*\)", "", text).partition(";")[0]
        for run in text.split(", "):
            first, _, last = run.partition(" to ")
            if first in releases and (last or first) in releases:
                for one in releases[releases.index(first):releases.index(last or first) + 1]:
                    said[one] = word
            else:
                said[run] = "not at hand"
    return said


def claims_of_releases(case, label_of):
    """label_of: {release: label}, ascending, the system's own among them."""
    own = split(case.finding["engine"])
    if "other releases were not tried" in case.text:
        yield "other releases were not tried", len(label_of) <= 1
        return
    said = said_releases(case, list(label_of))
    labels = {release: joined(own[0], split(label)[1], own[2]) for release, label in label_of.items()}
    case.ask(labels.values())
    for release, label in labels.items():
        row = case.of(label)
        what = f"{release}: {said.get(release, 'not named') or 'not affected'}, and it {row['state']} ({row['verdict']})"
        if row["state"] == "agrees":
            yield what, said.get(release, "") is None
        elif row["state"] in ("still wrong", "known"):
            yield what, said.get(release) == row["verdict"]
        elif row["state"] == "skipped":  # it lacks something
            yield what, release not in said
    for release in said:
        if release not in labels:
            yield f"{release} is named and not at hand", False


def claims_of_settings(case):
    engine = case.finding["engine"]
    plain = with_knob(engine, PLAIN.get(split(engine)[0], ""))
    if "only where they are fused" in case.head:
        yield f"right on {plain}", case.is_right(plain)
    if "it is not fusing them that makes it" in case.head:
        yield f"wrong on {plain}", not case.is_right(plain)
    for knobs in re.findall(r"The same release with (.*) gives the expected result", case.head):
        for one in knobs.split(" and with "):
            name, release, _ = split(engine)
            label = joined(name, release, "" if one == "the defaults" else one)
            yield f"right on {label}", case.is_right(label)
    found = re.search(r"optimiser pass `(.*?)` switched off it is gone", case.head)
    if found:
        bad = [one["engine"] for one in case.finding["history"] if one["verdict"] not in ("agrees", "unsupported")]
        label = with_knob(bad[-1] if bad else engine, "disable=" + "+".join(found[1].split(", ")))
        yield f"right on {label}", case.is_right(label)


def claims_of_others(case):
    for text in re.findall(r"ther engines? gives? the expected result: (.*)\.", case.head):
        for name in re.findall(r"([a-z][a-z-]*) \S+?(?:,|$)", text):
            yield f"{name} gives the expected result", case.is_right(name)
    for text in re.findall(r"Not the expected result either: (.*)\.", case.head):
        for name, word in re.findall(r"([a-z][a-z-]*) \S+ \((\w+)\)", text):
            yield f"{name}: {word}", case.of(name)["verdict"] == word


def claims_of_values(case):
    row = case.of(case.finding["engine"])
    found = re.search(r" gives (\S+) instead of (\S+)( \(pass.*)?$", case.title)
    if found and case.finding["kind"] in ("wrong", "nan"):
        shown = re.search(r" is (\S+), expected (\S+?)[,:;]? ", row["text"])
        yield f"'gives {found[1]} instead of {found[2]}', and it says: {row['text'][:120]}", bool(shown) and near(found[1], shown[1]) and near(found[2], shown[2])
    for wrong, total in re.findall(r"(\d+) of (\d+) elements are wrong", case.head):
        yield f"{wrong} of {total} elements are wrong, and it says: {row['text'][:120]}", f"{wrong} of {total}" in row["text"]


def near(a, b):
    """Printed with other numbers of digits."""
    try:
        a, b = float(a), float(b)
    except ValueError:
        return a == b
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-3 * max(abs(a), abs(b))


def run_changed(case, change):
    """Whether the engine is right on the case after change(model, inputs), a list of arrays; None when nothing was changed or judged."""
    model = onnx.load(os.path.join(case.folder, "model.onnx"))
    data = os.path.join(case.folder, "test_data_set_0")
    inputs = []
    while os.path.exists(os.path.join(data, f"input_{len(inputs)}.pb")):
        with open(os.path.join(data, f"input_{len(inputs)}.pb"), "rb") as file:
            inputs.append(onnx.load_tensor(file))
    if not change(model, inputs):
        return None
    model = shape_inference.infer_shapes(model)
    if not all(one.type.tensor_type.HasField("shape") for one in model.graph.output):
        return None
    with tempfile.TemporaryDirectory() as scratch:
        onnx.save(model, os.path.join(scratch, "model.onnx"))
        os.mkdir(os.path.join(scratch, "data"))
        for k, tensor in enumerate(inputs):
            with open(os.path.join(scratch, "data", f"input_{k}.pb"), "wb") as file:
                file.write(tensor.SerializeToString())
        done = subprocess.run([case.assay, "compare", os.path.join(scratch, "model.onnx"), "--data", os.path.join(scratch, "data"),
                               "-e", case.finding["engine"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return {0: True, 1: False}.get(done.returncode)


def set_attribute(operator, node_name, name, text):
    """A change that gives the node's attribute the value that the text says."""
    def change(model, inputs):
        del inputs
        for node in model.graph.node:
            if node.op_type != operator or node_name not in (node.name, *node.output):
                continue
            old = [one for one in node.attribute if one.name == name]
            if text == "left out":
                for one in old:
                    node.attribute.remove(one)
                return bool(old)
            numbers = re.fullmatch(r"\[?(-?[\d.e+-]+(?:, ?-?[\d.e+-]+)*)\]?", text)
            kind = old[0].type if old else None
            if kind is None and not numbers:
                kind = onnx.AttributeProto.STRING
            if kind == onnx.AttributeProto.STRING:
                value = text.strip('"')
            elif kind in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS, onnx.AttributeProto.FLOAT) and numbers:
                values = [float(one) if kind == onnx.AttributeProto.FLOAT else int(one) for one in numbers[1].split(",")]
                value = values if kind == onnx.AttributeProto.INTS else values[0]
            else:
                return False
            for one in old:
                node.attribute.remove(one)
            node.attribute.append(helper.make_attribute(name, value))
            # What comes out may have another type or shape.
            for one in model.graph.output:
                if one.name in node.output:
                    one.type.tensor_type.ClearField("shape")
                    if operator == "Cast" and name == "to":
                        one.type.tensor_type.elem_type = value
            return True
        return False
    return change


def constants_as_inputs(model, inputs):
    count = len(model.graph.initializer)
    for tensor in list(model.graph.initializer):
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        inputs.append(tensor)
        model.graph.initializer.remove(tensor)
    return count > 0


def made_finite(model, inputs):
    changed = False
    for tensors in (inputs, model.graph.initializer):
        for k, tensor in enumerate(tensors):
            values = numpy_helper.to_array(tensor)
            if values.dtype.kind != "f" or numpy.isfinite(values).all():
                continue
            new = numpy_helper.from_array(numpy.where(numpy.isfinite(values), values, values.dtype.type(1)), tensor.name)
            tensors[k].CopyFrom(new)
            changed = True
    return changed


def claims_of_conditions(case):
    found = re.search(r"^Cause: (\S+) `(.*?)`: .*; cured by ([a-z_]+)(?:=(\S.*?)| (left out))(?:, which means.*)?\.$", case.head, re.MULTILINE)
    if found:
        right = run_changed(case, set_attribute(found[1], found[2], found[3], found[4] or found[5]))
        if right is not None:
            yield f"cured by {found[3]}={found[4]}", right
    if " of a constant " in case.title or " of constants" in case.title:
        right = run_changed(case, constants_as_inputs)
        if right is not None:
            yield "not when it is no constant", right
    if "NaN among its inputs" in case.title or "an infinity among its inputs" in case.title:
        right = run_changed(case, made_finite)
        if right is not None:
            yield "not when all inputs are finite", right


def check(folder, finding, assay, label_of):
    case = Case(folder, finding, assay)
    # All at once, as each run of the program starts the engines.
    name, _, knobs = split(finding["engine"])
    case.ask([finding["engine"], *(joined(name, split(label)[1], knobs) for label in label_of.values())])
    tried, refuted = 0, []
    for claims in (claims_of_values(case), claims_of_releases(case, label_of), claims_of_settings(case), claims_of_others(case),
                   claims_of_conditions(case)):
        for what, so in claims:
            tried += 1
            if not so:
                refuted.append(what)
    return tried, refuted
