#!/usr/bin/env python3
"""Faults in gradients by swapping: each model of gradient_models.txt on the healthy and the faulty reference.

    gradient_swap.py BUILD

A fault is named when the suspects are exactly nodes of the model's operator at fault (the one that makes a), and the
verification confirms them. The last line is "named N of N".
"""
import json
import os
import re
import subprocess
import sys
import tempfile

build = sys.argv[1]
table = os.path.join(os.path.dirname(__file__), "gradient_models.txt")
named = count = 0
print(f"{'fault':24} {'operator':20} {'delta_G':>9} {'others':>9}  named")
with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "model.onnx")
    for line in open(table, encoding="utf-8"):
        if line.startswith("#"):
            continue
        fault, opset, inputs, form, nodes = line.strip().split("|")
        nodes = re.sub(r" (?=[a-z] = )", "\n", nodes)
        text = f'<ir_version: 8, opset_import: ["": {opset}]>\nmodel ({inputs}) => ({form} y)\n{{\n{nodes}\n}}\n'
        subprocess.run([f"{build}/tests/text-model", model], input=text, text=True, check=True)
        run = subprocess.run([f"{build}/src/cli/assay", "localize", model, "-e", "reference:round=on", "-e",
                              f"reference:round=on,fault={fault}", "--method", "swap", "--format", "json"],
                             capture_output=True, text=True, check=False)
        swap = json.loads(run.stdout)["swap"]
        guilty = re.search(r"^a = (\w+)", nodes, re.M)[1]
        suspects = {swap["nodes"][i]["operator"] for i in swap["suspects"]}
        deltas = {n["operator"]: n["delta_G"] for n in swap["nodes"] if isinstance(n["delta_G"], (int, float))}
        right = suspects == {guilty} and swap["verification"]["confirmed"]
        others = max([delta for name, delta in deltas.items() if name != guilty], default=0)
        print(f"{fault:24} {guilty:20} {deltas.get(guilty, 0):9.3g} {others:9.3g}  {'yes' if right else 'NO'}")
        count += 1
        named += right
print(f"named {named} of {count}")
