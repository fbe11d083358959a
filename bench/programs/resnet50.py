#!/usr/bin/python3
"""Writes ResNet-50 as exporters do (batch normalisation folded into the convolutions), with random weights.

usage: bench/programs/resnet50.py [--narrow] OUT.onnx

--narrow: an eighth of the channels, and 64 x 64 pixels instead of 224 x 224.
The last convolution of each block is scaled down, as training leaves it: values keep their size from block to block.
The same bytes on every call. Needs python3-onnx and python3-numpy."""
import sys
import zlib

import numpy
from onnx import TensorProto, helper, save

NARROW = "--narrow" in sys.argv
WIDTH, PIXELS = (8, 64) if NARROW else (64, 224)
STAGES = ((1, 3, 1), (2, 4, 2), (4, 6, 2), (8, 3, 2))  # channels by the width, blocks, stride of the first


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], []

    def draw(self, name, shape, scale):
        random = numpy.random.RandomState([1, zlib.crc32(name.encode())])
        values = (random.standard_normal(shape) * scale).astype(numpy.float32)
        self.weights.append(TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, raw_data=values.tobytes()))
        return name

    def node(self, op, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"{name}_output"], name=name, **attributes))
        return f"{name}_output"

    def conv(self, name, x, channels, outputs, kernel=1, stride=1, gain=1.0):
        weight = self.draw(f"{name}.weight", [outputs, channels, kernel, kernel], gain * (2 / (channels * kernel ** 2)) ** 0.5)
        return self.node("Conv", name, x, weight, self.draw(f"{name}.bias", [outputs], 0.05), kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, pads=[kernel // 2] * 4)

    def relu(self, name, x):
        return self.node("Relu", name, x)

    def block(self, name, x, channels, inner, stride):
        y = self.relu(f"{name}/relu1", self.conv(f"{name}/conv1", x, channels, inner))
        y = self.relu(f"{name}/relu2", self.conv(f"{name}/conv2", y, inner, inner, 3, stride))
        y = self.conv(f"{name}/conv3", y, inner, 4 * inner, gain=0.3)
        if channels != 4 * inner:
            x = self.conv(f"{name}/downsample", x, channels, 4 * inner, 1, stride, gain=0.7)
        return self.relu(f"{name}/relu3", self.node("Add", f"{name}/add", y, x))


def main():
    b = Builder()
    x = b.relu("relu", b.conv("conv1", "image", 3, WIDTH, 7, 2))
    x = b.node("MaxPool", "maxpool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = WIDTH
    for stage, (times, blocks, stride) in enumerate(STAGES):
        inner = times * WIDTH
        for block in range(blocks):
            x = b.block(f"layer{stage + 1}.{block}", x, channels, inner, stride if block == 0 else 1)
            channels = 4 * inner
    x = b.node("Flatten", "flatten", b.node("GlobalAveragePool", "avgpool", x))
    b.node("Gemm", "fc", x, b.draw("fc.weight", [1000, channels], channels ** -0.5), b.draw("fc.bias", [1000], 0.05), transB=1)
    b.nodes[-1].output[0] = "logits"
    graph = helper.make_graph(b.nodes, "resnet50", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, PIXELS, PIXELS])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1000])], b.weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[-1])


main()
