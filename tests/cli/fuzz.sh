# Campaigns on a healthy and a faulty engine: the summary, going on as if there had been no end, other options refused, replay.
# Numbers are left out, for they change with the generator, and the lines of progress that a slow machine prints.
engines='-e reference -e reference:fault=conv-rotated'
small='--no-reduce --no-probe --ops Conv,Relu,Add --blocks 4 --strategy random'
quietly fuzz $engines $small --count 60 -o one
assay fuzz $engines $small --count 120 --format json -o one 2>/dev/null | grep -vE '"(folder|seconds|busy)"|, newest ' >one.json
assay fuzz $engines $small --count 120 --format json -o two 2>/dev/null | grep -vE '"(folder|seconds|busy)"|, newest ' >two.json
diff <(tail -n +2 one.json) <(tail -n +2 two.json) && grep '"cases"' one.json
assay fuzz $engines --no-reduce --no-probe --ops Conv,Relu,Add --count 60 -o three 2>/dev/null | sed -E '/newest/d; s/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
assay fuzz $engines --no-probe --ops Relu --count 60 -o three
# The papers' figures and what they mean are there for who asks; what the probe found is said beside the cases.
assay fuzz $engines $small --count 20 --metrics -o shown 2>/dev/null | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g' | grep -E 'OTC|MCF|SPC'
assay fuzz -e reference:fault=conv-rotated --no-reduce --ops Conv,Relu --count 1 --seed 2 -o probed 2>/dev/null | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g' | grep probe
rm -r shown probed
# Operators that there are not, before a folder is made; --ops binds probing too.
for ops in Nothing Cnov conv Relu,Cov 'Conv, Relu' , ''; do
    assay fuzz -e reference --ops "$ops" --count 60 -o four
done
assay fuzz -e reference --ops Gelu --opset 13 --count 60 -o four
assay fuzz -e reference --opset 99 --count 60 -o four
assay fuzz -e reference --known nowhere --count 60 -o four
ls
mkdir data
ASSAY_DATA=$PWD/data quietly fuzz -e reference:fault=conv-rotated --ops Relu --count 20 -o four
grep -oh '"operator": .*' four/probe/*.json
assay findings four
ASSAY_DATA=$PWD/data quietly probe -e reference:fault=conv-rotated --ops Conv,Relu --keep data/probe
ASSAY_DATA=$PWD/data quietly fuzz -e reference:fault=conv-rotated --ops Relu --count 20 -o six # from a probe that was kept
assay findings six
assay fuzz $engines --replay 'one seed=1 index=3 ops=Relu' | sed 's/hash .*/hash/'
assay fuzz -e reference --replay 'one seed=1 index=3 ops=Conv colour=red'
assay fuzz -e reference
assay fuzz -o five
assay fuzz -e reference -o five more
# What the paper varies holds for every graph, and a word that there is not is named with those that there are.
assay fuzz -e reference --method-options depth=2,candidate=4 --count 60 -o five
assay fuzz -e reference --method-options p=2 --count 60 -o five
for strategy in mcts yield; do
    quietly fuzz -e reference:fault=conv-rotated --no-reduce --no-probe --ops Conv,Relu --blocks 4 --count 60 --strategy $strategy \
        --method-options candidates=3,topology=ws,k=2,p=0.25,add=0.5 -o paper-$strategy
    assay findings paper-$strategy --format json | grep -o 'topology=ws k=2 p=0.25 add=0.5' | sort -u
done
# A signal ends a campaign between two cases, whichever thread of a library it meets.
"$build/src/cli/assay" fuzz -e reference:round=on --no-probe --time 60 -o stopped >stopped.txt 2>&1 &
for i in $(seq 100); do [ -e stopped/assay.db ] && break; sleep 0.1; done
sleep 1
kill -TERM $!
wait $!
[ $? -lt 128 ] && grep -oE 'assay fuzz|no case was run' stopped.txt | head -n 1 | sed 's/no case was run/assay fuzz/'
