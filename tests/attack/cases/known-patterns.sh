# Known issues that a campaign's folder brings, and findings to compare them with: patterns of many stars take time in
# proportion to what they are compared with, very many issues are refused, and all of them together have a time limit.
SECONDS_EACH=20
holds fuzz -e identity --no-probe --no-reduce --no-known --ops Relu --count 40 -o found
cat >facts.py <<'PY'
import json
import sqlite3
import sys

base = sqlite3.connect("found/assay.db")
rows = base.execute("SELECT name, value FROM state WHERE name LIKE 'facts%'").fetchall()
assert rows
for name, value in rows:
    facts = json.loads(value)
    facts["nodes"] = [dict(facts["nodes"][0], op=sys.argv[1], attributes={"text": "a" * 60}) for _ in range(int(sys.argv[2]))]
    base.execute("UPDATE state SET value = ? WHERE name = ?", (json.dumps(facts), name))
base.commit()
PY
issue()
{
    number=$((${number:-0} + 1))
    printf '[x%d]\nengine = identity\nsymptom = wrong nan shape dtype rejected failed crash hang\n' "$number"
    printf 'opset = 1..100\ncause = none\n%s\n' "$1"
}
stars=$(printf '* Relu %.0s' $(seq 15))
letters=$(printf 'a*%.0s' $(seq 30))
python3 facts.py Relu 60
issue "operators = $stars None" >found/known.ini
holds findings found
holds findings found --mute "$(python3 -c 'import sqlite3; print(sqlite3.connect("found/assay.db").execute("SELECT name FROM findings").fetchone()[0])')" --because it
holds report found --no-bisect --no-reduce
holds fuzz -e identity --no-probe --no-reduce --ops Relu --count 60 -o found
python3 facts.py "$(printf 'a%.0s' $(seq 60))" 60
{ issue "operators = ${letters}b"; issue "operators = *"$'\n'"attribute = text=${letters}b"; } >found/known.ini
holds findings found
for i in $(seq 2100); do printf '[i%d]\n' "$i"; done >found/known.ini
holds findings found
[ "$status" = 2 ] || fail "status $status with very many issues"
says 'known.ini:2001: more than 2000 issues' err
# Whatever takes long in spite of all that ends with the deadline.
python3 facts.py Relu 20000
slow="* $(printf '*e?u|R*?|*l?|???? %.0s' $(seq 30)) None"
for i in $(seq 100); do issue "operators = $slow"; done >found/known.ini
holds fuzz -e identity --no-probe --no-reduce --ops Relu --count 80 --deadline 1s -o found
[ "$status" = 2 ] || fail "status $status with slow issues"
says 'known.ini with the findings takes longer than 1 s' err
