# An engine looks for what it has no business with: other people's files, places to write to, variables, processes and
# open files of Assay's, and what the kernel offers. By default and with --sandbox strict it finds what SECURITY.md lists
# and no more: started by root, by an ordinary user, and where no namespaces can be made; without a sandbox it finds much
# of it, or this case could not fail. First an adapter made with the SDK, which cannot even start processes, then one that
# does without it.
models good
export SURVEY_SECRET=1
for name in NODE_AUTH_TOKEN NODE_TOKEN NVIDIA_API_KEY CUDA_TOKEN ASSAY_DATABASE ASSAY_SECRET PYTHON_KEYRING LD_KEY OMP_KEY \
    MKL_KEY LC_SECRET LLVM_KEY TF_TOKEN_app ORT_TOKEN; do
    export $name=canary
done
exec 9<"$SOURCE/README.md"
# SETTING: a file and a process of whoever runs assay there.
fresh_victims()
{
    local user=()
    [ "$(id -u)" != 0 ] || [ "$1" != user ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    rm -f victim secret
    "${user[@]}" bash -c 'echo 1 >secret; echo the letters of somebody >victim; chmod 600 victim; touch -d 2001-01-01 victim'
    before=$(stat -c '%a %s %Y' victim)
    "${user[@]}" sleep 300 >/dev/null 2>&1 &
    process=$!
}
reached()
{
    chmod 777 .
    fresh_victims "$1"
    setting "$1"
    holds run good.onnx --random 1 -E "$ATTACK/engines.ini" -e "hostile:mode=survey@$PWD@$process" --sandbox "$2" --deadline 5m --format json
    grep -q 'reached: ' out || { cat out err; fail "no survey, $1 with --sandbox $2"; }
    found=$(grep -o 'reached: .* and no more' out | head -n 1 | sed 's/^reached: *//; s/ and no more$//')
}
# SETTING MODE ALLOWED: what is found is among what is allowed, and the victims are as they were.
survey()
{
    setting "$1"
    if [ "$1" != bare ]; then # where names of files can be seen
        holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox "$2"
        ! grep -q 'reached: ' out err || { cat out err; fail "$1: the survey found something with --sandbox $2"; }
    fi
    reached "$1" "$2"
    for name in $found; do
        [[ " $3 " == *" $name "* ]] || fail "$1 with --sandbox $2: reached $name"
    done
    [ "$(stat -c '%a %s %Y' victim)" = "$before" ] || fail "$1 with --sandbox $2: the file is changed: $(stat victim)"
    [ -z "$(getfattr -d victim 2>/dev/null)" ] || fail "$1 with --sandbox $2: the file has attributes"
    kill -0 $process 2>/dev/null || fail "$1 with --sandbox $2: the process is dead"
    kill $process
}
setting here
holds run good.onnx --random 1 -e identity --sandbox strict
! grep -q 'the sandbox is strict' out err || exit 77
# In a namespace of its own, all processes of the user are the engine's.
for mode in default strict; do
    survey here $mode 'process program priority-of-user'
done
[ "$(id -u)" != 0 ] || survey user strict 'process program priority-of-user'
# Without namespaces an engine of root's stays root, without its rights, and processes are counted with those of others.
unshare -Ur true 2>/dev/null || exit 77
if [ "$(id -u)" = 0 ]; then
    survey bare default 'process program many-processes root'
else
    survey bare default 'process program many-processes'
fi
setting here
holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox off
says 'reached: ' out err
reached here off
for name in own-home write-home write-own-folder variable tokens other-processes parent-environment process program cut-home \
    mode-home times-home limits-of-others priority-of-others; do
    [[ " $found " == *" $name "* ]] || fail "without a sandbox the survey does not reach $name: it does not look there ($found)"
done
