#!/usr/bin/env python3
"""causes_real.py BUILD yes|no: the parameter that `assay localize --method causal` names for known bugs of real engines,
beside the one that the write-up names (parameters.tsv beside the cases: case, engine, parameter; several that the write-up
names are joined by |, - is none). With yes only ten cases. An engine that is not there, or a case that does not fail on
it, is said and not counted. Beside it stands what Audee's algorithm 2 names (member "pairs"; values that end an engine or make a NaN
are no cures), scored by the same truth: exactly, or among others. The last line is `named N of M`."""
import json
import os
import subprocess
import sys
import time

build, quick = sys.argv[1], sys.argv[2] == "yes"
assay = os.path.join(build, "src/cli/assay")


def rows(folder):
    with open(os.path.join(folder, "parameters.tsv")) as file:
        for line in file:
            if line.strip() and not line.startswith("case\t"):
                case, engine, parameter = line.rstrip("\n").split("\t")
                yield os.path.join(folder, case), engine, parameter


def look(case, engine):
    command = [assay, "localize", os.path.join(case, "model.onnx"), "-e", engine, "--method", "causal", "--format", "json",
               "--deadline", "10"]
    data = os.path.join(case, "test_data_set_0")
    done = subprocess.run(command + ["--data", data], capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        return None, (done.stderr.strip().splitlines() or ["no answer"])[-1], set()
    found = json.loads(done.stdout)
    cause = found.get("cause")
    if not cause:
        return None, found.get("local", {}).get("text") or "nothing is wrong", set()
    return cause, cause["text"], {pair["parameter"] for pair in found.get("pairs", []) if not pair["instead"]}


right = many = paper_exact = paper_among = 0
seconds = 0.0
table = [row for folder in ("tests/known-bugs", os.path.join(build, "tests/found/cases")) for row in rows(folder)]
print(f"{'real bug':<48} {'engine':<22} {'written up':<24} {'named':<24} {'s':>5} right  {'algorithm 2':<24} right")
for case, engine, parameter in table[:: max(1, len(table) // 10)] if quick else table:
    start = time.time()
    cause, text, pairs = look(case, engine)
    took = time.time() - start
    name = "/".join(case.split("/")[-2:])
    if cause is None:
        print(f"{name:<48.48} {engine:<22} not counted: {text[:80]}")
        continue
    named = "+".join(p["parameter"] for p in cause["parameters"]) or "-"
    ok = named in parameter.split("|")
    many += 1
    right += ok
    wanted = set(parameter.split("|")) - {"-"}
    exact = (pairs <= wanted and bool(pairs)) if wanted else not pairs
    among = bool(pairs & wanted) if wanted else not pairs
    paper_exact += exact
    paper_among += among
    seconds += took
    print(f"{name:<48.48} {engine:<22} {parameter:<24} {named:<24} {took:5.1f} {'yes' if ok else 'NO':<5}  {'+'.join(sorted(pairs)) or '-':<24} "
          f"{'yes' if exact else 'among others' if among else 'NO'}")
    if not ok:
        print(f"    {text}")
    sys.stdout.flush()
print(f"real bugs: {right} of {many} named as the write-up names them; {seconds / max(many, 1):.1f} s a case")
print(f"algorithm 2 of Audee's paper: {paper_exact} of {many} exactly, {paper_among} of {many} among others")
print(f"named {right} of {many}")
