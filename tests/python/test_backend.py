"""ONNX's cases as tests of a backend, judged by bounds: in processes of their own, with planted mistakes."""
import importlib.util
import subprocess
import sys
import unittest

import pytest

onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def planted(root):
    folder = root / "engines/onnx-backend/tests"
    spec = importlib.util.spec_from_file_location("planted", folder / "planted.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    sys.modules["planted"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(folder))


def run(backend, cases, at_least=0, **more):
    """The result of unittest, and the runner."""
    import assay
    runner = assay.backend_test(backend, include=[f"^{case}_cpu$" for case in cases], at_least=at_least,
                                options=["--deadline", "5s"], **more)
    result = unittest.TestResult()
    for kind in runner.test_cases.values():
        for name in unittest.defaultTestLoader.getTestCaseNames(kind):
            if runner.is_chosen(name) or "at_least" in name:
                kind(name).run(result)
    return result, runner


def test_a_right_backend_passes(planted):
    cases = ["test_add", "test_relu", "test_not_2d", "test_sequence_insert_at_back", "test_dynamicquantizelinear"]
    result, runner = run(planted.right, cases, at_least=4)
    assert result.failures == [] and result.errors == []
    assert result.testsRun == 6
    assert sorted(runner.results) == sorted(f"{case}_cpu" for case in cases)


def test_the_name_of_a_backend_will_do(planted):
    result, _ = run("planted:right", ["test_add"])
    assert result.wasSuccessful() and result.testsRun == 1


def test_what_it_lacks_is_skipped_and_does_not_reach_the_floor(planted):
    result, _ = run(planted.right, ["test_add", "test_acos"], at_least=2)
    assert [text for _, text in result.skipped] == ["unsupported: NotImplementedError: operator Acos"]
    (_, text), = result.failures
    assert "of 2 cases 1 were answered, and at least 2 are wanted" in text


@pytest.mark.parametrize("name", ["adds_with_an_error_of_5e_4", "multiplies_in_float16", "gives_bytes_for_bools",
                                  "loses_the_end_of_a_sequence", "ends_the_process_well", "crashes", "hangs",
                                  "skips_what_it_cannot_do", "is_not_supposed_to_do_it", "is_compatible_with_nothing",
                                  "supports_no_device"])
def test_a_mistake_fails(planted, name):
    case, = [case for key, (_, _, case) in planted.QUIET.items() if key.replace("-", "_") == name]
    result, runner = run(getattr(planted, name), [case], at_least=1)
    assert not result.wasSuccessful()
    if name in ("crashes", "hangs"):
        assert runner.results[f"{case}_cpu"]["verdict"] == name.replace("es", "").rstrip("s")


def test_expected_failures_are_strict(planted):
    result, _ = run(planted.gives_another_shape, ["test_add"], xfail=["^test_add"])
    assert len(result.expectedFailures) == 1 and result.wasSuccessful()
    result, _ = run(planted.right, ["test_add"], xfail=["^test_add"])
    assert len(result.unexpectedSuccesses) == 1


def test_a_backend_that_no_other_process_can_import_is_refused():
    import assay

    class Local:
        pass
    with pytest.raises(assay.AssayError, match="imports it by name"):
        assay.backend_test(Local)


def test_a_file_of_tests(root, tmp_path):
    """As the documents show it."""
    (tmp_path / "mine.py").write_text("from planted import right\nprepare, supports_device = right.prepare, right.supports_device\n")
    (tmp_path / "test_mine.py").write_text(
        "import assay\nimport mine\n\nassay.backend_test(mine, globals(), at_least=2, include=['^test_add_cpu', '^test_relu_cpu'])\n")
    import os
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(root / "engines/onnx-backend/tests"), str(tmp_path)])
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
