'use strict';
/*
 * Convolutions and poolings. ONNX has channels before the spatial sizes, tfjs behind them: tensors are transposed around
 * each call. One spatial dimension is a picture of height 1.
 */
const { mean } = require('./ops_reduce.js');
const { checkRank } = require('./value.js');
const { Rejected } = require('../sdk/js/adapter.js');

/* The order of dimensions that puts dimension 1 last, and the order that puts it back. */
const toLast = rank => [0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2), 1];
const toFirst = rank => [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, i) => i + 1)];

/* [N, C, spatial...] as [N, spatial..., C], with at least two spatial dimensions. */
function channelsLast(tf, x) {
    if (x.rank === 3)
        x = tf.reshape(x, [x.shape[0], x.shape[1], 1, x.shape[2]]);
    return tf.transpose(x, toLast(x.rank));
}

function channelsFirst(tf, y, rank) {
    y = tf.transpose(y, toFirst(y.rank));
    return rank === 3 ? tf.reshape(y, [y.shape[0], y.shape[1], y.shape[3]]) : y;
}

/* ONNX's rule for one spatial dimension: pads before and after, and the size of the output. */
function slide(mode, size, kernel, stride, dilation, before, after, ceil) {
    const extent = (kernel - 1) * dilation + 1;
    if (mode === 'SAME_UPPER' || mode === 'SAME_LOWER') {
        const out = Math.ceil(size / stride), pad = Math.max(0, (out - 1) * stride + extent - size);
        const half = mode === 'SAME_UPPER' ? Math.floor(pad / 2) : Math.ceil(pad / 2);
        return { before: half, after: pad - half, out };
    }
    if (mode === 'VALID')
        before = after = 0;
    const steps = (size + before + after - extent) / stride;
    let out = (ceil ? Math.ceil(steps) : Math.floor(steps)) + 1;
    if (ceil && (out - 1) * stride >= size + before)
        out--; /* a window that would start in the padding behind */
    return { before, after, out };
}

/* The window of a node: lists with one entry for each spatial dimension, of which there are at least two. */
function window(c, kernel) {
    const n = c.rank - 2, sizes = c.value(0).dims.slice(2);
    if (n < 1 || n > 3)
        c.lacks(`${n} spatial dimensions`);
    const ones = Array(n).fill(1), pads = c.attribute('pads', Array(2 * n).fill(0));
    const w = {
        kernel: [...kernel], strides: [...c.attribute('strides', ones)], dilations: [...c.attribute('dilations', ones)],
        pads: [], out: [], ceil: Boolean(c.attribute('ceil_mode', 0)),
    };
    if ([w.kernel, w.strides, w.dilations].some(list => list.length !== n) || pads.length !== 2 * n)
        throw new Rejected(`${c.node.op}: attributes do not fit ${n} spatial dimensions`);
    for (let i = 0; i < n; i++) {
        const mode = c.attribute('auto_pad', 'NOTSET');
        const { before, after, out } = slide(mode, sizes[i], kernel[i], w.strides[i], w.dilations[i], pads[i], pads[i + n], w.ceil);
        if (before < 0 || after < 0)
            c.lacks('negative pads');
        w.pads.push([before, after]);
        w.out.push(out);
    }
    if (w.out.some(out => out < 1))
        c.lacks('an empty output');
    if (n === 1)
        for (const [name, value] of [['kernel', 1], ['strides', 1], ['dilations', 1], ['pads', [0, 0]], ['out', 1]])
            w[name].unshift(value);
    w.dilated = w.dilations.some(dilation => dilation > 1);
    w.padded = w.pads.some(([before, after]) => before || after);
    return w;
}

/* tfjs's form of explicit pads for pictures. */
const explicitPads = w => w.padded ? [[0, 0], ...w.pads, [0, 0]] : 'valid';

/* Volumes have no explicit pads in tfjs: they are padded by its own operator before. */
function padVolume(tf, x, w, value = 0) {
    return w.padded ? tf.pad(x, [[0, 0], ...w.pads, [0, 0]], value) : x;
}

/* Some functions take either strides or dilations. */
function checkDilations(c, w) {
    if (w.dilated && w.strides.some(stride => stride > 1))
        c.lacks('strides and dilations at once');
}

/* Filters [O, I, spatial...] as [spatial..., I, O]. */
function filterLast(tf, weights) {
    if (weights.rank === 3)
        weights = tf.reshape(weights, [weights.shape[0], weights.shape[1], 1, weights.shape[2]]);
    const spatial = Array.from({ length: weights.rank - 2 }, (_, i) => i + 2);
    return tf.transpose(weights, [...spatial, 1, 0]);
}

function convolve(c, x, filter, w) {
    return x.rank === 5 ? c.tf.conv3d(padVolume(c.tf, x, w), filter, w.strides, 'valid', 'NDHWC', w.dilations)
        : c.tf.conv2d(x, filter, w.strides, explicitPads(w), 'NHWC', w.dilations);
}

/* One input channel in each group: [h, w, 1, C * M] as [h, w, C, M]. */
function depthwise(c, x, filter, w, group) {
    const [height, width, , outputs] = filter.shape;
    return c.tf.depthwiseConv2d(x, c.tf.reshape(filter, [height, width, group, outputs / group]), w.strides, explicitPads(w),
        'NHWC', w.dilations);
}

function inGroups(tf, x, filter, group, compute) {
    const xs = tf.split(x, group, x.rank - 1), filters = tf.split(filter, group, filter.rank - 1);
    return tf.concat(xs.map((part, i) => compute(part, filters[i])), x.rank - 1);
}

function addBias(c, y) {
    return c.x(2) ? c.tf.add(y, c.x(2)) : y;
}

function conv(c) {
    const weights = c.x(1), group = c.attribute('group', 1);
    const w = window(c, c.attribute('kernel_shape', weights.shape.slice(2)));
    checkDilations(c, w);
    const x = channelsLast(c.tf, c.x(0)), filter = filterLast(c.tf, weights);
    let y;
    if (group === 1)
        y = convolve(c, x, filter, w);
    else if (group === c.value(0).dims[1] && x.rank === 4)
        y = depthwise(c, x, filter, w, group);
    else
        y = inGroups(c.tf, x, filter, group, (part, partFilter) => convolve(c, part, partFilter, w));
    return channelsFirst(c.tf, addBias(c, y), c.rank);
}

/* Pads and output sizes of ConvTranspose, which are those of the convolution that it turns round. */
function transposedWindow(c, kernel) {
    const n = c.rank - 2, sizes = c.value(0).dims.slice(2), ones = Array(n).fill(1), zeros = Array(n).fill(0);
    if (n < 1 || n > 2)
        c.lacks(`${n} spatial dimensions`);
    const strides = c.attribute('strides', ones), dilations = c.attribute('dilations', ones);
    const extra = c.attribute('output_padding', zeros), given = c.attribute('output_shape', null);
    const mode = c.attribute('auto_pad', 'NOTSET'), pads = c.attribute('pads', [...zeros, ...zeros]);
    if (dilations.some(dilation => dilation > 1))
        c.lacks('dilations');
    const w = { strides: [...strides], pads: [], out: [] };
    for (let i = 0; i < n; i++) {
        const full = strides[i] * (sizes[i] - 1) + extra[i] + kernel[i];
        const same = mode === 'SAME_UPPER' || mode === 'SAME_LOWER';
        let [before, after] = mode === 'VALID' ? [0, 0] : [pads[i], pads[i + n]];
        if (given || same) {
            const total = full - (given ? given[given.length - n + i] : sizes[i] * strides[i]);
            before = mode === 'SAME_UPPER' ? Math.floor(total / 2) : total - Math.floor(total / 2);
            after = total - before;
        }
        if (before < 0 || after < 0 || extra[i] >= strides[i])
            c.lacks('an output beyond what the input reaches');
        w.pads.push([before, after]);
        w.out.push(full - before - after);
    }
    if (w.out.some(out => out < 1))
        c.lacks('an empty output');
    if (n === 1)
        for (const [name, value] of [['strides', 1], ['pads', [0, 0]], ['out', 1]])
            w[name].unshift(value);
    w.padded = w.pads.some(([before, after]) => before || after);
    return w;
}

function convTranspose(c) {
    const weights = c.x(1), group = c.attribute('group', 1);
    const w = transposedWindow(c, c.attribute('kernel_shape', weights.shape.slice(2)));
    const x = channelsLast(c.tf, c.x(0)), filter = filterLast(c.tf, weights); /* [h, w, O, I]: as tfjs wants it */
    const transposed = (part, partFilter) => c.tf.conv2dTranspose(part, partFilter,
        [part.shape[0], ...w.out, partFilter.shape[2]], w.strides, explicitPads(w));
    const y = group === 1 ? transposed(x, filter) : inGroups(c.tf, x, filter, group, transposed);
    return channelsFirst(c.tf, addBias(c, y), c.rank);
}

/* Dilated pooling of tfjs knows no pads. */
function dilatedPool(c, x, w, kind) {
    checkDilations(c, w);
    if (w.padded || w.ceil || x.rank === 5)
        c.lacks('dilations together with pads, ceil_mode or three dimensions');
    return c.tf.pool(x, w.kernel, kind, 'valid', w.dilations, w.strides);
}

/* With ceil_mode, tfjs must come to the output size that ONNX wants. */
function rounding(c, w) {
    return w.ceil ? 'ceil' : 'floor';
}

/* The pads and the rounding of a pool: explicit pads where the release takes them, else one pad for square windows. */
function poolPads(c, w) {
    if (c.tf.takes['explicit pads of a pool'])
        return [explicitPads({ ...w, padded: true }), rounding(c, w)];
    if (!w.padded && !w.ceil)
        return ['valid'];
    const [[pad]] = w.pads, [side] = w.kernel;
    if (w.pads.flat().some(each => each !== pad) || w.kernel.some(each => each !== side))
        c.lacks('pads or sides of a pool that differ');
    return [pad, rounding(c, w)];
}

function checkOut(c, y, w) {
    if (y.shape.slice(1, -1).some((size, i) => size !== w.out[i]))
        c.lacks('a last window that starts in the padding to be left out');
    return y;
}

function maxPool(c) {
    if (c.node.outputs.length > 1 && c.node.outputs[1])
        c.lacks('indices in the order of ONNX');
    const w = window(c, c.attribute('kernel_shape')), x = channelsLast(c.tf, c.x(0));
    let y;
    if (w.dilated)
        y = dilatedPool(c, x, w, 'max');
    else if (x.rank === 5)
        y = c.tf.maxPool3d(padVolume(c.tf, x, w, -Infinity), w.kernel, w.strides, 0, rounding(c, w));
    else
        y = c.tf.maxPool(x, w.kernel, w.strides, ...poolPads(c, w));
    return channelsFirst(c.tf, checkOut(c, y, w), c.rank);
}

function averagePool(c) {
    const w = window(c, c.attribute('kernel_shape')), x = channelsLast(c.tf, c.x(0));
    const includes = Boolean(c.attribute('count_include_pad', 0)) && w.padded;
    if (includes && w.ceil)
        c.lacks('count_include_pad together with ceil_mode');
    let y;
    if (w.dilated)
        y = dilatedPool(c, x, w, 'avg');
    else if (x.rank === 5 && w.padded && !includes)
        c.lacks('explicit pads of volumes that are not counted');
    else if (x.rank === 5)
        y = c.tf.avgPool3d(padVolume(c.tf, x, w), w.kernel, w.strides, 0, rounding(c, w));
    else if (includes)
        y = c.tf.avgPool(padVolume(c.tf, x, w), w.kernel, w.strides, 'valid');
    else
        y = c.tf.avgPool(x, w.kernel, w.strides, ...poolPads(c, w));
    return channelsFirst(c.tf, checkOut(c, y, w), c.rank);
}

const spatialAxes = c => Array.from({ length: c.rank - 2 }, (_, i) => i + 2);

function globalLpPool(c) {
    const tf = c.tf, p = c.attribute('p', 2), x = tf.abs(c.x(0));
    return tf.pow(tf.sum(tf.pow(x, p), spatialAxes(c), true), 1 / p);
}

/* tfjs resizes pictures, by the ratio of the sizes. */
function resizePicture(c, sizes, scales) {
    const dims = c.value(0).dims;
    if (c.rank !== 4 || sizes[0] !== dims[0] || sizes[1] !== dims[1])
        c.lacks('sizes other than height and width of a picture');
    if (scales && scales.some((scale, i) => sizes[i] !== dims[i] * scale))
        c.lacks('a scale that is not the ratio of the sizes');
    const mode = c.attribute('mode', 'nearest'), place = c.attribute('coordinate_transformation_mode', c.node.op === 'Upsample'
        || c.opset < 11 ? 'asymmetric' : 'half_pixel');
    const nearest = c.attribute('nearest_mode', c.opset < 11 ? 'floor' : 'round_prefer_floor');
    if (!['nearest', 'linear', 'bilinear'].includes(mode) || c.attribute('exclude_outside', 0) || c.attribute('antialias', 0)
        || !['asymmetric', 'half_pixel', 'align_corners'].includes(place))
        c.lacks(`mode ${mode} with ${place}`);
    /* What tfjs's rounding is in the words of ONNX. */
    if (mode === 'nearest' && nearest !== (place === 'asymmetric' ? 'floor' : 'round_prefer_ceil'))
        c.lacks(`nearest_mode ${nearest} with ${place}`);
    if (place === 'align_corners' && (sizes[2] === 1 || sizes[3] === 1))
        c.lacks('align_corners with a size of 1');
    const resize = mode === 'nearest' ? c.tf.image.resizeNearestNeighbor : c.tf.image.resizeBilinear;
    return channelsFirst(c.tf, resize(channelsLast(c.tf, c.x(0)), sizes.slice(2), place === 'align_corners',
        place === 'half_pixel'), c.rank);
}

function resize(c) {
    if (c.attribute('axes', null) || c.attribute('keep_aspect_ratio_policy', 'stretch') !== 'stretch')
        c.lacks('axes or a policy for the aspect ratio');
    const dims = c.value(0).dims, given = index => c.value(index) && c.value(index).count ? c.numbers(index) : null;
    const scales = c.node.op === 'Upsample' && c.opset < 9 ? c.attribute('scales') : given(c.node.op === 'Upsample' || c.opset < 11 ? 1 : 2);
    const sizes = scales ? dims.map((size, i) => Math.floor(size * scales[i])) : given(3);
    if (!sizes)
        throw new Rejected(`${c.node.op}: neither scales nor sizes`);
    checkRank(dims.length);
    return resizePicture(c, sizes, scales);
}

/* tfjs sums 2 r + 1 channels and does not divide alpha by their number. */
function lrn(c) {
    const size = c.attribute('size');
    if (c.rank !== 4 || size % 2 === 0)
        c.lacks(c.rank !== 4 ? `rank ${c.rank}` : 'an even size');
    const y = c.tf.localResponseNormalization(channelsLast(c.tf, c.x(0)), (size - 1) / 2, c.attribute('bias', 1),
        c.attribute('alpha', 0.0001) / size, c.attribute('beta', 0.75));
    return channelsFirst(c.tf, y, c.rank);
}

module.exports = {
    channelsFirst,
    channelsLast,
    rows: {
        Conv: ['f', conv],
        ConvTranspose: ['f', convTranspose],
        MaxPool: ['f', maxPool],
        AveragePool: ['f', averagePool],
        GlobalAveragePool: ['f', c => mean(c.tf, c.x(0), spatialAxes(c), true)],
        GlobalLpPool: ['f', globalLpPool],
        GlobalMaxPool: ['f', c => c.tf.max(c.x(0), spatialAxes(c), true)],
        LRN: ['f', lrn],
        Resize: ['f', resize],
        Upsample: ['f', resize],
    },
};
