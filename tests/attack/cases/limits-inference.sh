# libonnx's shape inference, in a process of its own, has the limits of the command: the branch that is not taken makes it
# keep a list of 2^26 sizes, which is 1.5 GB and more.
{
    echo '<ir_version: 8, opset_import: ["" : 17]>'
    echo 'g (float[2] x) => (float[2] y) { c = Constant <value = bool {1}> ()'
    echo 'y = If (c) <then_branch = t () => (float[2] a) { a = Relu(x) }, else_branch = e () => (float[2] b) { s0 = Shape(x)'
    for i in $(seq 26); do echo "s$i = Concat <axis = 0> (s$((i - 1)), s$((i - 1)))"; done
    echo 'b = Exp(x) }> }'
} | model sizes.onnx
frugal 800 reduce sizes.onnx -e identity --random 1 --memory 300M --deadline 20s
