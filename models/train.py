#!/usr/bin/python3
"""Trains the zoo on MNIST and exports it to ONNX: models/NAME/NAME.onnx, and a line of models/zoo.tsv.

usage: models/train.py MNIST [NAME...]

MNIST is the folder that `tools/fetch-models --data` fills. Needs Debian's python3-torch and python3-onnx. The
same folder and the same torch give the same weights: seeded, one thread."""
import pathlib
import struct
import sys
import time

import numpy
import torch
import torch.nn.functional as F

import export
from nets import ZOO

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 64


def idx(path):
    data = path.read_bytes()
    rank = data[3]
    dims = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(dims)


def images(folder, part):
    pixels = idx(folder / f"{part}-images-idx3-ubyte").astype(numpy.float32) / numpy.float32(255)
    labels = idx(folder / f"{part}-labels-idx1-ubyte").astype(numpy.int64)
    return torch.from_numpy(pixels[:, None]), torch.from_numpy(labels)


def truth(x):
    """Ink, centre x, centre y and slant (covariance over vertical variance), each about -1 to 1."""
    x = x[:, 0].double()
    axis = torch.linspace(-1, 1, 28, dtype=torch.double)
    ink = x.sum((1, 2))
    cx = (x * axis).sum((1, 2)) / ink
    cy = (x * axis[:, None]).sum((1, 2)) / ink
    dx, dy = axis - cx[:, None], axis - cy[:, None]
    cov = (x * dx[:, None, :] * dy[:, :, None]).sum((1, 2)) / ink
    var = (x * dy[:, :, None] ** 2).sum((1, 2)) / ink
    return torch.stack([ink / 100 - 1, 10 * cx, 10 * cy, -cov / var], 1).float()


def train(net, x, y, epochs, rate, loss):
    optimizer = torch.optim.Adam(net.parameters(), rate)
    steps = epochs * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps)
    net.train()
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for at in range(0, len(x) - BATCH + 1, BATCH):
            pick = order[at:at + BATCH]
            optimizer.zero_grad()
            loss(net(x[pick]), y[pick]).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    net.eval()


def score(net, x, y):
    """Accuracy in percent, or the mean absolute error of the regression."""
    with torch.no_grad():
        out = torch.cat([net(x[at:at + 500]) for at in range(0, len(x), 500)])
    if y.dim() == 1:
        return 100 * (out.argmax(1) == y).double().mean().item()
    return (out - y).abs().mean().item()


def samples(folder):
    """models/samples: the first ten test images and their labels, for tests and quick looks."""
    x, y = images(folder, "t10k")
    (HERE / "samples").mkdir(exist_ok=True)
    numpy.save(HERE / "samples/samples.npy", x[:10].numpy())
    numpy.save(HERE / "samples/labels.npy", y[:10].numpy())
    numpy.save(HERE / "samples/labels-moments.npy", truth(x[:10]).numpy())


def record(row):
    """Replaces the model's line of zoo.tsv."""
    path, header = HERE / "zoo.tsv", "name\tparameters\tnodes\tbytes\tscore\ttraining images\tepochs\toperators"
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    kept = {line.split("\t")[0]: line for line in lines}
    kept[row[0]] = "\t".join(map(str, row))
    names = [other for name in ZOO for other in (name, name + "-batch")]
    path.write_text("\n".join([header] + [kept[name] for name in names if name in kept]) + "\n")


def make(name, folder):
    began = time.time()
    network, count, epochs, rate = ZOO[name]
    torch.manual_seed(1)
    net = network()
    (x, y), (test_x, test_y) = images(folder, "train"), images(folder, "t10k")
    x, y, loss = x[:count], y[:count], F.cross_entropy
    if name == "moments":
        y, test_y, loss = truth(x), truth(test_x), F.smooth_l1_loss
    path = HERE / name / f"{name}.onnx"
    path.parent.mkdir(exist_ok=True)
    net.eval()
    export.write(net, test_x[:2], path)  # fails before the training, if it fails
    train(net, x, y, epochs, rate, loss)
    if hasattr(net, "arrange"):
        with torch.no_grad():
            net.arrange(x[:1000])
    nodes, operators = export.write(net, test_x[:2], path)
    if name == "moments":
        numpy.save(path.parent / "labels.npy", test_y.numpy())
    result = score(net, test_x, test_y)
    weights = sum(p.numel() for p in net.parameters())
    record([name, weights, nodes, path.stat().st_size, f"{result:.4g}", count, epochs, " ".join(operators)])
    if name == "bilstm":
        other = HERE / "bilstm-batch" / "bilstm-batch.onnx"
        other.parent.mkdir(exist_ok=True)
        nodes, operators = export.batch_major(path, other)
        record([other.stem, weights, nodes, other.stat().st_size, f"{result:.4g}", count, epochs, " ".join(operators)])
    print(f"{name}: {result:.2f} in {time.time() - began:.0f} s", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    samples(pathlib.Path(sys.argv[1]))
    for name in sys.argv[2:] or ZOO:
        make(name, pathlib.Path(sys.argv[1]))


main()
