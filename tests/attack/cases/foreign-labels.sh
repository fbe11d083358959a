# Labels that come from bundles, from the folders of campaigns and from rewritings: they start no engine that writes or sees a
# file of the user's, be it by a knob that names a file, by one that goes into the environment, or by one nobody declared.
model case.onnx <<'M'
<ir_version: 8, opset_import: ["" : 13]> g (float[4] x) => (float[4] y) { y = Relu (x) }
M
holds report case.onnx --random 10 -e identity -o bundle --no-bisect
[ -f bundle/finding.json ] || fail "there is no bundle"
holds fuzz -e identity --no-probe --no-reduce --no-known --ops Relu --count 20 -o found
mkdir .ssh
echo 'the key of the user' >.ssh/authorized_keys
mkfifo .ssh/pipe
ln -s authorized_keys .ssh/link
changed() # nothing is there that was not, and the key is the user's
{
    [ "$(ls -A .ssh)" = $'authorized_keys\nlink\npipe' ] || { ls -A .ssh; fail "a file was made by $1"; }
    [ "$(cat .ssh/authorized_keys)" = 'the key of the user' ] || fail "the key was written by $1"
}
tamper() # ENGINE REWRITING
{
    python3 - "$@" <<'PY'
import json
import sys

with open("bundle/finding.json") as file:
    finding = json.load(file)
finding["engine"], finding["rewriting"] = (word.replace("ENDLESS", "opt=none," * 100000) for word in sys.argv[1:])
with open("bundle/finding.json", "w") as file:
    json.dump(finding, file)
PY
}
SECONDS_EACH=20
own_of() # the files that know the engine of a label
{
    own=()
    case $1 in bad*) own=(-E "$BAD") ;; hostile*) own=(-E "$ATTACK/engines.ini") ;; esac
}
onnxruntime=
"$ASSAY" engines onnxruntime 2>/dev/null | grep -q graph && onnxruntime=onnxruntime
for label in identity:save=new bad:mode=new bad:mode=pipe hostile:mode=link reference:fault=new reference:opt=none,threads=new \
    opencv:cpu=new torch:isa=authorized_keys torch:source=new \
    ${onnxruntime:+onnxruntime:save=new onnxruntime:save=authorized_keys onnxruntime@all:save=pipe}; do
    label=${label%=*}=$HOME/.ssh/${label##*=}
    own_of "$label"
    tamper "$label" ''
    holds replay bundle "${own[@]}" --sandbox strict
    changed "replay of $label"
    [ "$status" = 2 ] || fail "status $status of replay with $label"
    grep -qF -e "no engine '${label%%:*}'" -e '-e' err || { cat err; fail "nobody says what to do about $label"; }
    cp -r found other
    python3 -c 'import sqlite3, sys; base = sqlite3.connect("other/assay.db"); base.execute("UPDATE engines SET label = ?", sys.argv[1:]); base.commit()' "$label"
    holds report other --no-bisect --no-reduce "${own[@]}"
    changed "report of a campaign with $label"
    [ "$status" = 2 ] || fail "status $status of report with $label"
    rm -rf other
done
# The user names the engine, and the bundle its settings.
for both in identity:save hostile:mode bad:mode reference:fault ${onnxruntime:+onnxruntime:save}; do
    own_of "$both"
    tamper identity "knob@${both#*:}=$HOME/.ssh/new"
    holds replay bundle -e "${both%:*}" "${own[@]}" --list
    changed "replay of the rewriting $both"
    rm -rf again
    holds report bundle -e "${both%:*}" "${own[@]}" --no-bisect --no-reduce -o again
    changed "report of the rewriting $both"
done
tamper identity "knob@mode=$HOME/.ssh/new"
holds replay bundle -e bad -E "$BAD" --list
says 'the rewriting sets the knob mode of bad to' out
# Settings without end.
tamper identity knob@ENDLESSopt=all
holds replay bundle -e reference
tamper reference:ENDLESSopt=all ''
holds replay bundle
[ "$status" = 2 ] || fail "status $status with settings without end"
# What others may choose is chosen, and the user may do as before.
tamper reference:opt=all,threads=4,perturb=17 knob@opt=none
holds replay bundle
[ "$status" = 0 ] || { cat out err; fail "status $status of a replay with ordinary knobs"; }
holds run case.onnx -e "identity:save=$HOME/.ssh/pipe" --random 1
changed 'an unknown knob of the user'
printf '[writer]\ncommand = python3 %s/engine.py\nknob.mode = file\n' "$ATTACK" >own.ini
for file in authorized_keys pipe link; do
    holds run case.onnx -E own.ini -e "writer:mode=.ssh/$file" --random 1
    [ "$status" = 2 ] || fail "status $status of a knob with $file"
    says "the knob mode: $HOME/.ssh/$file is there already" err
    changed "the user's knob with $file"
done
holds run case.onnx -E own.ini -e "writer:mode=new" --random 1
[ ! -e new ] || fail "a file that stayed empty is left"
sqlite="import sqlite3; base = sqlite3.connect('found/assay.db'); base.execute(\"UPDATE engines SET label = 'writer:mode=new'\"); base.commit()"
python3 -c "$sqlite"
holds report found --no-bisect --no-reduce -E own.ini
says 'only you may do that; leave the knob out, or give the whole label yourself with -e' err
holds report found --no-bisect --no-reduce -E own.ini -e writer:mode=new
! grep -q 'only you may' err || fail "a label that the user gave is refused"
