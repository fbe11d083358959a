# Names of a model that hide or move others are refused; what remains may be shown, and marks up nothing.
names=$("$ATTACK/models.py" --list | grep -E '^names-|^operator|^attribute|^dims-text|^doc' | grep -v empty)
# shellcheck disable=SC2086
models $names
for name in $names; do
    holds run "$name.onnx" -e reference
    case $name in
    names-title | names-colour | names-c1 | names-cursor | names-block | names-turned | names-hidden | names-not-utf8)
        [ "$status" = 2 ] || { cat out; fail "$name is not refused"; }
        says 'a name has the ' err ;;
    esac
done
for name in names-markup names-html doc-text; do
    holds localize "$name.onnx" -e identity
    holds compare "$name.onnx" -e identity -e reference --format junit
    [ "$status" = 2 ] || python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' out
    holds compare "$name.onnx" -e identity -e reference --format json
    [ "$status" = 2 ] || python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out
done
