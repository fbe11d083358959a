# Very many names: of a decoder's caches, of a model's inputs, of the arrays of a .npz file. The time to find one's way
# among them grows with their number, not with its square.
SECONDS_EACH=40
PYTHONPATH=$ATTACK python3 - <<'PY'
import os
import struct
from protobuf import FLOAT, INT64, field, graph, model, node, number, value_info

def write(path, data):
    with open(path, "wb") as file:
        file.write(data)

names = [f"{'k' * 300}{i}" for i in range(16000)]
caches = [f"{'k' * 50}{i}" for i in range(20000)]
shape = [1, 1, "past", 2]
write("caches.onnx", model(graph(
    [node("Identity", ["past" + name], ["present" + name]) for name in caches] + [node("Identity", ["input_ids"], ["logits"])],
    [value_info("input_ids", INT64, [1, "n"])] + [value_info("past" + name, FLOAT, shape) for name in caches],
    [value_info("logits", INT64, [1, "n"])] + [value_info("present" + name, FLOAT, shape) for name in reversed(caches)])))
write("inputs.onnx", model(graph([node("Relu", [names[0]], ["y"])], [value_info(name, FLOAT, [1]) for name in names],
                                 [value_info("y", FLOAT, [1])])))
os.makedirs("case/test_data_set_0")
os.symlink("../inputs.onnx", "case/model.onnx")
for i in range(len(names)):  # each says another name than its number has
    write(f"case/test_data_set_0/input_{i}.pb", number(1, 1) + number(2, FLOAT) + field(8, "k" * 300) + field(9, bytes(4)))

prefix = "a" * 900
with open("many.npz", "wb") as file:
    entries = [struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 4, 4, len(name), 0, 0, 0, 0, 0, 0) + name
               for name in (f"{prefix}{i:06}.npy".encode() for i in range(65000))]
    directory = b"".join(entries)
    file.write(directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory), 0, 0))
PY
models good
holds decode caches.onnx -e identity
holds run inputs.onnx -e identity --random 1
holds run inputs.onnx -e identity --data case/test_data_set_0
holds replay case -e identity
holds run good.onnx -e identity --data many.npz
says 'has no array for input x' err
