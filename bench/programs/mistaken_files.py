"""The folder of a user who makes mistakes: good models, data and cases beside broken ones. Shared by bench/mistakes."""
import os
import shutil
import sqlite3
import struct

FLOAT, INT32, INT64, STRING, DOUBLE = 1, 6, 7, 8, 11


def put(path, data):
    """Writes bytes or text, with the folders before it."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)


# Protobuf by hand: models that no library would write are wanted, too.
def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(dims, kind, raw, name=""):
    return b"".join(field(1, dim) for dim in dims) + field(2, kind) + (field(8, name) if name else b"") + field(9, raw)


def external(dims, name, location):
    entry = field(1, "location") + field(2, location)
    return b"".join(field(1, dim) for dim in dims) + field(2, FLOAT) + field(8, name) + field(13, entry) + field(14, 1)


def tensor_type(kind, dims):
    shape = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, field(1, kind) + field(2, shape))


def info(name, kind, dims):
    return field(1, name) + field(2, tensor_type(kind, dims))


def node(op, inputs, outputs, name=""):
    return b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in outputs) + field(3, name or op.lower()) + field(4, op)


def graph(nodes, inputs, outputs, weights=()):
    parts = [(1, nodes), (5, weights), (11, inputs), (12, outputs)]
    return b"".join(field(number, one) for number, all_ in parts for one in all_) + field(2, "g")


def model(nodes, inputs, outputs, weights=(), opset=13, ir=8):
    return field(1, ir) + field(7, graph(nodes, inputs, outputs, weights)) + field(8, field(2, opset))


def npy(dims, code="<f4", data=None, fortran=False, header=None):
    count = 1
    for dim in dims:
        count *= dim
    if data is None:
        data = struct.pack(f"<{count}{ {'f4': 'f', 'f8': 'd', 'i4': 'i', 'i8': 'q', 'u1': 'B'}[code[1:]]}", *range(count))
    shape = "(" + "".join(f"{dim}," for dim in dims) + ")"
    text = header or f"{{'descr': '{code}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = text.ljust((len(text) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data


def floats(count):
    return struct.pack(f"<{count}f", *[0.25 * i - 1 for i in range(count)])


def good_models(here):
    relu = model([node("Relu", ["x"], ["y"])], [info("x", FLOAT, [2, 3])], [info("y", FLOAT, [2, 3])])
    put(f"{here}/relu.onnx", relu)
    put(f"{here}/add.onnx", model([node("Add", ["a", "b"], ["sum"])], [info("a", FLOAT, ["batch", 4]), info("b", FLOAT, ["batch", 4])],
                                  [info("sum", FLOAT, ["batch", 4])]))
    put(f"{here}/tokens.onnx", model([node("Gather", ["table", "ids"], ["rows"])], [info("ids", INT64, ["batch", "length"])],
                                     [info("rows", FLOAT, ["batch", "length", 4])], [tensor([10, 4], FLOAT, floats(40), "table")]))
    sequence = field(1, "parts") + field(2, field(4, field(1, tensor_type(FLOAT, [2, 3]))))
    concat = node("ConcatFromSequence", ["parts"], ["y"]) + field(5, field(1, "axis") + field(3, 0) + field(20, 2))
    put(f"{here}/sequence.onnx", model([concat], [sequence], [info("y", FLOAT, ["n", 3])]))
    put(f"{here}/shapeless.onnx", model([node("Relu", ["x"], ["y"])], [field(1, "x") + field(2, field(1, field(1, FLOAT)))],
                                        [info("y", FLOAT, ["a", "b"])]))
    return relu


def bad_models(here, zoo):
    one, float23 = [info("x", FLOAT, [2, 3])], [info("y", FLOAT, [2, 3])]
    lenet = open(zoo, "rb").read()
    weight = external([2, 3], "w", "weights.bin")
    add_weight = [node("Add", ["x", "w"], ["y"])]
    for name, data in {
        "empty": b"", "cut": lenet[: len(lenet) // 2], "text": "This is not a model.\n", "picture": b"\x89PNG\r\n\x1a\n" + bytes(200),
        "page": "<!DOCTYPE html><html><title>404</title></html>\n", "no-graph": field(1, 8) + field(8, field(2, 13)),
        "unknown-operator": model([node("Reluu", ["x"], ["y"])], one, float23),
        "arity": model([node("Relu", ["x", "x"], ["y"])], one, float23),
        "types": model([node("Add", ["x", "i"], ["y"])], one + [info("i", INT64, [2, 3])], float23),
        "shapes": model([node("MatMul", ["x", "v"], ["y"])], one + [info("v", FLOAT, [4, 5])], [info("y", FLOAT, [2, 5])]),
        "dangling": model([node("Relu", ["nothing"], ["y"])], one, float23),
        "twice": model([node("Relu", ["x"], ["y"], "first"), node("Abs", ["x"], ["y"], "second")], one, float23),
        "cycle": model([node("Relu", ["b"], ["a"], "one"), node("Abs", ["a"], ["b"], "two"), node("Add", ["x", "b"], ["y"])], one, float23),
        "no-output": model([node("Relu", ["x"], ["z"])], one, float23),
        "far-opset": model([node("Relu", ["x"], ["y"])], one, float23, opset=999),
        "weights-gone": model(add_weight, one, float23, [external([2, 3], "w", "gone.bin")]),
        "weights-short": model(add_weight, one, float23, [external([2, 3], "w", "short.bin")]),
        "weights-outside": model(add_weight, one, float23, [external([2, 3], "w", "../outside.bin")]),
        "weights": model(add_weight, one, float23, [weight]),
        "wrong-weight": model(add_weight, one, float23, [tensor([2, 3], FLOAT, floats(4), "w")]),
    }.items():
        put(f"{here}/broken/{name}.onnx", data)
    put(f"{here}/broken/short.bin", floats(2))
    put(f"{here}/broken/weights.bin", floats(6))


def data_folders(here, root):
    good = npy([2, 3])
    for name, data in {
        "good": good, "shape": npy([3, 2]), "rank": npy([6]), "double": npy([2, 3], "<f8"), "int32": npy([2, 3], "<i4"),
        "batch": npy([5, 2, 3]), "cut": good[:-7], "cut-header": good[:40], "empty": b"", "text": "1 2 3\n4 5 6\n",
        "structures": npy([2], header="{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", data=floats(2)),
        "objects": npy([2, 3], header="{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", data=bytes(48)),
        "no-shape": npy([2, 3], header="{'descr': '<f4', 'fortran_order': False}", data=floats(6)),
        "fortran": npy([3, 2], fortran=True), "huge": npy([2, 3], header="{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9), }", data=b""),
    }.items():
        put(f"{here}/data/{name}/input_0.npy", data)
    put(f"{here}/data/misspelt/xx.npy", good)
    put(f"{here}/data/number/input_7.npy", good)
    put(f"{here}/data/picture/input_0.png", b"\x89PNG\r\n\x1a\n")
    put(f"{here}/data/cut-pb/input_0.pb", tensor([2, 3], FLOAT, floats(6))[:-9])
    put(f"{here}/data/text-pb/input_0.pb", "not a tensor\n")
    put(f"{here}/data/short-pb/input_0.pb", tensor([2, 3], FLOAT, floats(4)))
    put(f"{here}/data/double-pb/input_0.pb", tensor([2, 3], DOUBLE, struct.pack("<6d", *range(6))))
    put(f"{here}/data/sequence-pb/input_0.pb", field(2, 1) + field(3, tensor([2, 3], FLOAT, floats(6))))
    put(f"{here}/data/sets/test_data_set_0/input_0.npy", good)
    put(f"{here}/data/sets/test_data_set_1/input_0.npy", npy([2, 4]))
    put(f"{here}/data/hole/test_data_set_0/input_0.npy", good)
    os.makedirs(f"{here}/data/hole/test_data_set_1")
    os.makedirs(f"{here}/data/nothing")
    put(f"{here}/add-data/good/input_0.npy", npy([3, 4]))
    put(f"{here}/add-data/good/input_1.npy", npy([3, 4]))
    put(f"{here}/add-data/half/input_0.npy", npy([3, 4]))
    put(f"{here}/add-data/batches/input_0.npy", npy([3, 4]))
    put(f"{here}/add-data/batches/input_1.npy", npy([2, 4]))
    put(f"{here}/add-data/names/a.npy", npy([3, 4]))
    put(f"{here}/add-data/names/B.npy", npy([3, 4]))
    put(f"{here}/add-data/counts/samples_0.npy", npy([5, 1, 4]))
    put(f"{here}/add-data/counts/samples_1.npy", npy([4, 1, 4]))
    for name, dims, code, numbers in [("range", [2, 3], "<i8", [0, 1, 2, 3, 4, 10]), ("negative", [2, 3], "<i8", [0, 1, -99, 3, 4, 5]),
                                      ("int32", [2, 3], "<i4", [0, 1, 2, 3, 4, 5]), ("float", [2, 3], "<f4", [0, 1, 2, 3, 4, 5])]:
        put(f"{here}/tokens-data/{name}/input_0.npy", npy(dims, code, struct.pack(f"<6{ {'<i8': 'q', '<i4': 'i', '<f4': 'f'}[code]}", *numbers)))
    samples = open(f"{root}/models/samples/samples.npy", "rb").read()
    for name in ["few", "words", "uneven", "text-array", "none", "objects"]:
        put(f"{here}/digits-{name}/samples.npy", samples)
    put(f"{here}/digits-few/labels.npy", npy([7], "<i8"))
    put(f"{here}/digits-words/labels.txt", "seven\ntwo\none\nzero\nfour\none\nfour\nnine\nfive\nnine\n")
    put(f"{here}/digits-uneven/labels.txt", "7 2 1 0 4 1 4 9 5 9 0\n")
    put(f"{here}/digits-text-array/labels.npy", "7,2,1\n")
    put(f"{here}/digits-none/labels.txt", "")
    put(f"{here}/digits-objects/labels.npy", npy([10], header="{'descr': '|S1', 'fortran_order': False, 'shape': (10,), }", data=b"7210414959"))
    put(f"{here}/colours/samples.npy", npy([4, 3, 32, 32]))


def case(folder, model_bytes, inputs, outputs):
    put(f"{folder}/model.onnx", model_bytes)
    for stem, values in (("input", inputs), ("output", outputs)):
        for number, data in values.items():
            put(f"{folder}/test_data_set_0/{stem}_{number}.pb", data)


def case_folders(here, relu):
    values = tensor([2, 3], FLOAT, floats(6), "x")
    answer = tensor([2, 3], FLOAT, struct.pack("<6f", 0, 0, 0, 0, 0, 0.25), "y")
    add = open(f"{here}/add.onnx", "rb").read()
    broken = {name: open(f"{here}/broken/{name}.onnx", "rb").read() for name in ["empty", "cut", "unknown-operator", "weights-gone"]}
    case(f"{here}/cases/good", relu, {0: values}, {0: answer})
    case(f"{here}/mistaken/half", add, {0: tensor([3, 4], FLOAT, floats(12), "a")}, {0: tensor([3, 4], FLOAT, floats(12), "sum")})
    case(f"{here}/mistaken/cut-input", relu, {0: values[:-5]}, {0: answer})
    case(f"{here}/mistaken/type", relu, {0: tensor([2, 3], DOUBLE, struct.pack("<6d", *range(6)), "x")}, {0: answer})
    case(f"{here}/mistaken/shape", relu, {0: tensor([3, 3], FLOAT, floats(9), "x")}, {0: answer})
    case(f"{here}/mistaken/too-many", relu, {0: values, 1: values}, {0: answer})
    case(f"{here}/mistaken/cut-answer", relu, {0: values}, {0: answer[:-5]})
    case(f"{here}/mistaken/answers", relu, {0: values}, {0: answer, 1: answer})
    case(f"{here}/mistaken/no-data", relu, {}, {})
    case(f"{here}/mistaken/no-inputs", relu, {}, {0: answer})
    for name, data in broken.items():
        case(f"{here}/mistaken/{name}", data, {0: values}, {0: answer})
    put(f"{here}/mistaken/folder-model/model.onnx/readme.txt", "A folder, not a model.\n")
    put(f"{here}/mistaken/readme.txt", "Cases that came out of a hurried copy.\n")


def campaigns(here, run):
    """A real campaign on a planted fault, and what becomes of such folders."""
    run("fuzz", "-e", "reference:fault=bn-sqrt-var", "--no-probe", "--ops", "BatchNormalization,Relu", "--count", "40", "-o", "campaign")
    run("report", "campaign", "--no-bisect", "--reduce-time", "5s")
    run("blocks", "harvest", "lenet5.onnx", "-o", "blocks-mine")
    for name in os.listdir(f"{here}/blocks-mine"):
        put(f"{here}/blocks-mine/{name}", "# Changed by hand.\n" + open(f"{here}/blocks-mine/{name}").read())
    database = open(f"{here}/campaign/assay.db", "rb").read()
    bundles = [name for name in os.listdir(f"{here}/campaign/findings") if os.path.isdir(f"{here}/campaign/findings/{name}")]
    shutil.copytree(f"{here}/campaign/findings/{sorted(bundles)[0]}", f"{here}/bundle")
    put(f"{here}/campaign-rubbish/assay.db", "rubbish\n" * 100)
    put(f"{here}/campaign-cut/assay.db", database[: len(database) // 3])
    put(f"{here}/campaign-empty/assay.db", b"")
    put(f"{here}/campaign-folder/assay.db/readme.txt", "A folder.\n")
    os.makedirs(f"{here}/campaign-other")
    with sqlite3.connect(f"{here}/campaign-other/assay.db") as other:
        other.execute("CREATE TABLE songs (title TEXT)")
    put(f"{here}/bundle-no-model/finding.json", open(f"{here}/bundle/finding.json", "rb").read() if os.path.exists(f"{here}/bundle/finding.json") else "{}")
    shutil.copytree(f"{here}/bundle", f"{here}/bundle-broken")
    for name in os.listdir(f"{here}/bundle-broken"):
        if name.endswith(".json"):
            put(f"{here}/bundle-broken/{name}", "{ broken")


def tables(here):
    for name, text in {
        "no-section.ini": "command = /bin/true\n", "no-key.ini": "[mine]\ncommand = /bin/true\ncolour = red\n", "no-command.ini": "[mine]\nmemory = 1G\n",
        "memory.ini": "[mine]\ncommand = /bin/true\nmemory = lots\n", "quote.ini": '[mine]\ncommand = "/bin/true\n', "name.ini": "[mine@2]\ncommand = /bin/true\n",
        "bracket.ini": "[mine\ncommand = /bin/true\n", "binary.ini": b"\0\1\2\3", "line.ini": "[mine]\njust some words\n",
        "absent.ini": "[mine]\ncommand = /nowhere/engine\n", "mute.ini": "[mine]\ncommand = /bin/true\n", "shell.ini": "[mine]\ncommand = /bin/cat\n",
        "empty-command.ini": "[mine]\ncommand =\n", "launcher.ini": "[mine]\ncommand = /bin/true\nlauncher = perhaps\n",
    }.items():
        put(f"{here}/engines/{name}", text)
    put(f"{here}/known.ini", "[too-wide]\nengine = reference\nsymptom = wrong\noperators = Relu\ncause = none\n")
    put(f"{here}/known-picture.ini", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
    put(f"{here}/blocks-broken/mine.onnxtxt", "this is no block {\n")
    put(f"{here}/outputs/reference/mine.txt", "Outputs that took a week.\n")
    put(f"{here}/blocks-other/readme.md", "Nothing here yet.\n")
    put(f"{here}/thesis.txt", "The only copy.\n")
    put(f"{here}/notes/todo.txt", "Call home.\n")
    put(f"{here}/notes/deep/er/plan.txt", "Sleep.\n")
    put(f"{here}/locked/inside.txt", "Look, do not touch.\n")
    put(f"{here}/secret.onnx", open(f"{here}/relu.onnx", "rb").read())
    put(f"{here}/secret/input_0.npy", npy([2, 3]))
    put(f"{here}/empty.txt", "")
    os.makedirs(f"{here}/hollow")
    os.symlink("nowhere.onnx", f"{here}/dangling.onnx")
    os.mkfifo(f"{here}/pipe.onnx")


def make(here, root, run):
    """Fills the folder `here`; run(*words) is an assay command inside it."""
    shutil.copy(f"{root}/models/lenet5/lenet5.onnx", f"{here}/lenet5.onnx")
    shutil.copytree(f"{root}/models/samples", f"{here}/digits")
    relu = good_models(here)
    bad_models(here, f"{here}/lenet5.onnx")
    data_folders(here, root)
    case_folders(here, relu)
    campaigns(here, run)
    tables(here)
    put(f"{here}/../outside.bin", floats(6))
    for path, mode in (("secret.onnx", 0), ("secret", 0), ("locked", 0o555)):
        os.chmod(f"{here}/{path}", mode)
