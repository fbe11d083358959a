# The first hour with an engine of one's own: what is wrong with it is said in words, with what to do next.
one="$cases/node/test_identity"
script() # NAME LINE...: a program and its engine
{
    local name=$1
    shift
    printf '%b\n' "$@" >$name.sh
    chmod +x $name.sh
    printf '[%s]\ncommand = {here}/%s.sh\n' $name $name >>own.ini
}
# It dies before it answers: the last lines of its stderr are shown, without control characters.
script dies '#!/bin/sh' 'echo loading >&2' 'echo "mylib.so: cannot open shared object file" >&2' 'exit 1'
script coloured '#!/bin/sh' 'printf "\\\\033[31mred\\\\033[0m \\\\302\\\\233 \\\\342\\\\200\\\\256 turned\\\\n" >&2' 'exit 4'
assay run "$one/model.onnx" -E own.ini -e dies
assay run "$one/model.onnx" -E own.ini -e dies --format json
assay compare "$one/model.onnx" -E own.ini -e dies --format junit
assay conform "$one" -E own.ini -e coloured --format json
assay engines -E own.ini dies coloured
# It is given by its path.
assay run "$one/model.onnx" -e ./dies.sh
# It prints where messages belong: at once, a word too short for a length, in the middle of an answer.
script prints '#!/bin/sh' 'echo hello' 'exec sleep 60'
script mutters '#!/bin/sh' 'echo a'
assay engines -E own.ini prints mutters
assay run "$one/model.onnx" -E "$bad" -e bad:mode=text
# Its command cannot be run.
printf '#!/no/such/python3\n' >interpreter.sh
printf '#!/bin/sh\r\n' >windows.sh
printf 'import sys\n' >headless.sh
printf '#!/bin/sh\n' >closed.sh
chmod +x interpreter.sh windows.sh headless.sh
mkdir folder.sh
for name in interpreter windows headless closed folder missing; do
    printf '[%s]\ncommand = {here}/%s.sh\n' $name $name >>own.ini
done
printf '[relative]\ncommand = ./closed.sh\n[nowhere]\ncommand = no-such-python closed.sh\n' >>own.ini
for name in interpreter windows headless closed folder missing relative nowhere; do
    assay run "$one/model.onnx" -E own.ini -e $name
done
# Knobs that it does not have: refused by the adapter, and centrally where the adapter does not look at them. This one gives
# every hello the welcome that docs/writing-an-engine.md shows.
script careless '#!/bin/sh' 'head -c 4 >/dev/null' \
    'printf "\\\\023\\\\0\\\\0\\\\0\\\\010\\\\001\\\\032\\\\017\\\\010\\\\001\\\\022\\\\010identity\\\\032\\\\0011"' 'exec cat >/dev/null'
assay run "$one/model.onnx" -E "$bad" -e bad:speed=1
assay run "$one/model.onnx" -E own.ini -e careless:speed=1
assay run "$one/model.onnx" -e reference:round=maybe
# The check of an adapter, step by step.
assay engines --check
assay engines --check none.ini
assay engines -E "$bad" --check bad
assay engines --check reference
assay engines --check identity
assay engines -E own.ini --check dies
assay engines -E own.ini --check closed --format json
printf '[first]\ncommand = {here}/prints.sh\n[second]\ncommand = {here}/mutters.sh\n' >two.ini
assay engines --check two.ini
# Each misdeed is seen at its step; what held is left out here.
for mode in exit-hello segv-hello error-hello segv-load reject-load lack-load segv-run fail-run text garbage wrong-id \
    wrong-length huge die-writing close-output exit-0 no-outputs sequence differ single stale segv-unload ignore-wanted \
    wrong-class any-model fail-gradient stay shared-differ; do
    assay engines -E "$bad" --check bad:mode=$mode | grep -v '^  ok  \|^  not tried  '
done
for mode in hang-hello hang stubborn; do
    assay engines -E "$bad" --check bad:mode=$mode --deadline 3s | grep -v '^  ok  \|^  not tried  '
done
