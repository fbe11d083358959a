# What a healthy and a faulty engine can do: text, JSON, the page, what is kept, and engines that do not start.
assay probe -e reference --ops Relu,Conv
assay probe -e reference -e reference:fault=conv-rotated --ops Relu,Conv --quick
assay probe -e reference --ops Neg --quick --format json | grep -v '"declared": "[A-Za-z]*,' # all of the table
assay probe -e reference --ops Neg,Relu --quick --trace | tail -n 5
quietly probe -e reference:fault=conv-rotated -e reference --ops Conv --quick --format html -o page.html
grep -c '"engine": "reference@[0-9.]*:fault=conv-rotated"' page.html
grep -ciE 'https?:|@DATA@' page.html
quietly probe -e reference --ops Neg --quick --keep kept
ls kept
assay probe -e reference --kept --keep kept
assay probe -e reference:fault=conv-rotated --kept --keep kept
# A crash is a finding, whatever the operator; a refusal too.
assay probe -E "$bad" -e bad:mode=segv-load --ops Not --quick
assay probe -E "$bad" -e bad:mode=hang --ops Xor --quick --deadline 1s | sed -n '/^engine  *cases/,$p'
assay probe -E "$bad" -e absent --ops Not
assay probe -e reference --ops Frobnicate
assay probe -e reference Relu
assay probe
# A table that stands in the engine's own documents.
assay probe -e reference --ops Neg,Relu --quick --format csv | head -6
{ echo '# Ours'; echo; "$build/src/cli/assay" probe -e reference -e reference:fault=conv-rotated --ops Neg,Conv --quick --format markdown; echo; echo more; } >page.md
cat page.md
assay probe -e reference -e reference:fault=conv-rotated --ops Neg,Conv --quick --format markdown --check page.md
sed -i 's/^| Neg | float32/| Neg | float8/' page.md
assay probe -e reference -e reference:fault=conv-rotated --ops Neg,Conv --quick --format markdown --check page.md
assay probe -e reference --ops Neg --quick --check page.md
assay probe -e reference --ops Neg --quick --format csv --check nosuch
