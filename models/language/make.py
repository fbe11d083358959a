#!/usr/bin/python3
"""Makes language models with random weights and a key-value cache, in the forms in which exporters write them.

usage: models/language/make.py [OPTION...] OUT.onnx

  --network llama|gpt2            RMS norm, rotary positions, grouped heads and SwiGLU; or layer norm, learned
                                  positions, an attention mask and GELU (default llama)
  --opset 17|21|23                17 and 21: norm, positions and attention by simple operators; 23: by
                                  RMSNormalization, RotaryEmbedding and Attention (default 17)
  --weights float32|float16|int4  float16 computes in float16 as well; int4: blocks of 32 with a scale each, behind
                                  DequantizeLinear, from opset 21 on (default float32)
  --size tiny|small|medium|large  tiny: 100 kB; small: 4 MB; medium: 300 MB; large: 1.5 GB as float32; the two last
                                  with OUT.onnx.data (default tiny)
  --large                         the same as --size large
  --ties                          llama only: tokens 2k and 2k + 1 have nearly the same logits, which any rounding
                                  turns round, so that engines part
  --seed S                        (default 1)

Inputs are input_ids [batch, sequence], position_ids of the same shape (llama) or attention_mask [batch, total] (gpt2),
and past_key_values.L.key and .value [batch, heads, past, size] for each layer L. Outputs are logits and present.L.key
and .value, with `past` + `sequence` rows. The same options give the same bytes. Needs python3-onnx and python3-numpy."""
import argparse
import math
import pathlib
import zlib

import numpy
from onnx import TensorProto, helper

UINT4, INT4 = 21, 22  # of TensorProto.DataType; Debian 12's onnx does not know them yet
BLOCK = 32
SIZES = {
    #         hidden, layers, heads, heads of keys, inner, vocabulary, positions
    ("llama", "tiny"): (32, 3, 4, 2, 64, 96, 128),
    ("gpt2", "tiny"): (32, 3, 4, 4, 64, 96, 128),
    ("llama", "small"): (128, 6, 8, 2, 256, 512, 256),
    ("gpt2", "small"): (128, 6, 8, 8, 512, 512, 256),
    ("llama", "medium"): (768, 10, 12, 4, 2048, 8000, 1024),
    ("gpt2", "medium"): (768, 9, 12, 12, 3072, 8000, 1024),
    ("llama", "large"): (1024, 28, 16, 4, 2816, 32000, 2048),
    ("gpt2", "large"): (1024, 26, 16, 16, 4096, 50257, 1024),
}
IR_VERSIONS = {17: 8, 21: 10, 23: 11}


class Builder:
    """A graph that grows node by node; weights go into the model, or into the file beside it."""

    def __init__(self, options):
        self.options, self.nodes, self.initializers, self.scope = options, [], [], ""
        self.type = TensorProto.FLOAT16 if options.weights == "float16" else TensorProto.FLOAT
        self.dtype = numpy.float16 if options.weights == "float16" else numpy.float32
        self.data = open(f"{options.out}.data", "wb") if options.size in ("medium", "large") else None
        self.constants, self.used = {}, set()

    def node(self, op, *inputs, outputs=1, name=None, **attributes):
        """Adds a node and returns the name of its output, or the names of its outputs."""
        base = full = f"{self.scope}/{name or op}"
        number = 0
        while full in self.used:
            number += 1
            full = f"{base}_{number}"
        self.used.add(full)
        made = [f"{full}_output_{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        self.nodes.append(helper.make_node(op, list(inputs), made, name=full, **attributes))
        return made[0] if outputs == 1 else made

    def tensor(self, name, kind, shape, raw):
        proto = TensorProto(name=name, data_type=kind, dims=shape)
        if self.data and len(raw) >= 1024:
            self.data.write(b"\0" * (-self.data.tell() % 4096))
            proto.data_location = TensorProto.EXTERNAL
            for key, value in (("location", pathlib.Path(self.data.name).name), ("offset", self.data.tell()),
                               ("length", len(raw))):
                proto.external_data.add(key=key, value=str(value))
            self.data.write(raw)
        else:
            proto.raw_data = raw
        self.initializers.append(proto)
        return name

    def array(self, name, values):
        kinds = {"f4": TensorProto.FLOAT, "f2": TensorProto.FLOAT16, "i8": TensorProto.INT64}
        return self.tensor(name, kinds[values.dtype.str[1:]], values.shape, values.tobytes())

    def constant(self, value, dtype=None):
        """A small constant, shared by all nodes that need it."""
        values = numpy.asarray(value, dtype or numpy.int64)
        key = (values.tobytes(), values.dtype.str, values.shape)
        if key not in self.constants:
            self.constants[key] = self.array(f"constant_{len(self.constants)}", values)
        return self.constants[key]

    def real(self, value):
        return self.constant(value, self.dtype)

    def draw(self, name, shape, scale):
        """Weights, which depend on the seed and their name alone. RandomState, as its streams never change."""
        random = numpy.random.RandomState([self.options.seed, zlib.crc32(name.encode())])
        return (random.standard_normal(shape) * scale).astype(numpy.float32)

    def vector(self, name, size, mean):
        return self.array(name, (mean + self.draw(name, [size], 0.1)).astype(self.dtype))

    def matrix(self, name, rows, columns, scale=None):
        """A weight for MatMul, in the type that was asked for."""
        values = self.draw(name, [rows, columns], rows ** -0.5 if scale is None else scale)
        if self.options.ties and name.startswith("lm_head"):  # every other element differs in its last bit
            values[:, 1::2] = values[:, 0::2]
            values[0::2, 1::2] = numpy.nextafter(values[0::2, 1::2], numpy.float32(9))
            values[1::2, 1::2] = numpy.nextafter(values[1::2, 1::2], numpy.float32(-9))
        if self.options.weights != "int4":
            return self.array(name, values.astype(self.dtype))
        blocks = values.reshape(rows // BLOCK, BLOCK, columns)
        scales = (numpy.abs(blocks).max(1) / 7).astype(numpy.float32)
        steps = numpy.rint(blocks / scales[:, None]).clip(-8, 7).astype(numpy.int8).reshape(-1)
        zero = []
        if self.options.network == "gpt2":  # unsigned, around a zero point of 8
            steps += 8
            zero = [self.tensor(f"{name}_zero_point", UINT4, scales.shape, b"\x88" * (scales.size // 2))]
        packed = (steps[0::2] & 15 | (steps[1::2] & 15) << 4).astype(numpy.uint8)
        kind = UINT4 if zero else INT4
        return self.node("DequantizeLinear", self.tensor(f"{name}_quantized", kind, [rows, columns], packed.tobytes()),
                         self.array(f"{name}_scale", scales), *zero, axis=0, block_size=BLOCK)

    def linear(self, x, name, rows, columns, bias=False):
        outer, self.scope = self.scope, f"{self.scope}/{name}"
        weight = self.matrix(f"{self.scope[1:].replace('/', '.')}.weight", rows, columns)
        y = self.node("MatMul", x, weight)
        if bias:
            y = self.node("Add", self.vector(f"{self.scope[1:].replace('/', '.')}.bias", columns, 0), y)
        self.scope = outer
        return y


class Network:
    def __init__(self, builder, sizes):
        self.b = builder
        self.hidden, self.layers, self.heads, self.kv_heads, self.inner, self.vocabulary, self.positions = sizes
        self.size = self.hidden // self.heads
        self.modern = builder.options.opset >= 23

    # What both networks share.

    def split_heads(self, x, heads):
        b = self.b
        return b.node("Transpose", b.node("Reshape", x, b.constant([0, 0, heads, self.size])), perm=[0, 2, 1, 3])

    def join_heads(self, x):
        b = self.b
        return b.node("Reshape", b.node("Transpose", x, perm=[0, 2, 1, 3]), b.constant([0, 0, self.hidden]))

    def length(self, x, axis):
        b = self.b
        return b.node("Gather", b.node("Shape", x), b.constant(axis), axis=0)

    def causal(self):
        """[1, 1, sequence, total]: true where a key comes after the query."""
        b = self.b
        past = self.length("past_key_values.0.key", 2)
        total = b.node("Add", past, self.length("input_ids", 1))
        columns = b.node("Range", b.constant(0), total, b.constant(1))
        rows = b.node("Range", past, total, b.constant(1))
        later = b.node("Greater", columns, b.node("Unsqueeze", rows, b.constant([1])))
        return b.node("Unsqueeze", later, b.constant([0, 1]))

    def repeat(self, x):
        """Keys or values for all heads of queries that share them."""
        b, times = self.b, self.heads // self.kv_heads
        if times == 1:
            return x
        x = b.node("Expand", b.node("Unsqueeze", x, b.constant([2])), b.constant([1, 1, times, 1, 1]))
        return b.node("Reshape", x, b.constant([0, self.heads, -1, self.size]))

    def attend(self, layer, q, k, v, mask):
        """q, k, v: [batch, heads, sequence, size]. Gives the same, and writes the cache."""
        b = self.b
        past = [f"past_key_values.{layer}.{what}" for what in ("key", "value")]
        present = [f"present.{layer}.{what}" for what in ("key", "value")]
        if self.modern:
            causal = {"is_causal": 1} if mask == "" else {}
            name = f"{b.scope}/Attention_output_0"
            return b.node("Attention", q, k, v, mask, *past, outputs=[name, *present], **causal)[0]
        k = b.node("Concat", past[0], k, outputs=[present[0]], axis=2)[0]
        v = b.node("Concat", past[1], v, outputs=[present[1]], axis=2)[0]
        scores = b.node("MatMul", q, b.node("Transpose", self.repeat(k), perm=[0, 1, 3, 2]), name="scores/MatMul")
        scores = b.node("Mul", scores, b.real(self.size ** -0.5), name="scale/Mul")
        scores = b.node("Add", scores, mask, name="mask/Add")
        weights = b.node("Softmax", scores, axis=-1)
        return b.node("MatMul", weights, self.repeat(v), name="context/MatMul")

    def value_infos(self):
        b, options = self.b, self.b.options
        ids = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
        if options.network == "llama":
            ids.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "sequence"]))
        else:
            ids.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]))
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", self.vocabulary])

        def cache(name, length):
            return [helper.make_tensor_value_info(f"{name}.{layer}.{what}", b.type,
                                                  ["batch", self.kv_heads, length, self.size])
                    for layer in range(self.layers) for what in ("key", "value")]
        return ids + cache("past_key_values", "past"), [logits] + cache("present", "all")

    def logits(self, x):
        b = self.b
        if b.type == TensorProto.FLOAT:
            b.nodes[-1].output[0] = "logits"
        else:
            b.node("Cast", x, outputs=["logits"], to=TensorProto.FLOAT)


class Llama(Network):
    def norm(self, x, name):
        b = self.b
        outer, b.scope = b.scope, f"{b.scope}/{name}"
        weight = b.vector(f"{b.scope[1:].replace('/', '.')}.weight", self.hidden, 1)
        if self.modern:
            y = b.node("RMSNormalization", x, weight, axis=-1, epsilon=1e-5)
        else:
            wide = x if b.type == TensorProto.FLOAT else b.node("Cast", x, to=TensorProto.FLOAT)
            square = b.node("Pow", wide, b.constant(2, numpy.float32))
            mean = b.node("ReduceMean", square, axes=[-1]) if b.options.opset < 18 else \
                b.node("ReduceMean", square, b.constant([-1]))
            root = b.node("Sqrt", b.node("Add", mean, b.constant(1e-5, numpy.float32)))
            y = b.node("Mul", wide, b.node("Div", b.constant(1, numpy.float32), root))
            if b.type != TensorProto.FLOAT:
                y = b.node("Cast", y, to=b.type)
            y = b.node("Mul", weight, y)
        b.scope = outer
        return y

    def angles(self):
        """cos and sin of each position, as the nodes of all layers read them."""
        b = self.b
        inverse = 10000.0 ** (-numpy.arange(0, self.size, 2) / self.size)
        angle = numpy.outer(numpy.arange(self.positions), inverse)
        # By the C library: NumPy's own functions differ from processor to processor.
        tables = [numpy.vectorize(function, otypes=[float])(angle) for function in (math.cos, math.sin)]
        if self.modern:
            return [b.array(name, t.astype(b.dtype)) for name, t in zip(("cos_cache", "sin_cache"), tables)]
        tables = [b.array(name, numpy.concatenate([t, t], 1).astype(b.dtype))
                  for name, t in zip(("cos_cached", "sin_cached"), tables)]
        return [b.node("Unsqueeze", b.node("Gather", t, "position_ids", axis=0), b.constant([1])) for t in tables]

    def rotate(self, x, cos, sin):
        b = self.b
        if self.modern:
            return b.node("RotaryEmbedding", x, cos, sin, "position_ids")
        half = self.size // 2
        low = b.node("Slice", x, b.constant([0]), b.constant([half]), b.constant([3]))
        high = b.node("Slice", x, b.constant([half]), b.constant([self.size]), b.constant([3]))
        turned = b.node("Concat", b.node("Neg", high), low, axis=3)
        return b.node("Add", b.node("Mul", x, cos), b.node("Mul", turned, sin))

    def build(self):
        b = self.b
        b.scope = "/model"
        cos, sin = self.angles()
        mask = ""
        if not self.modern:
            mask = b.node("Where", self.causal(), b.real(-numpy.inf), b.real(0))
        table = b.array("model.embed_tokens.weight",
                        b.draw("model.embed_tokens.weight", [self.vocabulary, self.hidden], 1).astype(b.dtype))
        x = b.node("Gather", table, "input_ids", name="embed_tokens/Gather")
        for layer in range(self.layers):
            b.scope = f"/model/layers.{layer}"
            y = self.norm(x, "input_layernorm")
            b.scope += "/self_attn"
            kv = self.kv_heads * self.size
            q, k, v = (b.linear(y, name, self.hidden, width) for name, width in
                       (("q_proj", self.hidden), ("k_proj", kv), ("v_proj", kv)))
            q = self.rotate(self.split_heads(q, self.heads), cos, sin)
            k = self.rotate(self.split_heads(k, self.kv_heads), cos, sin)
            y = self.attend(layer, q, k, self.split_heads(v, self.kv_heads), mask)
            y = b.linear(self.join_heads(y), "o_proj", self.hidden, self.hidden)
            b.scope = f"/model/layers.{layer}"
            x = b.node("Add", x, y)
            y = self.norm(x, "post_attention_layernorm")
            b.scope += "/mlp"
            gate = b.linear(y, "gate_proj", self.hidden, self.inner)
            gate = b.node("Mul", gate, b.node("Sigmoid", gate), name="act_fn/Mul")
            y = b.node("Mul", gate, b.linear(y, "up_proj", self.hidden, self.inner))
            y = b.linear(y, "down_proj", self.inner, self.hidden)
            b.scope = f"/model/layers.{layer}"
            x = b.node("Add", x, y)
        b.scope = "/model"
        x = self.norm(x, "norm")
        b.scope = ""
        self.logits(b.linear(x, "lm_head", self.hidden, self.vocabulary))


class Gpt2(Network):
    def norm(self, x, name):
        b = self.b
        full = f"{b.scope}/{name}"[1:].replace("/", ".")
        return b.node("LayerNormalization", x, b.vector(f"{full}.weight", self.hidden, 1),
                      b.vector(f"{full}.bias", self.hidden, 0), name=f"{name}/LayerNormalization", axis=-1,
                      epsilon=1e-5)

    def gelu(self, x):
        b = self.b
        if b.options.opset >= 20:
            return b.node("Gelu", x, approximate="tanh")
        inner = b.node("Add", x, b.node("Mul", b.node("Pow", x, b.real(3)), b.real(0.044715)))
        tanh = b.node("Tanh", b.node("Mul", inner, b.real((2 / numpy.pi) ** 0.5)))
        return b.node("Mul", b.node("Mul", x, b.real(0.5)), b.node("Add", tanh, b.real(1)))

    def mask(self):
        """What is added to the scores: -10000 for keys that are padding or come after the query."""
        b = self.b
        padding = b.node("Equal", b.node("Unsqueeze", "attention_mask", b.constant([1, 2])), b.constant(0))
        return b.node("Where", b.node("Or", padding, self.causal()), b.real(-10000), b.real(0))

    def places(self):
        b = self.b
        past = self.length("past_key_values.0.key", 2)
        rows = b.node("Range", past, b.node("Add", past, self.length("input_ids", 1)), b.constant(1))
        return b.node("Unsqueeze", rows, b.constant([0]))

    def build(self):
        b = self.b
        b.scope = "/transformer"
        mask = self.mask()
        names = "transformer.wte.weight", "transformer.wpe.weight"
        tokens, places = (b.array(name, b.draw(name, [rows, self.hidden], scale).astype(b.dtype)) for name, rows, scale
                          in zip(names, (self.vocabulary, self.positions), (self.hidden ** -0.5, 0.3)))
        x = b.node("Add", b.node("Gather", tokens, "input_ids", name="wte/Gather"),
                   b.node("Gather", places, self.places(), name="wpe/Gather"))
        for layer in range(self.layers):
            b.scope = f"/transformer/h.{layer}"
            y = self.norm(x, "ln_1")
            b.scope += "/attn"
            qkv = b.linear(y, "c_attn", self.hidden, 3 * self.hidden, bias=True)
            parts = {} if b.options.opset < 18 else {"num_outputs": 3}
            q, k, v = (self.split_heads(part, self.heads) for part in b.node("Split", qkv, outputs=3, axis=2, **parts))
            y = self.join_heads(self.attend(layer, q, k, v, mask))
            y = b.linear(y, "c_proj", self.hidden, self.hidden, bias=True)
            b.scope = f"/transformer/h.{layer}"
            x = b.node("Add", x, y)
            y = self.norm(x, "ln_2")
            b.scope += "/mlp"
            y = self.gelu(b.linear(y, "c_fc", self.hidden, self.inner, bias=True))
            y = b.linear(y, "c_proj", self.inner, self.hidden, bias=True)
            b.scope = f"/transformer/h.{layer}"
            x = b.node("Add", x, y)
        b.scope = "/transformer"
        x = self.norm(x, "ln_f")
        b.scope = "/lm_head"
        self.logits(b.node("MatMul", x, b.node("Transpose", tokens, perm=[1, 0])))  # tied to the embedding


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--network", choices=("llama", "gpt2"), default="llama")
    parser.add_argument("--opset", type=int, choices=sorted(IR_VERSIONS), default=17)
    parser.add_argument("--weights", choices=("float32", "float16", "int4"), default="float32")
    parser.add_argument("--size", choices=("tiny", "small", "medium", "large"), default="tiny")
    parser.add_argument("--large", dest="size", action="store_const", const="large")
    parser.add_argument("--ties", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    if options.weights == "int4" and options.opset < 21:
        parser.error("int4 weights need --opset 21 or 23")
    return options


def main():
    options = parse()
    builder = Builder(options)
    network = {"llama": Llama, "gpt2": Gpt2}[options.network](builder, SIZES[options.network, options.size])
    network.build()
    inputs, outputs = network.value_infos()
    graph = helper.make_graph(builder.nodes, options.network, inputs, outputs, builder.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", options.opset)], producer_name="assay-zoo",
                              ir_version=IR_VERSIONS[options.opset])
    if builder.data:
        builder.data.close()
    options.out.write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
