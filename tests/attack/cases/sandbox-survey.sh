# An engine looks for what it has no business with: other people's files, places to write to, variables, processes and
# open files of Assay's, and what the kernel offers. By default and with --sandbox strict it finds what SECURITY.md lists
# and no more; without a sandbox it finds much of it, or this case could not fail. First an adapter made with the SDK,
# which cannot even start processes, then one that does without it.
models good
export SURVEY_SECRET=1
echo 1 >secret
exec 9<"$SOURCE/README.md"
allowed='process program'
[ "$(id -u)" != 0 ] || allowed+=' many-processes' # the kernel does not count those of root
reached()
{
    holds run good.onnx --random 1 -E "$ATTACK/engines.ini" -e "hostile:mode=survey@$PWD@$$" --sandbox "$1" --format json
    ! grep -q 'the sandbox is strict' out err || exit 77
    found=$(grep -o 'reached: .* and no more' out | head -n 1 | sed 's/^reached: *//; s/ and no more$//')
    grep -q 'reached: ' out || { cat out err; fail "no survey with --sandbox $1"; }
}
for mode in default strict; do
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox $mode
    ! grep -q 'the sandbox is strict' out err || exit 77
    ! grep -q 'reached: ' out err || { cat out err; fail "the survey found something with --sandbox $mode"; }
    reached $mode
    for name in $found; do
        [[ " $allowed " == *" $name "* ]] || fail "--sandbox $mode: reached $name"
    done
done
holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox off
says 'reached: ' out err
reached off
for name in own-home write-home write-own-folder variable other-processes parent-environment signal-assay process program; do
    [[ " $found " == *" $name "* ]] || fail "without a sandbox the survey does not reach $name: it does not look there ($found)"
done
