# A model of many nodes: the time of every command grows with their number, not with its square, also where an engine or the
# reference does not answer in time.
{
    echo '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {'
    seq 20000 | awk '{ print "v" $1 " = " ($1 > 1 ? "Relu (v" $1 - 1 : "Neg (x") ")" } END { print "y = Relu (v" NR ") }" }'
} | model nodes.onnx
SECONDS_EACH=60 holds compare nodes.onnx -e identity -e reference:fault=softmax-no-max --deadline 0.02s
says 'hangs' out
SECONDS_EACH=60 holds report nodes.onnx -e identity -o bundle
says 'reduced to 1 of 20001 nodes' out
SECONDS_EACH=60 holds localize nodes.onnx -e identity -e reference:fault=softmax-no-max --method swap
says 'takes at most 4096' err
