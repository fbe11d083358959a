"""The tables of bench/nan, from the lines of bench_nan."""
import statistics
import sys

COLUMNS = ["network", "genes", "nodes", "softmax", "finite"]
SEARCHES = ["guided", "random", "paper"]


def read(path):
    rows = []
    for line in open(path):
        cells = line.rstrip("\n").split("\t")
        row = dict(zip(COLUMNS, cells))
        for i, search in enumerate(SEARCHES):
            seen, runs, seconds = cells[5 + 3 * i : 8 + 3 * i]
            row[search] = (seen, int(runs), float(seconds))
        rows.append(row)
    return rows


def show(title, rows):
    print(title)
    print(f"{'network':16}{'genes':>7}{'nodes':>6}  {'finite':8}" + "".join(f"{s:>8}{'runs':>7}{'s':>7}" for s in SEARCHES))
    for row in rows:
        cells = "".join(f"{row[s][0]:>8}{row[s][1]:>7}{row[s][2]:>7.2f}" for s in SEARCHES)
        print(f"{row['network']:16}{row['genes']:>7}{row['nodes']:>6}  {row['finite']:8}{cells}")
    print()


def reached(row, search="guided"):
    return row[search][0] in ("nan", "inf")


def main(folder):
    worst, good = 1.0, True
    for engine in ["onnxruntime", "reference"]:
        rows = read(f"{folder}/{engine}")
        show(f"{engine}: level input", rows)
        run = [row for row in rows if row["guided"][0] != "?"]
        able = [row for row in run if row["finite"] == "-" or any(reached(row, s) for s in SEARCHES)]
        wrong = [row["network"] for row in run if row["finite"] != "-" and row in able]
        for search in SEARCHES:
            hits = [row for row in able if reached(row, search)]
            first = statistics.median(row[search][2] for row in hits) if hits else float("nan")
            print(f"  {search}: {len(hits)} of {len(able)} networks that can, the first after {first:.2f} s (median)")
        print(f"  {len(run) - len(able)} stay finite, {len(rows) - len(run)} are not run by the engine")
        for name in wrong:
            print(f"  {name} was said to stay finite and does not")
        good = good and not wrong
        worst = min(worst, sum(map(reached, able)) / len(able))
        print()
    fault, weights = read(f"{folder}/fault"), read(f"{folder}/weights")
    show("fault=softmax-no-max: level input", fault)
    show("fault=softmax-no-max: level both, where inputs alone do not suffice", weights)
    run = [row for row in fault if row["guided"][0] != "?"]
    found = sum(row["guided"][0] == "nan" for row in run) + sum(row["guided"][0] == "nan" for row in weights)
    print(f"  a NaN in {found} of {len(run)} networks with a Softmax")
    print(f"nan: {100 * worst:.0f} % reached, {found} of {len(run)} with the fault (target 90 %, all)")
    return 0 if good and worst >= 0.9 and found == len(run) else 1


sys.exit(main(sys.argv[1]))
