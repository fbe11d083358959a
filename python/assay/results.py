"""What the library answers: values, verdicts and tolerances."""
from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

if TYPE_CHECKING:
    import numpy

# enum assay_answer
RIGHT, WRONG, UNJUDGED = "right", "wrong", "unjudged"
ANSWERS = {1: RIGHT, 2: WRONG, 3: UNJUDGED}

SHOWN = 6  # elements of a value in a page


class NotJudged(AssertionError):
    """Neither right nor wrong can be said of outputs that ``assert_correct`` was given."""


def table(heads: List[str], rows: List[List[str]]) -> str:
    """HTML; the cells are text. Numbers stand at the right, and words at the left, wherever a notebook puts them."""
    def cell(tag: str, text: str, numbers: bool) -> str:
        return f'<{tag} style="text-align:{"right" if numbers else "left"}">{html.escape(text)}</{tag}>'
    numbers = [all(is_number(row[i]) for row in rows) for i in range(len(heads))]
    lines = ([("th", heads)] if any(heads) else []) + [("td", row) for row in rows]
    return "<table>" + "".join("<tr>" + "".join(map(cell, [tag] * len(row), row, numbers)) + "</tr>" for tag, row in lines) + "</table>"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("exact", "True", "False")
    return True


def with_word(answer: str, word: str) -> str:
    return answer if word == answer else f"{answer} ({word})"


def index_of(element: int, shape: Sequence[int]) -> Tuple[int, ...]:
    """The place along each axis of an element that is counted in the order of memory."""
    place = []
    for size in reversed(shape):
        place.append(element % size)
        element //= size
    return tuple(reversed(place))


@dataclass
class Value:
    """One output: of the reference, with its bounds, or of an engine."""

    name: str
    #: ONNX's element type: "float32", "bfloat16" ...
    type: str
    #: The elements; codes (uint16, uint8) of types that NumPy lacks, unless ml_dtypes is installed.
    value: "numpy.ndarray"
    #: Of each element the exact value, the largest error that a right engine can have (infinite: it cannot be judged)
    #: and the standard deviation that rounding is likely to have. None where every element is exact, and for engines.
    exact: Optional["numpy.ndarray"] = None
    hard: Optional["numpy.ndarray"] = None
    likely: Optional["numpy.ndarray"] = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> "numpy.ndarray":
        return self.value if dtype is None else self.value.astype(dtype)

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.value.shape

    def _repr_html_(self) -> str:
        flat = self.value.reshape(-1)
        rows = []
        for i in range(min(SHOWN, flat.size)):
            place = ",".join(str(k) for k in index_of(i, self.shape))
            bounds = [f"{row.reshape(-1)[i]:.3g}" if row is not None else "exact" for row in (self.hard, self.likely)]
            exact = self.exact.reshape(-1)[i] if self.exact is not None else flat[i]
            rows.append([f"[{place}]", str(flat[i]), f"{exact:.9g}" if self.exact is not None else str(exact), *bounds])
        more = f"<p>... and {flat.size - SHOWN} more</p>" if flat.size > SHOWN else ""
        title = f"<p><b>{html.escape(self.name)}</b>: {html.escape(self.type)} {'x'.join(map(str, self.shape)) or 'scalar'}</p>"
        return title + table(["element", "value", "exact", "hard bound", "likely"], rows) + more


class Values(Mapping[str, Value]):
    """Values by name, in the model's order; ``values[0]`` is the first."""

    def __init__(self, items: List[Value]) -> None:
        self.items_by_name: Dict[str, Value] = {item.name: item for item in items}
        self.in_order = items

    def __getitem__(self, key: Any) -> Value:
        return self.in_order[key] if isinstance(key, int) else self.items_by_name[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_by_name)

    def __len__(self) -> int:
        return len(self.in_order)

    def arrays(self) -> Dict[str, "numpy.ndarray"]:
        """The elements alone, by name."""
        return {name: item.value for name, item in self.items_by_name.items()}

    def __repr__(self) -> str:
        return f"Values({', '.join(f'{item.name}: {item.type} {list(item.shape)}' for item in self.in_order)})"

    def _repr_html_(self) -> str:
        return "".join(item._repr_html_() for item in self.in_order)


COLOURS = {RIGHT: "#1a7f37", WRONG: "#cf222e", UNJUDGED: "#9a6700"}


@dataclass
class Verdict:
    """The judge's verdict on answers. It has no truth value: ask for ``right`` or ``answer``."""

    #: "right", "wrong" or "unjudged"; the sentence tells why
    answer: str
    #: one of the words that all of Assay uses: "agrees", "wrong", "nan", "shape", "crash" ...
    word: str
    sentence: str
    #: The output or inner value that it is about, or "", and its worst element; NaN where it is about none.
    output: str = ""
    element: int = 0
    expected: float = math.nan
    got: float = math.nan
    bound: float = math.nan
    #: The largest error over its bound; infinite where the bound is 0.
    factor: float = 0.0
    #: Over all outputs.
    elements: int = 0
    judged: int = 0
    wrong: int = 0
    #: The node at fault, where it could be found: "Conv (conv_3)"; else "".
    node: str = ""
    #: The engine that was run, where one was; else "".
    engine: str = ""
    #: The place of the element along each axis; () where it is not known.
    index: Tuple[int, ...] = ()

    @property
    def right(self) -> bool:
        return self.answer == RIGHT

    def __bool__(self) -> bool:
        raise TypeError("a verdict is right, wrong or unjudged: ask for verdict.right or verdict.answer")

    def message(self, model: str = "the model") -> str:
        """The verdict in whole sentences, as ``assert_correct`` says it."""
        subject = f"{self.engine} on {model}" if self.engine else f"the outputs of {model}"
        how = {RIGHT: "right", WRONG: "wrong", UNJUDGED: "not judged"}[self.answer]
        sentence = self.sentence or f"{self.judged} of {self.elements} elements could be judged, and all are within their bounds"
        lines = [f"{subject}: {with_word(how, self.word)}. {sentence}"]
        if self.wrong:
            worst = f"the worst is {self.place()}; " if len(self.index) > 1 else ""
            lines.append(f"{worst}{self.judged} of {self.elements} elements could be judged")
        if self.node:
            lines.append(f"at fault: {self.node}")
        return "\n".join(lines)

    def place(self) -> str:
        return f"{self.output}[{','.join(map(str, self.index))}]"

    def __str__(self) -> str:
        return self.message()

    def _repr_html_(self) -> str:
        rows = [["elements", f"{self.elements}, {self.judged} judged, {self.wrong} wrong"]]
        if self.output and not (math.isnan(self.expected) and math.isnan(self.got)):
            rows.append(["worst", f"{self.place() if self.index else self.output}: {self.got:.9g}, expected {self.expected:.9g} "
                                  f"± {self.bound:.3g} ({self.factor:.3g} times the bound)"])
        if self.node:
            rows.append(["at fault", self.node])
        said = html.escape(f": {self.sentence}" if self.sentence else "")
        return (f'<p><b style="color:{COLOURS[self.answer]}">{html.escape(with_word(self.answer, self.word))}</b>{said}</p>'
                + table(["", ""], rows))


@dataclass
class Tolerance:
    """With |got - expected| <= atol + rtol * |expected|, expected being the reference's numbers."""

    output: str
    rtol: float
    atol: float
    #: True: no right engine can fail it; False: rounding makes it unlikely that one does.
    certain: bool
    #: The largest error that may pass, as a share of the output's largest number.
    passes: float
    #: False: no tolerance tells such errors from rounding.
    useful: bool = field(default=True)

    def _repr_html_(self) -> str:
        return table(["output", "rtol", "atol", "certain", "errors that may pass", "useful"],
                     [[self.output, f"{self.rtol:.3g}", f"{self.atol:.3g}", "yes" if self.certain else "no",
                       f"{self.passes:.3g}", "yes" if self.useful else "no"]])
