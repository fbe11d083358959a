"""The cases of `assay corpus` by ONNX's own runner of backend tests, around onnxruntime.backend: runner.py FOLDER [ORT_LOG].

Prints a line for each case that fails, and the counts. The runner knows no masks: the cases that have some are left out; so
are those of found/, some of which end the process of an engine that has the bug.
"""
import json
import os
import sys
import unittest

import onnx.backend.test.loader as loader
import onnx.backend.test.runner as runner_module
import onnxruntime.backend

folder = sys.argv[1]
index = json.load(open(os.path.join(folder, "index.json")))
partly = {row["case"] for row in index["cases"] if row["judged"] < row["elements"]}
usual = loader.load_model_tests


def load(data_dir=None, kind=None):
    """All cases are of the kind "node"; only those that a tolerance can judge."""
    return [case for case in usual(folder, "cases") if case.name not in partly and not case.name.startswith("test_found_")] if kind == "node" else []


runner_module.load_model_tests = load
result = unittest.TestResult()
runner = runner_module.Runner(onnxruntime.backend, "corpus")
ran = 0
for kind in runner.test_cases.values():
    for name in unittest.defaultTestLoader.getTestCaseNames(kind):
        if name.endswith("_cpu"):
            kind(name).run(result)
            ran += 1
for what, rows in (("wrong", result.failures), ("error", result.errors)):
    for test, text in rows:
        print(what, test.id().rsplit(".", 1)[1].removesuffix("_cpu"), text.strip().splitlines()[-1][:200])
print(f"{ran} cases, {len(result.skipped)} skipped, {len(result.failures)} wrong, {len(result.errors)} errors, {len(partly)} with masks left out")
