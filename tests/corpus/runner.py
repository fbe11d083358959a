"""The cases of `assay corpus` by ONNX's own runner of backend tests, around onnxruntime.backend: runner.py FOLDER [N], every Nth case.

Prints a line for each case that fails, and the counts. The runner knows no masks: the cases that have some are left out; so
are those of found/.
"""
import json
import os
import sys
import unittest

import onnx.backend.test.loader as loader
import onnx.backend.test.runner as runner_module
import onnxruntime.backend

folder = sys.argv[1]
step = int(sys.argv[2]) if len(sys.argv) > 2 else 1
index = json.load(open(os.path.join(folder, "index.json")))
partly = {row["case"] for row in index["cases"] if row["judged"] < row["elements"]}
usual = loader.load_model_tests


def load(data_dir=None, kind=None):
    """All cases are of the kind "node"; only those that a tolerance can judge."""
    cases = usual(folder, "cases") if kind == "node" else []
    return [case for case in cases if case.name not in partly and not case.name.startswith("test_found_")][::step]


def run(test):
    """What becomes of a test, in a process of its own: an engine may end it."""
    child = os.fork()
    if not child:
        result = unittest.TestResult()
        test.run(result)
        for _, text in result.failures + result.errors:
            print(test.id().rsplit(".", 1)[1].removesuffix("_cpu"), text.strip().splitlines()[-1][:200], flush=True)
        os._exit(3 if result.skipped else 1 if result.failures else 2 if result.errors else 0)
    status = os.waitpid(child, 0)[1]
    return ("right", "wrong", "error", "skipped")[os.WEXITSTATUS(status)] if os.WIFEXITED(status) else "died"


runner_module.load_model_tests = load
counts = dict.fromkeys(("right", "wrong", "error", "skipped", "died"), 0)
runner = runner_module.Runner(onnxruntime.backend, "corpus")
for kind in runner.test_cases.values():
    for name in unittest.defaultTestLoader.getTestCaseNames(kind):
        if name.endswith("_cpu"):
            counts[run(kind(name))] += 1
print(f"{sum(counts.values())} cases:", ", ".join(f"{count} {what}" for what, count in counts.items()), f"({len(partly)} with masks left out)")
