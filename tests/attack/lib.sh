# What the cases of tests/attack use. They stand in a scratch folder, which is theirs, and find there what they make.
#   $ASSAY, $BUILD, $SOURCE     the program, its build folder, the project
#   $ATTACK/engines.ini         [hostile], which is engine.py; its knob `mode` says how. $BAD has [bad] of tests/adapters
#   models NAME...              writes hostile models of models.py as NAME.onnx
#   model FILE                  ONNX text on stdin becomes that model
#   hostile MODE...             sets $engines to the options that name the hostile engine in all these modes; bad: so, too
#   holds ARGS...               runs assay: it may end with 0, 1 or 2, within $SECONDS_EACH seconds, without a complaint
#                               of a sanitizer, and show no character that hides or moves others. Its stdout and stderr
#                               are then in the files out and err, and its status in $status
#   frugal MB ARGS...           the same, and none of its processes takes more memory than that
#   setting NAME                from now on assay runs as an ordinary user (user), where no namespaces can be made (bare), there
#                               and without Landlock (old), or again as whoever runs the case (here)
#   says WORDS FILE...          one of the files has these words
#   clean FILE...               the files have no character that hides or moves others
#   rendered FILE...            Markdown has no element that Assay does not write; without cmark the case is skipped
#   fail WORDS                  the attack got through
BAD=$SOURCE/tests/adapters/adapters.ini
SECONDS_EACH=${SECONDS_EACH:-120}

fail()
{
    printf 'FAILED: %s\n' "$*"
    exit 1
}

models()
{
    "$ATTACK/models.py" . "$@"
}

model()
{
    "$BUILD/tests/text-model" "$1"
}

hostile()
{
    engines=(-E "$ATTACK/engines.ini")
    for mode; do engines+=(-e "hostile:mode=$mode"); done
}

bad()
{
    engines=(-E "$BAD")
    for mode; do engines+=(-e "bad:mode=$mode"); done
}

clean()
{
    "$ATTACK/hidden" "$@" || fail "such characters were shown"
}

rendered()
{
    local status=0
    "$ATTACK/rendered" "$@" || status=$?
    [ $status != 77 ] || exit 77
    [ $status = 0 ] || { cat "$@"; fail "there is markup of others"; }
}

says()
{
    local words=$1
    shift
    grep -qF -- "$words" "$@" || { head -n 30 "$@"; fail "nobody says '$words'"; }
}

holds()
{
    status=0
    timeout -k 5 "$SECONDS_EACH" "$ASSAY" "$@" </dev/null >out 2>err || status=$?
    if [ "$status" -gt 2 ] || grep -q 'Sanitizer:\|runtime error:' err; then
        head -c 4000 err
        fail "status $status of assay $*"
    fi
    clean out err
}

setting()
{
    export SETTING=$1 SETTING_OF=${SETTING_OF:-$ASSAY}
    chmod 777 .
    ASSAY=$ATTACK/setting
}

frugal()
{
    local most=$1
    shift
    PEAK_OF=$ASSAY ASSAY=$ATTACK/peak holds "$@"
    [ "$(cat peak)" -le "$most" ] || fail "$(cat peak) MB were taken, $most are allowed, by assay $*"
}
