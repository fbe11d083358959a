# An engine nests folders deeper than a path can name: they are gone when it has ended.
cat >deep.py <<'PROGRAM'
import os, sys
for _ in range(1000):
    os.mkdir("deeper")
    os.chdir("deeper")
open(sys.argv[1], "w").close()
sys.exit(3)
PROGRAM
printf '[deep]\ncommand = /usr/bin/python3 %s/deep.py %s/made\nsandbox = off\n' "$PWD" "$PWD" >deep.ini
models good
holds run good.onnx --random 1 -E deep.ini -e deep --sandbox off
[ -e made ] || { cat out err; fail "the engine made no folders, so that this shows nothing"; }
[ -z "$(find "$TMPDIR" -maxdepth 1 -name 'assay-*' 2>/dev/null)" ] || fail "a scratch folder stays"
