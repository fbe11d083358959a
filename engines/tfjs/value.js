'use strict';
/*
 * A value of the graph: an element type of ONNX, and a tensor of tfjs or the bytes that it is made from when it is first
 * asked for. tfjs has no int64: such a value is an int32 tensor, and unsupported where a number does not fit.
 */
const { TYPE, count, typeName } = require('../sdk/js/onnx.js');
const { Unsupported } = require('../sdk/js/adapter.js');

const MAX_RANK = 6;
const DTYPE = { [TYPE.FLOAT]: 'float32', [TYPE.INT32]: 'int32', [TYPE.INT64]: 'int32', [TYPE.BOOL]: 'bool' };
const ELEMENTS = { [TYPE.FLOAT]: Float32Array, [TYPE.INT32]: Int32Array, [TYPE.BOOL]: Uint8Array };
const INT32_LIMIT = 2 ** 31;

/* A view on bytes, which are copied when they are not aligned for it. */
function view(Type, bytes) {
    const aligned = bytes.byteOffset % Type.BYTES_PER_ELEMENT ? Uint8Array.from(bytes) : bytes;
    return new Type(aligned.buffer, aligned.byteOffset, aligned.byteLength / Type.BYTES_PER_ELEMENT);
}

function checkType(type, name) {
    if (!DTYPE[type])
        throw new Unsupported(`tfjs has no ${typeName(type)}${name ? ` (${name})` : ''}`);
}

function checkRank(rank) {
    if (rank > MAX_RANK)
        throw new Unsupported(`tfjs has no tensors of rank ${rank}`);
}

function int32From(bytes) {
    const wide = view(BigInt64Array, bytes);
    const limit = BigInt(INT32_LIMIT);
    return Int32Array.from(wide, value => {
        if (value < -limit || value >= limit)
            throw new Unsupported(`tfjs has no int64, and ${value} does not fit an int32`);
        return Number(value);
    });
}

/* The elements of bytes in what tfjs takes for them. */
function elements(type, bytes) {
    switch (type) {
    case TYPE.FLOAT: return view(Float32Array, bytes);
    case TYPE.INT32: return view(Int32Array, bytes);
    case TYPE.INT64: return int32From(bytes);
    default: return Uint8Array.from(bytes);
    }
}

class Value {
    constructor(type, { tensor = null, dims = tensor.shape, data = null }) {
        this.type = type;
        this.dims = dims;
        this.data = data;
        this.made = tensor;
        this.active = false; /* it depends on what gradients are wanted of */
    }

    /* Of a tensor of the protocol or of the model. */
    static of(tf, { type, dims, data }, name) {
        checkType(type, name);
        checkRank(dims.length);
        const value = new Value(type, { dims, data });
        value.tf = tf;
        return value;
    }

    /* Kept until it is disposed of: whoever asks first does not own it. */
    get tensor() {
        if (!this.made)
            this.made = this.tf.keep(this.tf.tensor(elements(this.type, this.data), this.dims, DTYPE[this.type]));
        return this.made;
    }

    get count() {
        return count(this.dims);
    }

    /* The elements as numbers, for sizes, axes and indices: int64 as far as a double has them. */
    numbers() {
        if (this.made)
            return Array.from(this.made.dataSync());
        if (this.type === TYPE.INT64)
            return Array.from(view(BigInt64Array, this.data), Number);
        return Array.from(elements(this.type, this.data));
    }

    dispose() {
        if (this.made && !this.made.isDisposed)
            this.made.dispose();
    }

    /* As the protocol has it: a copy, as tfjs hands out its own memory. */
    toWire() {
        const { type, dims } = this;
        if (!this.made)
            return { type, dims, data: this.data };
        /* Casts that lose nothing keep the array of the old type, and empty results are plain lists. */
        const made = this.made.dataSync(), Wire = ELEMENTS[type];
        if (made.length !== this.count)
            throw new Error(`tfjs gave ${made.length} elements for the shape [${dims}]`);
        return { type, dims, data: type === TYPE.INT64 ? BigInt64Array.from(made, BigInt) : Wire.from(made) };
    }
}

module.exports = { DTYPE, INT32_LIMIT, Value, checkRank, checkType };
