"""
held.py ASSAY CASES PYTHON [AROUND]: what `assay conform` makes of each backend of planted.py, on cases of ONNX in the folder
CASES, by that PYTHON, which has numpy and onnx. Prints each that is not as planted, and last "N of M mistakes are called what
they are".
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ["test_add", "test_relu", "test_dynamicquantizelinear"]
# On a case of several outputs a sequence of mistakes has the first one's class; NaN is no integer.
SKIPPED = {"gives_no_numbers": ["test_dynamicquantizelinear"]}


def rows(python):
    """Name, verdict and stage of each mistake, as planted.py says."""
    told = subprocess.run([*python, "-c", "import json, planted; print(json.dumps([[n, v, s] for n, (_, _, v, s) in "
                           "planted.MISTAKES.items()]))"], cwd=HERE, stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "PYTHONPATH": HERE, "PLANTED_AROUND": ""})
    return json.loads(told.stdout)


def main():
    assay, cases, python = sys.argv[1:4]
    around = sys.argv[4] if len(sys.argv) > 4 else ""
    planted = rows([python])
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as engines:
        engines.write(f"[planted]\ncommand = {python} {{libexec}}/onnx-backend/onnx_backend.py planted:right\nsee = {HERE}\n"
                      f"environment.PYTHONPATH = {HERE}\nenvironment.PLANTED_AROUND = {around}\n"
                      "environment.PYTHONDONTWRITEBYTECODE = 1\nenvironment.OMP_NUM_THREADS = 1\n")
        engines.flush()
        labels = ["planted"] + [f"planted:backend=planted:{name}" for name, _, _ in planted]
        done = subprocess.run([assay, "conform", *[os.path.join(cases, case) for case in CASES], "-E", engines.name,
                               "--deadline", "8s", "--memory", "1G", "--format", "json",
                               *[part for label in labels for part in ("-e", label)]], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    found = json.loads(done.stdout)["results"]
    expected = {f"planted:backend=planted:{name}": (name, verdict, stage) for name, verdict, stage in planted}
    expected["planted"] = ("right", "pass", "run")
    bad = set()
    for one in found:                                   # the first engine is the one without a mistake
        name, verdict, stage = expected[one["engine"]]
        if one["case"].split("/")[-1] in SKIPPED.get(name, []):
            continue
        if (one["verdict"], one["stage"]) != (verdict, stage):
            bad.add(name)
            if name == "right" or "right" not in bad:
                print(f"{name} on {one['case']}: {one['verdict']} at {one['stage']} ({one['message']}), not {verdict} at {stage}")
    if "right" in bad:
        print("the backend without a mistake does not pass")
    print(f"{len(planted) - len(bad - {'right'})} of {len(planted)} mistakes are called what they are")
    return 0 if found and not bad else 1


sys.exit(main())
