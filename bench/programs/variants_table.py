#!/usr/bin/env python3
"""Adds up what bench_variants printed in several runs: variants_table.py FILE...

Tables with the same head are added row by row, in the order in which they are met. Of the findings that are listed once for each signature the
counts are added, and the first case is kept. The last line is that of bench_variants, added up: "cases N refused N ... seconds T".
"""
import sys

tables, findings, totals = {}, {}, {}


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


for file in sys.argv[1:]:
    read(file)
write_tables()
for text, (count, lines) in findings.items():
    print(f"{count}\t{text}")
    for line in lines:
        print(line)
if "signatures" in totals:
    totals["signatures"] = len(findings)
print(*(f"{name} {number}" for name, number in totals.items()))
