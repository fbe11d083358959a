"""ONNX's test runner for backends, judged by bounds.

``backend_test(backend, globals())`` stands where a test file has ``onnx.backend.test.BackendTest(backend, __name__)`` and
``globals().update(...)``: the same tests by the same names, with the same patterns. What differs:

- the backend runs in a sandboxed process of its own, so that a case in which it crashes or hangs is one failed test;
- its answers are judged as ``assay conform`` judges them: by the expected outputs, and by the largest error that rounding
  can explain, in place of a tolerance of 1e-3;
- ``at_least`` is a floor: a test that fails where fewer cases were answered, so that a backend which skips everything is
  not green.
"""
from __future__ import annotations

import inspect
import os
import sys
import tempfile
import types
import unittest
from typing import Any, Dict, Iterable, List, MutableMapping, Optional

import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner
from onnx.backend.test.runner.item import TestItem

from assay import command
from assay.library import AssayError

AT_ONCE = 100  # cases that one command runs

# What is no answer of the backend (docs/commands.md, conform).
NOT_RUN = ("unsupported", "not runnable", "no engine", "adapter", "untested")


def name_of(backend: Any) -> str:
    """How a process of its own finds the backend: MODULE or MODULE:CLASS."""
    if isinstance(backend, str):
        return backend
    if isinstance(backend, types.ModuleType):
        return backend.__name__
    if not inspect.isclass(backend) or "<locals>" in backend.__qualname__ or backend.__module__ == "__main__":
        raise AssayError(f"a backend runs in a process of its own, which imports it by name: a module, or a class at the top "
                         f"of one, not {backend!r}")
    return f"{backend.__module__}:{backend.__qualname__}"


def engine_file(backend: str, python: str, path: Iterable[str]) -> str:
    """An engine file with the section `backend`, whose Python imports from the folders of `path` as well."""
    places = [os.path.abspath(place) for place in path if os.path.isdir(place or ".")]
    for text in [backend, python, *places]:
        if '"' in text or "\n" in text or " ;" in text:
            raise AssayError(f"an engine file cannot name {text!r}")
    return "\n".join([
        "[backend]", f'command = "{python}" {{libexec}}/onnx-backend/onnx_backend.py "{backend}"',
        *([f"environment.PYTHONPATH = {':'.join(places)}", "see = " + " ".join(f'"{place}"' for place in places)]
          if places else []),
        "environment.OMP_NUM_THREADS = 1", "environment.OPENBLAS_NUM_THREADS = 1",
        "environment.PYTHONDONTWRITEBYTECODE = 1", ""])


def proto_of(array: Any, described: Any) -> Any:
    """An input or output of a case that ONNX made in memory."""
    if hasattr(array, "SerializeToString"):
        return array
    kind = described.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(array, described.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(array, described.name)
    return numpy_helper.from_array(array, described.name)


def write_case(case: Any, folder: str) -> str:
    """Releases that make the node cases in memory have no folder of them: one in the backend-test layout."""
    path = os.path.join(folder, case.name)
    os.mkdir(path)
    onnx.save(case.model, os.path.join(path, "model.onnx"))
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(path, f"test_data_set_{number}")
        os.mkdir(data)
        for word, arrays, described in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for at, (array, value) in enumerate(zip(arrays, described)):
                with open(os.path.join(data, f"{word}_{at}.pb"), "wb") as file:
                    file.write(proto_of(array, value).SerializeToString())
    return path


def words_of(result: Dict[str, Any]) -> str:
    judged = result.get("judge") or {}
    words = judged.get("text") if judged.get("finding") else None
    return f"{result['verdict']}: {words or result['message'] or judged.get('text') or 'no more is known'}"


def was_answered(result: Dict[str, Any]) -> bool:
    return result["verdict"] not in NOT_RUN


class JudgedBackendTest(Runner):
    """ONNX's runner, with ``include``, ``exclude``, ``xfail``, ``test_cases``, ``test_suite`` and ``enable_report``. After
    a run ``results`` has what ``assay conform`` said of each case (docs/json.md), by the name of the test."""

    def __init__(self, backend: Any, parent_module: Optional[str] = None, *, device: str = "CPU", at_least: int = 0,
                 python: str = sys.executable, path: Optional[Iterable[str]] = None, options: Iterable[str] = ()) -> None:
        self.device, self.at_least, self.options = device, at_least, list(options)
        self.folder = tempfile.TemporaryDirectory(prefix="assay-")
        self.engines = os.path.join(self.folder.name, "backend.ini")
        with open(self.engines, "w", encoding="utf-8") as file:
            file.write(engine_file(name_of(backend), python, (sys.path if python == sys.executable else ()) if path is None
                                   else path))
        self.cases: Dict[str, Any] = {}
        self.results: Dict[str, Dict[str, Any]] = {}
        super().__init__(backend, parent_module)

    def _add_model_test(self, model_test: Any, kind: str) -> None:
        """What ONNX's runner makes of each case: here a test that looks up its verdict."""
        name = f"{model_test.name}_{self.device.lower()}"
        self.cases[name] = model_test

        def test(case: unittest.TestCase) -> None:
            self.hold(case, name)

        test.__name__ = name
        self._test_items[kind + "Model"][name] = TestItem(test, [None])

    def is_chosen(self, name: str) -> bool:
        if self._include_patterns and not any(pattern.search(name) for pattern in self._include_patterns):
            return False
        return not any(pattern.search(name) for pattern in self._exclude_patterns)

    def path_of(self, name: str) -> Optional[str]:
        """The folder of a case; None where it is not on this machine."""
        case = self.cases[name]
        if case.model_dir is None and case.model is not None:
            case.model_dir = write_case(case, self.folder.name)
        if case.model_dir is None:  # a large model, which ONNX's runner downloads
            models = os.environ.get("ONNX_MODELS") or os.path.join(
                os.environ.get("ONNX_HOME") or os.path.expanduser(os.path.join("~", ".onnx")), "models")
            path = os.path.join(models, case.model_name)
            return path if os.path.exists(os.path.join(path, "model.onnx")) else None
        return case.model_dir

    def waiting(self) -> List[str]:
        """The cases that are chosen and have no result, in order."""
        return [name for name in sorted(self.cases) if name not in self.results and self.is_chosen(name)]

    def run_some(self, names: List[str]) -> None:
        """Runs as many as one command takes."""
        folders = {name: path for name, path in ((name, self.path_of(name)) for name in names) if path}
        for name in names:
            if name not in folders:
                self.results[name] = {"verdict": "not runnable", "message": "the model is not on this machine"}
        if not folders:
            return
        label = "backend" if self.device == "CPU" else f"backend:device={self.device}"
        found = command.ask(["conform", *folders.values(), "-E", self.engines, "-e", label, "--no-known", *self.options])
        if len(found["results"]) != len(folders):
            raise AssayError(f"of {len(folders)} cases {len(found['results'])} were run", "broken")
        self.results.update(zip(folders, found["results"]))

    def result(self, name: str) -> Dict[str, Any]:
        if name not in self.results:
            following = [other for other in self.waiting() if other >= name]
            self.run_some(([name] + [other for other in following if other != name])[:AT_ONCE])
        return self.results[name]

    def hold(self, case: unittest.TestCase, name: str) -> None:
        result = self.result(name)
        verdict, judged = result["verdict"], result.get("judge") or {}
        if verdict == "unsupported" or (verdict == "not runnable" and self.path_of(name) is None):
            raise unittest.SkipTest(words_of(result))
        if judged.get("finding") or verdict not in ("pass", "random", "expectation"):
            case.fail(words_of(result))

    def hold_floor(self, case: unittest.TestCase) -> None:
        while self.waiting():
            self.run_some(self.waiting()[:AT_ONCE])
        chosen = [name for name in self.cases if self.is_chosen(name)]
        answered = sum(was_answered(self.results[name]) for name in chosen)
        if answered < self.at_least:
            lacking = next((words_of(self.results[name]) for name in chosen if not was_answered(self.results[name])), None)
            case.fail(f"of {len(chosen)} cases {answered} were answered, and at least {self.at_least} are wanted"
                      + (f"; the first that was not: {lacking}" if lacking else ""))

    @property
    def test_cases(self) -> Dict[str, Any]:
        found = {name: kind for name, kind in super().test_cases.items()
                 if any(attribute.startswith("test_") for attribute in vars(kind))}
        if self.at_least:
            floor = self._get_test_case("OnnxBackendFloorTest")
            setattr(floor, f"test_at_least_{self.at_least}_are_answered", lambda case: self.hold_floor(case))
            found["OnnxBackendFloorTest"] = floor
        return found


def backend_test(backend: Any, namespace: Optional[MutableMapping[str, Any]] = None, *, device: str = "CPU",
                 at_least: int = 0, include: Iterable[str] = (), exclude: Iterable[str] = (), xfail: Iterable[str] = (),
                 python: str = sys.executable, path: Optional[Iterable[str]] = None,
                 options: Iterable[str] = ()) -> JudgedBackendTest:
    """Makes a test of each of ONNX's cases, in place of ``onnx.backend.test.BackendTest(backend, __name__)``.

    :param backend: a module with ``prepare`` and ``run``, a class of the interface, or the name of one: ``"mine.backend"``
    :param namespace: ``globals()`` of the test file, which gets the tests
    :param at_least: as many cases must be answered; 0: there is no floor
    :param include: regular expressions: only tests whose names one of them finds, ``test_add_cpu``
    :param exclude: these are skipped
    :param xfail: these must fail: a test that passes is an unexpected success
    :param python: another Python, in which the backend is installed
    :param path: folders from which it imports as well; those of this Python unless another is named
    :param options: further options of ``assay conform``: ``["--deadline", "60s"]``
    """
    module = namespace.get("__name__") if namespace is not None else None
    runner = JudgedBackendTest(backend, module, device=device, at_least=at_least, python=python, path=path,
                               options=options)
    for patterns, add in ((include, runner.include), (exclude, runner.exclude), (xfail, runner.xfail)):
        for pattern in patterns:
            add(pattern)
    if namespace is not None:
        namespace.update(runner.test_cases)
    return runner
