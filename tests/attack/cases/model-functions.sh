# Functions that call themselves, and those that stand for a million million nodes, are refused by name before anything
# follows the calls.
models function-self function-mutual function-doubling
for command in run "compare -e reference:fault=softmax-no-max" localize "localize -e reference --method swap" "check --time 1s" \
    reduce grad "search -o found --time 1s" "report -o bundle"; do
    for name in function-self function-mutual function-doubling; do
        # shellcheck disable=SC2086
        SECONDS_EACH=20 holds ${command%% *} $name.onnx -e identity --deadline 2s $(echo "$command" | cut -s -d' ' -f2-)
        [ "$status" = 2 ] || fail "status $status of $command"
        case $name in
        function-doubling) says 'stand for more than 30000 nodes' err ;;
        *) says 'ONNX allows no recursion' err ;;
        esac
    done
done
