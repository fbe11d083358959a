# What rewrites models and takes them apart does so with those that have no bottom, too.
names="cycle nested-40 nested-2000 weight-overflow"
# shellcheck disable=SC2086
models $names
for name in $names; do
    holds check "$name.onnx" -e identity --deadline 1s --time 1s
    holds localize "$name.onnx" -e identity --deadline 1s
done
