#!/usr/bin/env python3
"""Adds up what bench_variants printed in several runs: variants_table.py FILE...

Tables with the same head are added row by row, in the order in which they are met. Of the findings that are listed once for each signature the
counts are added, and the first case is kept. What engines accept although libonnx forbids it (lines of --list) is counted by libonnx's reason
and by operator and parameter. The last line is that of bench_variants, added up: "cases N refused N ... seconds T".
"""
import collections
import sys

tables, findings, totals = {}, {}, {}
accepted = collections.defaultdict(collections.Counter)  # (engine, reason) -> operator and parameter -> how many

# Words of libonnx's checker and shape inference, and what they say of a model.
REASONS = [("Mismatched attribute type", "an attribute of another type"),
           ("Required attribute", "an attribute that is required is missing"),
           ("has an empty string in the graph", "an input that is required is missing"),
           ("Invalid tensor data type", "a cast to no type"),
           ("has incorrect size", "a list of the wrong length"),
           ("has incorrect length", "a list of the wrong length"),
           ("Mismatch between", "sizes of parts that do not fit"),
           ("Invalid value of attribute", "an axis beyond the rank"),
           ("axis must be in", "an axis beyond the rank"),
           ("Input axes has invalid data", "an axis beyond the rank"),
           ("must be 1 instead of", "Squeeze of an axis that is not 1"),
           ("type mismatch", "an input of a type that is not allowed"),
           ("Only supports", "an input of a type that is not allowed"),
           ("unsupported type", "an input of a type that is not allowed")]


def reason_of(words):
    return next((reason for part, reason in REASONS if part in words), words)


def note_accepted(line):
    """engine, "accepted", "Conv /conv1/Conv: strides 1,1 -> 2", libonnx's words, ..."""
    engine, _, change, words = line.split("\t")[:4]
    place, _, rest = change.partition(": ")
    accepted[engine, reason_of(words)][f"{place.split()[0]}.{rest.split()[0]}"] += 1


def is_number(word):
    return word.isdigit()


def read(path):
    rows, finding = None, None
    for line in open(path, encoding="utf-8", errors="replace"):
        line = line.rstrip("\n")
        words = line.split()
        if finding is not None and line.startswith("      "):
            finding.append(line)
        elif line.startswith("cases "):
            for name, number in zip(words[::2], words[1::2]):
                totals[name] = totals.get(name, 0) + int(number)
        elif "\t" in line:
            count, _, rest = line.partition("\t")
            finding = rows = None
            if rest.startswith("accepted\t"):
                note_accepted(line)
            if is_number(count):  # else a line of --list
                known = findings.setdefault(rest, [0, []])
                known[0] += int(count)
                finding = [] if known[1] else known[1]
        elif not words:
            rows = None
        elif len(words) > 2 and not any(map(is_number, words)):
            rows = tables.setdefault(line, {})
        elif rows is not None and all(map(is_number, words[1:])):
            row = rows.setdefault(words[0], [0] * (len(words) - 1))
            rows[words[0]] = [a + int(b) for a, b in zip(row, words[1:])]


def write_tables():
    for head, rows in tables.items():
        names = head.split()
        first = max(len(name) for name in [names[0], *rows])
        print(names[0].ljust(first), *(f"{name:>9}" for name in names[1:]))
        for name, row in rows.items():
            print(name.ljust(first), *(f"{number:>9}" for number in row))
        print()


def write_accepted():
    for (engine, reason), where in sorted(accepted.items(), key=lambda item: (item[0][0], -item[1].total())):
        print(f"accepted  {engine}  {where.total():>5}  {reason}")
        print("     ", ", ".join(f"{name} {count}" for name, count in where.most_common()))
    if accepted:
        print()


for file in sys.argv[1:]:
    read(file)
write_tables()
write_accepted()
for text, (count, lines) in findings.items():
    print(f"{count}\t{text}")
    for line in lines:
        print(line)
if "signatures" in totals:
    totals["signatures"] = len(findings)
print(*(f"{name} {number}" for name, number in totals.items()))
