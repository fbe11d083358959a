# What takes long counts on a terminal what is done: on an engine that takes 0.9 s for an answer, all commands at once.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
model copies.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { a = Identity(x) b = Identity(a) c = Identity(b) y = Identity(c) }
END
model wrong.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { a = Neg(x) b = Identity(a) y = Identity(b) }
END
mkdir suite
for i in 1 2 3 4; do cp -r "$cases/node/test_identity" suite/case$i; done
watch() # NAME ARGS...: the line of progress, whenever it was drawn, in NAME
{
    local name=$1 words
    shift
    words=$(printf '%q ' timeout 12 "$build/src/cli/assay" "$@" -E "$bad")
    script -qec "stty cols 150; exec $words" /dev/null </dev/null 2>&1 | tr '\r' '\n' >"$name.all"
    grep -aE '  [0-9]+ s(, [0-9]+ s left)?$' "$name.all" >"$name"
}
slow='-e bad:mode=slower'
watch run run copies.onnx -n 5 $slow &
watch compare compare copies.onnx -n 5 $slow &
watch localize localize copies.onnx -n 5 $slow &
watch nodes localize copies.onnx $slow &
watch conform conform suite $slow &
watch check check copies.onnx --rules identity,again --time 4s $slow &
watch reduce reduce "$cases/node/test_identity/model.onnx" -e bad:mode=hang --deadline 1s --time 3s &
watch causes compare wrong.onnx $slow &
watch report report wrong.onnx $slow -o bundle &
watch replay replay suite/* $slow &
watch fuzz fuzz --count 1 --ops Neg --no-probe --no-reduce $slow -o fuzzed &
watch search search wrong.onnx --level both --goal bound --count 4 --population 2 --random 2 --no-reduce $slow -o searched &
wait
for name in run compare localize nodes conform check reduce replay; do
    echo "$name: $(grep -aqE '[ :][1-9][0-9]*/[0-9]+|[1-9][0-9]* run|candidates [1-9]' $name && echo counts || cat $name)"
done
# Where something else is done after that, it goes on counting.
grows() # FILE WORDS COUNT: two lines with these words have other counts
{
    local counts
    counts=$(grep -aE "$2" "$1" | grep -aoE "$3" | sort -u | wc -l)
    [ "$counts" -ge 2 ] && echo "$1: goes on counting" || cat "$1"
}
grows causes 'looking for the cause' '[0-9]+ runs?'
grows report '\[Kreport' '[0-9]+ runs?'
grows fuzz 'at work' '[0-9]+ runs?'
grows search.all 'cases' 'cases +[0-9]+'
# No more time is left than --time leaves.
sed -nE 's/.*, ([0-9]+) s left$/\1/p' check | awk '$1 > 4 { print $1 " s left" } END { print NR ? "time left is told" : "no time left is told" }'
