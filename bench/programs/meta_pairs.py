#!/usr/bin/env python3
"""The tables of bench/meta --pairs: mean absolute differences between engines by operator, and the memory of an operator.

usage: bench/programs/meta_pairs.py PROGRAMS CASES
"""
import collections
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import campaign  # noqa: E402

PROGRAMS, CASES = sys.argv[1:]
ORT, TFJS = "1.30.0", "4.22.0"
# Letter in the table's head: engine.
ENGINES = {"o": f"onnxruntime@{ORT}:opt=none", "t": "torch", "j": f"tfjs@{TFJS}:backend=cpu", "n": "onednn", "x": "xnnpack", "c": "opencv",
           "d": "dlib"}
# The paper's operators, as the cases call them; its dropout is random.
PAPER = ["Add", "Mul", "MatMul", "Sigmoid", "Log", "Exp", "Neg", "Reciprocal", "Div", "Pow", "Transpose", "Reshape", "ReduceSum", "ReduceMean",
         "Softmax", "Relu", "BatchNormalization", "Conv", "Einsum"]
MEASURED = ["Add", "MatMul", "Softmax", "Conv", "LSTM"]
THRESHOLD = 1.5e-4  # the paper's T_C and T_G


def program(*words):
    done = subprocess.run([os.path.join(PROGRAMS, "bench_meta_pairs"), *words], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def print_apart(engines):
    letters = {label: letter for letter, label in engines.items()}
    apart = collections.defaultdict(dict)
    for case, way, a, b, mean in program("apart", CASES, *engines.values()):
        apart[case, way][letters[a] + "-" + letters[b]] = float(mean)
    pairs = [a + "-" + b for i, a in enumerate(engines) for b in list(engines)[i + 1:]]
    print("mean absolute difference, " + ", ".join(f"{letter} {label}" for letter, label in engines.items()))
    print(f"{'operator':24}{'way':10}" + "".join(f"{pair:>9}" for pair in pairs))
    for (case, way), row in apart.items():
        print(f"{case:24}{way:10}" + "".join(f"{row[pair]:>9.1e}" if row.get(pair) else f"{'0' if pair in row else '':>9}" for pair in pairs))
    for way in ("forward", "backward"):
        for what, names in (("the paper's operators", PAPER), ("all cases", {case for case, _ in apart})):
            rows = [apart[name, way] for name in names if apart.get((name, way))]
            values = [value for row in rows for value in row.values()]
            far = [f"{name} {pair} {apart[name, way][pair]:.2g}" for name in sorted(names) for pair in apart.get((name, way), ())
                   if apart[name, way][pair] >= THRESHOLD]
            print(f"{way}, {what}: {len(rows)} rows, {len(values)} pairs, {sum(value == 0 for value in values)} of them equal, the largest "
                  f"{max(values):.2g}, {len(far)} at or above {THRESHOLD}: {', '.join(far)}")
    return apart


def print_paper(apart):
    """For the page: the paper's operators, the largest of all pairs."""
    print(f"\n{'operator':24}{'pairs':>6}{'forward':>10}{'of':>6}{'pairs':>8}{'backward':>10}{'of':>6}")
    for name in PAPER:
        line = f"{name:24}"
        for way in ("forward", "backward"):
            row = apart.get((name, way), {})
            worst = max(row, key=row.get) if row else ""
            line += f"{len(row):>{6 if way == 'forward' else 8}}{row[worst] if row else 0:>10.1e}{worst if row and row[worst] else '':>6}"
        print(line)


def direct_peak(letter, cases, scratch):
    """The most resident memory of a program that calls the library directly for these cases, in KB; 0: there is none."""
    name = ENGINES[letter].partition("@")[0]
    command = [os.path.join(PROGRAMS, "meta_" + name)]
    if name == "tfjs":
        command = ["node", os.path.join(campaign.ROOT, "bench", "programs", "meta_tfjs.js"), "cpu"]
    elif not os.access(command[0], os.X_OK):
        return 0
    return peak([*command, cases, os.path.join(scratch, "out")])


def peak(command):
    """The most resident memory of a command, in KB, or of this script, which it starts as; 0: it fails."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss if process.returncode == 0 else 0


def print_memory(engines):
    least = peak(["true"])
    print(f"\nresident memory in MB: the most of a worker, and of a program that calls the library directly (not told below {least / 1024:.1f}), and "
          "growth of the worker a call")
    print(f"{'operator':16}{'engine':32}{'worker':>10}{'direct':>10}{'growth':>10}")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                      ORT_LIBRARY=os.path.join(campaign.DATA, "onnxruntime", ORT, "libonnxruntime.so"),
                      TFJS_LIBRARY=os.path.join(campaign.DATA, "tfjs", TFJS, "node_modules", "@tensorflow", "tfjs", "package.json"))
    with open(CASES, encoding="utf-8") as file:
        lines = {line.split(" ", 1)[0].partition("@")[0]: line for line in file if line.strip() and line[0] != "#"}
    for case in MEASURED:
        with tempfile.TemporaryDirectory() as scratch:
            one = os.path.join(scratch, "one.cases")
            with open(one, "w", encoding="utf-8") as file:
                file.write(lines[case])
            subprocess.run([os.path.join(PROGRAMS, "bench_meta"), "write", one, scratch], check=True)
            for letter, label in engines.items():
                direct = direct_peak(letter, os.path.join(scratch, "cases.bin"), scratch)
                for _, most, growth in program("memory", one, label):
                    print(f"{case:16}{label:32}{int(most) / 1024:>10.1f}" + (f"{direct / 1024:>10.1f}" if direct > 1.02 * least else f"{'-':>10}") +
                          f"{float(growth) / 1024:>10.3f}", flush=True)


def main():
    engines = {letter: label for letter, label in ENGINES.items() if campaign.starts(label)}
    apart = print_apart(engines)
    print_paper(apart)
    print_memory(engines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
