"""The tables of bench/nan, from the folder in which it keeps what was done.

nan_table.py table FOLDER SECONDS, where what took longer does not count; nan_table.py samples CELL prints the samples
of one search; nan_table.py reached CELL ends with 0 when it reached its goal.
"""
import json
import os
import statistics
import sys

SEARCHES = ["ours", "random", "paper"]


def read(path):
    """What a search said of its one network; None when there was none."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    return {**whole["models"][0], "verdicts": whole["engines"][0]["verdicts"]}


def is_run(cell):
    """Whether the engine runs the network: a fitness shows it, or answers to a first generation that did not end in time. One
    that was not heard of in time counts as one that does."""
    return cell["reached"] or cell["best"] != "-inf" or not cell["verdicts"] or "undecided" in cell["verdicts"]


def is_reached(cell, seconds):
    return cell["reached"] and cell["first_seconds"] <= seconds


def networks(folder, name):
    with open(f"{folder}/{name}.tsv", encoding="utf-8") as file:
        return [dict(zip(["name", "nodes", "softmax", "finite"], line.rstrip("\n").split("\t"))) for line in file]


def cells(folder, label, name):
    return {search: read(f"{folder}/{label}-{name}-{search}.json") for search in SEARCHES}


def words(cell):
    if cell is None:
        return f"{'':8}{'':9}{'':8}"
    if not is_run(cell):
        return f"{'?':>8}{'':9}{'':8}"
    if cell["reached"]:
        return f"{'yes':>8}{cell['first_genome']:>9}{cell['first_seconds']:>8.2f}"
    return f"{'-':>8}{cell['genomes']:>9}{'':8}"


def show(title, folder, label, rows, searches):
    print(title)
    print(f"{'network':16}{'nodes':>6}  {'finite':8}" + "".join(f"{s:>8}{'samples':>9}{'s':>8}" for s in searches))
    for row in rows:
        of_row = cells(folder, label, row["name"])
        print(f"{row['name']:16}{row['nodes']:>6}  {row['finite']:8}" + "".join(words(of_row[s]) for s in searches))
    print()


def show_engine(folder, label, rows, seconds):
    """Returns the part of the networks that can which ours reached, and whether no other was."""
    show(f"{label}: level input", folder, label, rows, SEARCHES)
    runs = [(row, cells(folder, label, row["name"])) for row in rows]
    runs = [(row, of_row) for row, of_row in runs if of_row["ours"] and is_run(of_row["ours"])]
    able = [(row, of_row) for row, of_row in runs
            if row["finite"] == "-" or any(cell and cell["reached"] for cell in of_row.values())]
    wrong = [row["name"] for row, _ in able if row["finite"] != "-"]
    for search in SEARCHES:
        tried = [of_row[search] for _, of_row in able if of_row[search]]
        hits = [cell for cell in tried if is_reached(cell, seconds)]
        first = f"{statistics.median(hit['first_seconds'] for hit in hits):.2f} s" if hits else "-"
        print(f"  {search}: {len(hits)} of {len(tried)} networks that can, the first after {first} (median)")
    print(f"  {len(runs) - len(able)} stay finite, {len(rows) - len(runs)} are not run by the engine (?)")
    for name in wrong:
        print(f"  {name} was said to stay finite and does not")
    print()
    return sum(is_reached(of_row["ours"], seconds) for _, of_row in able) / len(able), not wrong


def main(folder, seconds):
    engines = [show_engine(folder, "onnxruntime", networks(folder, "outputs"), seconds),
               show_engine(folder, "reference", networks(folder, "values"), seconds)]
    rows = [row for row in networks(folder, "softmax") if row["softmax"] == "softmax"]
    show("fault=softmax-no-max: level input", folder, "fault", rows, ["ours"])
    run = [row for row in rows if is_run(cells(folder, "fault", row["name"])["ours"] or {"verdicts": {"unsupported": 1}})]
    weights = [row for row in rows if cells(folder, "weights", row["name"])["ours"]]
    show("fault=softmax-no-max: level both, where inputs alone do not suffice", folder, "weights", weights, ["ours"])
    found = sum(any((cells(folder, label, row["name"])["ours"] or {}).get("reached") for label in ("fault", "weights")) for row in run)
    print(f"  a NaN in {found} of {len(run)} networks with a Softmax")
    worst = min(part for part, _ in engines)
    print(f"nan: {100 * worst:.0f} % reached, {found} of {len(run)} with the fault (target 90 %, all)")
    return 0 if worst >= 0.9 and found == len(run) and all(good for _, good in engines) else 1


if sys.argv[1] == "samples":
    print(read(sys.argv[2])["genomes"])
elif sys.argv[1] == "reached":
    sys.exit(0 if read(sys.argv[2])["reached"] else 1)
else:
    sys.exit(main(sys.argv[2], float(sys.argv[3])))
