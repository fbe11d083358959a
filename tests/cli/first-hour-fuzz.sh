# The first hour with an engine under test: messages that can be read to their end, progress, blocks by name, the legend,
# known issues ready to be copied, files for CI, and the nightly recipe of docs/ci.md as it stands.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
one="$cases/node/test_identity"
hash() { sed -E 's/-[0-9a-f]{12}/-HASH/g'; }
terminal() # COLUMNS ARGS...: as the user sees it on a terminal of that width
{
    local columns=$1 status=0 words
    shift
    printf '$ assay'
    printf ' %s' "$@"
    printf '   # on %d columns\n' "$columns"
    words=$(printf '%q ' "$build/src/cli/assay" "$@")
    script -qec "stty cols $columns rows 50; exec $words" /dev/null </dev/null >screen || status=$?
    # What is drawn over, as progress is, is not there at the end.
    tr '\r' '\n' <screen | sed 's/\x1b\[K//' | grep -v '^$'
    printf '[%d]\n\n' "$status"
}
drawn() { tr '\r' '\n' <screen | grep -oE "$1" | sort -u; } # what stood on the last terminal at some time
# A long message is wrapped on a terminal, has whole lines in a pipe, and its end is never cut off.
assay conform "$one" -E "$bad" -e bad:mode=fail-long
terminal 72 conform "$one" -E "$bad" -e bad:mode=fail-long
terminal 60 engines -E "$bad" --check bad:mode=wrong-class
terminal 40 localize no-such-model.onnx -e reference
# The last lines of stderr are part of the sentence about a crash, without control characters.
assay compare "$one/model.onnx" -E "$bad" -e bad:mode=segv-colour
assay localize "$one/model.onnx" -E "$bad" -e bad:mode=segv-colour
# What takes long shows on a terminal that it is alive, settling included; a pipe sees nothing of it.
terminal 80 compare "$one/model.onnx" -E "$bad" -e bad:mode=hang --deadline 3s | grep '^\['
drawn 'compare 0/1(, 1 run)?  2 s$' | sed 's/, 1 run//' # the reference's
terminal 80 localize "$one/model.onnx" -E "$bad" -e bad:mode=hang --deadline 3s | grep '^\['
drawn 'localize 0/1  2 s$'
assay run "$one/model.onnx" -E "$bad" -e bad:mode=hang --deadline 2s | tr '\r' '#'
# So do the tools that fetch.
printf '. "$1/tools/progress.sh"\nwith_progress thing . log sleep 3; echo "status $?"\nwith_progress thing . log false; echo "status $?"\n' >fetch.sh
script -qec "bash fetch.sh '$source'" /dev/null </dev/null >screen
drawn 'status .*|thing: [0-9.]+[KMG]?, 2 s' | sed -E 's/[0-9.]+[KMG]?,/SIZE,/' | sort -u
bash fetch.sh "$source" </dev/null
# Blocks by name or pattern: nothing else is placed, and single operators are drawn from them, too.
few='--no-reduce --no-probe --strategy random'
assay fuzz -e reference --only-blocks 'Reduce*,conv-x*' --count 20 -o none
assay fuzz -e reference --only-blocks '' --count 20 -o none
ls -d none 2>&1
quietly fuzz -e reference:fault=bn-sqrt-var --only-blocks 'Batch*,Rel?' $few --count 40 -o some
assay findings some --format json | grep -oE '"operators": .*' | sort -u
for name in $(assay findings some --format json | grep -oE '"wrong-[a-z]*-[0-9a-f]{12}"' | tr -d '"' | sort -u); do
    assay findings some --show $name
done | grep -oE '(ops|blocks)=.*' | tr ',=' '\n\n' | grep -E '^[A-Z]' | sort -u
assay fuzz -e reference:fault=bn-sqrt-var --only-blocks Relu $few --count 40 -o some | hash
quietly fuzz -e reference:round=on --only-blocks attention $few --count 6 -o attention
quietly findings attention
# The key ? on the screen of a campaign: what it shows is what the docs say.
printf '?' | script -qec "stty cols 150 rows 50; '$build/src/cli/assay' fuzz -e reference:round=on $few --ops Relu --time 3 -o screened" \
    /dev/null >screen
drawn '  \? explains the abbreviations|  \? hides the legend'
drawn '^  (mcts|[A-Z]{2,3}|pairs|tree|time|agrees|lacks|unsure|failing|distinct|known)  .*' | sed -E 's/  +/|/g; s/^\|//' >legend
wc -l <legend
while IFS='|' read -r word meaning; do
    grep -qF "| $word | $meaning |" "$source/docs/commands.md" || echo "docs/commands.md does not say '$word: $meaning'"
done <legend
# The entry that would mute a finding: exactly this text, in a file, mutes it.
quietly fuzz -e reference:fault=bn-sqrt-var $few --ops BatchNormalization --blocks 1 --opset 15 --count 6 -o mute
name=$(assay findings mute --format json | grep -m 1 -oE 'wrong-batchnormalization-[0-9a-f]{12}')
"$build/src/cli/assay" findings mute --show $name >shown
sed -n '/^# This entry/,$p' shown | hash | sed -E 's/rank=[0-9]/rank=N/g; s/float[0-9]*/floatN/g; s/(output).*/\1 .../; s/^(from =).*/\1 VERSION/; s/^(witness = [a-z]+ [a-z]+) .*/\1 .../; /^attribute/d'
sed -n '/^\[/,$p' shown >mine.ini
assay findings mute --unknown | grep -c $name
assay findings mute --unknown --known mine.ini | grep -c $name
assay findings mute --show $name --known mine.ini | grep -oE '^  status .*|This entry' | hash
"$build/src/cli/assay" findings mute --show $name --format json | grep -oE '"known_issue": "\[wrong'
# JUnit and SARIF: known findings are skipped and suppressed.
quietly findings mute --known mine.ini --junit all.xml --sarif all.sarif
grep -oE '<testsuite name="[^"]*"|<(failure|skipped) type="[a-z]*"|message="(known[^"]*|BatchN)' all.xml | hash | sort -u
grep -oE '"(version|ruleId|level|uri|kind|justification|executionSuccessful)": .*' all.sarif | hash | sort -u | sed 's/"version": "0.*/"version": VERSION/'
quietly findings mute --known mine.ini --junit all.xml --sarif all.sarif # Assay's own files may be overwritten
echo mine >own.txt
assay findings mute --sarif own.txt
quietly fuzz -e reference:round=on $few --ops Relu --count 6 --junit none.xml --sarif none.sarif -o clean
normalise <none.xml
grep -A 1 '"results"' none.sarif
assay fuzz -e reference --replay 'one seed=1 index=3 ops=Relu' --junit x.xml
assay fuzz -e reference $few --count 6 -o nowhere --junit no/such/folder.xml
ls -d nowhere 2>&1
# The nightly recipe: red on what is new, green once it is in known.ini.
mkdir nightly
cd nightly
sed -n '/^```sh$/,/^```$/p' "$source/docs/ci.md" | sed '1d;$d' >nightly.sh
export PATH="$build/src/cli:$PATH" ENGINE=reference:fault=bn-sqrt-var TIME=60s SEED=7
export OPTIONS="$few --only-blocks Batch* --opset 15 --count 30"
NIGHT=first sh nightly.sh >out 2>log
echo "status $?, $(grep -c '<failure' findings.xml) failed and $(grep -c '<skipped' findings.xml) skipped tests" |
    sed -E 's/[1-9][0-9]* failed/N failed/'
tail -n 1 out | sed -E 's/^[0-9]+/N/'
for name in $(assay findings first --unknown --format json | grep -oE '"(wrong|nan)-[a-z]*-[0-9a-f]{12}"' | tr -d '"' | sort -u); do
    "$build/src/cli/assay" findings first --show $name | sed -n '/^\[/,$p'
done >>known.ini
NIGHT=second sh nightly.sh >out 2>log
echo "status $?, $(grep -c '<failure' findings.xml) failed tests, $(grep -c '"suppressions"' findings.sarif) suppressed results" |
    sed -E 's/[1-9][0-9]* suppressed/N suppressed/'
# Two nights in one workspace, with the folders that the recipe chooses.
for SEED in 8 9; do
    sh nightly.sh >out 2>log
    echo "night $SEED: status $?, $(ls -d night-$SEED)"
done
