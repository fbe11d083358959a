# The same in the folder of somebody else's fuzz campaign: of fuzz, report and findings.
SECONDS_EACH=60
own_files
fuzzing=(fuzz -e reference:fault=softmax-no-max --ops Softmax --seed 1 --no-reduce)
holds "${fuzzing[@]}" --no-probe --count 20 -o whole
holds findings whole --format json
grep -q '"name": "nan-' out || fail "nothing was found"
cp -a whole reported
holds report reported --no-bisect
name=$(cd reported/findings && ls -d nan-* | head -n 1)
pristine=whole
for target in .bashrc new pipe; do
    for file in lock assay.db assay.db-wal known.ini; do
        plant $file $target
        refuses "${fuzzing[@]}" --no-probe --count 40 -o theirs
    done
    plant assay.db $target
    refuses findings theirs
    plant assay.db-wal $target
    refuses report theirs --no-bisect
    plant known.ini $target
    refuses findings theirs --mute "$name" --because 'of a test'
done
for file in findings "findings/$name" findings/README.md; do
    for target in .bashrc empty pipe; do
        plant "$file" $target
        refuses report theirs --no-bisect
    done
done
# A bundle that is there is replaced as a whole, unless it has something that Assay did not make.
pristine=reported
for file in report.md test_data_set_0 test_data_set_0/input_0.pb; do
    plant "findings/$name/$file" .bashrc
    planted=$file
    refuses report theirs --no-bisect --show "$name" --again
done
# The results of probes, which a campaign keeps with it.
holds "${fuzzing[@]}" --count 20 -o probed
pristine=probed
file=$(cd probed/probe && echo *)
for target in .bashrc empty pipe; do
    for name in probe "probe/$file"; do
        plant "$name" $target
        refuses "${fuzzing[@]}" --count 40 -o theirs
    done
done
# A folder that becomes a link, and a link that becomes a folder, while the bundles are written.
rm -rf theirs
cp -a reported theirs
planted=theirs/findings target=empty
: >go
(
    while [ -e go ]; do
        mv theirs/findings theirs/aside 2>/dev/null || true
        ln -s "$PWD/mine/empty" theirs/findings 2>/dev/null || true
        rm -f theirs/findings 2>/dev/null || true
        mv theirs/aside theirs/findings 2>/dev/null || true
    done
) &
for _ in 1 2; do unharmed report theirs --no-bisect --again; done
rm go
wait
[ $through = 0 ] || fail "$through ways lead out of the folder"
