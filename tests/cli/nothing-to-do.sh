# Where an engine is right, reduce and report judge it and stop: they ask the engine little more than compare does, and say
# what compare says. What it is asked is counted in bytes.
model net.onnx <<END
<ir_version: 8, opset_import: ["": 17]>
net (float[N,4] x) => (float[N,4] y) <float[4,4] w = {$(numbers 16 1)}>
{
$(for i in 1 2 3 4 5 6 7; do echo "m$i = MatMul($([ $i = 1 ] && echo x || echo r$((i - 1))), w) r$i = Relu(m$i)"; done)
    s = Softmax(r7)
    y = Identity(s)
}
END
cat >counted.ini <<END
[counted]
command = /bin/sh -c "tee -a $PWD/asked | exec '$build/engines/assay-engine-reference'"
launcher = yes
END
ask() # COMMAND ARGS...: leaves in $bytes what the engine was asked
{
    rm -f asked
    "$build/src/cli/assay" "$@" -E counted.ini -e counted </dev/null >"$1.out" 2>&1
    echo "$1 [$?]"
    bytes=$(wc -c <asked)
}
ask compare net.onnx
most=$((2 * bytes))
for command in reduce 'report -o bundle'; do
    ask ${command%% *} net.onnx ${command#"${command%% *}"}
    [ $bytes -le $most ] && echo "asks no more than twice what compare asks" || echo "asks $bytes bytes, twice of compare are $most"
    cat "${command%% *}.out"
done
ls
