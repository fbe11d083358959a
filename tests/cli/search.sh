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
# A NaN that ArgMax hides is seen where it is made.
model hidden.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[N,8] x) => (int64[N] y) { r = Sqrt(x) y = ArgMax <axis = 1, keepdims = 0> (r) }
END
assay search hidden.onnx -e reference --goal nan --until-reached --count 2000 -o hidden 2>/dev/null | grep -E '^\$|^hidden:|reached' | numbers
# So it is by fuzz where the NaN is an engine's mistake: in every second model what ArgMax is given is an output.
quietly fuzz -e reference:round=on,fault=sqrt-zero-nan --no-probe --no-reduce --ops Sqrt,ArgMax --blocks 2 --count 16 -o wrong
plan=$("$build/src/cli/assay" findings wrong --format json | grep -o 'plan [^"]*' | head -1)
for recipe in "$plan" "${plan/ show/}"; do
    assay fuzz -e reference:round=on,fault=sqrt-zero-nan --replay "$recipe" | grep -E '^\$|^reference' | numbers
done
# Illegal variants of a network: an engine that dies of a kernel of 0, beside one that refuses it.
model conv.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,1,4,4] x) => (float[1,1,2,2] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}> { y = Conv <kernel_shape = [3, 3]> (x, w) }
END
quietly search conv.onnx -e reference -e reference:fault=kernel-zero-crash --level network --variants illegal --no-reduce --count 160 -o net
assay findings net | sed -E 's/-[0-9a-f]{12}/-HASH/; s/ +/ /g'
quietly search conv.onnx -e reference -e reference:threads=2 --level network --variants legal --no-reduce --count 40 -o legal
assay findings legal
# One engine is enough for variants: the reference judges them.
assay search conv.onnx -e reference:fault=kernel-zero-crash --level network --no-reduce --count 160 -o alone | grep -E "^\\$|no other"
assay findings alone | sed -E 's/-[0-9a-f]{12}/-HASH/; s/ +/ /g'
# Mistakes, each before a folder is made.
assay search -e reference -o three
assay search classes.onnx -e reference -o three
assay search classes.onnx -e reference --goal nan
assay search classes.onnx -e reference --goal nan --population 1 -o three
assay search classes.onnx -e reference --goal nan --kept 24 -o three
assay search classes.onnx -e reference --goal nan --crossover 1.5 -o three
quietly search classes.onnx -e reference --goal bound --kept 3 --crossover 0.9 --mutation 0.1 --fitness paper --count 60 -o paper
assay search classes.onnx -e reference --goal bound --fitness paper --count 60 -o paper | sed 's/[0-9a-f]\{16\}/HASH/'
assay search classes.onnx -e reference --goal nan --data nowhere -o three
assay search none.onnx -e reference --goal nan -o three
ls
