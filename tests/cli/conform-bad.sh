# Every way to misbehave is a verdict with its stage, and the next case is right.
one="$cases/node/test_identity"
for mode in exit-hello segv-hello segv-load reject-load segv-run garbage wrong-length huge fail-run fault-run exit-0 flood; do
    assay conform "$one" -E "$bad" -e "bad:mode=$mode" --deadline 5s --list
done
assay conform "$one" -E "$bad" -e bad:mode=hang --deadline 1s --list
assay conform "$one" -E "$bad" -e absent --list
assay conform "$cases/node" --match 'test_identity*' -E "$bad" -e bad:mode=third -e identity --list
# A process for each case never reaches its third.
assay conform "$cases/node" --match 'test_identity*' -E "$bad" -e bad:mode=third --fresh --list
