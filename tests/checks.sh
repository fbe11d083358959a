# For tests in bash that count themselves, to be sourced: $scratch is a folder that is removed at the end.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# check NAME COMMAND...: what it says is shown when it fails.
check()
{
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 20 "$scratch/log"
    fi
}
