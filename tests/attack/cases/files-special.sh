# A pipe, a socket, a device or a folder is named at once wherever a file is read, and nobody waits for its other end.
models good
mkfifo pipe pipe.npy pipe.pb pipe.npz
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
mkdir data
cp good.onnx data/model.onnx
ln -s ../pipe data/x.npy
mkfifo data/labels.txt
SECONDS_EACH=10
for file in pipe socket /dev/zero data; do
    for ways in "run $file" "compare $file" "localize $file" "run good.onnx -E $file" "compare good.onnx --random 1 --known $file"; do
        # shellcheck disable=SC2086
        holds $ways -e identity
        [ "$status" = 2 ] || fail "status $status of $ways"
        grep -q "$file\(/x.npy\)\? is a \|cannot read $file" err || { cat err; fail "$ways does not name it"; }
    done
done
for file in pipe.npy pipe.pb pipe.npz data; do
    holds run good.onnx -e identity --data $file
    [ "$status" = 2 ] || { cat out err; fail "status $status with --data $file"; }
done
holds blocks pipe -o blocks
