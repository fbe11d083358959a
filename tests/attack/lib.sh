# What the cases of tests/attack use. They stand in a scratch folder, which is theirs, and find there what they make.
#   $ASSAY, $BUILD, $SOURCE     the program, its build folder, the project
#   $ATTACK/engines.ini         [hostile], which is engine.py; its knob `mode` says how. $BAD has [bad] of tests/adapters
#   models NAME...              writes hostile models of models.py as NAME.onnx
#   model FILE                  ONNX text on stdin becomes that model
#   hostile MODE...             sets $engines to the options that name the hostile engine in all these modes; bad: so, too
#   holds ARGS...               runs assay: it may end with 0, 1 or 2, within $SECONDS_EACH seconds of processor time for each
#                               process, without a complaint
#                               of a sanitizer, and show no character that hides or moves others. Its stdout and stderr
#                               are then in the files out and err, and its status in $status
#   frugal MB ARGS...           the same, and none of its processes takes more memory than that
#   setting NAME                from now on assay runs as an ordinary user (user), where no namespaces can be made (bare), there
#                               and without Landlock (old), or again as whoever runs the case (here)
#   says WORDS FILE...          one of the files has these words
#   clean FILE...               the files have no character that hides or moves others
#   rendered FILE...            Markdown has no element that Assay does not write; without cmark the case is skipped
#   fail WORDS                  the attack got through
#   large_input                 x.npy: one sample of four numbers, of which a softmax that subtracts no maximum makes NaN
#   own_files                   makes the folder `mine` of the user: .bashrc, a key, a model, a campaign's database, a folder
#   plant NAME TARGET           in a fresh copy `theirs` of the folder $pristine: NAME becomes a link to TARGET of `mine`;
#                               TARGET pipe: a pipe; hard:TARGET: another name of the same file
#   refuses ARGS...             runs assay: it must end with 2 and name what was planted, and nothing of the user's changes
#   unharmed ARGS...            runs assay, however that ends: nothing of the user's changes, and nothing of it is read
#   through                     the number of attacks by these that got through; each is told
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

# By processor time, and by the clock only against waiting: the machine may have other work.
limited()
{
    ( ulimit -t "$SECONDS_EACH" && exec timeout -k 5 $((10 * SECONDS_EACH)) "$@" )
}

holds()
{
    status=0
    limited "$ASSAY" "$@" </dev/null >out 2>err || status=$?
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

# classes.onnx, a classifier that reference:fault=softmax-no-max gets wrong on the data of large_input
classes_model()
{
    model classes.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,0,0, 0,1,0, 0,0,1, 1,1,1}> { s = MatMul(x, w) y = Softmax(s) }
END
}

large_input()
{
    python3 - <<'END'
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }".ljust(117) + b"\n"
with open("x.npy", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + bytes.fromhex("0000c842") * 4)
END
}

own_files()
{
    mkdir -p mine/.ssh mine/empty
    echo "alias ll='ls -l'" >mine/.bashrc
    echo 'ssh-ed25519 AAAA-CANARY me' >mine/.ssh/authorized_keys
    model mine/good.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13]>
g (float[2] x) => (float[2] y) { y = Relu(x) }
END
    through=0
    mine_before=$(list_own)
}

list_own()
{
    find mine -mindepth 1 -printf '%p %y %m %l\n' | sort
    find mine -type f | sort | xargs -d '\n' sha256sum
}

# Links are made with absolute paths, so that it does not matter where they lie.
plant()
{
    rm -rf theirs
    cp -a "$pristine" theirs
    planted=theirs/$1 target=$2
    rm -rf "$planted"
    mkdir -p "$(dirname "$planted")"
    case $target in
    pipe) mkfifo "$planted" ;;
    hard:*) ln "mine/${target#hard:}" "$planted" ;;
    *) ln -s "$PWD/mine/$target" "$planted" ;;
    esac
}

got_through()
{
    through=$((through + 1))
    printf 'THROUGH: %s -> %s: %s\n' "$planted" "$target" "$*"
    head -n 3 err
}

unharmed()
{
    status=0
    limited "$ASSAY" "$@" </dev/null >out 2>err || status=$?
    [ "$status" -le 2 ] && ! grep -q 'Sanitizer:\|runtime error:' err || got_through "status $status of assay $*"
    [ "$mine_before" = "$(list_own)" ] || { got_through "changed by assay $*"; rm -rf mine; own_again; }
    ! grep -qr CANARY out err theirs 2>/dev/null || got_through "read by assay $*"
}

# After an attack that got through, so that the next one is seen as well.
own_again()
{
    local so_far=$through
    own_files
    through=$so_far
}

refuses()
{
    unharmed "$@"
    [ "$status" = 2 ] || got_through "status $status of assay $*"
    grep -qF -- "$planted" out err || got_through "not named by assay $*"
}
