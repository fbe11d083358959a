# A bundle whose parts are links to the user's files, or pipes: every command that reads one names them, and nothing of the
# user's is read.
SECONDS_EACH=60
own_files
classes_model
large_input
holds reduce classes.onnx --data x.npy -e reference:fault=softmax-no-max -o case
holds report case -e reference:fault=softmax-no-max --no-bisect -o bundle
[ "$status" = 1 ] || { cat out err; fail "there is no finding"; }
pristine=bundle
reads() # COMMAND...
{
    refuses "$1" theirs "${@:2}"
    rm -rf less more
}
for target in good.onnx .ssh/authorized_keys pipe; do
    for file in model.onnx test_data_set_0/input_0.pb test_data_set_0; do
        plant $file $target
        reads replay
        reads conform -e reference
        reads reduce -e reference:fault=softmax-no-max -o less
    done
    for file in model.onnx finding.json; do
        plant $file $target
        reads replay -e reference
        reads report -e reference:fault=softmax-no-max --no-bisect -o more
    done
    for file in forbidden.txt gradient.txt test_data_set_0/output_0.pb; do
        plant $file $target
        reads replay
    done
done
# A folder of many, one of which is elsewhere.
mkdir all
cp -a bundle all/one
ln -s "$PWD/mine" all/two
cp mine/good.onnx mine/model.onnx
mine_before=$(list_own)
planted=all/two target=.
refuses conform all -e reference
[ $through = 0 ] || fail "$through ways lead out of the folder"
