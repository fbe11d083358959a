"""Whether the sentences of a report.md are so: each that says something about an engine is tried, by running the case.

check(folder, finding, assay, releases) gives what was tried, and what of it is not so. Tried are:

- values: "gives A instead of B", "N of M elements are wrong": as a new process shows them
- releases: every release at hand is on the line that says what it does, and "other releases were not tried" only without others
- fusion: "wrong only where they are fused", "not when the graph is run as it is written": on the plain setting
- "with the optimiser pass P switched off it is gone"; "the same release with S gives the expected result"
- other engines that give the expected result, or do not
- conditions: a cause that is cured by other values of attributes or inputs, by leaving one out, by another element type or size; the
  values that it is said to need besides; a constant, an infinity or NaN that the title names: the case with that alone changed is right

What is said and cannot be tried here (a respelling, a change that makes the model invalid) is counted as untried. planted(case) are
reports with a false sentence in place of a true one, which check must refute.
"""
import json
import math
import os
import re
import subprocess
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper, shape_inference

# The setting that leaves the graph as it is written.
PLAIN = {"onnxruntime": "opt=none", "opencv": "fusion=off", "torch": "mode=eager"}


# What is not about numbers: an answer of the right form is right, whose numbers ONNX leaves unspecified.
OF_FORM = {"shape", "dtype", "rejected", "failed", "crash", "hang"}


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
            self.read(re.sub(r"\\([_*`<>\[\]#|])", r"\1", file.read()))

    def read(self, text):
        self.text = text
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
    labels = {release: joined(own[0], split(label)[1], own[2]) for release, label in label_of.items()}
    case.ask(labels.values())
    if "other releases were not tried" in case.text:  # nor are those that do not start with these knobs
        others = [label for label in labels.values() if label != case.finding["engine"] and split(label)[1] not in ("", case.finding["version"])]
        yield "other releases were not tried", not others or (case.of(case.finding["engine"])["state"] != "trouble" and
                                                              all(case.of(one)["state"] == "trouble" for one in others))
        return
    said = said_releases(case, list(label_of))
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
        text = re.sub(r" \([^()]* [^()]*\)", "", text)  # of a version: "ggml 3.22.1 (llama.cpp v0.5.0)"
        for name in re.findall(r"([a-z][a-z-]*) \S+?(?:,|$)", text):
            yield f"{name} gives the expected result", case.is_right(name)
    for text in re.findall(r"Not the expected result either: (.*)\.", case.head):
        for name, word in re.findall(r"([a-z][a-z-]*) \S+ (?:\([^()]* [^()]*\) )?\((\w+)\)", text):
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
    return a == b or (a != a and b != b) or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= 1e-3 * max(abs(a), abs(b)))


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
    try:
        model = shape_inference.infer_shapes(model)
    except shape_inference.InferenceError:  # what was changed gives the output another type
        return None
    with tempfile.TemporaryDirectory() as scratch:
        onnx.save(model, os.path.join(scratch, "model.onnx"))
        os.mkdir(os.path.join(scratch, "data"))
        for k, tensor in enumerate(inputs):
            with open(os.path.join(scratch, "data", f"input_{k}.pb"), "wb") as file:
                file.write(tensor.SerializeToString())
        done = subprocess.run([case.assay, "compare", os.path.join(scratch, "model.onnx"), "--data", os.path.join(scratch, "data"),
                               "-e", case.finding["engine"], "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 2 and case.finding["kind"] in OF_FORM:
        try:
            engine = json.loads(done.stdout)["models"][0]["engines"][0]
            return True if engine["judge"]["verdict"] == "open" and engine["outcomes"]["ok"] else None
        except (ValueError, KeyError, IndexError, TypeError):
            return None
    return {0: True, 1: False}.get(done.returncode)


def values_of(text, kind):
    """The value of an attribute that the text says, as its kind has it; None: it says none."""
    kinds = onnx.AttributeProto
    if kind in (kinds.STRING, kinds.STRINGS):
        words = [one.strip().strip('"') for one in text.strip("[]").split(",")] if kind == kinds.STRINGS else [text.strip('"')]
        return words if kind == kinds.STRINGS else words[0]
    if not re.fullmatch(r"\[?(-?[\d.e+-]+(?:, ?-?[\d.e+-]+)*)?\]?", text):
        return None
    read = float if kind in (kinds.FLOAT, kinds.FLOATS) else int
    values = [read(one) for one in text.strip("[]").split(",") if one.strip()]
    if kind in (kinds.INTS, kinds.FLOATS):
        return values
    return values[0] if len(values) == 1 and kind in (kinds.INT, kinds.FLOAT) else None


def guessed(text):
    """The kind of an attribute that this onnx does not know."""
    kinds = onnx.AttributeProto
    if re.fullmatch(r"\[?-?\d+(, ?-?\d+)+\]?|\[-?\d*\]", text):
        return kinds.INTS
    return kinds.INT if re.fullmatch(r"-?\d+", text) else kinds.FLOAT if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else kinds.STRING


def forget_shapes(model, node, to=None):
    """What comes out may have another shape, and behind a Cast another type."""
    for one in model.graph.output:
        one.type.tensor_type.ClearField("shape")
        if to and one.name in node.output:
            one.type.tensor_type.elem_type = to
    del model.graph.value_info[:]


def opset_of(model):
    return max(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))


def set_attribute(model, node, schema, name, text):
    old = [one for one in node.attribute if one.name == name]
    declared = schema.attributes.get(name) if schema else None
    kind = old[0].type if old else int(declared.type) if declared else guessed(text or "")
    if text is None and not old:  # it is left out as it is, and that changes nothing; unless this onnx is older than the model
        return declared is not None and opset_of(model) <= onnx.defs.onnx_opset_version()
    value = None if text is None else values_of(text, kind)
    if value is None and text is not None:  # of a newer opset it may be an input that this onnx does not know
        return False
    for one in old:
        node.attribute.remove(one)
    if text is not None:
        node.attribute.append(helper.make_attribute(name, value))
    forget_shapes(model, node, value if node.op_type == "Cast" and name == "to" else None)
    return True


def set_input(model, inputs, node, place, text):
    """Gives an input of the node the elements that the text says, or takes it away."""
    name = node.input[place] if place < len(node.input) else ""
    held = [(model.graph.initializer, k) for k, one in enumerate(model.graph.initializer) if one.name == name]
    names = [one.name for one in model.graph.input if one.name not in {each.name for each in model.graph.initializer}]
    held += [(inputs, k) for k, one in enumerate(names) if one == name and k < len(inputs)]
    if text is None:
        if any(name and name in one.input for one in model.graph.node if one is not node):
            return False
        if name:
            node.input[place] = ""
        while node.input and not node.input[-1]:
            node.input.pop()
        forget_shapes(model, node)
        return True
    if not held:
        return False
    where, k = held[0]
    old = numpy_helper.to_array(where[k])
    words = ["0"] * old.size if text == "zeros" else [one for one in text.strip("[]").split(",") if one.strip()]
    if len(words) != old.size:
        return False
    try:
        new = numpy.array([(int if old.dtype.kind in "iu" else float)(one) for one in words], old.dtype).reshape(old.shape)
    except (ValueError, OverflowError):
        return False
    where[k].CopyFrom(numpy_helper.from_array(new, where[k].name))
    forget_shapes(model, node)
    return True


def place_of(model, operator, node_name, name):
    """The node, its schema, and which of its inputs has that name; None: it is an attribute."""
    opset = opset_of(model)
    for node in model.graph.node:
        if node.op_type == operator.rpartition("::")[2] and node_name in (node.name, *node.output):
            try:
                schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
            except onnx.defs.SchemaError:  # of another domain
                schema = None
            places = [place for place, one in enumerate(schema.inputs) if one.name == name] if schema else []
            return node, schema, places[0] if places else None
    return None, None, None


def set_constant(model, inputs, operator, node_name, name):
    """An input of the graph becomes a constant."""
    node, _, place = place_of(model, operator, node_name, name)
    held = {one.name for one in model.graph.initializer}
    outer = [one for one in model.graph.input if one.name not in held]
    for k, one in enumerate(outer):
        if node is not None and place is not None and place < len(node.input) and one.name == node.input[place]:
            tensor = inputs.pop(k)
            tensor.name = one.name
            model.graph.initializer.append(tensor)
            model.graph.input.remove(one)
            return True
    return False


def set_parameter(model, inputs, operator, node_name, name, text):
    """text None: left out. Whether it could be done."""
    node, schema, place = place_of(model, operator, node_name, name)
    if node is None:
        return False
    return set_attribute(model, node, schema, name, text) if place is None else set_input(model, inputs, node, place, text)


TYPES = {name: getattr(onnx.TensorProto, code) for name, code in (
    ("float16", "FLOAT16"), ("float32", "FLOAT"), ("float64", "DOUBLE"), ("int8", "INT8"), ("uint8", "UINT8"), ("int16", "INT16"),
    ("uint16", "UINT16"), ("int32", "INT32"), ("uint32", "UINT32"), ("int64", "INT64"), ("uint64", "UINT64"), ("bool", "BOOL"))}


def set_type(model, inputs, node_name, to):
    """Everything of the type of the node's first input gets another one."""
    for node in model.graph.node:
        if node_name not in (node.name, *node.output) or not node.input:
            continue
        known = {one.name: one.type.tensor_type.elem_type for one in [*model.graph.input, *model.graph.output, *model.graph.value_info]}
        known.update({one.name: one.data_type for one in model.graph.initializer})
        old = known.get(node.input[0])
        if not old:
            return False
        for value in [*model.graph.input, *model.graph.output]:
            if value.type.tensor_type.elem_type == old:
                value.type.tensor_type.elem_type = to
        for tensors in (inputs, model.graph.initializer):
            for tensor in tensors:
                if tensor.data_type == old:
                    values = numpy_helper.to_array(tensor).astype(helper.tensor_dtype_to_np_dtype(to) if hasattr(helper, "tensor_dtype_to_np_dtype")
                                                                  else onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[to])
                    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        del model.graph.value_info[:]
        return True
    return False


def parsed(text):
    """(name, value) of "axis=1", "axis left out" and "leaving axis out", where None is left out; else None."""
    found = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", text)
    if found:
        return found[1], found[2]
    found = re.fullmatch(r"leaving (\w+) out", text) or re.fullmatch(r"(\w+) left out", text)
    return (found[1], None) if found else None


# A parameter that a cause names, with the node that it is of where that is another one than the cause's.
NEEDED = re.compile(r"(^| with | and )(\w+)(?:=| left out).*?(?: of (\S+) `([^`]*)`)?(?=$| with | and )")


def change_of(operator, node, cures, elsewhere=None):
    """The change of the model that the texts name; None for those that cannot be made here. elsewhere: {parameter: (operator, node)}."""
    if len(cures) == 1 and cures[0] in TYPES:
        return lambda model, inputs: set_type(model, inputs, node, TYPES[cures[0]])
    given = re.fullmatch(r"(\w+) given as a constant", cures[0]) if len(cures) == 1 else None
    if given:
        return lambda model, inputs: set_constant(model, inputs, operator, node, given[1])
    pairs = [parsed(one) for one in cures]
    if None in pairs:
        return None
    return lambda model, inputs: all(set_parameter(model, inputs, *(elsewhere or {}).get(pair[0], (operator, node)), *pair) for pair in pairs)


def only_behind(model, node_name):
    """Leaves the outputs that the node leads to, and what they are computed from; False when those are all."""
    reached = {one for node in model.graph.node if node_name in (node.name, *node.output) for one in node.output}
    for node in model.graph.node:
        if reached.intersection(node.input):
            reached.update(node.output)
    outputs = [one for one in model.graph.output if one.name in reached]
    if not outputs or len(outputs) == len(model.graph.output):
        return False
    wanted, nodes = {one.name for one in outputs}, []
    for node in reversed(model.graph.node):
        if wanted.intersection(node.output):
            nodes.insert(0, node)
            wanted.update(node.input)
            wanted.update(one for body in node.attribute for each in body.g.node for one in each.input)
    for held, left in ((model.graph.output, outputs), (model.graph.node, nodes)):
        kept = [type(one).FromString(one.SerializeToString()) for one in left]
        del held[:]
        held.extend(kept)
    return True


def cures(case, node, change):
    """The same of a change of the node. Where another node fails, too, as two of one bug do, that has no part in it."""
    right = run_changed(case, change)
    if right is not False or not only_behind(onnx.load(os.path.join(case.folder, "model.onnx")), node):
        return right
    return run_changed(case, lambda model, inputs: change(model, inputs) and only_behind(model, node))


def constants_as_inputs(model, inputs, most=None):
    count = len(model.graph.initializer)
    for tensor in list(model.graph.initializer)[:most]:
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


CAUSE = re.compile(r"^Cause: (\S+) `(.*?)`: (.*?); cured (only together, )?by (.*?)(, which means the same and is computed otherwise)?"
                   r"(; other data of the same kind does not show it)?\.$", re.MULTILINE)


def is_needed(case, operator, node, parameter):
    """Whether another value of it alone cures: the default, or one that localize names."""
    done = subprocess.run([case.assay, "localize", case.folder, "-e", case.finding["engine"], "--method", "causal", "--format", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        found = json.loads(done.stdout)["cause"]["cures"]
    except (ValueError, KeyError, TypeError):
        found = []
    values = [one["value"] for one in found if one["parameter"] == parameter]
    changes = [change_of(operator, node, [f"leaving {parameter} out" if value == "left out" else f"{parameter}={value}"]) for value in values[:4]]
    said = [cures(case, node, change) if change else None for change in changes]
    return True if True in said else None if said and None in said else False


def claims_of_cause(case):
    found = CAUSE.search(case.head)
    if not found:
        return
    operator, node, needs, together, cure = found[1], found[2], found[3], found[4], found[5]
    respelled = re.fullmatch(r"(\w+=.*) in place of (\w+)", cure)
    values = ([respelled[1], f"leaving {respelled[2]} out"] if respelled
              else re.split(r" and (?=\w+=|leaving )", cure) if together else [cure])
    named = [(one, (at, its) if at else (operator, node)) for _, one, at, its in NEEDED.findall(needs)]
    twice = together and len(dict(named)) < len(named)  # of two nodes: the cure does not say which is of which
    change = None if twice else change_of(operator, node, values, dict(named) if together else None)
    yield f"cured by {cure}", cures(case, node, change) if change else None
    for one, at in [] if together else named[1:]:
        yield f"needs {one} of {at[0]} `{at[1]}`", is_needed(case, *at, one)


def claims_of_conditions(case):
    yield from claims_of_cause(case)
    if " of a constant " in case.title or " of constants" in case.title:
        right = run_changed(case, constants_as_inputs)
        # An engine may take some operands as constants alone.
        yield "not when it is no constant", run_changed(case, lambda *of: constants_as_inputs(*of, most=1)) if right is None else right
    if "NaN among its inputs" in case.title or "an infinity among its inputs" in case.title:
        yield "not when all inputs are finite", run_changed(case, made_finite)


def planted(case):
    """(what, text of the report) with a false sentence in place of a true one."""
    text = case.text
    found = CAUSE.search(case.head)
    here = found and parsed(re.split(r" with | and ", found[3])[0])
    if here and parsed(found[5]) and not found[4]:
        now = f"leaving {here[0]} out" if here[1] is None else f"{here[0]}={here[1]}"
        yield "a cure", text[:found.start(5)] + now + text[found.end(5):]
    found = re.search(r" gives (\S+) instead of (\S+)", case.title)
    if found and case.finding["kind"] in ("wrong", "nan"):
        yield "a value", text.replace(found[0], f" gives {found[1]} instead of 123456", 1)
    found = re.search(r"^- Not affected: .*$", text, re.MULTILINE)
    if found:
        yield "a release", text.replace(found[0], found[0].replace("Not affected", "Affected", 1), 1)


def tried(case, label_of):
    """Every claim: (what, whether it is so; None where it cannot be tried)."""
    for claims in (claims_of_values(case), claims_of_releases(case, label_of), claims_of_settings(case), claims_of_others(case),
                   claims_of_conditions(case)):
        yield from claims


def check(folder, finding, assay, label_of):
    """(claims that were tried, those of them that are not so, those that cannot be tried, false ones that were planted, those of them
    that were not refuted)"""
    case = Case(folder, finding, assay)
    # All at once, as each run of the program starts the engines.
    name, _, knobs = split(finding["engine"])
    case.ask([finding["engine"], *(joined(name, split(label)[1], knobs) for label in label_of.values())])
    said = list(tried(case, label_of))
    cannot = any(so is None and what.startswith("cured") for what, so in said)  # then a false cure cannot be tried either
    false = [(what, text) for what, text in planted(case) if what != "a cure" or not cannot]
    missed = []
    for what, text in false:
        case.read(text)
        if all(so is not False for _, so in tried(case, label_of)):
            missed.append(what)
    return ([what for what, so in said if so is not None], [what for what, so in said if so is False],
            [what for what, so in said if so is None], false, missed)
