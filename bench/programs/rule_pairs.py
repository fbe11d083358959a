#!/usr/bin/env python3
"""The pairs of rule and fault that bench/rules --quick tries, from what the program of bench/rules printed: for each rule the
fault that it finds most often, for each fault the rule. A fault that depends on the past is only for rules about running.

usage: bench/programs/rule_pairs.py LOG...
"""
import re
import sys

PAST = {"sum-not-cleared": ["again"], "halves-stay": ["fresh"], "tuned-kernel": ["after-another"], "crop-unwritten": ["dirty-memory"]}
rate = {}  # (rule, fault): finds of tries
for path in sys.argv[1:]:
    for line in open(path, encoding="utf-8"):
        row = re.match(r"(\S+) .* \d+ rules:((?: \S+ \d+/\d+)*)$", line)
        for rule, found, tried in re.findall(r" (\S+) (\d+)/(\d+)", row[2]) if row else ():
            if rule in PAST.get(row[1], [rule]):
                rate[rule, row[1]] = max(rate.get((rule, row[1]), 0), int(found) / int(tried))


def best(position):
    """For each rule (0) or fault (1) the pair that is found most often."""
    for name in sorted({pair[position] for pair in rate}):
        yield max((pair for pair in rate if pair[position] == name), key=lambda pair: (rate[pair], pair))


print("\n".join(" ".join(pair) for pair in sorted({*best(0), *best(1)})))
