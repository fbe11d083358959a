# Whoever removes the folder of a campaign that runs ends it, and it says so.
SECONDS_EACH=60
( for _ in $(seq 200); do [ ! -e found/assay.db ] || break; sleep 0.1; done; sleep 1; rm -rf found ) &
holds fuzz -e identity --no-probe --no-reduce --ops Relu --time 40s -o found
wait
[ "$status" = 2 ] || { cat out err; fail "status $status"; }
says 'was removed or replaced while it ran' err
