"""The work of bench/large: see there.

usage: large.py ASSAY [--quick]"""
import os
import pathlib
import subprocess
import sys
import tempfile

from measured import Measured

ASSAY, QUICK = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
ENGINE = "onnxruntime@1.30.0"
SIZES = "--dim", "batch=1", "--dim", "sequence=8", "--dim", "past=0"
LANGUAGE = "models/language/make.py", "--size"
# Name, the program that makes it, options of assay.
MODELS = [("ResNet-50", ("bench/programs/resnet50.py",), ()),
          ("transformer, 300 MB", (*LANGUAGE, "medium", "--network", "gpt2"), SIZES),
          ("language model, 1.5 GB", (*LANGUAGE, "large", "--network", "llama"), SIZES)]
SMALL = [("ResNet-50, narrow", ("bench/programs/resnet50.py", "--narrow"), ())]
CPU, MEMORY = 10, 2  # times the engine alone
RIGHT = "is computed correctly by"


THREADS = 1, 2


def measure(model, options):
    """The engine alone before and after compare, whose mean counts: other work on the machine makes all of them longer. compare with
    one thread and with two."""
    asked = str(model), "-e", ENGINE, "--deadline", "1000", *options
    before, one, two, after = (Measured(ASSAY, *words, *asked) for words in
                               (["run"], *(["compare", "--threads", str(n)] for n in THREADS), ["run"]))
    if before.status or after.status:
        sys.exit(f"{model}: {ENGINE} does not run it")
    return one, two, (before.cpu + after.cpu) / 2, max(before.memory, after.memory)


def main():
    good, models = 0, SMALL if QUICK else MODELS
    print("seconds of processor time, of one thread and of two; wall: of two threads as a share of that of one")
    print(f"{'model':24} {'engine s':>9} {'compare s':>10} {'ratio':>6} {'two s':>7} {'wall':>5}   {'engine MiB':>10} {'largest MiB':>11} {'ratio':>6}"
          "  verdict")
    with tempfile.TemporaryDirectory() as folder:
        for name, program, options in models:
            model = pathlib.Path(folder) / "model.onnx"
            subprocess.run(["/usr/bin/python3", *program, model], check=True)
            compare, two, cpu, memory = measure(model, options)
            right = compare.status == 0 and RIGHT in compare.said and two.said == compare.said
            times, room = compare.cpu / cpu, max(compare.memory, two.memory) / memory
            good += right and times <= CPU and room <= MEMORY
            print(f"{name:24} {cpu:9.2f} {compare.cpu:10.1f} {times:6.1f} {two.cpu:7.1f} {two.wall / compare.wall:5.2f}   {memory:10.0f} "
                  f"{compare.memory:11.0f} {room:6.1f}  "
                  f"{'right' if right else compare.said.splitlines()[0] if compare.said else 'nothing said'}", flush=True)
    print(f"large: {good} of {len(models)} right at {CPU} times the engine's processor time and {MEMORY} times its memory "
          f"(target {len(models)})")
    sys.exit(good < len(models))


main()
