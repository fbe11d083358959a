# Descriptors that Assay was started with, or without, are nobody else's: an engine gets none of them, and closed ones are
# not mistaken for stdin, stdout and stderr.
models good
holds run good.onnx --random 1 -e identity
"$ASSAY" run good.onnx --random 1 -e identity <&- >closed 2>&1
cmp -s out closed || fail "without stdin the answer is another"
"$ASSAY" run good.onnx --random 1 -e identity <&- 2>&- >closed
cmp -s out closed || fail "without stderr the answer is another"
status=0
"$ASSAY" run good.onnx --random 1 -e identity >&- 2>closed || status=$?
[ "$status" = 2 ] || fail "status $status without stdout"
exec 7<"$SOURCE/README.md" 8<"$SOURCE/README.md" 9<"$SOURCE/README.md"
cat >look.py <<'END'
import os, sys
open("/tmp/assay-look-%d" % os.getuid(), "w").write(" ".join(sorted(os.listdir("/proc/self/fd"))))
sys.exit(3)
END
printf '[look]\ncommand = /usr/bin/python3 %s/look.py\nlauncher = yes\n' "$PWD" >look.ini
holds run good.onnx --random 1 -E look.ini -e look --sandbox off
seen=$(cat "/tmp/assay-look-$(id -u)")
rm -f "/tmp/assay-look-$(id -u)"
case " $seen " in *" 7 "*|*" 8 "*|*" 9 "*) fail "an engine has $seen" ;; esac
