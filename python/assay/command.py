"""What the command ``assay`` answers, as objects."""
from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from assay import library
from assay.library import AssayError
from assay.results import table

FORMAT = 1  # of the JSON that is understood (docs/formats.md)


def program() -> str:
    """The path of the command: $ASSAY_COMMAND, beside the library, or in the PATH."""
    chosen = os.environ.get("ASSAY_COMMAND")
    places = [chosen] if chosen else []
    beside = library.prefix()
    if beside and not chosen:
        places.append(os.path.join(beside, "bin", "assay"))
    elif not chosen:
        for path in library.candidates()[:-1] or library.candidates():
            folder = os.path.dirname(os.path.realpath(path))
            # In a build tree; below the prefix, with the libraries in lib or in lib/ARCHITECTURE.
            places += [os.path.join(folder, *up) for up in (("..", "src", "cli", "assay"), ("..", "bin", "assay"),
                                                             ("..", "..", "bin", "assay"))]
        places.append(shutil.which("assay") or "assay")
    for path in places:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.normpath(path)
    raise AssayError(f"the command assay is not found ({', '.join(places)}): install Assay, or name it in ASSAY_COMMAND",
                     "not found")


def run(arguments: Sequence[str], kind: str, words: Mapping[str, str]) -> Tuple[int, str]:
    """Exit status and output of a command in this format; raises what it says on trouble. `words` has names for files that
    only the command knows."""
    done = subprocess.run([program(), *arguments, "--format", kind], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    said, trouble = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()
    for path, name in words.items():
        said, trouble = said.replace(path, name), trouble.replace(path, name)
    if done.returncode not in (0, 1, 2) or not said:
        raise AssayError(trouble or f"assay {arguments[0]} ended with status {done.returncode}", "broken")
    return done.returncode, said


def ask(arguments: Sequence[str], words: Mapping[str, str] = MappingProxyType({})) -> Dict[str, Any]:
    """The JSON that a command prints."""
    status, said = run(arguments, "json", words)
    try:
        found = json.loads(said)
    except ValueError:
        raise AssayError(f"assay {arguments[0]} printed no JSON", "broken") from None
    if found.get("format", FORMAT) > FORMAT:
        raise AssayError(f"assay {arguments[0]} prints JSON of format {found['format']}, and this package reads up to {FORMAT}: "
                         "install the package of the same release", "format")
    found["status"] = status
    return found


class Case:
    """A model and inputs as files, for one command."""

    def __init__(self, model: Any, inputs: Any, samples: int, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="assay-")
        self.words: Dict[str, str] = {}  # what the files in it are called
        self.path = self.write_model(model)
        self.arguments = ["--data", self.write_inputs(inputs)] if inputs is not None else \
            ["--random", str(samples), "--seed", str(seed)]

    def __enter__(self) -> "Case":
        return self

    def __exit__(self, *_: Any) -> None:
        self.folder.cleanup()

    def write_model(self, model: Any) -> str:
        name = getattr(model, "name", None)
        if hasattr(model, "judge") and name:  # a Model, by its path
            model = name
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        if not isinstance(model, (bytes, bytearray, memoryview)):
            return os.fspath(model)
        path = os.path.join(self.folder.name, "model.onnx")
        with open(path, "wb") as file:
            file.write(model)
        self.words[path] = "the model"
        return path

    def write_inputs(self, inputs: Any) -> str:
        from assay.handle import default_judge
        from assay.tensors import by_name, numpy, typed
        names = default_judge().model(self.path).inputs
        path = os.path.join(self.folder.name, "inputs.npz")
        arrays = {}
        for name, given in by_name(inputs, names, "inputs"):
            word, array = typed(given)
            if word != array.dtype.name:
                raise AssayError(f"the input {name} is of {word}, which a file of NumPy cannot hold: use judge_engine")
            arrays[name] = array
        numpy.savez(path, **arrays)
        self.words[path] = "the inputs given"
        return path


@dataclass
class EngineAnswer:
    """What ``assay compare`` found about one engine. ``json`` is all of it (docs/json.md)."""

    engine: str
    verdict: str
    finding: bool
    text: str
    #: "engine bug", "difference", "precision" ...; None where there is nothing to explain
    kind: Optional[str]
    operators: List[str]
    nodes: List[str]
    #: the case of the known issue that it is of, or None
    known: Optional[str]
    json: Dict[str, Any] = field(repr=False)


@dataclass
class Comparison:
    """What ``assay compare`` found. ``json`` is all of it (docs/json.md)."""

    answer: str
    #: whether every engine answered and every answer was judged
    complete: bool
    engines: Dict[str, EngineAnswer]
    json: Dict[str, Any] = field(repr=False)

    @property
    def findings(self) -> List[EngineAnswer]:
        return [one for one in self.engines.values() if one.finding]

    def __str__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        rows = [[one.engine, one.verdict, one.text] for one in self.engines.values()]
        return f"<p>{html.escape(self.answer)}</p>" + table(["engine", "verdict", ""], rows)


@dataclass
class Localization:
    """What ``assay localize`` found. ``json`` is all of it (docs/json.md)."""

    answer: str
    verdict: str
    finding: bool
    text: str
    operators: List[str]
    nodes: List[str]
    #: several nodes, which are wrong only together
    fused: bool
    json: Dict[str, Any] = field(repr=False)
    #: the map of the model, where it was asked for: a page
    page: Optional[str] = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        if self.page is None:
            return f"<p>{html.escape(self.answer)}</p><p>{html.escape(self.text)}</p>"
        # Its scripts draw the heading and move the map; they reach nothing outside of the frame.
        return (f'<iframe srcdoc="{html.escape(self.page, quote=True)}" sandbox="allow-scripts" '
                'style="width:100%;height:600px;border:0"></iframe>')


def engine_answer(found: Dict[str, Any]) -> EngineAnswer:
    judged = found.get("judge") or {}
    return EngineAnswer(found["engine"], judged.get("verdict", "untested"), bool(judged.get("finding")),
                        judged.get("text") or "", judged.get("class"), judged.get("operators", []),
                        judged.get("nodes", []), judged.get("known"), found)


def compare(model: Any, engines: Union[str, Sequence[str]], inputs: Any = None, *, samples: int = 1, seed: int = 1,
            options: Sequence[str] = ()) -> Comparison:
    """Runs a model on engines and judges all of them, as ``assay compare``.

    :param inputs: one sample; without it, ``samples`` random ones from ``seed``
    :param options: further options of the command: ``["--dim", "N=4"]``
    """
    labels = [engines] if isinstance(engines, str) else list(engines)
    with Case(model, inputs, samples, seed) as case:
        chosen = [part for label in labels for part in ("-e", label)]
        found = ask(["compare", case.path, *chosen, *case.arguments, *options], case.words)
    answers = [engine_answer(one) for one in found["models"][0]["engines"]]
    return Comparison(found["answer"], found["complete"], {one.engine: one for one in answers}, found)


def localize(model: Any, engine: str, inputs: Any = None, *, samples: int = 1, seed: int = 1, draw: bool = False,
             options: Sequence[str] = ()) -> Localization:
    """Names the node of the model that an engine computes wrongly, as ``assay localize``. The parameters are those of
    ``compare``; with ``draw`` the result holds the map of the model, which a notebook shows."""
    with Case(model, inputs, samples, seed) as case:
        asked = ["localize", case.path, "-e", engine, *case.arguments, *options]
        found = ask(asked, case.words)
        page = run(asked, "html", case.words)[1] if draw else None
    local = found.get("local") or {}
    return Localization(found["answer"], local.get("verdict", "untested"), bool(local.get("finding")),
                        local.get("text") or "", local.get("operators", []), local.get("nodes", []),
                        bool(local.get("fused")), found, page)
