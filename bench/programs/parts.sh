# Shared by benches that take hours: they are run in parts, one for each seed, whose results add up. LOG has a line for each part that is done
# (the seed, its numbers, the commit that last changed what is measured), so that a run that was interrupted goes on.

shopt -s inherit_errexit # a part that fails is no part

# parts_commit: the commit that last changed the kernels, their bounds or the judge, with "+" when the files differ from it.
parts_commit() {
  local commit
  commit=$(git log -1 --format=%h -- src/bounds src/ops src/eval src/judge)
  git diff --quiet HEAD -- src || commit+=+
  echo "$commit"
}

# parts_run LOG FIRST COUNT: for each of COUNT seeds from FIRST on that LOG has not, what "part SEED" says (numbers on one line).
parts_run() {
  local log=$1 seed numbers
  touch "$log"
  for ((seed = $2; seed < $2 + $3; seed++)); do
    grep -q "^$seed " "$log" && continue
    numbers=$(part "$seed")
    echo "$seed $numbers $(parts_commit)" >>"$log"
  done
}

# parts_sum LOG COLUMN: the sum of a column of numbers; the seed is column 1.
parts_sum() {
  awk -v column="$2" '{ sum += $column } END { printf "%d", sum }' "$1"
}

# parts_commits LOG: with how many parts of which commit it was measured.
parts_commits() {
  awk '{ n[$NF]++ } END { for (c in n) printf "%s%d parts at %s", (k++ ? ", " : ""), n[c], c; print "" }' "$1"
}
