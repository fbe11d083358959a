"""Assay: is this answer of a deep-learning engine right?

Given an ONNX model and inputs, Assay computes what a right engine answers, element by element, with the largest error
that rounding can explain, and judges answers by that, in place of a tolerance that somebody chose::

    import assay

    assay.assert_correct("model.onnx", {"x": x}, {"y": y})     # raises AssertionError, with the reason
    verdict = assay.judge("model.onnx", {"x": x}, {"y": y})    # says the same as an object
    values = assay.reference("model.onnx", {"x": x})           # values["y"].value, .exact, .hard, .likely

A model is a path, bytes or an ``onnx.ModelProto``; inputs and outputs are a dict by name, a list in the model's order,
or a single array: NumPy, torch, or whatever ``numpy.asarray`` takes. Nothing is computed in this process: a program
beside it runs the reference and all engines in sandboxed workers, so that a hostile model cannot harm it.
docs/python.md has more examples.
"""
from typing import Any

from assay.command import Comparison, EngineAnswer, Localization, compare, localize
from assay.handle import (Judge, Model, assert_correct, default_judge, judge, judge_engine, reference, run,
                          tolerances)
from assay.library import AssayError, Cancelled, version
from assay.results import RIGHT, UNJUDGED, WRONG, NotJudged, Tolerance, Value, Values, Verdict
from assay.tensors import Tensor

__all__ = [
    "AssayError", "Cancelled", "Comparison", "EngineAnswer", "Judge", "Localization", "Model", "NotJudged", "RIGHT",
    "Tensor", "Tolerance", "UNJUDGED", "Value", "Values", "Verdict", "WRONG", "assert_correct", "backend_test", "compare",
    "default_judge", "judge", "judge_engine", "localize", "reference", "run", "tolerances", "version",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version()
    if name == "backend_test":  # needs the package onnx
        from assay.backend_tests import backend_test
        return backend_test
    raise AttributeError(f"module 'assay' has no attribute {name!r}")
