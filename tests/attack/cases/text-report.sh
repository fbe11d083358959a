# What a report quotes of an engine and a model stays in its place: no heading, image, link, emphasis or HTML of theirs when
# it is rendered. So do the lines that an engine writes to the file of its knob `source`, and titles in a list of findings.
models names-markup good
for mode in version reject-text source-text; do
    hostile $mode
    case $mode in source-text) of=good ;; *) of=names-markup ;; esac # programs are written for plain names alone
    holds report $of.onnx --random 10 "${engines[@]}" -o $mode
    [ "$status" = 1 ] || { cat out err; fail "there is no finding to report"; }
    clean $mode/report.md
    rendered $mode/report.md
done
says 'What the engine wrote' source-text/report.md

# A campaign of others, whose findings have the engine's words as titles.
holds fuzz -e identity --no-probe --no-reduce --ops Relu,Neg,Abs --count 30 -o found
python3 - "$ATTACK" <<'END'
import sqlite3, sys
sys.path.insert(0, sys.argv[1])
from texts import ALL, LINE
base = sqlite3.connect("found/assay.db")
names = [name for name, in base.execute("SELECT name FROM findings ORDER BY name")]
assert len(names) > 3, names
for number, name in enumerate(names[1:]):
    base.execute("UPDATE findings SET title = ? WHERE name = ?", (ALL if number % 2 else LINE, name))
base.execute("UPDATE findings SET name = ? WHERE name = ?", ("a](http://example.org/)<b>|c", names[-1]))
base.execute("UPDATE state SET value = ? WHERE name LIKE 'class %'", ("<i>class</i> | *x*",))
base.commit()
open("first", "w").write(names[0])
END
holds report found --show "$(cat first)" --no-bisect
clean found/findings/README.md
rendered found/findings/README.md found/findings/*/report.md

# The functions that all of this goes through, on texts drawn at random.
"$ATTACK/rendered" --texts "$BUILD/tests/marked" 3000 || fail 'markup came of a text'
