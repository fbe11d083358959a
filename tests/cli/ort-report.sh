# What other releases say comes into a report that was made without them. Two releases, so that it is the same wherever more are fetched.
mkdir -p data/onnxruntime
for version in 1.12.0 1.30.0; do ln -s "$ASSAY_DATA/onnxruntime/$version" data/onnxruntime/; done
ASSAY_DATA=$PWD/data
quietly fuzz -e onnxruntime@1.12.0 --no-probe --no-known --no-reduce --blocks 1 --ops Floor --count 20 -o campaign
names() { sed -E 's/-[0-9a-f]{12}/-HASH/g'; }
releases() { grep -hE '^(- )?(Affected|Not affected)' campaign/findings/*/report.md; assay findings campaign --show wrong-floor | sed -n '/other engines/,$p'; }
assay report campaign --no-known --no-bisect | names
releases
assay report campaign --no-known --again | names
releases
# It is the same finding still, once, and also without making it smaller.
assay report campaign --no-known --again --no-reduce | names
releases
ls campaign/findings | names
assay findings campaign --no-known | names | cut -c -60
# The case of one that others were merged into, made again whole, has a signature of those: it is the same finding.
quietly fuzz -e onnxruntime@1.12.0 --no-probe --no-known --no-reduce --blocks 3 --ops ConvTranspose,Relu,Add --count 200 --seed 4 -o merging
quietly report merging --no-known --no-bisect
listed() { assay findings merging --no-known --all "$@" | grep -oE '^ *(wrong|refused)-.*-[0-9a-f]{12} |^[0-9]+ findings?$|  merged ' | sort; }
listed >before
listed --merged | grep -c '^  merged '
assay report merging --no-known --again --no-reduce --no-bisect | tail -n 5
listed | diff before - && listed --merged | grep -c '^  merged '
for folder in merging/findings/*/; do
    grep -q "\"name\": \"$(basename "$folder")\"" "$folder/finding.json" || echo "$folder has another's name"
done
# What is known stays known, and is bundled again when asked for.
assay findings campaign --unknown | tail -n 2
assay report campaign
assay report campaign --no-known --again | names
assay findings campaign --format json | grep '"status"'
# A bundle into which somebody put something stays, and that is said.
echo sent in May >"$(echo campaign/findings/wrong-*)/notes.txt"
assay report campaign --no-known --again | names
cat campaign/findings/*/notes.txt
# What does not show again is no finding: its number is the same in fuzz's summary and in the list.
engine='-e onnxruntime@1.12.0 --no-probe --no-known --no-reduce --blocks 1 --ops Floor'
numbers()
{
    echo "fuzz: $(assay fuzz $engine --count 20 --format json -o changed 2>/dev/null | grep -m 1 -oE '"findings": [0-9]+')," \
        "list: $(assay findings changed --no-known "$@" | grep -E '^[0-9]+ finding|no findings'), status $(assay findings changed --no-known | tail -n 2 | head -n 1)"
}
numbers
rm data/onnxruntime/1.12.0
cp -r "$ASSAY_DATA/onnxruntime/1.30.0/." data/onnxruntime/1.12.0 # the engine is mended
assay report changed --no-known --no-bisect | names
numbers
numbers --gone
