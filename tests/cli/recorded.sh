# Values recorded elsewhere: the layer, the inputs, the layout, the order, the precision; names and a map; mistakes.
numbers 54 0.5 >w.txt
numbers 96 0.2 >v.txt
model net.onnx <<EOF
<ir_version: 8, opset_import: ["" : 17]>
net (float[N,3,4,4] x) => (float[N,3] y) <float[2,3,3,3] w = {$(cat w.txt)}, float[32,3] v = {$(cat v.txt)}>
{
  h = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu (h)
  f = Flatten (r)
  g = MatMul (f, v)
  y = Softmax (g)
}
EOF
# An independent computation of the same, also with mistakes.
cat > record.py <<'EOF'
import math, random, struct, sys, zipfile
def npy(shape, numbers, code="<f4"):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (code, "".join(f"{n}, " for n in shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    pack = struct.Struct("<" + {"<f4": "f", "<f2": "e"}[code])
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + b"".join(pack.pack(n) for n in numbers)
W, V = ([struct.unpack("<f", struct.pack("<f", float(n)))[0] for n in open(name).read().split(",")] for name in ("w.txt", "v.txt"))
rng = random.Random(4)
X = [[struct.unpack("<f", struct.pack("<f", rng.random()))[0] for _ in range(48)] for _ in range(2)]
def net(x, slope=0.0):
    at = lambda c, i, k: x[c * 16 + i * 4 + k] if 0 <= i < 4 and 0 <= k < 4 else 0.0
    h = [sum(W[((o * 3 + c) * 3 + a) * 3 + b] * at(c, i + a - 1, k + b - 1) for c in range(3) for a in range(3) for b in range(3))
         for o in range(2) for i in range(4) for k in range(4)]
    r = [n if n > 0 else n * slope for n in h]
    g = [sum(r[i] * V[i * 3 + k] for i in range(32)) for k in range(3)]
    e = [math.exp(n - max(g)) for n in g]
    return {"h": h, "r": r, "g": g, "y": [n / sum(e) for n in e]}
SHAPES = {"h": (2, 4, 4), "r": (2, 4, 4), "g": (3,), "y": (3,)}
def write(path, runs, names, shapes=SHAPES, code="<f4"):
    with zipfile.ZipFile(path, "w") as out:
        for name, value in names.items():
            out.writestr(name + ".npy", npy((len(runs), *shapes[value]), [n for run in runs for n in run[value]], code))
own = {name: name for name in SHAPES}
right = [net(x) for x in X]
open("x.npy", "wb").write(npy((2, 3, 4, 4), [n for x in X for n in x]))
write("right.npz", right, own)
write("outputs.npz", right, {"output_0": "y"})
write("mapped.npz", right, {"first": "h", "last": "y", "nobody": "g"})
write("half.npz", right, own, code="<f2")
write("slope.npz", [net(x, 0.01) for x in X], own)
write("bgr.npz", [net(x[32:] + x[16:32] + x[:16]) for x in X], own)
write("bytes.npz", [net([255 * n for n in x]) for x in X], {"y": "y"})
write("order.npz", right[::-1], own)
write("logits.npz", right, {"y": "g"})
write("short.npz", [{"h": run["h"][:16]} for run in right], {"h": "h"}, {"h": (1, 4, 4)})
write("nothing.npz", right, {"a": "h"})
write("printed.npz", [{name: [round(n, 4) for n in run[name]] for name in run} for run in right], own)
cut = lambda n: struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", n))[0] + 0x8000 & 0xFFFF0000))[0]
write("bits.npz", [{name: [cut(n) for n in run[name]] for name in run} for run in (net([cut(n) for n in x]) for x in X)], own)
turn = lambda n: [n[o * 16 + p] for p in range(16) for o in range(2)]
write("nhwc.npz", [{**run, "h": turn(run["h"])} for run in right], own, {**SHAPES, "h": (4, 4, 2)})
EOF
cat > net.map <<'EOF'
# what the device calls them
first = h
last = y
EOF
python3 record.py
recorded() { assay compare net.onnx --data x.npy --expected "$@" | sed -E 's/ [0-9.]+e-(0[5-9]|1[0-9])$/ N/; s/ [0-9.]+e-(0[5-9]|1[0-9])/ N/g; s/ +$//'; }
recorded right.npz
recorded outputs.npz -e reference:round=on
recorded mapped.npz --map net.map
recorded half.npz
recorded slope.npz --recorded-by device
recorded slope.npz --recorded-by framework -e reference:round=on | grep slope
recorded slope.npz --recorded-by device --precision float16 --format json | grep -v '"error\|beyond'
for mistake in bgr bytes order logits short nhwc; do
    recorded $mistake.npz --format junit
done
# Four digits behind the point, and eight bits.
recorded printed.npz | head -2
recorded printed.npz --rounded-to 0.0001 | head -2
recorded bits.npz | head -2
recorded bits.npz --precision bfloat16 | head -2
# Numbers without a bound: the terms of a sum cancel down to what it may be off by, and something is divided by it.
cat > deep.py <<'EOF'
from record import *
rng = random.Random(5)
single = lambda n: struct.unpack("<f", struct.pack("<f", n))[0]
x = [single(rng.random()) for _ in range(299)] + [1.0]
w = [[single(rng.gauss(0, 1)) for _ in range(3)] for _ in x]
w[-1] = [single(wanted - sum(x[i] * w[i][k] for i in range(299))) for k, wanted in enumerate((4e-4, 8e-4, -6e-4))]
b = [sum(x[i] * w[i][k] for i in range(300)) for k in range(3)]
open("deep.txt", "w").write(", ".join(f"{n:.9g}" for row in w for n in row))
open("deep.npy", "wb").write(npy((1, 300), x))
shapes = {"b": (3,), "y": (3,)}
y = [single((k + 1) / b[k]) for k in range(3)]
write("deep-right.npz", [{"y": y}], {"y": "y"}, shapes)
write("deep-sum.npz", [{"b": b}], {"y": "b"}, shapes)
write("deep-swapped.npz", [{"y": y[::-1]}], {"y": "y"}, shapes)
EOF
python3 deep.py
model deep.onnx <<EOF
<ir_version: 8, opset_import: ["" : 17]>
deep (float[N,300] x) => (float[N,3] y) <float[300,3] w = {$(cat deep.txt)}, float[3] c = {1, 2, 3}>
{
  b = MatMul (x, w)
  y = Div (c, b)
}
EOF
deep() { assay compare deep.onnx --data deep.npy --recorded-by device --expected "$@" | sed -E 's/ [0-9.]+e-[0-9]+/ N/g; s/[0-9.e+]+ times/N times/; s/ +$//'; }
deep deep-right.npz
deep deep-sum.npz
deep deep-swapped.npz
# Mistakes.
printf 'first = h\nmiddle = z\n' >bad.map
recorded mapped.npz --map bad.map
printf 'nowhere = h\n' >bad.map
recorded mapped.npz --map bad.map
printf 'first h\n' >bad.map
recorded mapped.npz --map bad.map
recorded nothing.npz
recorded missing.npz
assay compare net.onnx -e reference --map net.map
assay compare net.onnx net.onnx --expected right.npz
