"""Judges: handles of the library, and the functions that use the process's own."""
from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from collections import OrderedDict, deque
from ctypes import POINTER, byref
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple, Union

from assay import library
from assay.library import AssayError
from assay.results import ANSWERS, RIGHT, UNJUDGED, WRONG, NotJudged, Tolerance, Value, Values, Verdict, index_of
from assay.tensors import NAMES, Given, Tensor, Tensors, array_of, by_name, need_numpy, row_of, typed

KEPT_MODELS = 8  # that were given as paths or bytes, in case they come again

ModelLike = Union["Model", str, "os.PathLike[str]", bytes, Any]


class Model:
    """A model that a judge has loaded."""

    def __init__(self, owner: "Judge", pointer: ctypes.c_void_p, name: str) -> None:
        self.judge, self.pointer, self.name = owner, pointer, name
        functions = owner.functions
        self.inputs = names_of(lambda i: functions.assay_model_input(pointer, i))
        self.outputs = names_of(lambda i: functions.assay_model_output(pointer, i))
        # Python may drop the model inside a call, while the library's lock is held: the next call frees it.
        weakref.finalize(self, owner.unused.append, pointer)

    def __repr__(self) -> str:
        return f"Model({self.name}: {', '.join(self.inputs)} -> {', '.join(self.outputs)})"


def names_of(ask: Callable[[int], Optional[bytes]]) -> List[str]:
    names: List[str] = []
    while True:
        name = ask(len(names))
        if name is None:
            return names
        names.append(name.decode("utf-8", "replace"))


def close_handle(functions: ctypes.CDLL, handle: ctypes.c_void_p, process: int) -> None:
    if process == os.getpid():  # after a fork it is the parent's
        functions.assay_close(handle)


class Judge:
    """A handle of the library, with a program of its own behind it. Threads may share it, and take turns then; several
    judges work side by side.

    :param deadline: seconds for each request to an engine and each evaluation by the reference (30)
    :param memory: bytes, for each of them (4 GiB)
    :param sandbox: "default": as far as the system allows; "strict": refuse to run without; "off": limits alone
    :param engine_files: further files of engines, as for ``assay -E``
    :param progress: called about ten times a second, in a thread of its own, with the seconds that a call has taken; a
        true answer cancels the call, which then raises ``Cancelled``
    :param program: path of assay-judge, if it is not where it was installed with the library
    """

    def __init__(self, *, deadline: float = 0, memory: int = 0, sandbox: str = "default",
                 engine_files: Sequence[Union[str, "os.PathLike[str]"]] = (),
                 progress: Optional[Callable[[float], Any]] = None, program: Optional[str] = None) -> None:
        modes = ("default", "strict", "off")
        if sandbox not in modes:
            raise AssayError(f"sandbox is one of {', '.join(modes)}, not {sandbox!r}")
        need_numpy()
        self.functions = library.load()
        self.unused: Deque[ctypes.c_void_p] = deque()
        self.process = os.getpid()
        self.progress = progress
        self.raised: Dict[int, BaseException] = {}  # by thread: what cancelled its call
        self.models: "OrderedDict[Any, Model]" = OrderedDict()
        self.lock = threading.Lock()
        weak = weakref.ref(self)
        self.callback = library.PROGRESS(lambda context, seconds: ask_progress(weak, seconds))
        files = [os.fsencode(path) for path in engine_files]
        listed = (ctypes.c_char_p * max(len(files), 1))(*files)
        options = library.Options(ctypes.sizeof(library.Options), deadline, memory, modes.index(sandbox), listed, len(files),
                                  self.callback, None, os.fsencode(program) if program else None)
        self.handle = ctypes.c_void_p()
        error = library.Error()
        library.raise_for(self.functions.assay_open(byref(self.handle), byref(options), byref(error)), error)
        # The callback must outlive the handle.
        self.finish = weakref.finalize(self, close_handle, self.functions, self.handle, self.process)

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program behind it. What was returned stays."""
        with self.lock:
            self.models.clear()
        self.finish()

    def call(self, name: str, *arguments: Any) -> None:
        """One function of the library that can fail. Not to be called with the lock held: threads wait in the library."""
        if not self.finish.alive:
            raise AssayError("the judge is closed")
        if self.process != os.getpid():
            raise AssayError("the judge was opened by another process, before a fork: open one in each")
        self.free_unused()
        error = library.Error()
        status, thread = self.wait(getattr(self.functions, name), (*arguments, byref(error)))
        raised = self.raised.pop(thread, None)
        if raised is not None and status:
            raise raised
        library.raise_for(status, error)

    def wait(self, function: Any, arguments: Tuple[Any, ...]) -> Tuple[int, int]:
        """What the function returns, and the thread in which the library asks for progress. The main thread only waits for
        another one, so that Ctrl-C reaches it at once."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments), threading.get_ident()
        returned: List[int] = []
        done = threading.Event()

        def work() -> None:
            returned.append(function(*arguments))
            done.set()
        worker = threading.Thread(target=work, name="assay", daemon=True)
        worker.start()
        interrupt: Optional[BaseException] = None
        while not done.is_set():  # by an event: a join() that is interrupted takes the thread for ended
            try:
                done.wait()
            except BaseException as error:
                interrupt = error
                self.raised[worker.ident] = error  # cancels the call
        if interrupt is not None:
            self.raised.pop(worker.ident, None)
            raise interrupt
        return returned[0], worker.ident

    def free_unused(self) -> None:
        while self.unused:
            try:
                pointer = self.unused.popleft()
            except IndexError:  # another thread was faster
                return
            self.functions.assay_model_free(pointer)

    # ---- Models ----

    def model(self, model: ModelLike) -> Model:
        """Loads a model: a path, bytes, or an ``onnx.ModelProto``. Those given as such to other methods are loaded by
        this one, and the last eight are kept."""
        if isinstance(model, Model):
            if model.judge is not self:
                raise AssayError("the model was loaded by another judge")
            return model
        key, name, data = identify(model)
        with self.lock:
            kept = self.models.get(key)
            if kept is not None:
                self.models.move_to_end(key)
                return kept
        pointer = ctypes.c_void_p()
        if data is None:
            self.call("assay_model_load", self.handle, os.fsencode(name), byref(pointer))
        else:
            self.call("assay_model_parse", self.handle, data, len(data), byref(pointer))
        made = Model(self, pointer, name)
        with self.lock:
            self.models[key] = made
            if len(self.models) > KEPT_MODELS:
                self.models.popitem(last=False)
        return made

    # ---- Values ----

    def reference(self, model: ModelLike, inputs: Given = None) -> Values:
        """What a right engine answers: ``values["y"].value``, and its bounds."""
        loaded, given = self.case(model, inputs)
        return self.ask_values("assay_reference", self.handle, loaded.pointer, given.items, given.count)

    def run(self, engine: str, model: ModelLike, inputs: Given = None) -> Values:
        """What an engine answers, by its label as on the command line: "onnxruntime@1.30.0:opt=none". Raises where it
        refuses, crashes or does not answer in time."""
        loaded, given = self.case(model, inputs)
        return self.ask_values("assay_run", self.handle, engine.encode(), loaded.pointer, given.items, given.count)

    def case(self, model: ModelLike, inputs: Given) -> Tuple[Model, Tensors]:
        loaded = self.model(model)
        return loaded, Tensors(by_name(values_as_tensors(inputs), loaded.inputs, "inputs"))

    def ask_values(self, name: str, *arguments: Any) -> Values:
        pointer = ctypes.c_void_p()
        self.call(name, *arguments, byref(pointer))
        try:
            count = self.functions.assay_values_count(pointer)
            return Values([value_of(self.functions.assay_values_at(pointer, i).contents) for i in range(count)])
        finally:
            self.functions.assay_values_free(pointer)

    # ---- Verdicts ----

    def judge(self, model: ModelLike, inputs: Given, outputs: Given, *, values: Optional[Dict[str, Any]] = None,
              engine: Optional[str] = None) -> Verdict:
        """Judges outputs that you have. Right means that these are: an operator whose error the operators behind it hide is
        for ``judge_engine``, or for ``values``, to find.

        :param outputs: all outputs of the model
        :param values: inner values of the model that you have as well, by name; the node that is wrong by itself is
            named then
        :param engine: the label of the engine that computed the outputs. What outputs alone cannot settle (an answer
            that is far off, but not beyond every bound) is settled by running it, as ``assay compare`` does, and of
            wrong outputs the node at fault is named; unless it answers otherwise than these outputs, which the
            sentence says then.
        """
        loaded, given = self.case(model, inputs)
        named = by_name(values_as_tensors(outputs), loaded.outputs, "outputs")
        if values:
            named += by_name(values_as_tensors(values), (), "values")
        others = Tensors(named)
        function = "assay_judge_values" if values else "assay_judge"
        verdict = self.ask_verdict(function, self.handle, loaded.pointer, given.items, given.count, others.items, others.count)
        if engine and verdict.answer != RIGHT:
            verdict = self.settle(engine, loaded, inputs, named[:len(loaded.outputs)], verdict)
        shape = others.shape_of(verdict.output)
        if shape and verdict.answer != RIGHT and not (math.isnan(verdict.expected) and math.isnan(verdict.got)):
            verdict.index = index_of(verdict.element, shape)
        return verdict

    def settle(self, engine: str, model: Model, inputs: Given, outputs: List[Tuple[Optional[str], Any]],
               verdict: Verdict) -> Verdict:
        """What is known of outputs that are not right when the engine has been asked that is said to have computed them."""
        asked = self.judge_engine(engine, model, inputs)
        apart = self.apart(engine, model, inputs, outputs)
        if verdict.answer == UNJUDGED and apart:
            verdict.sentence += f"; {engine} cannot settle it, as it {apart}"
        elif verdict.answer == UNJUDGED or asked.answer == UNJUDGED and not apart:
            return asked  # also where it is only known of the engine that it follows another reading of what ONNX leaves open
        elif asked.answer == WRONG and not verdict.node and not apart:
            verdict.node = asked.node
        return verdict

    def apart(self, engine: str, model: Model, inputs: Given, outputs: List[Tuple[Optional[str], Any]]) -> str:
        """In words, how the engine's own answer differs from these outputs by more than rounding makes likely; "" where
        they are its answer."""
        try:
            own = self.run(engine, model, inputs)
        except AssayError as error:
            return f"gives no answer here: {error}"
        try:
            likely = {value.name: value.likely for value in self.reference(model, inputs).in_order}
        except AssayError:
            likely = {}
        for name, given in outputs:
            value = own[name] if name in own else None
            element = first_apart(given, value, likely.get(name)) if value is not None else 0
            if element is not None:
                return f"answers other outputs than these ({name}[{element}])"
        return ""

    def judge_engine(self, engine: str, model: ModelLike, inputs: Given = None) -> Verdict:
        """Runs an engine and judges it, as ``assay compare`` does: every operator on the values that the engine gave it, also
        where the outputs are right, and what is doubtful by asking the engine node by node. A crash, a hang or a refusal
        is a verdict, no error."""
        loaded, given = self.case(model, inputs)
        verdict = self.ask_verdict("assay_judge_engine", self.handle, engine.encode(), loaded.pointer, given.items, given.count)
        verdict.engine = engine
        return verdict

    def ask_verdict(self, name: str, *arguments: Any) -> Verdict:
        pointer = POINTER(library.Verdict)()
        self.call(name, *arguments, byref(pointer))
        try:
            return verdict_of(pointer.contents)
        finally:
            self.functions.assay_verdict_free(pointer)

    def assert_correct(self, model: ModelLike, inputs: Given, outputs: Given, *, values: Optional[Dict[str, Any]] = None,
                       engine: Optional[str] = None) -> Verdict:
        """Raises AssertionError where the outputs are wrong, and ``NotJudged``, which is one too, where neither can be
        said; returns the verdict where they are right. The parameters are those of ``judge``."""
        __tracebackhide__ = True  # pytest shows the caller's line
        loaded = self.model(model)
        verdict = self.judge(loaded, inputs, outputs, values=values, engine=engine)
        if verdict.answer == RIGHT:
            return verdict
        if verdict.answer == UNJUDGED:
            raise NotJudged(verdict.message(loaded.name) + ("" if engine else
                            "\nThe engine's label settles what outputs alone cannot: engine=\"onnxruntime\""))
        raise AssertionError(verdict.message(loaded.name))

    # ---- Tolerances ----

    def tolerances(self, model: ModelLike, inputs: Given = None, *, error: float = 0.001) -> Dict[str, Tolerance]:
        """For each output a tolerance for comparing answers with the reference's numbers on these inputs, that no right
        engine fails and that sees an error of this share of the output's largest number."""
        loaded, given = self.case(model, inputs)
        pointer = POINTER(library.Tolerances)()
        self.call("assay_tolerances_of", self.handle, loaded.pointer, given.items, given.count, error, byref(pointer))
        try:
            items = [pointer.contents.items[i] for i in range(pointer.contents.count)]
            return {one.output: one for one in map(tolerance_of, items)}
        finally:
            self.functions.assay_tolerances_free(pointer)


def ask_progress(weak: "weakref.ref[Judge]", seconds: float) -> int:
    """What the library calls while a thread waits for it. An exception cancels the call, which raises it."""
    judge_of, thread = weak(), threading.get_ident()
    if judge_of is None or thread in judge_of.raised:
        return 1
    try:
        return 1 if judge_of.progress is not None and judge_of.progress(seconds) else 0
    except BaseException as error:
        judge_of.raised[thread] = error
        return 1


def identify(model: ModelLike) -> Tuple[Any, str, Optional[bytes]]:
    """What tells a model from others, its name or path, and its bytes unless it is a file."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        return data, "the model", data
    if not isinstance(model, (str, os.PathLike)):
        raise AssayError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    path = os.fspath(model)
    try:
        inside = os.path.join(path, "model.onnx")
        seen = os.stat(inside if os.path.isdir(path) else path)
    except OSError as error:
        raise AssayError(f"{path}: {error.strerror}", "not found") from None
    return (os.path.realpath(path), seen.st_mtime_ns, seen.st_size, seen.st_ino), path, None


def values_as_tensors(given: Given) -> Given:
    """Values that a judge returned, as tensors of their type."""
    if isinstance(given, Value):
        return value_as_tensor(given)
    if isinstance(given, Values):
        return {name: value_as_tensor(item) for name, item in given.items()}
    if isinstance(given, dict):
        return {name: value_as_tensor(item) for name, item in given.items()}
    if isinstance(given, (list, tuple)):
        return [value_as_tensor(item) for item in given]
    return given


def first_apart(given: Any, value: Value, likely: Any) -> Optional[int]:
    """The first element, in the order of memory, that differs from the engine's by more than the standard deviation of
    rounding; 0 where the types or shapes differ, None where no element does."""
    import numpy
    (word, array), (own_word, own) = typed(given), typed(value_as_tensor(value))
    if word != own_word or array.shape != own.shape:
        return 0
    equal = (array == own) | (array != array) & (own != own)
    if array.dtype.kind == "f" and likely is not None and likely.shape == own.shape:
        with numpy.errstate(all="ignore"):
            equal |= abs(array.astype(numpy.float64) - own) <= likely
    found = numpy.flatnonzero(~numpy.asarray(equal))
    return int(found[0]) if found.size else None


def value_as_tensor(given: Any) -> Any:
    if not isinstance(given, Value):
        return given
    return given.value if given.value.dtype.name not in ("uint8", "uint16") else Tensor(given.value, given.type)


def value_of(value: library.Value) -> Value:
    return Value(value.name.decode("utf-8", "replace"), NAMES[value.type], array_of(value), row_of(value.exact, value),
                 row_of(value.hard, value), row_of(value.likely, value))


def verdict_of(verdict: library.Verdict) -> Verdict:
    text = {name: getattr(verdict, name).decode("utf-8", "replace") for name in ("word", "sentence", "output", "node")}
    number = {name: getattr(verdict, name) for name in ("element", "expected", "got", "bound", "factor", "elements",
                                                        "judged", "wrong")}
    return Verdict(answer=ANSWERS.get(verdict.answer, UNJUDGED), **text, **number)


def tolerance_of(item: library.Tolerance) -> Tolerance:
    return Tolerance(item.output.decode("utf-8", "replace"), item.rtol, item.atol, bool(item.certain), item.passes,
                     bool(item.useful))


# ---- The process's own judge ----

own_lock = threading.Lock()
own: Dict[int, Judge] = {}


def default_judge() -> Judge:
    """The judge that the functions of this module use: one for each process, opened when it is first needed."""
    with own_lock:
        process = os.getpid()
        if process not in own or not own[process].finish.alive:
            own[process] = Judge()
        return own[process]


def after_fork() -> None:
    """The child's lock is free, whatever thread of the parent held it."""
    global own_lock
    own_lock = threading.Lock()


os.register_at_fork(after_in_child=after_fork)


def reference(model: ModelLike, inputs: Given = None) -> Values:
    """``Judge.reference`` of the process's own judge."""
    return default_judge().reference(model, inputs)


def run(engine: str, model: ModelLike, inputs: Given = None) -> Values:
    """``Judge.run`` of the process's own judge."""
    return default_judge().run(engine, model, inputs)


def judge(model: ModelLike, inputs: Given, outputs: Given, *, values: Optional[Dict[str, Any]] = None,
          engine: Optional[str] = None) -> Verdict:
    """``Judge.judge`` of the process's own judge."""
    return default_judge().judge(model, inputs, outputs, values=values, engine=engine)


def judge_engine(engine: str, model: ModelLike, inputs: Given = None) -> Verdict:
    """``Judge.judge_engine`` of the process's own judge."""
    return default_judge().judge_engine(engine, model, inputs)


def assert_correct(model: ModelLike, inputs: Given, outputs: Given, *, values: Optional[Dict[str, Any]] = None,
                   engine: Optional[str] = None) -> Verdict:
    """``Judge.assert_correct`` of the process's own judge."""
    __tracebackhide__ = True
    return default_judge().assert_correct(model, inputs, outputs, values=values, engine=engine)


def tolerances(model: ModelLike, inputs: Given = None, *, error: float = 0.001) -> Dict[str, Tolerance]:
    """``Judge.tolerances`` of the process's own judge."""
    return default_judge().tolerances(model, inputs, error=error)
