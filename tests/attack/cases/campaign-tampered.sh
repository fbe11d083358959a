# Numbers in the database of a campaign that cannot be are refused before they are added to.
holds fuzz -e identity --no-probe --no-reduce --ops Relu --count 20 -o found
for text in 'first 18446744073709551615' 'first 9223372036854775807' 'cases 18446744073709551000' 'elapsed 1e300'; do
    rm -rf other
    cp -r found other
    python3 - "$text" <<'END'
import re, sqlite3, sys
word = sys.argv[1].split()[0]
base = sqlite3.connect("other/assay.db")
(value,), = base.execute("SELECT value FROM state WHERE name = 'fuzz-snapshot'").fetchall()
changed = re.sub(rf"(?m)^{word} .*$", sys.argv[1], value, count=1)
assert changed != value
base.execute("UPDATE state SET value = ? WHERE name = 'fuzz-snapshot'", (changed,))
base.commit()
END
    holds fuzz -e identity --no-probe --no-reduce --ops Relu --count 1040 -o other
    [ "$status" = 2 ] || { cat out err; fail "status $status with $text"; }
    says 'damaged' err
done
