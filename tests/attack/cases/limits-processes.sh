# At --memory 256M an engine takes four times as much in ways that no limit on a process sees: files of memory, segments
# that belong to nobody, many processes, memory that they share, processes that are nobody's children. It is refused, or
# ended before it has twice as much, in every sandbox, and where no namespaces can be made.
models good
attempt() # SETTING SANDBOX MODE
{
    setting "$1"
    hostile "$3"
    holds run good.onnx --random 1 "${engines[@]}" --memory 256M --deadline 20s --sandbox "$2"
    ! grep -q ' taken: ' out err || grep -q 'not taken: ' out err || { cat out err; fail "$1, --sandbox $2, $3: it took all"; }
    case $3 in
    take-files | take-segments) says 'not taken: ' out err ;;
    *)
        took=$(grep -oh 'took [0-9]* MB of memory' out err | head -n 1 | grep -o '[0-9]*') || took=
        [ -n "$took" ] || { cat out err; fail "$1, --sandbox $2, $3: nobody saw it"; }
        [ "$took" -lt 640 ] || fail "$1, --sandbox $2, $3: it took $took MB"
        ;;
    esac
}
for mode in take-files take-segments take-forks take-shared take-orphans; do
    attempt here default $mode
    attempt here off $mode
done
[ "$(id -u)" != 0 ] || attempt user strict take-orphans
unshare -Ur true 2>/dev/null || exit 77
for mode in take-files take-segments take-orphans; do attempt bare default $mode; done
