'use strict';
/*
 * usage: TFJS_LIBRARY=PACKAGE.JSON node meta_tfjs.js BACKEND CASES RESULTS
 * TensorFlow.js called directly, forward and by its tape, for the cases of bench/meta; BACKEND is cpu or wasm, with one thread. Nothing of
 * Assay's adapter is in here: each case is written out in calls of the library. What is said by several calls has none of its
 * own in tfjs. The files are those of meta_file.h.
 */
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const NAME = 64, MOST_DIMS = 12, HEAD = 8 + 8 * MOST_DIMS + 8;
const FLOAT = 1, INT64 = 7, BOOL = 9;
const REFUSED = 1, REFUSED_GRADIENTS = 2;
const f = Math.fround; /* attributes of ONNX have 32 bits */

const [backend, from, to] = process.argv.slice(2);
const library = createRequire(process.env.TFJS_LIBRARY);
const tf = library('@tensorflow/tfjs');

const last = x => tf.transpose(x, [0, 2, 3, 1]); /* channels last and first again */
const first = x => tf.transpose(x, [0, 3, 1, 2]);
const filter = w => tf.transpose(w, [2, 3, 1, 0]);
const swapped = (x, run) => tf.transpose(run(tf.transpose(x, [0, 2, 1])), [0, 2, 1]); /* on the last dimension for axis 1 */
const normal = (x, axes) => {
    const { mean, variance } = tf.moments(x, axes, true);
    return tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, f(1e-5))));
};
const channel = x => tf.reshape(x, [3, 1, 1]);
const hard = (x, alpha) => tf.clipByValue(tf.add(tf.mul(x, alpha), 0.5), 0, 1);
const indices = (list, shape = [list.length]) => tf.tensor(list, shape, 'int32');
/* tfjs has no gradient for conditions: they are taken out of the tape. */
const fixed = x => tf.tensor(x.dataSync(), x.shape, x.dtype);
const below = (x, alpha, scale) => tf.where(fixed(tf.greater(x, 0)), scale === 1 ? x : tf.mul(x, scale),
    tf.mul(tf.expm1(tf.minimum(x, 0)), alpha * scale));

/* Cases that are a function of tfjs on the inputs as they are. */
const PLAIN = {
    Abs: 'abs', Acos: 'acos', Acosh: 'acosh', Add: 'add', And: 'logicalAnd', Asin: 'asin', Asinh: 'asinh', Atan: 'atan',
    Atanh: 'atanh', Ceil: 'ceil', Cos: 'cos', Cosh: 'cosh', Div: 'div', Equal: 'equal', Erf: 'erf', Exp: 'exp', Floor: 'floor',
    Greater: 'greater', GreaterOrEqual: 'greaterEqual', Identity: 'clone', IsInf: 'isInf', IsNaN: 'isNaN', Less: 'less',
    LessOrEqual: 'lessEqual', Log: 'log', MatMul: 'matMul', MatMulStack: 'matMul', Max: 'maximum', Min: 'minimum', Mod: 'mod',
    Mul: 'mul', MulFirst: 'mul', Neg: 'neg', Not: 'logicalNot', Or: 'logicalOr', PRelu: 'prelu', PReluOne: 'prelu', PowBoth: 'pow',
    Reciprocal: 'reciprocal', Relu: 'relu', Round: 'round', Sigmoid: 'sigmoid', Sign: 'sign', Sin: 'sin', Sinh: 'sinh',
    Softplus: 'softplus', Sqrt: 'sqrt', Sub: 'sub', Tan: 'tan', Tanh: 'tanh', Where: 'where', Xor: 'logicalXor',
};

const WRITTEN = {
    ArgMax: x => tf.expandDims(tf.argMax(x, 1), 1),
    ArgMin: x => tf.expandDims(tf.argMin(x, 1), 1),
    AveragePool: x => first(tf.avgPool(last(x), 2, 1, 'valid')),
    AveragePoolPads: x => first(tf.avgPool(last(x), 3, 2, [[0, 0], [1, 2], [1, 2], [0, 0]], 'floor')),
    BatchNormalization: (x, s, b) => first(tf.batchNorm(last(x), tf.tensor1d([0.5, -1, 2]), tf.tensor1d([1.5, 0.5, 2]), b, s, f(1e-5))),
    BatchNormalizationAll: (x, s, b, m, v) => first(tf.batchNorm(last(x), m, v, b, s, f(1e-5))),
    Celu: x => below(x, 1, 1),
    Clip: x => tf.clipByValue(x, 0, f(0.8)),
    Concat: (x, b) => tf.concat([x, b], 1),
    Conv: (x, w, b) => first(tf.add(tf.conv2d(last(x), filter(w), 1, 1), b)),
    ConvGroups(x, w) {
        const parts = tf.split(tf.transpose(x, [0, 2, 1]), 2, 2), filters = tf.split(tf.transpose(w, [2, 1, 0]), 2, 2);
        return tf.transpose(tf.concat(parts.map((part, i) => tf.conv1d(part, filters[i], 2, 'valid')), 2), [0, 2, 1]);
    },
    ConvStrides: (x, w) => first(tf.conv2d(last(x), filter(w), 2, 'valid')),
    ConvTranspose: (x, w, b) => first(tf.add(tf.conv2dTranspose(last(x), filter(w), [1, 9, 9, 3], 2, 'valid'), b)),
    CumSum: x => tf.cumsum(x, 1),
    DepthToSpace: x => first(tf.depthToSpace(last(x), 2, 'NHWC')),
    Einsum: (x, b) => tf.einsum('bij,bjk->bik', x, b),
    Elu: x => below(x, 2, 1),
    Expand: x => tf.broadcastTo(x, [2, 3, 4]),
    Flatten: x => tf.reshape(x, [2, 12]),
    Gather: x => tf.gather(x, indices([3, 1])),
    GatherElements: x => tf.reshape(tf.gather(tf.reshape(x, [12]), indices([0, 9, 6, 3, 4, 5, 10, 11])), [2, 4]),
    GatherND: x => tf.gatherND(x, indices([2, 0], [2, 1])),
    Gelu: x => tf.mul(tf.mul(x, 0.5), tf.add(1, tf.erf(tf.mul(x, Math.SQRT1_2)))),
    Gemm: (x, w, c) => tf.add(tf.mul(tf.matMul(x, w, true, true), 0.5), tf.mul(c, 0.25)),
    GemmBias: (x, w, c) => tf.add(tf.matMul(x, w), c),
    /* The library's mean divides before it sums, which is another rounding than that of Assay's ReduceMean. */
    GlobalAveragePool: x => tf.div(tf.sum(x, [2, 3], true), 20),
    GlobalMaxPool: x => tf.max(x, [2, 3], true),
    HardSigmoid: x => hard(x, f(0.2)),
    HardSwish: x => tf.mul(x, hard(x, 1 / 6)),
    Hardmax: x => tf.oneHot(tf.argMax(x, 2), 4, 1, 0, 'float32'),
    InstanceNormalization: (x, s, b) => tf.add(tf.mul(normal(x, [2, 3]), channel(s)), channel(b)),
    LRN: x => first(tf.localResponseNormalization(last(x), 1, 1, f(0.02) / 3, f(0.75))),
    LayerNormalization: (x, s, b) => tf.add(tf.mul(normal(x, [1]), s), b),
    LeakyRelu: x => tf.leakyRelu(x, f(0.1)),
    LogSoftmax: x => swapped(x, y => tf.logSoftmax(y)),
    LpNormalization: x => tf.div(x, tf.sqrt(tf.sum(tf.square(x), 1, true))),
    MatMulVector: (x, b) => tf.reshape(tf.matMul(tf.reshape(x, [1, 4]), b), [5]),
    MaxPool: x => first(tf.maxPool(last(x), 3, 2, [[0, 0], [1, 0], [1, 0], [0, 0]], 'floor')),
    Mean: (x, b) => tf.div(tf.add(x, b), 2),
    Mish: x => tf.mul(x, tf.tanh(tf.softplus(x))),
    Pad: x => tf.pad(x, [[0, 1], [1, 2]]),
    Pow: x => tf.pow(x, tf.scalar(2.5)),
    ReduceL1: x => tf.sum(tf.abs(x), 1, true),
    ReduceL2: x => tf.sqrt(tf.sum(tf.square(x), 1, true)),
    ReduceLogSum: x => tf.log(tf.sum(x, 1, true)),
    ReduceLogSumExp: x => tf.logSumExp(x, 1, true),
    ReduceMax: x => tf.max(x, 1, true),
    ReduceMean: x => tf.div(tf.sum(x, 1), 3),
    ReduceMin: x => tf.min(x, 1, true),
    ReduceProd: x => tf.prod(x, 1, true),
    ReduceSum: x => tf.sum(x, 1, true),
    ReduceSumSquare: x => tf.sum(tf.square(x), 1, true),
    Reshape: x => tf.reshape(x, [6, 4]),
    ResizeLinear: x => first(tf.image.resizeBilinear(last(x), [6, 6], false, true)),
    ResizeNearest: x => first(tf.image.resizeNearestNeighbor(last(x), [6, 6])),
    ScatterElements: (x, u) => tf.reshape(tf.tensorScatterUpdate(tf.reshape(x, [9]), indices([0, 4, 8, 6, 1, 5], [6, 1]),
        tf.reshape(u, [6])), [3, 3]),
    ScatterND: (x, u) => tf.tensorScatterUpdate(x, indices([3, 1], [2, 1]), u),
    Selu: x => below(x, f(1.6732632423543772), f(1.0507009873554805)),
    Shrink: x => tf.where(fixed(tf.less(x, -f(0.4))), tf.add(x, f(0.2)),
        tf.where(fixed(tf.greater(x, f(0.4))), tf.sub(x, f(0.2)), tf.zerosLike(x))),
    Slice: x => tf.stridedSlice(x, [1, 0], [4, 4], [2, 1]),
    Softmax: x => swapped(x, y => tf.softmax(y)),
    Softsign: x => tf.div(x, tf.add(1, tf.abs(x))),
    SpaceToDepth: x => tf.reshape(tf.transpose(tf.reshape(x, [1, 2, 2, 2, 3, 2]), [0, 3, 5, 1, 2, 4]), [1, 8, 2, 3]),
    Split: x => tf.split(x, [2, 4], 1),
    Squeeze: x => tf.squeeze(x, [1]),
    Sum: (x, b, c) => tf.add(tf.add(x, b), c),
    ThresholdedRelu: x => tf.where(fixed(tf.greater(x, f(0.3))), x, tf.zerosLike(x)),
    Tile: x => tf.tile(x, [2, 3]),
    TopK(x) {
        const { values, indices: places } = tf.topk(x, 3, true);
        return [values, places];
    },
    Transpose: x => tf.transpose(x, [2, 0, 1]),
    Trilu: x => tf.linalg.bandPart(x, 0, -1),
    Unsqueeze: x => tf.expandDims(x, 1),
};

function call(name, inputs) {
    const made = PLAIN[name] ? tf[PLAIN[name]](...inputs) : WRITTEN[name](...inputs);
    return Array.isArray(made) ? made : [made];
}

function readTensor(take) {
    const head = take(HEAD), dims = Array.from({ length: head.readUInt32LE(4) }, (_, i) => Number(head.readBigInt64LE(8 + 8 * i)));
    const type = head.readUInt32LE(0), bytes = Uint8Array.from(take(Number(head.readBigUInt64LE(HEAD - 8))));
    return { type, dims, bytes };
}

function* cases(file) {
    let at = 0;
    const take = size => file.subarray(at, at += size);
    while (at < file.length) {
        const name = take(NAME);
        take(Number(take(8).readBigUInt64LE()));
        const n = take(4).readUInt32LE(), upstream = take(4).readUInt32LE();
        const tensors = Array.from({ length: n + upstream }, () => readTensor(take));
        yield { name, inputs: tensors.slice(0, n), upstream: tensors.slice(n) };
    }
}

function tensorOf({ type, dims, bytes }) {
    if (type !== FLOAT && type !== BOOL)
        throw new Error(`an input of type ${type}`);
    return type === FLOAT ? tf.tensor(new Float32Array(bytes.buffer), dims, 'float32') : tf.tensor(bytes, dims, 'bool');
}

/* The head and the elements. tfjs has no int64: its indices are int32. */
function written(tensor) {
    const data = tensor.dataSync(), head = Buffer.alloc(HEAD);
    const [type, elements] = tensor.dtype === 'float32' ? [FLOAT, Float32Array.from(data)]
        : tensor.dtype === 'int32' ? [INT64, BigInt64Array.from(data, BigInt)] : [BOOL, Uint8Array.from(data)];
    head.writeUInt32LE(type, 0);
    head.writeUInt32LE(tensor.rank, 4);
    tensor.shape.forEach((size, i) => head.writeBigInt64LE(BigInt(size), 8 + 8 * i));
    head.writeBigUInt64LE(BigInt(elements.byteLength), HEAD - 8);
    return [head, Buffer.from(elements.buffer)];
}

function forward(name, inputs) {
    return call(name, inputs.map(tensorOf)).map(written);
}

/* By the inputs of floating-point type. tfjs differentiates one result: several are laid end to end. */
function backward(name, inputs, upstream) {
    const given = inputs.map(tensorOf), wanted = given.filter(x => x.dtype === 'float32');
    const joined = list => list.length === 1 ? list[0] : tf.concat(list.map(x => tf.reshape(x, [-1])));
    const run = (...xs) => joined(call(name, given.map(x => x.dtype === 'float32' ? xs.shift() : x)).slice(0, upstream.length));
    return tf.grads(run)(wanted, joined(upstream.map(tensorOf))).map(written);
}

/* What the function gives; null when the library refuses. */
function attempt(run) {
    try {
        return tf.tidy(run);
    } catch (error) {
        tf.engine().state.activeTape = null;
        tf.engine().state.gradientDepth = 0;
        return null;
    }
}

/* Name, numbers of outputs and gradients, what the library refused, and the tensors. */
function result({ name, inputs, upstream }) {
    const key = name.toString('latin1').replace(/\0.*$/s, ''), counts = Buffer.alloc(12), known = PLAIN[key] || WRITTEN[key];
    const outputs = known ? attempt(() => forward(key, inputs)) : [];
    const gradients = known && upstream.length ? attempt(() => backward(key, inputs, upstream)) : [];
    counts.writeUInt32LE(outputs ? outputs.length : 0, 0);
    counts.writeUInt32LE(gradients ? gradients.length : 0, 4);
    counts.writeUInt32LE((outputs ? 0 : REFUSED) | (gradients ? 0 : REFUSED_GRADIENTS), 8);
    return [name, counts, ...(outputs || []).flat(), ...(gradients || []).flat()];
}

async function main() {
    if (backend === 'wasm') {
        const wasm = library('@tensorflow/tfjs-backend-wasm');
        wasm.setWasmPaths(path.join(path.dirname(library.resolve('@tensorflow/tfjs-backend-wasm')), path.sep));
        wasm.setThreadsCount(1);
    }
    tf.enableProdMode();
    if (!await tf.setBackend(backend))
        throw new Error(`the backend ${backend} does not start`);
    fs.writeFileSync(to, Buffer.concat([...cases(fs.readFileSync(from))].flatMap(result)));
}

main();
