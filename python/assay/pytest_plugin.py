"""Assay in pytest: a fixture, and cases in ONNX's backend-test layout as tests.

``pytest --assay FOLDER -e onnxruntime`` makes a test of every folder below FOLDER that holds a ``model.onnx``, on every
engine named. It is judged as ``assay conform`` judges it: passed, failed with the judge's sentence, skipped where the
engine lacks something or nothing could be judged, and xfailed where a known issue explains it. Other tests are
collected besides only when they are named.

The fixture ``assay_judge`` is an ``assay.Judge`` that all tests of a run share.
"""
from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import pytest

from assay import command

if TYPE_CHECKING:
    from assay.handle import Judge

AT_ONCE = 50  # cases that one command runs

# Verdicts that are neither a finding nor a test that passed (docs/commands.md, conform).
SKIPPED = ("unsupported", "random", "undecided")
TROUBLE = ("no engine", "not runnable", "expectation", "adapter")


def pytest_addoption(parser: "pytest.Parser") -> None:
    group = parser.getgroup("assay", "Assay: engines on ONNX cases")
    group.addoption("--assay", action="append", default=[], metavar="FOLDER", dest="assay_folders",
                    help="collect the cases in FOLDER, in ONNX's backend-test layout; repeatable")
    engine: Dict[str, Any] = dict(action="append", default=[], metavar="ENGINE", dest="assay_engines",
                                  help="run them on ENGINE: name[@version][:knob=value,...]; repeatable")
    try:  # lowercase letters are pytest's own; other plugins, such as xdist with -n, take one in the same way
        group._addoption("-e", "--assay-engine", **engine)
    except (AttributeError, ValueError):  # another plugin has it
        group.addoption("--assay-engine", **engine)
    group.addoption("--assay-known", action="append", default=[], metavar="FILE", dest="assay_known",
                    help="read known issues from FILE besides those that Assay brings along; repeatable")


def pytest_configure(config: "pytest.Config") -> None:
    folders = [Path(folder).resolve() for folder in config.option.assay_folders]
    for folder in folders:
        if not folder.is_dir():
            raise pytest.UsageError(f"--assay {folder}: there is no such folder")
    if folders and not config.option.assay_engines:
        raise pytest.UsageError("--assay needs an engine: -e onnxruntime")
    if config.option.assay_engines and not folders:
        raise pytest.UsageError("-e names an engine for the cases of --assay FOLDER")
    if folders:
        config.pluginmanager.register(Cases(config, folders), "assay-cases")


def pytest_unconfigure(config: "pytest.Config") -> None:
    """pytest keeps plugins as it compiled them beside their files. pip would leave these behind when it removes the package."""
    for path in Path(__file__).parent.glob("__pycache__/*-pytest-*.pyc"):
        with contextlib.suppress(OSError):
            path.unlink()


class Cases:
    """The cases of this run, and what the command said of those that ran."""

    def __init__(self, config: "pytest.Config", folders: List[Path]) -> None:
        self.folders, self.engines = folders, config.option.assay_engines
        self.known = [part for path in config.option.assay_known for part in ("--known", path)]
        self.results: Dict[Tuple[Path, str], Dict[str, Any]] = {}
        self.alone = getattr(getattr(config, "args_source", None), "name", "ARGS") != "ARGS"  # no tests were named
        config.args[:] = ([] if self.alone else config.args) + [str(folder) for folder in folders]

    def pytest_ignore_collect(self, collection_path: Path) -> Optional[bool]:
        return True if self.alone and collection_path.is_file() and collection_path.name != "model.onnx" else None

    def pytest_collect_file(self, file_path: Path, parent: "pytest.Collector") -> Optional["pytest.Collector"]:
        if file_path.name != "model.onnx" or not any(folder in file_path.parents for folder in self.folders):
            return None
        return CaseFile.from_parent(parent, path=file_path)

    def result(self, item: "CaseItem") -> Dict[str, Any]:
        """What conform says of a case; the next ones are run by the same command."""
        if item.key not in self.results:
            self.conform(self.next(item))
        return self.results[item.key]

    def next(self, item: "CaseItem") -> List["CaseItem"]:
        items = [one for one in item.session.items if isinstance(one, CaseItem) and one.engine == item.engine]
        begin = items.index(item)
        return [one for one in items[begin:begin + AT_ONCE] if one.key not in self.results]

    def conform(self, items: List["CaseItem"]) -> None:
        folders = [str(one.key[0]) for one in items]
        found = command.ask(["conform", *folders, "-e", items[0].engine, *self.known])
        if len(found["results"]) != len(items):
            raise command.AssayError(f"of {len(items)} cases {len(found['results'])} were run", "broken")
        for one, result in zip(items, found["results"]):
            self.results[one.key] = result


class CaseFile(pytest.File):
    def collect(self) -> Iterator["CaseItem"]:
        for engine in self.config.pluginmanager.get_plugin("assay-cases").engines:
            yield CaseItem.from_parent(self, name=engine, engine=engine)


class CaseFailed(Exception):
    """A finding; its text is all that there is to say."""


class CaseItem(pytest.Item):
    def __init__(self, *, engine: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.engine = engine
        self.key = (self.path.parent, engine)

    def runtest(self) -> None:
        result = self.config.pluginmanager.get_plugin("assay-cases").result(self)
        judged = result.get("judge") or {}
        self.user_properties.append(("verdict", result["verdict"]))
        words = f"{self.engine} {judged['text']}" if judged.get("finding") else \
            f"{self.engine}: {result['verdict']}: {result['message'] or judged.get('text') or 'no more is known'}"
        if judged.get("known"):
            pytest.xfail(f"known issue {judged['known']}: {words}")
        if judged.get("finding") or result["verdict"] in TROUBLE:
            raise CaseFailed(words)
        if result["verdict"] in SKIPPED:
            pytest.skip(words)
        if result["verdict"] != "pass":
            raise CaseFailed(words)
        if judged.get("verdict") != "agrees" and not (judged.get("expected") or {}).get("met"):
            pytest.skip(f"not judged: {words}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailed):
            return f"{excinfo.value}\nto see more: assay compare {os.path.relpath(self.path.parent)} -e {self.engine}"
        if isinstance(excinfo.value, command.AssayError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Tuple[Path, Optional[int], str]:
        return self.path, None, f"{self.path.parent.name} on {self.engine}"


@pytest.fixture(scope="session")
def assay_judge() -> Iterator["Judge"]:
    """A judge for the whole run: ``assay_judge.assert_correct(model, inputs, outputs)``."""
    from assay.handle import Judge
    with Judge() as judge:
        yield judge
