# An engine nests folders deeper than a path can name: they are gone when it has ended.
cat >deep.py <<'END'
import os, sys
for _ in range(1000):
    os.mkdir("deeper")
    os.chdir("deeper")
END
printf '[deep]\ncommand = /bin/sh -c "python3 %s/deep.py; exit 3"\nsandbox = off\n' "$PWD" >deep.ini
models good
holds run good.onnx --random 1 -E deep.ini -e deep --sandbox off
[ -z "$(find "$TMPDIR" -maxdepth 2 -name 'scratch-*' 2>/dev/null)" ] || fail "a scratch folder stays"
