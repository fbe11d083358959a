"""The plugin for pytest, in runs of their own."""
import shutil
import xml.etree.ElementTree

import pytest

pytest_plugins = "pytester"

CASES = ("resize-nearest-tie", "gemm-identity-transpose-square", "einsum-single-reduce")


@pytest.fixture(scope="module")
def cases(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    for name in CASES:
        shutil.copytree(root / "tests/known-bugs" / name, folder / name)
    (folder / "test_not_asked_for.py").write_text("def test_it():\n    assert False\n")
    return folder


@pytest.fixture
def run(pytester):
    return lambda *arguments: pytester.runpytest_inprocess("-p", "assay.pytest_plugin", "-p", "no:cacheprovider", "-rA", *arguments)


def test_a_right_engine_passes(run, cases):
    found = run("--assay", str(cases), "-e", "reference:round=on")
    found.assert_outcomes(passed=3)
    assert found.ret == 0


def test_other_tests_run_where_they_are_named(run, cases, pytester):
    pytester.makepyfile("def test_mine():\n    pass\n")
    run("--assay", str(cases), "-e", "reference", "-k", "einsum or mine", ".").assert_outcomes(passed=2)


def test_a_wrong_engine_fails_with_the_judges_sentence(run, cases, tmp_path):
    wrong = "reference:round=on,fault=nearest-is-ceil"
    found = run("--assay", str(cases), "-e", "reference:round=on", "--assay-engine", wrong, "--junit-xml",
                str(tmp_path / "out.xml"), "-k", "resize")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines([f"{wrong} is wrong*Resize*expected*", "to see more: assay compare *"])
    suite = xml.etree.ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [one.get("value") for one in suite.iter("property")] == ["pass", "wrong"]


def test_known_issues_are_expected_failures(run, cases, needs):
    needs("onnxruntime@1.12.0")
    found = run("--assay", str(cases), "-e", "onnxruntime@1.12.0:opt=none", "-k", "resize")
    found.assert_outcomes(xfailed=1)
    found.stdout.fnmatch_lines(["*known issue*Resize*expected*"])


def test_what_an_engine_lacks_is_skipped(run, cases, needs):
    needs("onednn")
    found = run("--assay", str(cases), "-e", "onednn", "-k", "einsum")
    found.assert_outcomes(skipped=1)


@pytest.mark.parametrize("arguments, words", [(("--assay", "."), "needs an engine"), (("-e", "reference"), "--assay FOLDER"),
                                              (("--assay", "nowhere", "-e", "reference"), "no such folder")])
def test_usage(run, arguments, words):
    found = run(*arguments)
    assert found.ret == 4
    found.stderr.fnmatch_lines([f"*{words}*"])


def test_an_engine_that_is_not_there(run, cases):
    found = run("--assay", str(cases), "-e", "nobody", "-k", "einsum")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*nobody*"])


def test_the_fixture(run, pytester, net):
    pytester.makepyfile(f"""
        import numpy as np

        def test_right(assay_judge):
            x = np.ones((1, 4), np.float32)
            assay_judge.assert_correct({str(net)!r}, x, np.array([[22.5, 25, 32]], np.float32))

        def test_wrong(assay_judge):
            x = np.ones((1, 4), np.float32)
            assay_judge.assert_correct({str(net)!r}, x, np.array([[22.5, 25, 32.5]], np.float32))
    """)
    found = run()
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*y?2? is 32.5, expected 32*", "*the worst is y?0,2?*"])
