# The user's mistakes: told before an engine is blamed, naming the input, with status 2, in every command.
round=reference:round=on
model relu.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[batch, 3, 2, 2] x) => (float[batch, 3, 2, 2] y) { y = Relu(x) }
END
model add.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[n, 2] a, float[n, 2] b) => (float[n, 2] y) { y = Sub(a, b) }
END
model table.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[3, 2] table, int64[n] ids) => (float[n, 2] y) { y = Gather(table, ids) }
END
# Shapes, ranks, element types.
mkdir shape rank type
npy shape/input_0.npy '<f4' '2, 1, 2, 2' 32
npy rank/input_0.npy '<f4' '3, 2, 2' 48
npy type/input_0.npy '<f8' '1, 3, 2, 2' 96
for data in shape rank type; do
    assay compare relu.onnx --data $data -e $round
done
mkdir narrow
npy narrow/input_0.npy '<f4' '3, 2' 24
npy narrow/input_1.npy '<i4' '2,' 8
assay compare table.onnx --data narrow -e $round
# One symbol, two sizes; too few and too many files; the names inside the files.
mkdir symbol few many swapped
npy symbol/input_0.npy '<f4' '2, 2' 16
npy symbol/input_1.npy '<f4' '3, 2' 24
assay compare add.onnx --data symbol -e $round
npy few/input_0.npy '<f4' '2, 2' 16
assay compare add.onnx --data few -e $round
for i in 0 1 2; do npy many/input_$i.npy '<f4' '2, 2' 16; done
assay compare add.onnx --data many -e $round
quietly run add.onnx -e identity -o saved
cp saved/identity/test_data_set_0/output_0.pb swapped/input_1.pb
cp saved/identity/test_data_set_0/output_1.pb swapped/input_0.pb
assay compare add.onnx --data swapped -e $round
# A tensor where a sequence belongs.
mkdir sequence
for i in 0 1; do npy sequence/input_$i.npy '<f4' '2,' 8; done
assay compare "$cases/node/test_sequence_insert_at_back/model.onnx" --data sequence -e identity
# The same in every command that takes a model.
for command in run localize bisect reduce; do
    assay $command relu.onnx --data shape -e $round
done
# A broken case of a suite is not runnable, whatever the engine makes of it; one that gives the expected answer passes.
mkdir -p suite/broken/test_data_set_0
cp relu.onnx suite/broken/model.onnx
"$build/src/cli/assay" run "$cases/node/test_abs/model.onnx" -e identity -o abs >/dev/null
cp abs/identity/test_data_set_0/output_0.pb suite/broken/test_data_set_0/input_0.pb
cp abs/identity/test_data_set_0/output_0.pb suite/broken/test_data_set_0/output_0.pb
assay conform suite -E "$bad" -e bad:mode=fail-run -e identity --list
assay conform suite -E "$bad" -e bad:mode=fail-run --format junit
assay replay suite -E "$bad" -e bad:mode=fail-run
assay report suite/broken -e $round -o bundle
assay bisect suite/broken -e $round
ls bundle
# An index that is out of range: the reference sees it used.
mkdir range
npy range/input_0.npy '<f4' '3, 2' 24
npy range/input_1.npy '<i8' '2,' '\1\0\0\0\0\0\0\0\143\0\0\0\0\0\0\0'
for command in compare run localize bisect reduce; do
    assay $command table.onnx --data range -E "$bad" -e bad:mode=fail-run
done
assay compare table.onnx --data range -E "$bad" -e bad:mode=segv-run --format junit
# Drawn at random, indices suit the table, where they come to it as they are; else it is the drawing that does not suit.
assay compare table.onnx --dim n=20 -e $round
model squared.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (float[3, 2] table, int64[n] ids) => (float[n, 2] y) { squares = Mul(ids, ids) y = Gather(table, squares) }
END
assay compare squared.onnx --dim n=20 -e $round
# So do tokens, positions and a mask.
model tokens.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]>
g (int64[batch, seq] ids, int64[batch, seq] positions, int64[batch, seq] mask) => (float[batch, seq] y)
<float[5] words = {1, 2, 3, 4, 5}, float[4] places = {6, 7, 8, 9}, int64 two = {2}, float one = {1}, float far = {-10000}> {
    word = Gather(words, ids)
    place = Add(positions, two)
    there = Gather(places, place)
    known = Cast<to = 1>(mask)
    unknown = Sub(one, known)
    away = Mul(unknown, far)
    both = Add(word, there)
    sum = Add(both, away)
    y = Neg(sum)
}
END
assay compare tokens.onnx --random 5 -e $round
mkdir -p indices/out/test_data_set_0
cp table.onnx indices/out/model.onnx
quietly run table.onnx --data range -e identity -o kept
cp kept/identity/test_data_set_0/output_0.pb indices/out/test_data_set_0/input_0.pb
cp kept/identity/test_data_set_0/output_1.pb indices/out/test_data_set_0/input_1.pb
assay conform indices -E "$bad" -e bad:mode=fail-run --list
assay replay indices -E "$bad" -e bad:mode=fail-run
assay report indices/out -E "$bad" -e bad:mode=fail-run -o bundle
# A model that breaks ONNX's rules.
model invalid.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { y = Relu<alpha = 1.0>(x) }
END
for command in compare run localize bisect reduce; do
    assay $command invalid.onnx -e identity
done
assay report invalid.onnx -e identity -o bundle
# Another format, or what Git has in the place of a large file: as a model, as its weights, as data.
printf 'PK\3\4...archive/data.pkl...' >model.pt
printf '\x1c\0\0\0TFL3...' >model.tflite
printf '<!DOCTYPE html>...' >page.onnx
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12345\n' 0 >pointer.onnx
for given in model.pt model.tflite page.onnx pointer.onnx; do
    assay compare $given -e identity
done
model weighted.onnx <<'END'
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }
END
split weighted.onnx parted.onnx
cp pointer.onnx parted.onnx.weights
assay run parted.onnx -e identity
mkdir pointers
for kind in npy pb npz; do
    cp pointer.onnx pointers/input_0.$kind
    assay run relu.onnx --data pointers/input_0.$kind -e identity
done
# One that is newer than the checker is not refused.
model newer.onnx <<'END'
<ir_version: 99, opset_import: ["": 13]> g (float[4] x) => (float[4] y) { y = Identity(x) }
END
assay compare newer.onnx -e identity
