"""second_opinion.py LIST PAGE: the verdicts of bench_trials --list by operator, and which differences the page settles."""
import collections
import sys

DIFFERS = ("wrong", "nan", "shape", "dtype")


def settled_by(page):
    found, inside = set(), False
    for line in open(page, encoding="utf-8"):
        inside = line.startswith("<!-- settled") or inside and not line.startswith("<!-- end")
        cells = [cell.strip() for cell in line.split("|")]
        if inside and len(cells) > 4:
            found |= {(name.strip(), verdict.strip()) for name in cells[1].split(",") for verdict in cells[2].split(",")}
    return found


def main(path, page):
    settled, rows, open_ones = settled_by(page), collections.defaultdict(collections.Counter), []
    for line in open(path, encoding="utf-8", errors="replace"):
        cells = line.rstrip("\n").split("\t")
        if len(cells) < 5 or cells[0] != "onnx-reference" or not cells[3].startswith("one "):
            continue
        verdict, text, recipe, operator = cells[1], cells[2], cells[3], cells[4].split(" ")[0]
        operator = operator or text.split(" ")[0]
        if verdict not in DIFFERS:
            rows[operator]["agrees" if verdict == "agrees" else "other"] += 1
        elif (operator, verdict) in settled:
            rows[operator]["settled"] += 1
        else:
            rows[operator]["not settled"] += 1
            open_ones.append(f"{recipe}: {verdict}: {text}")
    columns = ("agrees", "settled", "not settled", "other")
    print(f"{'operator':24}" + "".join(f"{name:>14}" for name in columns))
    for operator in sorted(rows):
        print(f"{operator:24}" + "".join(f"{rows[operator][name]:14}" for name in columns))
    print("\n".join(open_ones[:40]))
    total = {name: sum(row[name] for row in rows.values()) for name in columns}
    print(f"agrees {total['agrees']}, differs and is settled by the text {total['settled']}, lacks or fails or is not judged {total['other']}")
    print(f"second-opinion: {total['not settled']} differences not settled in {sum(total.values())} cases (target 0)")
    return 1 if total["not settled"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
