# Links, pipes and second names in the folder of somebody else's search, where a resumed search writes: the user's files stay
# as they are, and what leads elsewhere is named.
SECONDS_EACH=60
own_files
classes_model
searching=(search classes.onnx -e reference -e reference:fault=softmax-no-max --goal nan --seed 1 --count 40)
holds "${searching[@]}" -o whole
kept=$(cd whole/cases && echo *) bundle=$(cd whole/findings && echo *)
[ -e "whole/cases/$kept/model.onnx" ] && [ -e "whole/findings/$bundle/finding.json" ] && [ -e whole/populations.1 ] ||
    fail "the search kept no case, no bundle or no population: $(find whole)"

# A folder in which the search begins: as after a start that was killed at its first moment.
mkdir young
: >young/assay.db
pristine=young
for name in lock populations.0 populations.1 cases findings assay.db assay.db-wal assay.db-shm assay.db-journal "cases/$kept" \
    known.ini; do
    plant "$name" .bashrc
    refuses "${searching[@]}" -o theirs
done
for name in lock populations.0 cases assay.db assay.db-wal; do
    plant $name new
    refuses "${searching[@]}" -o theirs
    plant $name pipe
    refuses "${searching[@]}" -o theirs
done
for name in cases findings "cases/$kept"; do
    plant "$name" empty
    refuses "${searching[@]}" -o theirs
done
# A search goes on when one of its bundles cannot be written; the finding says why.
for target in .bashrc empty; do
    plant "findings/$bundle" $target
    unharmed "${searching[@]}" -o theirs
    unharmed findings theirs
    grep -qF "theirs/findings/$bundle is a symbolic link" out || got_through "the finding does not say why"
done
# Names that are taken before they are used may stay or be replaced; they lead nowhere.
plant "cases/.$kept.new" empty
unharmed "${searching[@]}" -o theirs
plant "cases/.$kept.new/model.onnx" .bashrc
unharmed "${searching[@]}" -o theirs
# A file that is written whole is replaced; one that is changed where it lies is refused.
plant populations.1 hard:.bashrc
unharmed "${searching[@]}" -o theirs
for name in lock assay.db; do
    plant $name hard:.bashrc
    refuses "${searching[@]}" -o theirs
done

# What reads a case that the folder keeps.
pristine=whole
for name in cases "cases/$kept" "cases/$kept/model.onnx" "cases/$kept/test_data_set_0" \
    "cases/$kept/test_data_set_0/input_0.pb" "cases/$kept/forbidden.txt" "cases/$kept/gradient.txt"; do
    for target in good.onnx pipe; do
        plant "$name" $target
        refuses fuzz -e reference:fault=softmax-no-max --replay "case cases/$kept" -o theirs
    done
done
[ $through = 0 ] || fail "$through ways lead out of the folder"
