# For the tools that fetch: to be sourced by bash.

# What is fetched comes into a folder of the data folder, $data, that is removed at the end, and is moved to its place when it is whole.
scratch=
cleanup() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap cleanup EXIT
new_scratch()
{
    cleanup
    { mkdir -p "$data" && scratch=$(mktemp -d "$data/.fetch-XXXXXX"); } 2>/dev/null ||
        { fail "cannot write to $data; name another folder in ASSAY_DATA" || exit 1; }
}

# with_progress WHAT FOLDER LOG COMMAND...: runs the command, writes what it says to LOG, and gives its status. On a
# terminal, from the third second on, a line on stderr tells for how long it has been running and how much lies in FOLDER.
# In a pipe nothing is shown.
with_progress()
{
    local what=$1 folder=$2 log=$3 watcher status=0
    shift 3
    if [ ! -t 2 ]; then
        "$@" >"$log" 2>&1
        return
    fi
    (
        start=$SECONDS drawn=no
        trap '[ $drawn = no ] || printf "\r\033[K" >&2; exit' TERM
        while kill -0 $$ 2>/dev/null; do
            sleep 0.5
            [ $((SECONDS - start)) -ge 2 ] || continue
            drawn=yes
            printf '\r\033[K%s: %s, %d s' "$what" "$(du -sh "$folder" 2>/dev/null | cut -f1)" $((SECONDS - start)) >&2
        done
    ) &
    watcher=$!
    "$@" >"$log" 2>&1 || status=$?
    kill $watcher 2>/dev/null || true
    wait $watcher 2>/dev/null || true
    return $status
}

# take_all ARGUMENT...: shows the help (usage) or what is there (list) where that is asked for, and gives each other argument to take, which
# sets failed=1 where something cannot be fetched. Ends the program.
take_all()
{
    local argument
    [ $# -gt 0 ] || { usage >&2; exit 2; }
    failed=0
    for argument; do
        case $argument in
        -h | --help) usage ;;
        --list) list ;;
        *) take "$argument" ;;
        esac
    done
    exit $failed
}
