"""The table of bench/loop, from the folder with one file a round of each side."""
import os
import statistics
import sys

TARGET, BUSY = 1.2, 0.85
# Rows: what it is called, what the bare loop and a campaign have of it.
ROWS = [
    ("generating", (), ("core.generating",)),
    ("packing", (), ("core.packing",)),
    ("talking", (), ("core.talking",)),
    ("waking", (), ("core.waking",)),
    ("engine load", ("load",), ("cases.load",)),
    ("engine run", ("run",), ("cases.run",)),
    ("engine unload", ("unload",), ("cases.unload",)),
    ("adapter", (), ("cases.adapter",)),
    ("reference: load", (), ("reference.load", "reference.unload")),
    ("reference: run", (), ("reference.run",)),
    ("reference: adapter", (), ("reference.adapter",)),
    ("judging", (), ("core.judging",)),
    ("settling: core", (), ("core.settling",)),
    ("settling: engines", (), ("settling.load", "settling.run", "settling.unload", "settling.adapter")),
    ("storing", (), ("core.storing",)),
    ("rest of the core", (), ("core.rest", "core.threads")),
]


def read_bare(folder, number):
    """Both settings: their names and numbers in pairs, summed; the wall time is that of the slower."""
    sums, wall = {}, 0
    for setting in ("none", "all"):
        with open(f"{folder}/bare.{number}.{setting}", encoding="utf-8") as file:
            words = file.read().split()
        values = dict(zip(words[::2], map(float, words[1::2])))
        wall = max(wall, values["wall"])
        for name, value in values.items():
            sums[name] = sums.get(name, 0) + value
    sums["wall"] = wall
    return sums


def read_campaign(folder, side, number):
    path = f"{folder}/{side}.{number}"
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        pairs = [line.rsplit(" ", 1) for line in file]
    return {name: float(value) for name, value in pairs}


def whole(values):
    """Workers that were started meanwhile are left out, as the bare loop's start is."""
    return values["self"] + values["engines"] - values["starts"]


def main():
    folder, rounds, count, workers = sys.argv[1], *map(int, sys.argv[2:5])
    bare = [read_bare(folder, i) for i in range(rounds)]
    sides = {}
    for side in ("old", "new"):
        runs = [read_campaign(folder, side, i) for i in range(rounds)]
        if runs[0]:
            sides[side] = runs
    heads = ["bare", "old build", "campaign"] if "old" in sides else ["bare", "campaign"]
    middle = lambda values: statistics.median(values) * 1e6 / count
    print(f"{count} cases, {rounds} rounds, microseconds of processor time a case, medians")
    print(f"{'':20}" + "".join(f"{head:>12}" for head in heads))
    for title, of_bare, of_campaign in ROWS:
        cells = [middle([sum(r[n] for n in of_bare) for r in bare])] if of_bare else [None]
        cells += [middle([sum(r[n] for n in of_campaign) for r in runs]) for runs in sides.values()]
        print(f"{title:20}" + "".join(f"{cell:12.1f}" if cell is not None else f"{'-':>12}" for cell in cells))
    names = [name for _, _, of in ROWS for name in of]
    adds = {}
    cells = [middle([r["cpu"] for r in bare])]
    for side, runs in sides.items():
        cells.append(middle([whole(r) for r in runs]))
        adds[side] = statistics.median(sum(r[n] for n in names) / whole(r) for r in runs)
    print(f"{'whole, from outside':20}" + "".join(f"{cell:12.1f}" for cell in cells))
    print("the rows add up to " + ", ".join(f"{100 * a:.1f} %" for a in adds.values()) + " of the whole (95 to 105 asked)")
    ratios = {side: [whole(r) / b["cpu"] for r, b in zip(runs, bare)] for side, runs in sides.items()}
    for side, values in ratios.items():
        what = "times the bare loop" if side == "new" else "the old build, times the bare loop"
        print(f"{what}, by round: " + " ".join(f"{v:.3f}" for v in sorted(values)))
    if "old" in sides:
        turns = sorted(whole(n) / whole(o) for n, o in zip(sides["new"], sides["old"]))
        print("of what the old build takes, by round: " + " ".join(f"{v:.3f}" for v in turns)
              + f"; median {statistics.median(turns):.3f}")
    new = sides["new"]
    for name in sorted(n for n in new[0] if n.startswith("busy.")):
        print(f"{name[5:]:30} {statistics.median(r[name] for r in new):.2f} of its {workers} workers had a request on average")
    started = sum(int(r["started"]) for r in new)
    print(f"settling asked engines {statistics.median(int(r['settling.jobs']) for r in new):.0f} times in a round, {started} workers were "
          f"started in all, which is left out; engines were on every core at once "
          f"{100 * statistics.median(r['running'] for r in new):.1f} % of the wall time")
    ratio, busy = statistics.median(ratios["new"]), statistics.median(r["work"] for r in new)
    print(f"loop: an engine busy on every core {100 * busy:.1f} % of the wall time (target {100 * BUSY:.0f}), "
          f"the whole takes {ratio:.3f} times the bare loop (target {TARGET})")
    return 0 if ratio <= TARGET and busy >= BUSY and all(0.95 <= a <= 1.05 for a in adds.values()) else 1


sys.exit(main())
