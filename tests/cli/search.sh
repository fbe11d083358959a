# A search on a healthy and a faulty engine: the summary, the kept case, report and replay of it, resuming, mistakes.
# Numbers that depend on the course of the search are left out.
model classes.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,0,0, 0,1,0, 0,0,1, 1,1,1}> { s = MatMul(x, w) y = Softmax(s) }
END
engines='-e reference -e reference:fault=softmax-no-max'
numbers() { sed -E 's/hash [0-9a-f]+/hash/; s/(nan-softmax-)[0-9a-f]+/\1HASH/; s/[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?/N/g; s/ +/ /g; s/-nan/nan/'; }
assay search classes.onnx $engines --goal nan --until-reached --count 2000 -o one 2>/dev/null | numbers
assay findings one | numbers
ls one/cases | numbers
recipe=$("$build/src/cli/assay" findings one --format json | grep -o 'case cases/[^"]*' | head -1)
assay fuzz -e reference:fault=softmax-no-max --replay "$recipe" -o one | numbers
assay fuzz -e reference:fault=softmax-no-max --replay "$recipe" | numbers
assay fuzz -e reference --replay 'case cases/../classes' -o one
assay search classes.onnx -e reference --goal bound --level both --count 60 -o two --format json 2>/dev/null | grep -E '"(goal|level|fitness|model|reached|findings)"'
quietly search classes.onnx -e reference --goal bound --level both --count 120 -o two
assay search classes.onnx -e reference --goal bound --level weights --count 60 -o two | sed 's/[0-9a-f]\{16\}/HASH/'
# Mistakes, each before a folder is made.
assay search -e reference -o three
assay search classes.onnx -e reference -o three
assay search classes.onnx -e reference --goal nan
assay search classes.onnx -e reference --goal nan --population 1 -o three
assay search classes.onnx -e reference --goal nan --data nowhere -o three
assay search none.onnx -e reference --goal nan -o three
ls
