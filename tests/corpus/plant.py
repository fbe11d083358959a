"""Plants faults in cases of an archive, as if engines gave other answers: plant.py FOLDER TO.

What is expected is changed in copies of a few cases: an element beyond its bound, NaN, another type, another shape. A reader that
calls one of them right would pass anything.
"""
import glob
import json
import os
import shutil
import struct
import sys

CASES = 3
FLOAT, INT32 = 1, 6
DIMS, TYPE, RAW = 1, 2, 9  # fields of TensorProto
FAULTS = {
    "far": lambda rows: change(rows, RAW, lambda raw: struct.pack("<f", 3e7) + raw[4:]),
    "nan": lambda rows: change(rows, RAW, lambda raw: struct.pack("<f", float("nan")) + raw[4:]),
    "type": lambda rows: change(rows, TYPE, lambda _: INT32),
    "shape": lambda rows: [(DIMS, 1)] + rows,
}


def change(rows, field, new):
    return [(number, new(value) if number == field else value) for number, value in rows]


def number_at(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def as_number(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + as_number(number >> 7)


def parse(data):
    """The fields of a message: number, and a number or bytes."""
    rows, at = [], 0
    while at < len(data):
        key, at = number_at(data, at)
        value, at = number_at(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        rows.append((key >> 3, value))
    return rows


def pack(rows):
    out = b""
    for number, value in rows:
        if isinstance(value, bytes):
            out += as_number(number << 3 | 2) + as_number(len(value)) + value
        else:
            out += as_number(number << 3) + as_number(value)
    return out


corpus, target = sys.argv[1:]
os.makedirs(target + "/cases")
planted = 0
for row in json.load(open(corpus + "/index.json"))["cases"]:
    folder = f"{corpus}/cases/{row['case']}"
    path = folder + "/test_data_set_0/output_0.pb"
    if not row["case"].startswith(("test_generated_Softmax_", "test_generated_Conv_")) or row["judged"] < row["elements"]:
        continue
    rows = parse(open(path, "rb").read())
    if (TYPE, FLOAT) not in rows or row["elements"] < 2:
        continue
    for what, fault in FAULTS.items():
        copy = f"{target}/cases/{row['case']}_{what}"
        shutil.copytree(folder, copy)
        open(copy + "/test_data_set_0/output_0.pb", "wb").write(pack(fault(rows)))
    planted += 1
    if planted == CASES:
        break
json.dump({"cases": []}, open(target + "/index.json", "w"))
sys.exit(0 if planted else "no case to plant in")
