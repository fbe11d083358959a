"""The package: what is judged, how it is said, and what may be given."""
import gc
import html.parser
import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import assay

IDENTITY = '<ir_version: 10, opset_import: ["": {opset}]> g ({type}[{shape}] x) => ({type}[{shape}] y) {{ y = Identity(x) }}'


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)


@pytest.fixture
def right(x):
    w = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    return np.maximum(x @ w + np.array([0.5, -1, 2], np.float32), 0)


# ---- Verdicts ----

def test_right(net, x, right):
    verdict = assay.judge(net, {"x": x}, {"y": right})
    assert verdict.right and verdict.word == "agrees"
    assert (verdict.elements, verdict.judged, verdict.wrong) == (6, 6, 0)
    assert assay.assert_correct(net, x, [right]).right


def test_wrong_element_is_named(net, x, right):
    right[1, 2] += 1e-3
    verdict = assay.judge(net, x, right)
    assert (verdict.answer, verdict.word, verdict.output, verdict.element) == (assay.WRONG, "wrong", "y", 5)
    assert verdict.index == (1, 2)
    assert verdict.factor > 1 and verdict.wrong == 1
    assert math.isclose(verdict.got, right[1, 2]) and math.isclose(verdict.expected, right[1, 2] - 1e-3, rel_tol=1e-6)


def test_a_tolerance_would_not_have_seen_it(net, x, right):
    other = right * np.float32(1 + 1e-4)
    np.testing.assert_allclose(other, right, rtol=1e-3)
    assert assay.judge(net, x, other).answer == assay.WRONG


def test_nan_and_shape(net, x, right):
    nan = right.copy()
    nan[0, 0] = np.nan
    assert assay.judge(net, x, nan).word == "nan"
    assert assay.judge(net, x, right[:, :2]).word == "shape"
    assert assay.judge(net, x, right.astype(np.float64)).word == "dtype"


def test_the_message(net, x, right):
    right[1, 2] = 7
    with pytest.raises(AssertionError) as caught:
        assay.assert_correct(net, {"x": x}, {"y": right})
    text = str(caught.value)
    assert f"the outputs of {net}: wrong" in text
    assert "y[5] is 7, expected" in text and "1 of 6 elements" in text and "y[1,2]" in text
    assert not isinstance(caught.value, assay.NotJudged)


def test_the_message_has_the_commands_words(net, x):
    x, engine = x[1:], "reference:round=on,fault=fused-tail"
    verdict = assay.judge_engine(engine, net, x)
    said = assay.compare(net, engine, x).engines[engine]
    assert said.finding and verdict.answer == assay.WRONG and verdict.engine == engine
    assert said.text in verdict.sentence and "Add" in verdict.node
    with pytest.raises(AssertionError, match="at fault: .*Add"):
        assay.assert_correct(net, x, assay.run(engine, net, x), engine=engine)


def test_inner_values_name_the_node(net, x):
    w = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    h = x @ w
    t = h + np.array([0.5, -1, 2], np.float32) + np.float32(0.01)  # wrong here
    verdict = assay.judge(net, x, np.maximum(t, 0), values={"h": h, "t": t})
    assert verdict.answer == assay.WRONG and "Add" in verdict.node
    assert verdict.output == "t" and len(verdict.index) == 2
    assert math.isclose(verdict.got, t[verdict.index], rel_tol=1e-6)
    assert math.isclose(verdict.got - verdict.expected, 0.01, rel_tol=1e-3) and verdict.bound < 1e-4
    t -= np.float32(0.01)
    right = assay.judge(net, x, np.maximum(t, 0), values={"h": h, "t": t})
    assert right.right and math.isnan(right.expected) and not right.index
    t += np.float32(0.01)
    with pytest.raises(AssertionError, match="at fault: .*Add"):
        assay.assert_correct(net, x, np.maximum(t, 0), values={"h": h, "t": t})


def test_suspect_is_not_judged_and_the_engine_settles_it(root):
    model = root / "models/lenet5/lenet5.onnx"
    image = np.random.default_rng(1).random((1, 1, 28, 28), np.float32)
    engine = "reference:fault=gemm-turned-short"
    answer = assay.run(engine, model, image)["output"].value
    with pytest.raises(assay.NotJudged, match="standard deviations.*\n.*engine="):
        assay.assert_correct(model, image, answer)
    assert assay.judge(model, image, answer, engine=engine).answer == assay.WRONG
    # Another engine answers otherwise, so that its being right says nothing of these outputs.
    with pytest.raises(assay.NotJudged, match=r"reference:round=on cannot settle it.*other outputs than these \(output\["):
        assay.assert_correct(model, image, answer, engine="reference:round=on")
    with pytest.raises(assay.AssayError, match="nobody"):
        assay.assert_correct(model, image, answer, engine="nobody")


def test_what_onnx_leaves_open_is_no_fault(make, needs):
    """oneDNN's Relu gives 0 for NaN, of which ONNX says nothing. Of outputs alone nobody knows that they follow that reading."""
    needs("onednn")
    relu = make('<ir_version: 8, opset_import: ["": 14]> g (float[2,4] x) => (float[2,4] y) { y = Relu(x) }')
    given = np.array([[1, np.nan, -1, 2], [3, -3, np.nan, 0]], np.float32)
    answer = assay.run("onednn", relu, given)["y"].value
    if not np.isnan(answer).any():
        assert assay.judge(relu, given, answer).answer == assay.WRONG
        with pytest.raises(assay.NotJudged, match="unsaid"):
            assay.assert_correct(relu, given, answer, engine="onednn")


@pytest.mark.parametrize("given, own, likely, place", [
    ([1, np.nan], [1, np.nan], None, None), ([1, 2], [1, np.nan], None, 1), ([1, 2], [1, 2.25], [0, 0.5], None),
    ([1, 2], [1, 2.25], [0, 0.125], 1), ([1, 2], [1, 2], [[9, 9]], None), ([1, 2], [1, 3], [[9, 9]], 1), ([1, 2], [1], None, 0),
    ([1, np.inf], [1, np.inf], [0, np.inf], None), ([1, np.nan], [1, 2], [0, np.inf], 1)])
def test_what_is_the_engines_answer(given, own, likely, place):
    value = assay.Value("y", "float32", np.array(own, np.float32))
    bound = None if likely is None else np.array(likely, float)
    assert assay.handle.first_apart(np.array(given, np.float32), value, bound) == place
    assert assay.handle.first_apart(np.array(["a"]), assay.Value("y", "string", np.array(["b"], object)), None) == 0


def test_right_outputs_may_hide_a_wrong_operator(make):
    """assert_correct is about the outputs, judge_engine about the engine."""
    hiding = make("""<ir_version: 8, opset_import: ["": 15]>
        g (float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3,4] y)
        { t = BatchNormalization(x, s, b, m, v) y = Sign(t) }""")
    draw = np.random.default_rng(1)
    given = {name: draw.random(3).astype(np.float32) + np.float32(0.5) for name in "sbmv"}
    given["x"] = draw.standard_normal((2, 3, 4)).astype(np.float32)
    engine = "reference:fault=bn-sqrt-var"
    outputs = assay.run(engine, hiding, given)
    assert assay.assert_correct(hiding, given, outputs, engine=engine).right
    blamed = assay.judge_engine(engine, hiding, given)
    assert blamed.answer == assay.WRONG and "BatchNormalization" in blamed.node


def test_a_verdict_has_no_truth_value(net, x, right):
    with pytest.raises(TypeError):
        bool(assay.judge(net, x, right))


# ---- The reference, tolerances, commands ----

def test_reference_has_bounds(net, x, right):
    y = assay.reference(net, x)["y"]
    assert y.type == "float32" and y.value.dtype == np.float32 and y.shape == (2, 3)
    assert y.exact.shape == y.hard.shape == y.likely.shape == (2, 3)
    assert (np.abs(right - y.exact) <= y.hard).all() and (y.hard < 1e-4).all()
    assert np.asarray(y) is y.value


def test_tolerances(net, x, right):
    fit = assay.tolerances(net, x)["y"]
    assert fit.certain and fit.useful and 0 < fit.passes < 1e-3
    np.testing.assert_allclose(right, assay.reference(net, x)["y"].value, rtol=fit.rtol, atol=fit.atol)


def test_compare_and_localize(net, x):
    found = assay.compare(net, ["reference:round=on"], x)
    assert found.complete and not found.findings and "correctly" in found.answer
    found = assay.compare(net, "reference:round=on", samples=2, options=["--dim", "N=3"])
    assert found.json["models"][0]["samples"] == 2
    place = assay.localize(net, "reference:round=on", x, draw=True)
    assert not place.finding and "<svg" in place.page
    with pytest.raises(assay.AssayError, match="nobody"):
        assay.compare(net, "nobody", x)


class Balanced(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_pages_of_a_notebook(net, x, right):
    right[0, 0] = 1e9
    for shown in (assay.judge(net, x, right), assay.reference(net, x), assay.compare(net, "reference:round=on", x),
                  assay.tolerances(net, x)["y"], assay.localize(net, "reference:round=on", x)):
        page = shown._repr_html_()
        parser = Balanced()
        parser.feed(page)
        assert not parser.open and len(page) > 40


# ---- What may be given ----

def test_models(net, x, right, tmp_path):
    data = net.read_bytes()
    assert assay.judge(data, x, right).right
    assert assay.judge(str(net), x, right).right
    (tmp_path / "model.onnx").write_bytes(data)
    assert assay.judge(tmp_path, x, right).right
    model = assay.default_judge().model(net)
    assert (model.inputs, model.outputs) == (["x"], ["y"]) and assay.judge(model, x, right).right
    onnx = pytest.importorskip("onnx")
    assert assay.judge(onnx.load(str(net)), x, right).right


def test_a_file_that_changed_is_loaded_again(make, net, x, right, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(net.read_bytes())
    assert assay.judge(path, x, right).right
    path.write_bytes(make(IDENTITY.format(opset=13, type="float", shape="N,4")).read_bytes())
    assert assay.judge(path, x, x).right


def test_arrays(net, x, right):
    wide = np.zeros((4, 8), np.float32)
    wide[::2, ::2] = x
    assert assay.judge(net, wide[::2, ::2], np.asfortranarray(right)).right
    assert assay.judge(net, x.astype(">f4"), right[::-1].copy()[::-1]).right
    assert assay.judge(net, np.zeros((0, 4), np.float32), np.zeros((0, 3), np.float32)).elements == 0
    values = assay.run("reference:round=on", net, x)
    assert assay.judge(net, x, values).right and assay.judge(net, x, values["y"]).right
    torch = pytest.importorskip("torch")
    assert assay.judge(net, torch.tensor(x), {"y": torch.tensor(right, requires_grad=True)}).right


NATIVE = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("name", NATIVE)
def test_native_types(make, name):
    given = np.arange(6).reshape(2, 3).astype(name)
    model = make(IDENTITY.format(opset=13, type={"float32": "float", "float64": "double"}.get(name, name), shape="2,3"))
    back = assay.reference(model, given)["y"]
    assert back.type == name and back.value.dtype == given.dtype and (back.value == given).all()
    assert assay.judge(model, given, given).right
    wrong = given.copy()
    wrong[1, 1] = 0
    assert assay.judge(model, given, wrong).answer == assay.WRONG


NARROW = [("bfloat16", np.uint16, 13), ("float8e4m3fn", np.uint8, 19), ("float8e5m2", np.uint8, 19), ("uint4", np.uint8, 21),
          ("int4", np.uint8, 21), ("float4e2m1", np.uint8, 23)]


@pytest.mark.parametrize("name, codes, opset", NARROW)
def test_narrow_types_by_their_codes(name, codes, opset, tmp_path):
    onnx = pytest.importorskip("onnx")
    number = assay.tensors.ELEMENTS[name].number
    value = [onnx.helper.make_tensor_value_info(n, number, [5]) for n in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", value[:1], value[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = 10
    given = np.array([1, 2, 3, 4, 9], codes)
    try:
        back = assay.reference(model, assay.Tensor(given, name))["y"]
    except assay.AssayError as error:  # libonnx of Debian 12 does not know the type
        pytest.skip(str(error))
    if assay.tensors.ml_dtypes is None:
        assert back.type == name and back.value.dtype == codes and (back.value == given).all()
    assert assay.judge(model, assay.Tensor(given, name), back).right
    assert assay.judge(model, assay.Tensor(given, name), assay.Tensor(given[::-1], name)).answer == assay.WRONG


def test_packing():
    for bits in (2, 4):
        for count in (0, 1, 3, 4, 9):
            codes = np.random.default_rng(count).integers(0, 1 << bits, count).astype(np.uint8)
            packed = assay.tensors.pack(codes, bits)
            assert packed.size == -(-count * bits // 8) and (assay.tensors.unpack(packed, bits, count) == codes).all()
    assert assay.tensors.pack(np.array([1, 2, 3], np.uint8), 4).tolist() == [0x21, 3]


def test_strings(make, needs):
    model = make(IDENTITY.format(opset=13, type="string", shape="3"))
    texts = np.array(["one", "", "zwölf"], object)
    with pytest.raises(assay.AssayError, match="does not support string"):  # it arrived as one
        assay.reference(model, texts)
    needs("onnxruntime")
    assert assay.run("onnxruntime", model, texts)["y"].value.tolist() == texts.tolist()


# ---- Mistakes and hostile models ----

def test_mistakes(net, x, right):
    for wrong, words in ((lambda: assay.judge("nowhere.onnx", x, right), "nowhere.onnx"),
                         (lambda: assay.judge(net, {"z": x}, right), "x is not given"),
                         (lambda: assay.judge(net, x.astype(np.float64), right), "float"),
                         (lambda: assay.judge(net, x, [right, right]), "1 outputs, and 2"),
                         (lambda: assay.judge(3, x, right), "a model is"),
                         (lambda: assay.judge(net, 3.0, right), "a dict by name"),
                         (lambda: assay.run("nobody", net, x), "nobody"),
                         (lambda: assay.Tensor(x, "float9"), "float9"),
                         (lambda: assay.Judge(sandbox="none"), "sandbox")):
        with pytest.raises(assay.AssayError, match=words):
            wrong()


def test_hostile_models(net, make):
    data = bytearray(net.read_bytes())
    for i in range(0, len(data), 7):
        changed = bytes(data[:i] + bytes([data[i] ^ 0xFF]) + data[i + 1:])
        try:
            assay.reference(changed, np.ones((2, 4), np.float32))
        except assay.AssayError:
            pass
    bomb = make('<ir_version: 8, opset_import: ["": 13]> g (int64[2] s) => (float[N, M] y) { y = ConstantOfShape(s) }')
    with pytest.raises(assay.AssayError):
        assay.reference(bomb, np.array([1 << 30, 1 << 30]))
    assert assay.reference(net, np.ones((2, 4), np.float32))["y"].shape == (2, 3)


# ---- Handles ----

@pytest.fixture
def bad(root):
    return [root / "tests/adapters/adapters.ini"]


def test_cancelling(net, x, bad):
    asked = []

    def progress(seconds):
        asked.append(seconds)
        return seconds > 0.15
    with assay.Judge(progress=progress, engine_files=bad) as judge:
        with pytest.raises(assay.Cancelled):
            judge.run("bad:mode=hang", net, x)
        assert max(asked) > 0.15
        assert judge.reference(net, x)["y"].shape == (2, 3)


def test_what_the_progress_function_raises_is_raised(net, x, bad):
    def progress(seconds):
        raise RuntimeError("enough")
    with assay.Judge(progress=progress, engine_files=bad) as judge, pytest.raises(RuntimeError, match="enough"):
        judge.run("bad:mode=hang", net, x)


def test_control_c(net, x, bad):
    with assay.Judge(engine_files=bad) as judge:
        judge.model(net)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            judge.run("bad:mode=hang", net, x)
        assert time.monotonic() - begun < 5


def test_a_closed_judge(net, x):
    judge = assay.Judge()
    values = judge.reference(net, x)
    judge.close()
    judge.close()
    assert values["y"].shape == (2, 3)
    with pytest.raises(assay.AssayError, match="closed"):
        judge.reference(net, x)


def test_threads_share_a_judge(net, x, right):
    found = []

    def work(number):
        for i in range(5):
            mine = right.copy()
            mine[0, number % 3] += number % 2
            found.append(assay.judge(net, x, mine).right == (number % 2 == 0))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 40


def test_models_come_and_go(make, x):
    with assay.Judge() as judge:
        for i in range(20):
            model = make(IDENTITY.format(opset=13, type="float", shape="N,4").replace(" g ", f" g{i} "))
            assert judge.judge(model, x, x).right
        gc.collect()
        assert len(judge.models) <= 8


def test_a_fork_has_a_judge_of_its_own(net, x, right):
    script = f"""
import os, assay, numpy as np
x = np.ones((2, 4), np.float32)
parents = assay.Judge()
y = assay.reference({str(net)!r}, x)["y"].value
child = os.fork()
if child == 0:
    try:
        parents.reference({str(net)!r}, x)
        os._exit(3)
    except assay.AssayError as error:
        assert "fork" in str(error)
    os._exit(0 if assay.judge({str(net)!r}, x, y).right else 4)
assert os.waitpid(child, 0)[1] == 0
assert assay.judge({str(net)!r}, x, y).right and parents.judge({str(net)!r}, x, y).right
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_library_that_is_not_there(tmp_path):
    environment = dict(os.environ, ASSAY_LIBRARY_PATH=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", "import assay; assay.version()"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "libassay is not found" in done.stderr and "ASSAY_LIBRARY_PATH" in done.stderr
