# No campaign, a database that is none.
assay findings
assay findings .
echo rubbish >assay.db
assay findings .
rm assay.db
# A small campaign on a planted fault: list, filter, show, bundles, replay. Which cases are drawn is not what is tested.
quietly fuzz -e reference:fault=bn-sqrt-var --no-probe --ops BatchNormalization,Relu --count 40 -o campaign
counts() { sed -E 's/[0-9]+ (finding|bundled|replayed|still|agree)/N \1/g' | tail -n "$1"; }
assay findings campaign | grep -oE '^wrong-batchnormalization|onnx.*' | sort -u
assay findings campaign --op BatchNormalization --engine reference --kind wrong | counts 2
assay findings campaign --op Relu
assay findings campaign --kind crash
assay findings campaign --op Reluu
assay findings campaign --kind crashes
ls campaign # reading leaves nothing behind
assay findings campaign --show wrong-batch | grep -oE '^  [a-z ]+  |^wrong-batchnormalization' | sort -u
assay findings campaign --format json | grep -oE '^ +"[a-z_]+":' | sort -u
assay findings campaign --show nothing
assay report campaign | counts 5
find campaign/findings -type f | sed -E 's#findings/[^/]*-[0-9a-f]{12}/#findings/NAME/#; s#_[0-9]+[.]pb#_K.pb#' | sort -u
assay replay campaign/findings | counts 5
assay replay campaign/findings -e reference:round=on | counts 5
assay report campaign
assay report nowhere
# Two operators, one cause: when both are reduced, the parameter to blame is known.
quietly fuzz -e reference:fault=pool-default-stride --no-probe --ops MaxPool,AveragePool --blocks 1 --count 40 -o pools
assay findings pools | tail -n 2
quietly report pools
plain() { sed -E 's/-[0-9a-f]{12}/-HASH/g; s/  +/  /g' | cut -d ' ' -f 1-7; }
assay findings pools | plain
"$build/src/cli/assay" findings pools | head -n 3 | sed -E 's/-[0-9a-f]{12}/-HASH/g'
assay findings pools --all | plain
assay findings pools --format json | grep -E '"(cause|variants)": ' | sort -u
assay findings pools --show shape-maxpool | grep '^  cause'
# A case from elsewhere.
bn="$cases/node/test_batchnorm_epsilon"
assay report "$bn" -e reference:fault=bn-sqrt-var -o bundle | sed -E 's/-[0-9a-f]{12}/-HASH/'
find bundle -type f | sort
grep 'own account' bundle/report.md
assay replay bundle | tail -n 5
assay report "$bn" -e reference:round=on -o none
assay report "$bn" -e reference
# A cause that is no news any more, in a file that the campaign reads from now on: both operators are muted by one entry, in
# this campaign and in another one with other cases, and another fault of the same operators is not.
hash() { sed -E 's/-[0-9a-f]{12}/-HASH/g; s/^(witness = [a-z]+ [a-z]+) .*/\1 .../'; }
cat >planted.ini <<'END_INI'
[planted]
command = {libexec}/assay-engine-reference
like = reference
signature-without = fault
END_INI
pools() { quietly fuzz -E planted.ini --no-probe --ops MaxPool,AveragePool --blocks 1 --count 40 "$@"; }
pools -e planted:fault=pool-default-stride -o night
quietly report night -E planted.ini
# A line to be run in the bundle's folder has the file of an engine that only the user knows.
sed -nE 's/.*`(assay replay [^`]*)`, in this.*/\1/p' night/findings/shape-maxpool-*/report.md | sort -u | tee replay
(cd night/findings/shape-maxpool-*/ && sh -c "$(sed "s|^assay|$build/src/cli/assay|" ../../../replay)" | head -1)
assay findings night --explain shape-maxpool | hash
assay findings night --mute shape-maxpool --because 'it is planted' | hash | sed -E 's/^(finding = shape-maxpool-HASH).*/\1 .../'
assay findings night --explain shape-averagepool | hash
assay findings night --unknown
pools -e planted:fault=pool-default-stride --seed 7 --known night/known.ini -o again
quietly report again -E planted.ini --known night/known.ini
assay findings again --known night/known.ini --unknown
pools -e planted:fault=pool-stride --known night/known.ini -o other
quietly report other -E planted.ini --known night/known.ini
assay findings other --known night/known.ini --unknown | sed -n 2p
# Another fault of the same operator, with the name and the cause of one that was muted and is mended: the witness tells.
steps() { quietly fuzz -E planted.ini --no-probe --ops QuantizeLinear --blocks 1 --count 60 "$@"; }
steps -e planted:fault=quant-half-up -o half
quietly report half -E planted.ini --no-bisect
assay findings half --mute wrong-quantizelinear --because 'it is planted' | hash
steps -e planted:fault=quant-half-up --seed 7 --known half/known.ini -o half-again
quietly report half-again -E planted.ini --no-bisect --known half/known.ini
assay findings half-again --known half/known.ini --unknown
steps -e planted:fault=quant-signed-end -o signed
quietly report signed -E planted.ini --no-bisect
assay findings signed --known half/known.ini --no-known --explain wrong-quantizelinear | hash
assay report signed -E planted.ini --no-bisect --known half/known.ini
assay findings signed --known half/known.ini --no-known --explain wrong-quantizelinear | hash
# A cause is of the operator of its findings; of another one where that was shown to fail alike.
for one in older-sum-short:ReduceSum pool-stride:MaxPool; do
    quietly fuzz -e "reference:fault=${one%:*}" --no-probe --ops "${one#*:}" --blocks 1 --opset 11 --count 40 -o "alike-${one%:*}"
    quietly report "alike-${one%:*}" --no-bisect
    assay findings "alike-${one%:*}" --format json | grep '"cause"' | sort -u
done
quietly fuzz -e reference:fault=bn-sqrt-var --no-probe --no-reduce --ops BatchNormalization --blocks 1 --opset 15 --count 6 -o mute
one=$(assay findings mute --format json | grep -m 1 -oE 'wrong-batchnormalization-[0-9a-f]{12}')
(assay findings mute --mute "$one" 2>&1) | hash
assay findings mute --because 'it is planted'
assay findings mute --mute nothing --because 'it is planted'
assay findings mute --mute "$one" --because 'it is planted' | hash
assay findings mute --unknown | grep -c "$one"
assay findings mute --show "$one" | grep -oE 'status +known'
(assay findings mute --mute "$one" --because 'it is planted' 2>&1) | hash
