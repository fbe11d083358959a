# Inputs drawn at random: four of two gigabytes each are refused by their sum, by every command that draws some.
model many.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
g (float[536870912] a, float[536870912] b, float[536870912] c, float[536870912] d) => (float[n] y) { y = Sum (a, b, c, d) }
END
for command in "run --random 1" "compare --random 1" "localize --random 1" reduce "grad --random 1" check search; do
    out=()
    [ "$command" != search ] || out=(-o found --time 1s --goal bound)
    # shellcheck disable=SC2086
    frugal 1000 ${command%% *} many.onnx $(echo "$command" | cut -s -d' ' -f2-) -e identity --memory 500M --deadline 5s "${out[@]}"
    [ "$status" = 2 ] || fail "status $status of $command"
done
says 'memory allowed (--memory)' err
