# For the tools that fetch: to be sourced by bash.

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
