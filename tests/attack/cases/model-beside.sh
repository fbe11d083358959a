# A model that is too large to be sent goes by its path. An engine then sees that file and those of its external data, and
# nothing else of the folder: not the key that lies beside it.
models large-external
mkdir -p below
echo 'a key' >id_secret
echo 'a key' >below/id_secret
holds run large-external.onnx --random 1 -e reference
[ "$status" = 0 ] || { cat out err; fail "the model does not run"; }
try() # SETTING SANDBOX
{
    [ "$1" != user ] || chown -R 65534:65534 .
    setting "$1"
    for secret in id_secret below/id_secret; do
        holds run large-external.onnx --random 1 -E "$ATTACK/engines.ini" -e "hostile:mode=beside@$PWD/$secret" --sandbox "$2"
        ! grep -q 'reached: ' out err || { cat out err; fail "$1, --sandbox $2: the engine reads what lies beside the model"; }
        says 'read the model alone' out err
    done
}
try here default
try here strict
unshare -Ur true 2>/dev/null || exit 77
try bare default
[ "$(id -u)" != 0 ] || try user default
setting here
holds run large-external.onnx --random 1 -E "$ATTACK/engines.ini" -e "hostile:mode=beside@$PWD/id_secret" --sandbox off
says 'reached: ' out err
