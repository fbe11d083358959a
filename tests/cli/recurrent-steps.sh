# A recurrent operator is judged step by step, each on the state that the engine had: over 28 steps the bound of the whole is as
# large as its result. An engine that is off by 1e-3 in one element of one state is wrong.
plant() { # MODEL NODE@ELEMENT, as metadata: field 14 of the model, two texts
    local size=$((${#2} + 11))
    cp "$source/models/$1/$1.onnx" "$1.onnx"
    printf '\162\\x%02x\n\7disturb\22\\x%02x%s' "$size" "${#2}" "$2" | { read -r -d '' text; printf '%b' "$text"; } >>"$1.onnx"
}
for model in rnn gru lstm; do
    plant $model "/cell/${model^^}@3"
    assay compare $model.onnx -e reference:round=on | head -n 3
    assay compare $model.onnx -e reference:round=on,disturb=on | head -n 3
done
# Outputs alone do not show it, so that no report can be written; it is a finding all the same.
assay report gru.onnx -e reference:round=on,disturb=on -o report
