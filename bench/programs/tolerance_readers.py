"""Tolerances as those read them who use them: the files that `assay bounds` writes, and what teams keep for ONNX's node cases."""
import ast
import json
import re

import numpy


class Pair:
    """numpy.testing.assert_allclose, in the type of the arrays."""

    def __init__(self, rtol, atol):
        self.rtol, self.atol = rtol, atol

    def __str__(self):
        return f"rtol {self.rtol:g} atol {self.atol:g}"

    def allowed(self, size):
        """The largest difference from a number of this size that may pass."""
        return self.atol + self.rtol * size

    def close(self, expected, answer):
        with numpy.errstate(all="ignore"):
            return numpy.isclose(answer, expected, rtol=self.rtol, atol=self.atol, equal_nan=True)

    def whole(self, expected, answer, judged):
        """Whether the answer passes, but for elements that are not judged."""
        return bool((self.close(expected, answer) | ~judged).all())

    def alone(self, expected, _answer, moved, _judged):
        """For each element, whether the answer passes that has been moved there alone."""
        return self.close(expected, moved)

    def excess(self, expected, answer, judged):
        """How many times as far off as is allowed it is."""
        at = judged & numpy.isfinite(expected.astype(numpy.float64)) & numpy.isfinite(answer.astype(numpy.float64))
        right = expected[at].astype(numpy.float64)
        off, allowed = numpy.abs(answer[at].astype(numpy.float64) - right), self.atol + self.rtol * numpy.abs(right)
        return float(numpy.max(off[off > 0] / numpy.maximum(allowed[off > 0], 1e-300), initial=0.0))


class Threshold(Pair):
    """IREE: the difference of two numbers is less than it."""

    def __init__(self, most):
        super().__init__(0.0, most)

    def __str__(self):
        return f"threshold {self.atol:g}"

    def close(self, expected, answer):
        with numpy.errstate(all="ignore"):
            apart = numpy.abs(answer - expected).astype(numpy.float64) < self.atol
        return apart | ~numpy.isfinite(expected)


class Norms(Pair):
    """OpenCV: the mean difference and the largest."""

    def __init__(self, mean, most):
        super().__init__(0.0, most)
        self.mean = mean

    def __str__(self):
        return f"l1 {self.mean:g} lInf {self.atol:g}"

    @staticmethod
    def apart(expected, answer, judged):
        with numpy.errstate(all="ignore"):
            off = numpy.abs(answer.astype(numpy.float64) - expected.astype(numpy.float64))
        return numpy.where(judged & numpy.isfinite(off), off, 0)

    def whole(self, expected, answer, judged):
        off = self.apart(expected, answer, judged)
        return not off.size or bool(off.max() <= self.atol and off.mean() <= self.mean)

    def alone(self, expected, answer, moved, judged):
        off, now = self.apart(expected, answer, judged), self.apart(expected, moved, judged)
        mean = (off.sum() - off + now) / max(off.size, 1)
        lost = ~numpy.isfinite(moved.astype(numpy.float64))
        return (now <= self.atol) & (mean <= self.mean) & ~lost

    def excess(self, expected, answer, judged):
        off = self.apart(expected, answer, judged)
        return max(off.max() / self.atol, off.mean() / self.mean) if off.size else 0.0


class Entry:
    """A tolerance, whether it is to hold whatever the rounding, and the share from which on it sees errors."""

    def __init__(self, tolerance, row, widest=None):
        self.tolerance, self.any_rounding, self.widest = tolerance, row["by"] == "any", widest
        self.sees = float(row["sees"])

    def with_plants(self):
        """The tolerances that must see planted errors."""
        return [self.tolerance] + ([self.widest] if self.widest else [])


def rows_of(said):
    """The row of each output by (case, name), and of each case that of all its outputs."""
    rows = {(case["case"], row["name"]): row for case in said["cases"] for row in case["values"] if "by" in row}
    return rows, {case["case"]: case["together"] for case in said["cases"] if "together" in case}


def read_json(_text, said):
    rows, _ = rows_of(said)

    def written(output):
        row = rows.get((output.case, output.name))
        widest = row and "atol_to" in row and float(row["sees"]) <= said["error"] and Pair(row["rtol"], row["atol_to"])
        return row and Entry(Pair(row["rtol"], row["atol"]), row, widest or None)

    return written


def read_table(text, said):
    rows, _ = rows_of(said)
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("case "))
    cells = {}
    for line in lines[head + 1:]:
        row = re.split(r" {2,}", line.strip())
        if len(row) == 10 and row[5] in ("any", "likely"):
            cells[row[0], row[1]] = Pair(float(row[6]), float(row[7]))

    def written(output):
        at = (output.case, output.name)
        return Entry(cells[at], rows[at]) if at in cells else None

    return written


def by_case(read):
    """A reader of tolerances of whole cases: read(text) gives a function of an output."""

    def reader(text, said):
        _, together = rows_of(said)
        tolerance_of = read(text)

        def written(output):
            tolerance = output.case in together and tolerance_of(output)
            return Entry(tolerance, together[output.case]) if tolerance else None

        return written

    return reader


def read_backend_test(text):
    listed = json.loads(text)
    return lambda output: Pair(**listed[output.case]) if output.case in listed else None


def read_ort(text):
    listed = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    return lambda output: Pair(listed["rtol_overrides"].get(output.case, listed["rtol_default"]),
                               listed["atol_overrides"].get(output.case, listed["atol_default"]))


IREE_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64"}


def read_iree(text):
    listed = {}
    for case, flags in json.loads(text).items():
        for flag in flags["iree_run_module_flags"]:
            bits, number = re.fullmatch(r"--expected_(f\d+)_threshold=(.*)", flag).groups()
            listed[case, bits] = Threshold(float(number))
    cases = {case for case, _ in listed}

    def tolerance_of(output):
        bits = IREE_TYPES.get(output.kind)
        if not bits or output.case not in cases:
            return None
        return listed.get((output.case, bits)) or Threshold(IREE_DEFAULTS[bits])

    return tolerance_of


def read_norms(text):
    listed = {name: Norms(float(mean), float(most)) for name, mean, most in
              re.findall(r"CASE\((\w+)\)\s+default_l1 = (\S+);\s+default_lInf = (\S+);", text)}
    return lambda output: listed.get(re.sub(r"\W", "_", output.case))


def read_pytest(text, said):
    rows, _ = rows_of(said)
    listed = {}
    for line in re.findall(r"pytest\.param(\(.*\)),$", text, re.M):
        case, name, rtol, atol = ast.literal_eval(line)
        listed[case, name] = Pair(rtol, atol)

    def written(output):
        at = (output.case, output.name)
        return Entry(listed[at], rows[at]) if at in listed else None

    return written


READERS = {"table": read_table, "json": read_json, "backend-test": by_case(read_backend_test), "ort": by_case(read_ort),
           "iree": by_case(read_iree), "opencv": by_case(read_norms), "pytest": read_pytest}

IREE_DEFAULTS = {"f16": 1e-3, "f32": 1e-4, "f64": 1e-4}
ORT_OVERRIDES = {"test_dft": 1e-4, "test_dft_axis": 1e-4}


def iree_default(output):
    bits = IREE_TYPES.get(output.kind)
    return Threshold(IREE_DEFAULTS[bits]) if bits else None


# What is kept for the node cases: the rule in words, the tolerance of an output, and the pair that is said to hold for all.
KEPT = {
    "ONNX": ("rtol 1e-3, atol 1e-7", lambda output: Pair(1e-3, 1e-7), Pair(1e-3, 1e-7)),
    "ONNX Runtime": ("rtol 1e-3, atol 1e-5 (1e-4 in test_dft, test_dft_axis)",
                     lambda output: Pair(1e-3, ORT_OVERRIDES.get(output.case, 1e-5)), Pair(1e-3, 1e-5)),
    "IREE": ("less than 1e-4 apart (float16: 1e-3)", iree_default, None),
    "OpenCV": ("float32: mean 1e-5, largest 1e-4", lambda output: Norms(1e-5, 1e-4) if output.kind == "float32" else None, None),
}
