"""The tables of bench/search, from the folder in which it keeps what was done."""
import json
import os
import sys

STRATEGIES = {"input": "IN", "weights": "WT", "both": "IN-WT"}
SEARCHES = ["ours", "paper", "random"]
# The networks on which the secant step and the leaps were chosen, before this bench existed.
TUNED = {"rnn", "lstm", "mobilenetv2", "vgg"}
# Guo et al., table 1: NET, IN, WT, IN-WT by pair of frameworks; table 3: NET, NaN and seconds on TensorFlow with Audee.
PAPER = {
    "lenet5": ("28 3 4 7", "71 5 7 16", "72 5 6 17", "8 2 2 5"),
    "resnet20": ("84 10 60 98", "84 9 59 100", "1 2 20 22", "15 4 5 7"),
    "vgg": ("10 1 6 8", "10 2 5 9", "6 2 6 9", "2 1 2 4"),
    "mobilenetv2": ("8 5 8 13", "9 7 7 10", "8 5 7 15", "- - - -"),
    "rnn": ("2 3 2 10", "2 2 2 10", "1 1 1 6", "- - - -"),
    "lstm": ("29 7 60 207", "2 5 10 15", "29 8 52 196", "- - - -"),
    "gru": ("21 6 10 16", "21 4 7 11", "19 5 5 11", "- - - -"),
}
PAPER_NAN = {"resnet20": (10, 17.5, 10.61), "vgg": (7, 11.35, 805.67), "mobilenetv2": (9, 16.55, 48.81)}
BASE = "onnxruntime@1.30.0"


def read_networks(folder, model):
    """Which engines are out, and how many variants were run and differed, by pair; or had a NaN, by engine."""
    out, pairs, strange = set(), {}, {}
    with open(f"{folder}/{model}.networks", encoding="utf-8") as file:
        for line in file:
            cells = line.split("\t")
            if cells[0] == "out":
                out.add(cells[1].strip())
            elif cells[0] == "pair":
                pairs[cells[1], cells[2]] = int(cells[3]), int(cells[4])
            elif cells[0] == "nan":
                strange[cells[1]] = int(cells[2]), int(cells[3])
    return out, pairs, strange


def read_cell(path):
    """What a search said of each of its networks; None when it was not run."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def cells_of(folder, stem, seeds):
    """By fitness, the searches of those seeds that all three have."""
    all_seeds = [[read_cell(f"{folder}/{stem}-{search}-{seed}.json") for search in SEARCHES] for seed in range(1, seeds + 1)]
    return [list(cells) for cells in zip(*[three for three in all_seeds if None not in three])]


def reached(cell):
    return sum(model["reached"] for model in cell["models"])


def searched(cells):
    return sum(len(cell["models"]) for cell in cells)


def mean(numbers, digits):
    return f"{sum(numbers) / len(numbers):.{digits}f}" if numbers else "-"


class Sums:
    """Networks reached and searched, and inconsistencies as the paper counts them, by fitness."""

    def __init__(self):
        self.reached = dict.fromkeys(SEARCHES, 0)
        self.found = dict.fromkeys(SEARCHES, 0)
        self.searched = self.searches = self.samples = 0

    def add(self, cells, level):
        self.searches += len(cells[0])
        self.searched += searched(cells[0])
        for search, of_search in zip(SEARCHES, cells):
            self.samples += sum(cell["cases"] for cell in of_search)
            for cell in of_search:
                self.reached[search] += reached(cell)
                # Other inputs of one network count once, other weights each.
                self.found[search] += sum(model["reached"] if level == "input" else model["inconsistent"] for model in cell["models"])

    def words(self):
        return ", ".join(f"{search} {self.reached[search]}" for search in SEARCHES) + f" of {self.searched}"


def mark(model):
    return model + ("" if model in TUNED else " *")


def show_variants(folder, models):
    print("NET: variants of each network on which two engines differ in the top class, of those that both run")
    pairs = sorted({pair for model in models for pair in read_networks(folder, model)[1]})
    print(f"{'':14}" + "".join(f"{a.split('@')[0][:6] + '-' + b[:7]:>16}" for a, b in pairs))
    total = [0, 0]
    for model in models:
        found = read_networks(folder, model)[1]
        row = [found.get(pair) for pair in pairs]
        total = [total[i] + sum(cell[i] for cell in row if cell) for i in range(2)]
        print(f"{model:14}" + "".join(f"{'-' if cell is None else f'{cell[1]} of {cell[0]}':>16}" for cell in row))
    print(f"in all {total[1]} of {total[0]}, {100 * total[1] / max(total[0], 1):.2f} % (the paper: 15.49 %)\n")


def show_searches(folder, models, partners, networks, seeds):
    sums, untuned = Sums(), Sums()
    print(f"Networks, {networks} at most, on which the search reached different top classes (ours / the paper's fitness / random)")
    print(f"{'':14}{'pair':18}" + "".join(f"{name:>18}" for name in STRATEGIES.values()) + "   the paper's IN, WT, IN-WT (inconsistencies)")
    for model in models:
        for partner in partners:
            row = f"{mark(model):14}{'onnxruntime-' + partner:18}"
            if partner in read_networks(folder, model)[0]:
                print(row + f"{'-':>18}" * 3)
                continue
            for level in STRATEGIES:
                cells = cells_of(folder, f"top-{model}-{partner}-{level}", seeds)
                if not cells:
                    row += f"{'not run':>18}"
                    continue
                sums.add(cells, level)
                if model not in TUNED:
                    untuned.add(cells, level)
                row += f"{' / '.join(str(sum(map(reached, of_search))) for of_search in cells) + f' of {searched(cells[0])}':>18}"
            paper = [" ".join(numbers.split()[1:]) for numbers in PAPER[model]] if model in PAPER else []
            print(row + "   " + ("; ".join(paper) if partner == partners[0] else ""))
    print(f"networks reached: {sums.words()}; in {sums.searches} searches of each kind, {sums.samples} samples")
    print(f"  on networks that nothing was tuned on (*): {untuned.words()}")
    print("  inconsistencies as the paper counts them: " + ", ".join(f"{search} {sums.found[search]}" for search in SEARCHES) + "\n")
    return sums, untuned


def show_nan(folder, models, networks, seeds):
    sums, untuned = Sums(), Sums()
    print(f"NaN or infinity on {BASE}: NET of all variants that it runs; networks reached, of {networks} at most, by inputs and weights;")
    print("samples and seconds to the first, the mean over those reached (the paper's: TensorFlow, 20 networks, half an hour)")
    print(f"{'':14}{'NET':>12}" + "".join(f"{search:>10}{'samples':>9}{'s':>7}" for search in SEARCHES) + "   the paper's NET, NaN, s")
    for model in models:
        run, strange = read_networks(folder, model)[2][BASE]
        row = f"{mark(model):14}{f'{strange} of {run}':>12}"
        cells = cells_of(folder, f"nan-{model}", seeds)
        if cells:
            sums.add(cells, "input")
            if model not in TUNED:
                untuned.add(cells, "input")
        for of_search in cells:
            firsts = [(m["first_genome"], m["first_genome"] * cell["seconds"] / max(cell["cases"], 1))
                      for cell in of_search for m in cell["models"] if m["reached"]]
            row += f"{f'{len(firsts)} of {searched(of_search)}':>10}{mean([f[0] for f in firsts], 0):>9}{mean([f[1] for f in firsts], 2):>7}"
        paper = PAPER_NAN.get(model)
        print(row + ("" if cells else "   not run") + ("   {} {} {}".format(*paper) if paper else ""))
    print(f"networks reached: {sums.words()}; on networks that nothing was tuned on (*): {untuned.words()}\n")
    return sums, untuned


def ratio(sums, other):
    return sums.reached["ours"] / sums.reached[other] if sums.reached[other] else float("inf") if sums.reached["ours"] else 0


def main(folder, networks, count, seeds, models, partners):
    models, partners = models.split(), partners.split()
    print(f"{count} changed samples for each network at most, in {seeds} searches with seeds of their own\n")
    show_variants(folder, models)
    top, nan = show_searches(folder, models, partners, networks, int(seeds)), show_nan(folder, models, networks, int(seeds))
    ratios = [ratio(sums, other) for sums in (top[0], nan[0]) for other in ("random", "paper")]
    words = [f"{sums.reached['ours']}:{sums.reached[other]}" for sums in (top[0], nan[0]) for other in ("random", "paper")]
    print("search: ours to random and to the paper's fitness: networks with different top classes {} and {}, with NaN {} and {} "
          "(target 2:1 each)".format(*words))
    return 0 if min(ratios) >= 2 else 1


sys.exit(main(*sys.argv[1:]))
