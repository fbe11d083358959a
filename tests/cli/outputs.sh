# Nothing is removed or overwritten that Assay did not make. `kept` says when something of the user's changed.
bn="$cases/node/test_batchnorm_epsilon" abs="$cases/node/test_abs"
fault=reference:fault=bn-sqrt-var
mkdir mine
echo notes >mine/notes.txt
echo 'int main;' >code.c
cp "$abs/model.onnx" model.onnx
cp -r "$abs/test_data_set_0" data
ln -s nowhere dangling
before=$(find . | sort | xargs -d '\n' ls -ld --time-style=full-iso; find . -type f | sort | xargs md5sum)
kept()
{
    [ "$before" = "$(find . | sort | xargs -d '\n' ls -ld --time-style=full-iso; find . -type f | sort | xargs md5sum)" ] || echo "CHANGED by: $*"
}
# Refused with and without --force: folders, files, links, the current folder and those above.
for folder in mine mine/ . .. code.c code.c/ code.c/in dangling data ''; do
    for force in '' --force; do
        (assay report "$bn" -e $fault -o "$folder" $force 2>&1; kept report "$folder" $force)
        quietly reduce "$bn" -e $fault -o "$folder" $force
        kept reduce "$folder" $force
    done
done | sed -E '/^\$/d; /^$/d'
# Files for reports: never what is read, other files by force alone.
for file in code.c model.onnx mine nowhere/result.json dangling ''; do
    assay compare model.onnx -e reference -o "$file"
    kept compare "$file"
done
assay compare model.onnx -e reference -o model.onnx --force
assay compare model.onnx -e reference -d data -o data/input_0.pb --force
assay conform "$abs" -e reference -o code.c
assay localize model.onnx -e reference --format html -o code.c
assay bisect model.onnx -e reference -o code.c
assay replay "$abs" -e reference --format junit -o code.c
assay replay "$abs" -e reference --known code.c -o code.c --force
assay engines -o code.c
assay probe -e reference --ops Neg --quick -o code.c
assay blocks list -o code.c
assay blocks show attention -o code.c
assay fuzz -e reference --no-probe --count 1 -o mine
assay fuzz -e reference --no-probe --count 1 -o code.c
assay fuzz -e reference --no-probe --count 1 -o ''
assay fuzz -e reference --no-probe --count 1 -o .
kept all
# Reports are written again and again, in every format; what is no report by force.
for format in text json junit; do
    quietly compare model.onnx -e reference --format $format -o result.$format
    quietly compare model.onnx -e reference --format $format -o result.$format
done
quietly localize model.onnx -e reference --format html -o map.html
quietly localize model.onnx -e reference --format html -o map.html
quietly probe -e reference --ops Neg --quick --format html -o probe.html
quietly probe -e reference --ops Neg --quick --format json -o probe.html
head -n 1 result.text
head -n 2 result.json
quietly engines -o code.c --force
head -n 1 code.c
# A bundle is replaced by force, unless somebody put something into it or it is what is read.
quietly report "$bn" -e $fault -o bundle
mkdir empty
quietly report "$bn" -e $fault -o empty/
(mkdir here && cd here && quietly report "$bn" -e $fault -o . && ls)
assay report "$bn" -e $fault -o bundle
assay report "$bn" -e $fault -o bundle --force | sed -E 's/-[0-9a-f]{12}/-HASH/'
assay report bundle -e $fault -o bundle --force
assay report bundle/model.onnx -e $fault -o bundle --force
(cd bundle && assay report "$bn" -e $fault -o . --force)
echo fixed in May >bundle/notes.txt
assay report "$bn" -e $fault -o bundle --force
cat bundle/notes.txt
quietly reduce "$bn" -e $fault -o small
assay reduce "$bn" -e $fault -o small
quietly reduce "$bn" -e $fault -o small --force
find small -type f | sort
ls -A
# Outputs, blocks, probes and answers that are there.
assay run model.onnx -e identity -o saved | tail -n 1
echo mine >saved/identity/test_data_set_0/output_0.pb
assay run model.onnx -e identity -o saved
cat saved/identity/test_data_set_0/output_0.pb
quietly run model.onnx -e identity -o saved --force
cmp -s saved/identity/test_data_set_0/output_0.pb <(echo mine) && echo kept
model net.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 13]> net (float[1, 4, 8] x, float[8, 6] w) => (float[1, 4, 6] y) { a = Relu (x) y = MatMul (a, w) }
EOF
quietly blocks harvest net.onnx -o blocks
quietly blocks harvest net.onnx -o blocks
for block in blocks/*; do echo '# mine' >"$block"; done
assay blocks harvest net.onnx -o blocks | sed -E 's/-[0-9a-f]+[.]/-HASH./'
cat blocks/*
mkdir probes
echo mine >"probes/$(assay probe -e reference --ops Neg --quick | grep -oE 'reference@[0-9.]+' | head -n 1).json"
assay probe -e reference --ops Neg --quick --keep probes | sed -E 's/@[0-9.]+[.]json/@VERSION.json/' | tail -n 3
cat probes/*
