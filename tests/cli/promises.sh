# What status 0 promises (docs/commands.md): for each cell of the table an engine that is wrong just where the cell says that it would
# be seen, and beside it what is healthy. Only the answer is shown.
answer() { assay "$@" | awk 'BEGIN { top = 1 } top || /^\[[0-9]+\]$/ { print } /^$/ { top = 0 } END { print "" }'; }
# Exp overflows early (from 11.1 on), the inputs of most samples are 0.
fault=reference:round=on,fault=exp-f16 healthy=reference:round=on
zeros() { npy "$1" '<f4' "$2, 2" $(($2 * 8)); }
twelve() { printf '\0\0\100\101\0\0\100\101' | dd of="$1" bs=8 seek=$(($2 + 16)) conv=notrunc status=none; }
zeros first.npy 1000 && twelve first.npy 0
zeros last.npy 1000 && twelve last.npy 999
zeros tame.npy 1000
model exp.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]> g (float[N,2] x) => (float[N,2] y) { y = Exp(x) }
EOF
# The last operator hides what is in front of it.
model inner.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]>
g (float[N,2] x) => (bool[N,2] y) <float half = {0.5}> { e = Exp(x) y = Greater(e, half) }
EOF
model branch.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]>
g (float[1,2] x) => (float[1,2] y) <float ten = {10}> {
    m = ReduceMax<keepdims = 0>(x)
    c = Greater(m, ten)
    y = If (c) <then_branch = big () => (float[1,2] a) { a = Exp(x) }, else_branch = small () => (float[1,2] b) { b = Neg(x) }>
}
EOF

# run: every sample is answered. This engine dies of a negative number.
npy minus.npy '<f4' '3, 2' '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\200\277\0\0\0\0'
answer run exp.onnx --data minus.npy -E "$bad" -e bad:mode=negative
# compare: the outputs of every sample are judged, every operator is on one at least.
for data in first last tame; do
    answer compare exp.onnx --data $data.npy --time 10m -e $fault
done
answer compare inner.onnx --data first.npy --time 10m -e $fault
answer compare inner.onnx --data first.npy --operators 1 --judge 1 -e $fault
answer compare inner.onnx --data tame.npy --judge 3 --operators 3 -e $healthy
# An engine that is wrong only among these nodes: each is right by itself, and the last one hides it.
model among.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]>
g (float[N,2] x) => (float[N,2] b, bool[N,2] y) <float low = {-10}> { a = Neg(x) b = Abs(x) c = Cos(a) y = Greater(c, low) }
EOF
answer compare among.onnx -n 3 -e reference:round=on,fault=next-node-only
answer compare branch.onnx --data first.npy --time 10m -e $fault
answer compare branch.onnx --data tame.npy --judge 3 --operators 3 -e $fault
# localize: all of the sample.
answer localize exp.onnx --data first.npy --sample 0 --method local -e $fault
answer localize inner.onnx --data first.npy --sample 0 --method local -e $fault
answer localize inner.onnx --data first.npy --sample 1 --method local -e $fault
# conform and replay: all data sets of all cases, and the operators behind outputs that are as expected.
model same.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]> g (float[N,2] x) => (float[N,2] y) { y = Identity(x) }
EOF
zeros two.npy 2 && twelve two.npy 1
quietly run same.onnx --data two.npy -e identity -o inputs
folder() { # NAME MODEL: a case of two data sets, of which the second wakes the fault
    quietly run $2 --data two.npy -e reference -o $1-outputs
    mkdir $1 && cp $2 $1/model.onnx
    for set in test_data_set_0 test_data_set_1; do
        mkdir $1/$set
        cp inputs/identity/$set/output_0.pb $1/$set/input_0.pb && cp $1-outputs/reference/$set/output_0.pb $1/$set
    done
}
folder outer exp.onnx
folder deep inner.onnx
for case in outer deep; do
    answer conform $case -e $fault
    answer replay $case -e $fault
    answer conform $case -e $healthy
done
# bisect: the outputs on each release that is run.
answer bisect exp.onnx --data two.npy -e $fault
answer bisect exp.onnx --data two.npy -e $healthy
# report: as compare.
for case in outer deep; do
    answer report $case -e $fault -o bundle-$case | sed -E 's/-[0-9a-f]{12}/-HASH/'
done
answer report deep -e $healthy -o none
# check: every form, against the model as it is. A Conv whose padding is spelled out is right, that of auto_pad is not.
model conv.onnx <<'EOF'
<ir_version: 7, opset_import: ["": 13]>
g (float[1,2,5,5] x, float[3,2,2,2] w) => (float[1,3,5,5] y) {
    c = Conv <auto_pad = "SAME_UPPER", kernel_shape = [2, 2]> (x, w)
    y = Relu(c)
}
EOF
answer check conv.onnx -e reference:round=on,fault=same-pad-side --rules auto-pad,identity,renamed
answer check conv.onnx -e $healthy --rules auto-pad,identity,renamed
# grad: every gradient on every sample, and at every step of the training. Relu lets gradients through where its input is negative:
# in the last sample; after the first step of the training.
model relu.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]> g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }
EOF
model weight.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]>
g (float[N,2] x) => (float[N,2] y) <float w = {0.125}> { m = Mul(x, w) y = Relu(m) }
EOF
npy below.npy '<f4' '3, 2' '\0\0\200\077\0\0\200\077\0\0\200\077\0\0\200\077\0\0\200\277\0\0\200\077'
npy above.npy '<f4' '1, 2' '\0\0\200\077\0\0\200\077'
npy under.npy '<f4' '1, 2' '\0\0\200\277\0\0\200\277'
for engine in reference:round=on,fault=relu-gradient $healthy; do
    answer grad relu.onnx --data below.npy -e $engine
    answer grad weight.onnx --data above.npy -e $engine
    answer grad weight.onnx --data above.npy -e $engine --loss y --train 3 --rate 0.5
done
answer grad relu.onnx --data under.npy -e $healthy
# decode: every operator at every step. This one is given 12 at the last step, and nothing of it reaches the logits.
model decoder.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 13]>
g (int64[1,s] input_ids, float[1,1,p,2] past_0) => (float[1,s,8] logits, float[1,1,t,2] present_0)
<int64[4] tokens = {1, 1, -1, 1}, int64[4] twice = {1, 1, 1, 2}, int64 depth = {8}, float[2] values = {0, 1}, int64 where = {2},
 float two = {2}, float half = {0.5}>
{
    f = Cast <to = 1> (input_ids)
    r = Reshape(f, tokens)
    n = Expand(r, twice)
    present_0 = Concat <axis = 2> (past_0, n)
    shape = Shape(present_0)
    long = Gather(shape, where)
    length = Cast <to = 1> (long)
    m = Mul(length, two)
    e = Exp(m)
    c = Greater(e, half)
    d = Cast <to = 1> (c)
    o = OneHot(input_ids, depth, values)
    logits = Add(o, d)
}
EOF
for steps in 1 2; do
    answer decode decoder.onnx -e $fault --prompt 1,2,3,4 --steps $steps
done
answer decode decoder.onnx -e $healthy --prompt 1,2,3,4 --steps 2
# search: only what was judged.
model classes.onnx <<'EOF'
<ir_version: 8, opset_import: ["" : 13]>
g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,0,0, 0,1,0, 0,0,1, 1,1,1}> { s = MatMul(x, w) y = Softmax(s) }
EOF
numbers() { sed -E 's/([0-9,]+) changed samples in [0-9]+ s/\1 changed samples in T s/; s/[0-9,]+ (samples that|of them|only compared)/N \1/g'; }
answer search classes.onnx -e $healthy -e reference:round=on,threads=2 --goal bound --count 60 -o clear | numbers
answer search classes.onnx -e $healthy -e reference:round=on,fault=softmax-no-max --goal nan --until-reached --count 2000 -o found | numbers
# fuzz: answers that were judged; what the last operators would hide is made an output, in every second model.
model="graph seed=1 index=1 ops=BatchNormalization,ArgMax opset=13 nodes=2..3"
for show in '' ' show'; do
    assay fuzz -e reference:round=on,fault=bn-sqrt-var --replay "$model$show" | sed 's/hash .*/hash/'
done
"$build/src/cli/assay" fuzz -e reference:round=on,fault=bn-sqrt-var --no-probe --no-reduce --ops BatchNormalization,ArgMax --count 40 -o shown >/dev/null 2>&1
"$build/src/cli/assay" findings shown --format json | grep -o '"recipe": .* show' | sed 's/:.*show/: ... show/' | sort -u
# The help says the same as the table in the documentation, which has no other rows.
for command in $("$build/src/cli/assay" help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
    "$build/src/cli/assay" $command --help | awk -v name=$command '
        /^Status 0 promises/ { on = 1 }
        on && /^  (answered|judged|operators) / { sub(/^  [a-z]+ +/, ""); row = row " | " $0 }
        END { if (row) print "| `" name "`" row " |" }'
done | sort >told
sed -n '/^| status 0 of/,/^$/p' "$source/docs/commands.md" | grep '^| `' | sort | diff - told && wc -l <told
