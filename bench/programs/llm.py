"""The work of bench/llm: see there.

usage: llm.py ASSAY [--quick]"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import onnx

ASSAY, QUICK = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
ENGINES = "onnxruntime@1.30.0", "onnxruntime@1.23.2"
PLANTINGS = 20
FORMS = [(network, opset, weights) for network in ("llama", "gpt2") for opset, weights in
         ((17, "float32"), (17, "float16"), (21, "float32"), (21, "int4"), (23, "float32"), (23, "float16"), (23, "int4"))]
# float16 is not planted in: a thousandth is within its rounding.
PLANTED = [("llama", 17, "float32"), ("llama", 21, "int4"), ("llama", 23, "float32"), ("gpt2", 17, "float32"),
           ("gpt2", 23, "float32")]
WAYS = "scaled", "neighbour", "row", "column"


def make(path, network, opset, weights, size, *more):
    subprocess.run(["/usr/bin/python3", "models/language/make.py", "--network", network, "--opset", str(opset),
                    "--weights", weights, "--size", size, *more, path], check=True)


def decode(model, engines, *more, watch=None):
    """What it says. Status 2 with an answer: nothing was found, and not everything could be judged."""
    said = json.loads(run([ASSAY, "decode", model, *(word for e in engines for word in ("-e", e)), "--format", "json", *more],
                          watch, (0, 1, 2)))
    if not said["engines"]:
        sys.exit(f"{model}: no engine decoded it")
    return said


def run(command, watch=None, good=(0, 1)):
    """Its output. watch: a dict that gets seconds, and MiB of assay: resident, and without mapped files."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out)
        while watch is not None and child.poll() is None:
            with open(f"/proc/{child.pid}/status") as status:
                for line in status:
                    word, *rest = line.split()
                    if word in ("VmHWM:", "RssAnon:"):
                        watch[word] = max(watch.get(word, 0), int(rest[0]) // 1024)
            time.sleep(0.05)
        if child.wait() not in good:
            sys.exit(f"{' '.join(map(str, command))}: status {child.returncode}")
        if watch is not None:
            watch["seconds"] = time.monotonic() - begin
        out.seek(0)
        return out.read()


def plant(source, target, rng):
    """Names a head of an operator of attention in the metadata, where the reference with disturb=on reads it."""
    model = onnx.load(source)
    ends = "scores/MatMul", "/Softmax", "context/MatMul", "/Attention"
    node = rng.choice([n.name for n in model.graph.node if n.name.endswith(ends)])
    heads = {"tiny": 4, "small": 8}["tiny" if QUICK else "small"]
    head, way = rng.randrange(heads), rng.choice(WAYS)
    entry = model.metadata_props.add()
    entry.key, entry.value = "disturb", f"{node}@{way}:{head}"
    onnx.save(model, target)
    return node, int(node.split("layers." if "layers." in node else "h.")[1].split("/")[0]), head, way


def plantings(folder):
    rng, named = random.Random(1), 0
    print(f"{'model':20} {'planted in':44} {'layer':>5} {'head':>4} {'way':10} named")
    for number in range(PLANTINGS):
        network, opset, weights = PLANTED[number % len(PLANTED)]
        source, target = folder / f"{network}-{opset}-{weights}.onnx", folder / "planted.onnx"
        node, layer, head, way = plant(source, target, rng)
        said = decode(target, ["reference:disturb=on"], "--steps", "1", "--judge", "1", "--deadline", "300")
        fault = said["engines"][0].get("fault", {})
        right = (fault.get("node"), fault.get("layer"), fault.get("wrong_heads")) == (node, layer, [head])
        named += right
        told = "yes" if right else f"no: {fault.get('node')} layer {fault.get('layer')} heads {fault.get('wrong_heads')}"
        print(f"{source.stem:20} {node:44} {layer:5} {head:4} {way:10} {told}", flush=True)
    return named


def healthy(folder):
    """Engines that are accused, and what the engines' tokens do."""
    steps, accused, judged, right, parted = "4" if QUICK else "32", 0, 0, 0, []
    forms = PLANTED if QUICK else FORMS
    for network, opset, weights in forms:
        path = folder / f"{network}-{opset}-{weights}.onnx"
        for engine in decode(path, ENGINES, "--steps", steps, "--deadline", "300", *(["--judge", "1"] if QUICK else
                                                                                      ["--judge", "4"]))["engines"]:
            accused += "fault" in engine
            judged += engine["judged"]
            right += engine["right"]
            if "fault" in engine:
                print(f"{path.stem}: {engine['engine']}: {engine['fault']['text']}")
            if "parts" in engine:
                parted.append(f"{path.stem} at step {engine['parts']['step']} by {engine['parts']['by']}")
    print(f"\n{len(forms)} models, {steps} steps, {' and '.join(ENGINES)}: {accused} accused, {right} of {judged} answers "
          f"right operator by operator, the others without a finite bound; they part in {len(parted)} models{': ' if parted else ''}{'; '.join(parted)}")
    ties = folder / "ties.onnx"
    make(ties, "llama", 17, "float32", "tiny", "--ties")
    why = [e["parts"]["by"] for e in decode(ties, ["reference:round=on", *ENGINES], "--steps", "8", "--judge", "1")["engines"]
           if "parts" in e]
    print(f"with near ties between tokens they part from the reference by: {', '.join(why) or 'nothing'}", flush=True)
    return accused, bool(why) and set(why) == {"near tie"}


def large(folder):
    """The model of 1.5 GB: rows of the table, and the largest resident memory of assay."""
    path, most = folder / "large.onnx", 0
    make(path, "llama", 17, "float32", "large")
    limits = "--deadline", "900", "--memory", "12G"
    sizes = "--dim", "batch=1", "--dim", "sequence=8", "--dim", "past=0"
    print(f"\n{'1.5 GB, ONNX Runtime 1.30.0':44} {'seconds':>8} {'engine bare':>11} {'ratio':>6} {'resident':>8} {'held':>6} MiB")
    watch = {}
    bare = decode(path, ENGINES[:1], "--steps", "32", "--judge", "1", *limits, watch=watch)["engines"][0]
    load, runs = bare["load_ns"] * 1e-9, bare["run_ns"] * 1e-9
    once = load + runs / 33
    rows = [("decode, 32 steps, judged at prompt and end", watch, load + runs)]
    for name, command in (("localize, prompt of 8 tokens", "localize"), ("compare, prompt of 8 tokens", "compare")):
        watch = {}
        run([ASSAY, command, path, "-e", ENGINES[0], *sizes, *limits], watch)
        rows.append((name, watch, once))
    for name, watch, alone in rows:
        most = max(most, watch["VmHWM:"])
        print(f"{name:44} {watch['seconds']:8.1f} {alone:11.1f} {watch['seconds'] / alone:6.1f} {watch['VmHWM:']:8} "
              f"{watch['RssAnon:']:6}", flush=True)
    return most


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for form in PLANTED if QUICK else FORMS:
            make(folder / "{}-{}-{}.onnx".format(*form), *form, "tiny" if QUICK else "small")
        named = plantings(folder)
        accused, tied = healthy(folder)
        resident = None if QUICK else large(folder)
    cost = "" if resident is None else f", {resident} MiB resident in assay on 1.5 GB"
    print(f"llm: {named} of {PLANTINGS} heads named, {accused} healthy engines accused, near ties "
          f"{'told' if tied else 'not told'}{cost} (target {PLANTINGS}, 0, told, 2048)")
    sys.exit(not (named == PLANTINGS and not accused and tied and (resident or 0) < 2048))


main()
