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


def measure(model, options):
    """The engine alone before and after compare, whose mean counts: other work on the machine makes all of them longer."""
    asked = str(model), "-e", ENGINE, "--deadline", "1000", *options
    before, compare, after = (Measured(ASSAY, word, *asked) for word in ("run", "compare", "run"))
    if before.status or after.status:
        sys.exit(f"{model}: {ENGINE} does not run it")
    return compare, (before.cpu + after.cpu) / 2, max(before.memory, after.memory)


def main():
    good, models = 0, SMALL if QUICK else MODELS
    print(f"{'model':24} {'engine s':>9} {'compare s':>10} {'ratio':>6}   {'engine MiB':>10} {'largest MiB':>11} {'ratio':>6}  verdict")
    with tempfile.TemporaryDirectory() as folder:
        for name, program, options in models:
            model = pathlib.Path(folder) / "model.onnx"
            subprocess.run(["/usr/bin/python3", *program, model], check=True)
            compare, cpu, memory = measure(model, options)
            right = compare.status == 0 and RIGHT in compare.said
            times, room = compare.cpu / cpu, compare.memory / memory
            good += right and times <= CPU and room <= MEMORY
            print(f"{name:24} {cpu:9.2f} {compare.cpu:10.1f} {times:6.0f}   {memory:10.0f} {compare.memory:11.0f} {room:6.1f}  "
                  f"{'right' if right else compare.said.splitlines()[0] if compare.said else 'nothing said'}", flush=True)
    print(f"large: {good} of {len(models)} right at {CPU} times the engine's processor time and {MEMORY} times its memory "
          f"(target {len(models)})")
    sys.exit(good < len(models))


main()
