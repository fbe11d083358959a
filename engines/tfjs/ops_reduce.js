'use strict';
/* Reductions over axes, softmax and its relatives, and what picks or accumulates along an axis. */
const { TYPE } = require('../sdk/js/onnx.js');

/* The axes of a reduction; null when nothing is reduced. */
function reducedAxes(c) {
    const axes = c.numbersOr(1, 'axes', null);
    if (axes && axes.length)
        return axes.map(axis => c.axis(axis));
    return c.attribute('noop_with_empty_axes', 0) ? null : Array.from({ length: c.rank }, (_, i) => i);
}

/* `reduce` gets the tensor, the axes and keepdims; `single` is what is done to an element when nothing is reduced. */
const reduction = (types, reduce, single, bound) => [types, c => {
    const axes = reducedAxes(c);
    if (!axes)
        return single ? single(c.tf, c.x(0)) : c.tf.clone(c.x(0));
    if (bound)
        c.fits(largest => bound(largest, c.value(0).count));
    return reduce(c.tf, c.x(0), axes, Boolean(c.attribute('keepdims', 1)));
}];

/* tfjs's own mean divides every element before it adds them up: sums that cancel then lose digits. */
function mean(tf, x, axes, keep) {
    return tf.div(tf.sum(x, axes, keep), axes.reduce((count, axis) => count * x.shape[axis], 1));
}

/* Computes along one axis with a function of tfjs that only knows the last one. */
function alongLast(c, axis, compute) {
    if (axis === c.rank - 1)
        return compute(c.x(0));
    const order = Array.from({ length: c.rank }, (_, i) => i);
    [order[axis], order[c.rank - 1]] = [order[c.rank - 1], order[axis]];
    const back = y => Array.isArray(y) ? y.map(back) : c.tf.transpose(y, order);
    return back(compute(c.tf.transpose(c.x(0), order)));
}

const PER_AXIS = 13; /* from this version on, softmax works on one axis; before, on all from an axis on */
const softmax = compute => ['f', c => {
    const whole = c.opset < PER_AXIS;
    const axis = c.axis(c.attribute('axis', whole ? 1 : -1), Math.max(c.rank, 1));
    if (c.rank === 0)
        c.lacks('a scalar');
    if (!whole)
        return alongLast(c, axis, x => compute(c.tf, x, c));
    const rows = c.value(0).dims.slice(0, axis).reduce((a, b) => a * b, 1);
    const flat = c.tf.reshape(c.x(0), [rows, rows ? c.value(0).count / rows : 0]);
    return c.tf.reshape(compute(c.tf, flat, c), c.value(0).dims);
}];

function hardmax(tf, x, c) {
    if (x.shape[x.shape.length - 1] < 2)
        c.lacks('a choice among less than two');
    return tf.cast(tf.oneHot(tf.argMax(x, -1), x.shape[x.shape.length - 1], 1, 0, 'float32'), 'float32');
}

const arg = name => ['fi', c => {
    if (c.attribute('select_last_index', 0))
        c.lacks('the last of several equal elements');
    const axis = c.axis(c.attribute('axis', 0)), y = c.tf[name](c.x(0), axis);
    return c.as(TYPE.INT64, c.attribute('keepdims', 1) ? c.tf.expandDims(y, axis) : y);
}];

function topK(c) {
    const axis = c.axis(c.attribute('axis', -1)), largest = c.attribute('largest', 1);
    const k = c.opset < 10 ? c.attribute('k') : c.numbers(1)[0];
    const [values, indices] = alongLast(c, axis, x => {
        const top = c.tf.topk(largest ? x : c.tf.neg(x), k, true);
        return [largest ? top.values : c.tf.neg(top.values), top.indices];
    });
    return [c.as(c.type, values), c.as(TYPE.INT64, indices)];
}

function cumSum(c) {
    c.fits(largest => largest * c.value(0).count);
    const axis = c.axis(c.numbers(1)[0]);
    return c.tf.cumsum(c.x(0), axis, Boolean(c.attribute('exclusive', 0)), Boolean(c.attribute('reverse', 0)));
}

function lpNormalization(c) {
    const tf = c.tf, x = c.x(0), axis = c.axis(c.attribute('axis', -1));
    const norm = c.attribute('p', 2) === 1 ? tf.sum(tf.abs(x), axis, true) : tf.sqrt(tf.sum(tf.square(x), axis, true));
    return tf.div(x, norm);
}

module.exports = {
    mean,
    rows: {
        ReduceL1: reduction('f', (tf, x, axes, keep) => tf.sum(tf.abs(x), axes, keep), (tf, x) => tf.abs(x)),
        ReduceL2: reduction('f', (tf, x, axes, keep) => tf.sqrt(tf.sum(tf.square(x), axes, keep)), (tf, x) => tf.abs(x)),
        ReduceLogSum: reduction('f', (tf, x, axes, keep) => tf.log(tf.sum(x, axes, keep)), (tf, x) => tf.log(x)),
        ReduceLogSumExp: reduction('f', (tf, x, axes, keep) => tf.logSumExp(x, axes, keep)),
        ReduceMax: reduction('fi', (tf, x, axes, keep) => tf.max(x, axes, keep)),
        ReduceMean: reduction('f', mean),
        ReduceMin: reduction('fi', (tf, x, axes, keep) => tf.min(x, axes, keep)),
        ReduceProd: reduction('fil', (tf, x, axes, keep) => tf.prod(x, axes, keep), null,
            (largest, count) => Math.max(largest, 1) ** count),
        ReduceSum: reduction('fil', (tf, x, axes, keep) => tf.sum(x, axes, keep), null, (largest, count) => largest * count),
        ReduceSumSquare: reduction('f', (tf, x, axes, keep) => tf.sum(tf.square(x), axes, keep), (tf, x) => tf.square(x)),
        ArgMax: arg('argMax'),
        ArgMin: arg('argMin'),
        CumSum: ['fil', cumSum],
        Hardmax: softmax(hardmax),
        LogSoftmax: softmax((tf, x) => tf.logSoftmax(x)),
        LpNormalization: ['f', lpNormalization],
        Softmax: softmax((tf, x) => tf.softmax(x)),
        TopK: ['fi', topK],
    },
};
