# An engine looks for what it has no business with: other people's files, places to write to, variables, processes and
# open files of Assay's. With --sandbox strict it finds nothing; by default nothing where the walls stand; without a
# sandbox it finds something, or this case could not fail.
models good
export SURVEY_SECRET=1
exec 9<"$SOURCE/README.md"
for mode in default strict; do
    holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox $mode
    ! grep -q 'the sandbox is strict' out err || exit 77
    ! grep -q 'reached: ' out err || { cat out err; fail "the survey found something with --sandbox $mode"; }
done
holds run good.onnx --random 1 -E "$BAD" -e bad:mode=survey --sandbox off
says 'reached: ' out err
