'use strict';
/* Matrix products and normalisations. */
const { TYPE } = require('../sdk/js/onnx.js');
const { channelsFirst, channelsLast } = require('./ops_window.js');

/* Vectors become matrices for the product and lose the added dimension afterwards. */
function matMul(c) {
    const tf = c.tf, a = c.x(0), b = c.x(1);
    const left = a.rank === 1 ? tf.expandDims(a, 0) : a, right = b.rank === 1 ? tf.expandDims(b, 1) : b;
    const y = tf.matMul(left, right), dropped = [];
    if (a.rank === 1)
        dropped.push(y.rank - 2);
    if (b.rank === 1)
        dropped.push(y.rank - 1);
    return dropped.length ? tf.reshape(y, y.shape.filter((_, i) => !dropped.includes(i))) : y;
}

function gemm(c) {
    const tf = c.tf, alpha = c.attribute('alpha', 1), beta = c.attribute('beta', 1);
    let y = tf.matMul(c.x(0), c.x(1), Boolean(c.attribute('transA', 0)), Boolean(c.attribute('transB', 0)));
    if (alpha !== 1)
        y = tf.mul(y, alpha);
    if (!c.x(2))
        return y;
    return tf.add(y, beta === 1 ? c.x(2) : tf.mul(c.x(2), beta));
}

function einsum(c) {
    return c.tf.einsum(c.attribute('equation').replaceAll(' ', ''), ...c.inputs.map(value => value.tensor));
}

/* tfjs normalises the last dimension of pictures; more spatial dimensions are joined. */
function batchNormalization(c) {
    if (c.attribute('training_mode', 0) || (c.opset < 7 && !c.attribute('is_test', 0)) || c.attribute('spatial', 1) === 0)
        c.lacks('training');
    if (c.node.outputs.filter(name => name).length > 1)
        c.lacks('outputs of training');
    const tf = c.tf, [scale, bias, mean, variance] = [1, 2, 3, 4].map(i => c.x(i)), epsilon = c.attribute('epsilon', 1e-5);
    if (c.rank < 2)
        c.lacks(`rank ${c.rank}`);
    if (c.rank === 2)
        return tf.batchNorm(c.x(0), mean, variance, bias, scale, epsilon);
    const last = channelsLast(tf, c.x(0)), channels = last.shape[last.rank - 1];
    const picture = last.rank > 4 ? tf.reshape(last, [-1, channels]) : last;
    const y = tf.batchNorm(picture, mean, variance, bias, scale, epsilon);
    return channelsFirst(tf, last.rank > 4 ? tf.reshape(y, last.shape) : y, c.rank);
}

/* (x - mean) / sqrt(variance + epsilon) over axes, and what it was made from. */
function normalize(tf, x, axes, epsilon) {
    const { mean, variance } = tf.moments(x, axes, true), inverse = tf.rsqrt(tf.add(variance, epsilon));
    return { y: tf.mul(tf.sub(x, mean), inverse), mean, inverse };
}

const from = (first, rank) => Array.from({ length: Math.max(rank - first, 0) }, (_, i) => i + first);

/* One number for each channel, as a shape that broadcasts over [N, C, ...]. */
const perChannel = (tf, x, rank) => tf.reshape(x, [-1, ...Array(rank - 2).fill(1)]);

function instanceNormalization(c) {
    const tf = c.tf, { y } = normalize(tf, c.x(0), from(2, c.rank), c.attribute('epsilon', 1e-5));
    return tf.add(tf.mul(y, perChannel(tf, c.x(1), c.rank)), perChannel(tf, c.x(2), c.rank));
}

function layerNormalization(c) {
    const tf = c.tf, axis = c.axis(c.attribute('axis', -1));
    const { y, mean, inverse } = normalize(tf, c.x(0), from(axis, c.rank), c.attribute('epsilon', 1e-5));
    const scaled = tf.mul(y, c.x(1));
    return [c.as(TYPE.FLOAT, c.x(2) ? tf.add(scaled, c.x(2)) : scaled), c.as(TYPE.FLOAT, mean), c.as(TYPE.FLOAT, inverse)];
}

const PER_CHANNEL_SCALE = 21; /* before, GroupNormalization has one scale for each group */
function groupNormalization(c) {
    const tf = c.tf, groups = c.attribute('num_groups'), dims = c.value(0).dims;
    const grouped = tf.reshape(c.x(0), [dims[0], groups, -1]);
    const { y } = normalize(tf, grouped, [2], c.attribute('epsilon', 1e-5));
    if (c.opset < PER_CHANNEL_SCALE) {
        const scaled = tf.add(tf.mul(y, tf.reshape(c.x(1), [-1, 1])), tf.reshape(c.x(2), [-1, 1]));
        return tf.reshape(scaled, dims);
    }
    return tf.add(tf.mul(tf.reshape(y, dims), perChannel(tf, c.x(1), c.rank)), perChannel(tf, c.x(2), c.rank));
}

function meanVarianceNormalization(c) {
    const tf = c.tf, axes = c.attribute('axes', [0, 2, 3]).map(axis => c.axis(axis)), x = c.x(0);
    const centred = tf.sub(x, tf.mean(x, axes, true));
    return tf.div(centred, tf.add(tf.sqrt(tf.mean(tf.square(centred), axes, true)), 1e-9));
}

module.exports = {
    MatMul: ['f', matMul],
    Gemm: ['f', gemm],
    Einsum: ['f', einsum],
    BatchNormalization: ['f', batchNormalization],
    GroupNormalization: ['f', groupNormalization],
    InstanceNormalization: ['f', instanceNormalization],
    LayerNormalization: ['f', layerNormalization],
    MeanVarianceNormalization: ['f', meanVarianceNormalization],
};
