"""Usage: against.py ASSAY [--quick] [PART...] [MODEL...]: models made of those of the zoo, held against them (bench/against)."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx

import against_models

ASSAY, QUICK = sys.argv[1], "--quick" in sys.argv
PARTS = [word for word in sys.argv[2:] if word in ("fine", "planted", "apart", "kept")] or ["fine", "planted", "apart", "kept"]
ENGINE = "onnxruntime@1.30.0"
MODELS = ["lenet5", "moments"] if QUICK else ["lenet1", "lenet4", "lenet5", "vgg", "moments", "mobilenetv2", "inception", "resnet20",
                                              "transformer"]
MODELS = [word for word in sys.argv[2:] if word in MODELS] or MODELS
PLANTINGS = 6 if QUICK else 60
KINDS = ["scale", "channel", "zero", "range"]
# Of the answer's size: half a unit of float32 in its last place. A damage that costs less is none that an answer in float32 can show.
NOTHING = 2.0**-24
DRAWS = 100  # of one kind in one model, before the next kind is drawn
FAULTS = ["conv-rotated", "bn-sqrt-var", "avgpool-counts-pad", "concat-three", "same-pad-side", "depthwise-first-channel",
          "pointwise-no-bias", "pool-stride", "global-pool-odd", "fewer-dimensions"]
DATA = "models/samples"


def assay(*words):
    done = subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def run(model, folder, engine=ENGINE):
    """The outputs of an engine, an array of all samples for each."""
    status, out, err = assay("run", model, "-e", engine, "-d", DATA, "-o", folder, "--save", "npy")
    sets = sorted(next(pathlib.Path(folder).iterdir()).glob("test_data_set_*"), key=lambda p: int(p.name.split("_")[-1]))
    if status or not sets:
        raise SystemExit(f"{model}: {err}")
    count = len(list(sets[0].glob("output_*.npy")))
    return [numpy.stack([numpy.load(s / f"output_{k}.npy") for s in sets]) for k in range(count)]


def compare(model, other, engine=ENGINE, *more):
    """The status, which is 2 where a sample could not be judged; the losses; the verdict on the engine; why it is not complete, or ""."""
    status, out, err = assay("compare", model, "--against", other, "-e", engine, "-d", DATA, "--format", "json", "--time", "12s", "--judge", "10",
                             "--operators", "10", *more)
    if not out:
        raise SystemExit(f"{model}: {err}")
    said = json.loads(out)
    answer = said["models"][0]
    return status, answer["against"], answer["engines"][0]["judge"], said.get("why_incomplete") or ""


def loss(outputs, base):
    return float(numpy.sqrt(((outputs - base) ** 2).sum() / (base**2).sum()))


class Zoo:
    """One model, what is made of it, and its values on the samples."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.path = f"models/{name}/{name}.onnx"
        self.model = onnx.load(self.path)
        exposed, names = against_models.expose(self.model)
        onnx.save(exposed, folder / f"{name}-exposed.onnx")
        arrays = run(folder / f"{name}-exposed.onnx", folder / f"{name}-values")
        self.values = dict(zip(names, arrays))
        self.values[self.model.graph.input[0].name] = numpy.load(f"{DATA}/samples.npy")
        self.output = self.values[self.model.graph.output[0].name]
        self.quantized = against_models.quantize(self.model, self.values)
        self.int8, self.half = folder / f"{name}-int8.onnx", folder / f"{name}-float16.onnx"
        self.products, self.brain = folder / f"{name}-qlinear.onnx", folder / f"{name}-bfloat16.onnx"
        self.optimised = folder / f"{name}-optimised.onnx"
        onnx.save(self.quantized.model, self.int8)
        onnx.save(against_models.to_products(self.quantized.model)[0], self.products)
        onnx.save(against_models.to_half(self.model, onnx.TensorProto.FLOAT16), self.half)
        onnx.save(against_models.to_half(self.model, onnx.TensorProto.BFLOAT16), self.brain)
        # Above "basic" it writes LayerNormalization into models of opset 13, which ONNX does not have there.
        level = "basic" if name == "transformer" else "extended"
        assay("run", self.path, "-e", f"{ENGINE}:opt={level},save={self.optimised}", "-d", DATA, "--sandbox", "off")
        self.int8_loss = loss(run(self.int8, folder / f"{name}-int8-values")[0], self.output)


def healthy(zoo):
    """Undamaged versions are called fine. ONNX Runtime has few kernels for bfloat16: there a copy of the reference is the engine."""
    good = all_of = 0
    for made in (zoo.int8, zoo.products, zoo.half, zoo.brain, zoo.optimised):
        engine = "reference:round=on" if made == zoo.brain else ENGINE
        status, against, judge, why = compare(made, zoo.path, engine)
        fine = status == 0 and judge["verdict"] == "agrees" and against["damaged"] == 0
        good += fine
        all_of += 1
        print(f"{made.stem:26} loses {100 * against['loses']:.3g} %, engine {judge['verdict']}: "
              f"{'fine' if fine else 'NOT called fine: ' + against['answer'] + ' ' + why}", flush=True)
    return good, all_of


def planted(zoos, folder):
    """The damaged layer is named first."""
    random = numpy.random.default_rng(44)
    good = done = without = within_nothing = in_vain = 0
    while done < PLANTINGS:
        zoo, kind = zoos[done % len(zoos)], KINDS[(done // len(zoos) + done + in_vain // DRAWS) % len(KINDS)]
        bad, node, words = against_models.damage(zoo.quantized, kind, random)
        path = folder / f"planted-{done + without}.onnx"
        products = done % 2 == 1  # every other one in the form with QLinearConv and QLinearMatMul
        model, within = against_models.to_products(bad.model) if products else (bad.model, {})
        node = within.get(node, node)
        onnx.save(model, path)
        lost = loss(run(path, folder / f"planted-{done + without}-values")[0], zoo.output)
        if lost < max(2 * zoo.int8_loss, NOTHING):  # no damage that anybody would notice
            without += 1
            within_nothing += lost >= 2 * zoo.int8_loss
            in_vain += 1
            continue
        done += 1
        in_vain = 0
        status, against, judge, _ = compare(path, zoo.path)
        first = against["layers"][0]
        right = status == 1 and first["damaged"] and first["node"] == node and judge["verdict"] == "agrees"
        good += right
        print(f"{zoo.name:12} {'products, ' if products else ''}{words}: loses {100 * lost:.3g} % for {100 * zoo.int8_loss:.3g} %: "
              f"{'named' if right else 'NOT named, ' + node + ': ' + against['answer'] + ' engine ' + judge['verdict']}", flush=True)
    print(f"{without} more drawn and left out: {without - within_nothing} that cost less than twice what the format itself does, and "
          f"{within_nothing} that cost less than half a unit in the last place of float32")
    return good, done


def engine_faults(zoos, folder):
    """A fault of the engine is called the engine's, and the damage beside it the model's."""
    random = numpy.random.default_rng(45)
    good = all_of = 0
    for zoo in zoos:
        bad, node, words = against_models.damage(zoo.quantized, "range", random)
        path = folder / f"{zoo.name}-beside.onnx"
        onnx.save(bad.model, path)
        for made in (zoo.int8, path):
            healthy = run(made, folder / f"{made.stem}-healthy", engine="reference:round=on")[0]
            _, alone, _, _ = compare(made, zoo.path, "reference:round=on")
            for fault in FAULTS[:2] if QUICK else FAULTS:
                engine = f"reference:fault={fault}"
                if loss(run(made, folder / f"{made.stem}-{fault}", engine=engine)[0], healthy) < 1e-3:
                    continue  # the model does not show it
                status, against, judge, _ = compare(made, zoo.path, engine)
                right = status == 1 and judge["verdict"] == "wrong" and against["damaged"] == alone["damaged"]
                good += right
                all_of += 1
                if not right:
                    print(f"{made.stem} with {fault}: NOT told apart: {judge['verdict']}, {against['answer']}", flush=True)
    return good, all_of


def kept_float(zoos, folder):
    """The fewest nodes in float32 bring the loss of a float16 model to a third, and ONNX Runtime runs it so."""
    good = 0
    for zoo in zoos:
        figure = max(compare(zoo.half, zoo.path)[1]["loses"] / 3, 1e-6)
        made = folder / f"{zoo.name}-kept.onnx"
        status, out, err = assay("compare", zoo.half, "--against", zoo.path, "-e", ENGINE, "-d", DATA, "--keep-float", f"{figure:.9f}",
                                 "--time", "60s", "--judge", "1", "--operators", "1", "-o", made)
        sentence = next((line for line in out.splitlines() if " nodes in float32" in line), err)
        reached = loss(run(made, folder / f"{zoo.name}-kept-values")[0], zoo.output) if made.exists() else numpy.inf
        right = status == 0 and reached <= figure * 1.01 + 1e-6
        good += right
        print(f"{made.stem:26} {100 * reached:.3g} % for {100 * figure:.3g} %: {'reached' if right else 'NOT reached: ' + sentence}; "
              f"{' '.join(sentence.split()[:7])}", flush=True)
    return good, len(zoos)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        zoos = [Zoo(model, folder) for model in MODELS]
        fine = named = apart = kept = 0, 0
        if "fine" in PARTS:
            fine = tuple(map(sum, zip(*[healthy(zoo) for zoo in zoos])))
        if "planted" in PARTS:
            named = planted(zoos, folder)
        if "apart" in PARTS:
            apart = engine_faults(zoos, folder)
        if "kept" in PARTS:
            kept = kept_float(zoos, folder)
    print(f"undamaged versions called fine: {fine[0]} of {fine[1]}; engine faults told from the format's loss: {apart[0]} of {apart[1]}; "
          f"--keep-float reached its figure: {kept[0]} of {kept[1]}")
    print(f"against: {named[0]} of {named[1]} damaged layers named first (target all, and all of the above)")
    return 0 if all(good == count for good, count in (named, fine, apart, kept)) else 1


sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.exit(main())
