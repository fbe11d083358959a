"""The shared library libassay, as its header include/assay/assay.h declares it, by ctypes."""
from __future__ import annotations

import ctypes
import glob
import os
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import List, Optional

FILE = "libassay.so.1"

# enum assay_status
STATUSES = ("ok", "no memory", "io", "format", "limit", "unsupported", "invalid", "not found", "usage", "cancelled",
            "broken")


class AssayError(Exception):
    """What libassay could not do: ``status`` is one of the words of ``assay.library.STATUSES``."""

    def __init__(self, message: str, status: str = "usage") -> None:
        super().__init__(message)
        self.status = status


class Cancelled(AssayError):
    """The progress function asked for it."""


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", ctypes.c_char * 1024)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("data", c_void_p)]


PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_double)


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("deadline", c_double), ("memory", c_uint64), ("sandbox", c_int),
                ("engine_files", POINTER(c_char_p)), ("n_engine_files", c_size_t), ("progress", PROGRESS),
                ("context", c_void_p), ("program", c_char_p)]


class Value(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("count", c_size_t),
                ("size", c_size_t), ("data", c_void_p), ("exact", POINTER(c_double)), ("hard", POINTER(c_double)),
                ("likely", POINTER(c_double))]


class Verdict(ctypes.Structure):
    _fields_ = [("answer", c_int), ("word", c_char_p), ("sentence", c_char_p), ("output", c_char_p),
                ("element", c_uint64), ("expected", c_double), ("got", c_double), ("bound", c_double),
                ("factor", c_double), ("elements", c_uint64), ("judged", c_uint64), ("wrong", c_uint64),
                ("node", c_char_p)]


class Tolerance(ctypes.Structure):
    _fields_ = [("output", c_char_p), ("rtol", c_double), ("atol", c_double), ("certain", c_int), ("passes", c_double),
                ("useful", c_int)]


class Tolerances(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("items", POINTER(Tolerance))]


HANDLE, MODEL, VALUES = c_void_p, c_void_p, c_void_p
CASE = [HANDLE, MODEL, POINTER(Tensor), c_size_t]
OF_ENGINE = [HANDLE, c_char_p, MODEL, POINTER(Tensor), c_size_t]

# What each function returns and takes.
FUNCTIONS = {
    "assay_version": (c_char_p, []),
    "assay_open": (c_int, [POINTER(HANDLE), POINTER(Options), POINTER(Error)]),
    "assay_close": (None, [HANDLE]),
    "assay_model_load": (c_int, [HANDLE, c_char_p, POINTER(MODEL), POINTER(Error)]),
    "assay_model_parse": (c_int, [HANDLE, c_char_p, c_size_t, POINTER(MODEL), POINTER(Error)]),
    "assay_model_free": (None, [MODEL]),
    "assay_model_input": (c_char_p, [MODEL, c_size_t]),
    "assay_model_output": (c_char_p, [MODEL, c_size_t]),
    "assay_reference": (c_int, CASE + [POINTER(VALUES), POINTER(Error)]),
    "assay_run": (c_int, OF_ENGINE + [POINTER(VALUES), POINTER(Error)]),
    "assay_values_count": (c_size_t, [VALUES]),
    "assay_values_at": (POINTER(Value), [VALUES, c_size_t]),
    "assay_values_free": (None, [VALUES]),
    "assay_judge": (c_int, CASE + [POINTER(Tensor), c_size_t, POINTER(POINTER(Verdict)), POINTER(Error)]),
    "assay_judge_values": (c_int, CASE + [POINTER(Tensor), c_size_t, POINTER(POINTER(Verdict)), POINTER(Error)]),
    "assay_judge_engine": (c_int, OF_ENGINE + [POINTER(POINTER(Verdict)), POINTER(Error)]),
    "assay_verdict_free": (None, [POINTER(Verdict)]),
    "assay_tolerances_of": (c_int, CASE + [c_double, POINTER(POINTER(Tolerances)), POINTER(Error)]),
    "assay_tolerances_free": (None, [POINTER(Tolerances)]),
}


def prefix() -> Optional[str]:
    """The folder with bin, lib and libexec that the wheel has beside these modules; None elsewhere."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
    return folder if os.path.isdir(folder) else None


def candidates() -> List[str]:
    """Where libassay may be, in the order in which it is looked for."""
    chosen = os.environ.get("ASSAY_LIBRARY_PATH")
    if chosen:
        return [os.path.join(chosen, FILE) if os.path.isdir(chosen) else chosen]
    beside = prefix()
    if beside:
        return [os.path.join(beside, "lib", FILE)]
    found, folder = [], os.path.dirname(os.path.abspath(__file__))
    for _ in range(4):  # PREFIX/share/assay/python/assay: below the same prefix
        folder = os.path.dirname(folder)
        found += sorted(glob.glob(os.path.join(folder, "lib", FILE)) + glob.glob(os.path.join(folder, "lib", "*", FILE)))
    return found + [FILE]


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lock = threading.Lock()
loaded: List[ctypes.CDLL] = []


def load() -> ctypes.CDLL:
    """The library, which is loaded when it is first needed."""
    with lock:
        if loaded:
            return loaded[0]
        reasons = []
        for path in candidates():
            try:
                library = ctypes.CDLL(path)
            except OSError as error:
                reasons.append(str(error))
                continue
            loaded.append(declare(library))
            return library
    raise AssayError(f"libassay is not found: {'; '.join(reasons)}. Install Assay, or name the file or its folder in "
                     "ASSAY_LIBRARY_PATH", "not found")


def version() -> str:
    """The version of libassay."""
    return load().assay_version().decode()


def raise_for(status: int, error: Error) -> None:
    """Raises what the library says, unless the status is that of success."""
    if status == 0:
        return
    word = STATUSES[status] if 0 <= status < len(STATUSES) else "broken"
    message = error.message.decode("utf-8", "replace")
    raise Cancelled(message, word) if word == "cancelled" else AssayError(message, word)
