'use strict';
/* Operators that move, pick or make elements and compute nothing. Indices are worked out here; elements are moved by tfjs. */
const { DTYPE, INT32_LIMIT, Value, checkRank, checkType } = require('./value.js');
const { TYPE, count } = require('../sdk/js/onnx.js');
const { Rejected } = require('../sdk/js/adapter.js');

function reshape(c) {
    const dims = c.value(0).dims, wanted = c.numbersOr(1, 'shape');
    const sizes = wanted.map((size, i) => size === 0 && !c.attribute('allowzero', 0) ? dims[i] : size);
    checkRank(sizes.length);
    return c.tf.reshape(c.x(0), sizes);
}

function flatten(c) {
    const dims = c.value(0).dims, given = c.attribute('axis', 1), axis = given < 0 ? given + c.rank : given;
    return c.tf.reshape(c.x(0), [count(dims.slice(0, axis)), count(dims.slice(axis))]);
}

function squeeze(c) {
    const dims = c.value(0).dims, given = c.numbersOr(1, 'axes', null);
    const axes = given ? given.map(axis => c.axis(axis)) : dims.map((size, i) => size === 1 ? i : -1);
    return c.tf.reshape(c.x(0), dims.filter((_, i) => !axes.includes(i)));
}

function unsqueeze(c) {
    const given = c.numbersOr(1, 'axes'), rank = c.rank + given.length;
    checkRank(rank);
    const axes = given.map(axis => c.axis(axis, rank)), rest = [...c.value(0).dims];
    return c.tf.reshape(c.x(0), Array.from({ length: rank }, (_, i) => axes.includes(i) ? 1 : rest.shift()));
}

/* The shape that two shapes broadcast to. */
function broadcast(a, b) {
    const rank = Math.max(a.length, b.length), at = (dims, i) => dims[i - rank + dims.length] ?? 1;
    return Array.from({ length: rank }, (_, i) => at(a, i) === 1 ? at(b, i) : at(a, i));
}

function expand(c) {
    const dims = broadcast(c.value(0).dims, c.numbers(1));
    checkRank(dims.length);
    return c.tf.broadcastTo(c.x(0), dims);
}

function transpose(c) {
    const perm = c.attribute('perm', Array.from({ length: c.rank }, (_, i) => c.rank - 1 - i));
    return c.tf.transpose(c.x(0), perm);
}

function concat(c) {
    return c.tf.concat(c.inputs.map(value => value.tensor), c.axis(c.attribute('axis', 1)));
}

function split(c) {
    const axis = c.axis(c.attribute('axis', 0)), size = c.value(0).dims[axis];
    let sizes = c.numbersOr(1, 'split', null);
    if (!sizes) {
        const parts = c.attribute('num_outputs', c.node.outputs.length), part = Math.ceil(size / parts);
        sizes = Array.from({ length: parts }, (_, i) => Math.max(0, Math.min(part, size - i * part)));
    }
    return c.tf.split(c.x(0), sizes, axis);
}

const clamp = (x, least, most) => Math.min(Math.max(x, least), most);

/* Start, number of elements and step of one axis of Slice. */
function range(size, start, end, step) {
    const from = start < 0 ? start + size : start, to = end < 0 ? end + size : end;
    const first = step > 0 ? clamp(from, 0, size) : clamp(from, 0, size - 1);
    const last = step > 0 ? clamp(to, 0, size) : clamp(to, -1, size - 1);
    return { first, length: Math.max(0, Math.ceil((last - first) / step)), step };
}

/* tfjs's slice takes no steps, its stridedSlice does. */
function slice(c) {
    const dims = c.value(0).dims, starts = c.numbersOr(1, 'starts'), ends = c.numbersOr(2, 'ends');
    const axes = c.numbersOr(3, 'axes', starts.map((_, i) => i)).map(axis => c.axis(axis));
    const steps = c.numbers(4) || starts.map(() => 1);
    const ranges = dims.map(size => ({ first: 0, length: size, step: 1 }));
    axes.forEach((axis, i) => { ranges[axis] = range(dims[axis], starts[i], ends[i], steps[i]); });
    if (ranges.every(({ step }) => step === 1))
        return c.tf.slice(c.x(0), ranges.map(({ first }) => first), ranges.map(({ length }) => length));
    if (ranges.some(({ length }) => length === 0))
        c.lacks('an empty slice with steps');
    /* An end before the first element is said by the mask: -1 would mean the last one. */
    const ends2 = ranges.map(({ first, length, step }) => first + (length - 1) * step + Math.sign(step));
    const mask = ends2.reduce((bits, end, i) => end < 0 ? bits | 1 << i : bits, 0);
    return c.tf.stridedSlice(c.x(0), ranges.map(({ first }) => first), ends2, ranges.map(({ step }) => step), 0, mask);
}

/* Indices from the end are made indices from the start. Indices out of range stay what they are. */
function wrapped(c, index, size) {
    const value = c.value(index), numbers = value.numbers();
    if (!numbers.some(i => i < 0))
        return value.tensor;
    return c.host(TYPE.INT32, numbers.map(i => i < 0 ? i + size : i), value.dims).tensor;
}

function checkIndices(c, numbers, size) {
    if (numbers.some(i => i < -size || i >= size))
        throw new Rejected(`${c.node.op}: an index out of range`);
}

function gather(c) {
    const axis = c.axis(c.attribute('axis', 0)), size = c.value(0).dims[axis];
    checkRank(c.rank + c.value(1).dims.length - 1);
    checkIndices(c, c.value(1).numbers(), size);
    return c.tf.gather(c.x(0), wrapped(c, 1, size), axis);
}

const strides = dims => dims.map((_, i) => count(dims.slice(i + 1)));

/* For each element of `indices`, the place in a flat tensor of shape `dims` where its index along `axis` leads. */
function flatIndices(c, dims, indices, axis) {
    const numbers = indices.numbers(), step = strides(dims), inner = strides(indices.dims);
    checkIndices(c, numbers, dims[axis]);
    return numbers.map((index, at) => indices.dims.reduce((sum, size, i) => {
        const place = Math.floor(at / inner[i]) % size;
        return sum + step[i] * (i === axis ? (index < 0 ? index + dims[axis] : index) : place);
    }, 0));
}

function gatherElements(c) {
    const axis = c.axis(c.attribute('axis', 0)), indices = c.value(1);
    const flat = c.host(TYPE.INT32, flatIndices(c, c.value(0).dims, indices, axis)).tensor;
    return c.tf.reshape(c.tf.gather(c.tf.reshape(c.x(0), [-1]), flat), indices.dims);
}

/* The index tuples of GatherND and ScatterND, counted from the start. */
function tuples(c, dims, indices) {
    const width = indices.dims[indices.dims.length - 1];
    return indices.numbers().map((index, at) => {
        const size = dims[at % width];
        checkIndices(c, [index], size);
        return index < 0 ? index + size : index;
    });
}

function gatherND(c) {
    if (c.attribute('batch_dims', 0))
        c.lacks('batch_dims');
    const indices = c.value(1);
    return c.tf.gatherND(c.x(0), c.host(TYPE.INT32, tuples(c, c.value(0).dims, indices), indices.dims).tensor);
}

/* Updates at places of `x`, which are set or, with reduction add, summed up. */
function scatter(c, x, places, updates) {
    const reduction = c.attribute('reduction', 'none');
    if (reduction === 'none')
        return c.tf.tensorScatterUpdate(x, places, updates);
    if (reduction !== 'add')
        c.lacks(`reduction ${reduction}`);
    return c.tf.add(x, c.tf.scatterND(places, updates, x.shape));
}

function scatterND(c) {
    const indices = c.value(1), dims = c.value(0).dims, width = indices.dims[indices.dims.length - 1];
    const rows = indices.count / width, places = c.host(TYPE.INT32, tuples(c, dims, indices), [rows, width]).tensor;
    return scatter(c, c.x(0), places, c.tf.reshape(c.x(2), [rows, ...dims.slice(width)]));
}

function scatterElements(c) {
    const dims = c.value(0).dims, axis = c.axis(c.attribute('axis', 0)), tf = c.tf;
    const flat = flatIndices(c, dims, c.value(1), axis);
    const places = c.host(TYPE.INT32, flat, [flat.length, 1]).tensor;
    return tf.reshape(scatter(c, tf.reshape(c.x(0), [-1]), places, tf.reshape(c.x(2), [-1])), dims);
}

/* Elements are cut away before others are added: tfjs has no negative pads. */
function pad(c) {
    const dims = c.value(0).dims, mode = c.attribute('mode', 'constant'), all = c.numbersOr(1, c.opset < 2 ? 'paddings' : 'pads');
    const axes = (c.numbers(3) || dims.map((_, i) => i)).map(axis => c.axis(axis));
    const pads = dims.map(() => [0, 0]);
    axes.forEach((axis, i) => { pads[axis] = [all[i], all[i + axes.length]]; });
    if (c.rank === 0)
        return c.tf.clone(c.x(0));
    let x = c.x(0);
    if (pads.flat().some(size => size < 0))
        x = c.tf.slice(x, pads.map(([before]) => Math.max(-before, 0)),
            dims.map((size, i) => size - Math.max(-pads[i][0], 0) - Math.max(-pads[i][1], 0)));
    const added = pads.map(pair => pair.map(size => Math.max(size, 0)));
    if (mode === 'reflect' && x.size === 0)
        c.lacks('an empty tensor to reflect');
    if (mode === 'reflect')
        return c.tf.mirrorPad(x, added, 'reflect');
    if (mode !== 'constant')
        c.lacks(`mode ${mode}`);
    const value = c.opset < 11 ? c.attribute('value', 0) : (c.numbers(2) || [0])[0];
    return c.tf.pad(x, added, value);
}

function depthToSpace(c) {
    const tf = c.tf, size = c.attribute('blocksize'), [n, channels, height, width] = c.value(0).dims;
    if (size < 2)
        c.lacks('blocks of one element');
    if (c.attribute('mode', 'DCR') === 'DCR')
        return tf.transpose(tf.depthToSpace(tf.transpose(c.x(0), [0, 2, 3, 1]), size, 'NHWC'), [0, 3, 1, 2]);
    const parts = tf.reshape(c.x(0), [n * channels / size / size, size, size, height, width]);
    return tf.reshape(tf.transpose(parts, [0, 3, 1, 4, 2]), [n, channels / size / size, height * size, width * size]);
}

/* Written as moves in six dimensions: tfjs has no such operator. */
function spaceToDepth(c) {
    const tf = c.tf, size = c.attribute('blocksize'), [n, channels, height, width] = c.value(0).dims;
    const parts = tf.reshape(c.x(0), [n, channels, height / size, size, width / size, size]);
    return tf.reshape(tf.transpose(parts, [0, 3, 5, 1, 2, 4]), [n, channels * size * size, height / size, width / size]);
}

function oneHot(c) {
    const indices = c.value(0), depth = c.numbers(1)[0], [off, on] = c.numbers(2), values = c.value(2);
    if (indices.type === TYPE.FLOAT || depth < 2)
        c.lacks(depth < 2 ? 'a depth of less than 2' : 'indices of float32');
    if (DTYPE[values.type] !== 'int32' && !c.tf.takes['a type of oneHot'])
        c.lacks('one-hot values that are no int32');
    const y = c.tf.oneHot(wrapped(c, 0, depth), depth, on, off, DTYPE[values.type]);
    const rank = c.rank + 1, axis = c.axis(c.attribute('axis', -1), rank);
    checkRank(rank);
    const order = Array.from({ length: c.rank }, (_, i) => i);
    order.splice(axis, 0, c.rank);
    return c.as(values.type, axis === c.rank ? y : c.tf.transpose(y, order));
}

function eyeLike(c) {
    const type = c.attribute('dtype', c.type);
    checkType(type);
    if (c.attribute('k', 0))
        c.lacks('diagonals other than the main one');
    const eye = c.tf.eye(c.value(0).dims[0], c.value(0).dims[1]);
    return c.as(type, DTYPE[type] === 'float32' ? eye : c.tf.cast(eye, DTYPE[type]));
}

function arange(c) {
    const [start, limit, delta] = [0, 1, 2].map(i => c.numbers(i)[0]);
    return c.tf.range(start, limit, delta, DTYPE[c.type]);
}

function constant(c) {
    const attributes = c.node.attributes;
    if (attributes.value)
        return Value.of(c.tf, attributes.value, c.node.outputs[0]);
    const float = 'value_float' in attributes || 'value_floats' in attributes;
    const given = attributes.value_float ?? attributes.value_floats ?? attributes.value_int ?? attributes.value_ints;
    if (given === undefined)
        c.lacks('constants that are no numbers');
    return c.host(float ? TYPE.FLOAT : TYPE.INT64, [].concat(given), Array.isArray(given) ? [given.length] : []);
}

function constantOfShape(c) {
    const value = c.attribute('value', null), dims = c.numbers(0), type = value ? value.type : TYPE.FLOAT;
    checkRank(dims.length);
    const fill = value ? Value.of(c.tf, value).numbers()[0] : 0;
    if (type === TYPE.INT64 && Math.abs(fill) >= INT32_LIMIT)
        c.lacks('int64');
    checkType(type);
    return c.as(type, c.tf.fill(dims, fill, DTYPE[type]));
}

function shape(c) {
    const rank = c.rank, at = (name, preset) => {
        const given = c.attribute(name, preset);
        return clamp(given < 0 ? given + rank : given, 0, rank);
    };
    return c.host(TYPE.INT64, c.value(0).dims.slice(at('start', 0), at('end', rank)));
}

function castTo(c, type) {
    checkType(type);
    if (c.type === TYPE.FLOAT && DTYPE[type] === 'int32' && c.value(0).numbers().some(x => !(Math.abs(x) < INT32_LIMIT)))
        c.lacks('integers beyond int32');
    return c.as(type, c.tf.cast(c.x(0), DTYPE[type]));
}

const CAST_NAMES = { FLOAT: TYPE.FLOAT, INT32: TYPE.INT32, INT64: TYPE.INT64, BOOL: TYPE.BOOL };
function cast(c) {
    const to = c.attribute('to');
    return castTo(c, typeof to === 'string' ? CAST_NAMES[to] : to); /* a name in version 1 */
}

/* tfjs keeps a band round the main diagonal: its borders are on it or beyond. */
function trilu(c) {
    const k = c.numbers(1) ? c.numbers(1)[0] : 0, upper = c.attribute('upper', 1);
    if (upper ? k > 0 : k < 0)
        c.lacks('a border on the other side of the diagonal');
    const [rows, columns] = c.value(0).dims.slice(-2); /* a band may not be wider than the matrix */
    return upper ? c.tf.linalg.bandPart(c.x(0), Math.min(-k, rows), columns)
        : c.tf.linalg.bandPart(c.x(0), rows, Math.min(k, columns));
}

function compress(c) {
    const keep = c.numbers(1).map((on, i) => on ? i : -1).filter(i => i >= 0), axis = c.attribute('axis', null);
    const indices = c.host(TYPE.INT32, keep).tensor;
    return axis === null ? c.tf.gather(c.tf.reshape(c.x(0), [-1]), indices) : c.tf.gather(c.x(0), indices, c.axis(axis));
}

function reverseSequence(c) {
    const tf = c.tf, batch = c.attribute('batch_axis', 1), time = c.attribute('time_axis', 0), lengths = c.numbers(1);
    const rows = tf.split(c.x(0), c.value(0).dims[batch], batch);
    return tf.concat(rows.map((row, i) => {
        const [head, tail] = tf.split(row, [lengths[i], row.shape[time] - lengths[i]], time);
        return tf.concat([tf.reverse(head, time), tail], time);
    }), batch);
}

function dropout(c) {
    if (c.opset >= 12 ? c.value(2) && c.numbers(2)[0] : !c.attribute('is_test', c.opset >= 7 ? 1 : 0))
        c.lacks('training');
    const mask = c.node.outputs[1] ? [c.opset >= 10 ? c.as(TYPE.BOOL, c.tf.fill(c.value(0).dims, 1, 'bool'))
        : c.as(c.type, c.tf.onesLike(c.x(0)))] : [];
    return [c.as(c.type, c.tf.clone(c.x(0))), ...mask];
}

module.exports = {
    Cast: ['filb', cast],
    CastLike: ['filb', c => castTo(c, c.value(1).type)],
    Compress: ['fil', compress],
    Concat: ['filb', concat],
    Constant: ['filb', constant],
    ConstantOfShape: ['l', constantOfShape],
    DepthToSpace: ['f', depthToSpace],
    Dropout: ['f', dropout],
    Expand: ['filb', expand],
    EyeLike: ['filb', eyeLike],
    Flatten: ['filb', flatten],
    Gather: ['filb', gather],
    GatherElements: ['fil', gatherElements],
    GatherND: ['fil', gatherND],
    OneHot: ['fil', oneHot],
    Pad: ['fil', pad],
    Range: ['fil', arange],
    Reshape: ['filb', reshape],
    ReverseSequence: ['fil', reverseSequence],
    Scatter: ['fil', scatterElements],
    ScatterElements: ['fil', scatterElements],
    ScatterND: ['fil', scatterND],
    Shape: ['filb', shape],
    Size: ['filb', c => c.host(TYPE.INT64, [c.value(0).count], [])],
    Slice: ['filb', slice],
    SpaceToDepth: ['f', spaceToDepth],
    Split: ['fil', split],
    Squeeze: ['filb', squeeze],
    Tile: ['filb', c => c.tf.tile(c.x(0), c.numbers(1))],
    Transpose: ['filb', transpose],
    Trilu: ['fi', trilu],
    Unsqueeze: ['filb', unsqueeze],
};
