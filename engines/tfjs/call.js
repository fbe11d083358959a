'use strict';
/*
 * One node at work: what the functions of the operator tables get. They give a tensor of tfjs, a Value where the element
 * type is not that of the first input, or a list of these.
 */
const { INT32_LIMIT, Value } = require('./value.js');
const { TYPE, typeName } = require('../sdk/js/onnx.js');
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');

class Call {
    constructor(tf, node, opset, inputs) {
        this.tf = tf;
        this.node = node;
        this.opset = opset;
        this.inputs = inputs;
    }

    /* Input `index` as a Value; null when it is absent. */
    value(index) {
        return this.inputs[index] || null;
    }

    /* Input `index` as a tensor of tfjs; null when it is absent. */
    x(index) {
        return this.inputs[index] ? this.inputs[index].tensor : null;
    }

    get type() {
        return this.inputs[0].type;
    }

    get rank() {
        return this.inputs[0].dims.length;
    }

    /* What tfjs takes as numbers and not as a tensor: gradients do not go through it. Null when the input is absent. */
    numbers(index) {
        const value = this.inputs[index];
        if (!value)
            return null;
        if (value.active && value.type === TYPE.FLOAT)
            this.lacks(`a gradient through input ${index}, which it takes as plain numbers`);
        return value.numbers();
    }

    /* Numbers that are no integers have 32 bits in ONNX, defaults too. */
    attribute(name, preset) {
        const value = this.node.attributes[name];
        if (value !== undefined)
            return value;
        return typeof preset === 'number' ? Math.fround(preset) : preset;
    }

    /* Axes and the like: an attribute in old versions of an operator, an input in new ones. */
    numbersOr(index, name, preset) {
        const given = this.numbers(index);
        return given || this.attribute(name, preset);
    }

    axis(axis, rank = this.rank) {
        if (axis < -rank || axis >= Math.max(rank, 1))
            throw new Rejected(`${this.node.op}: axis ${axis} of a tensor of rank ${rank}`);
        return axis < 0 ? axis + rank : axis;
    }

    lacks(what) {
        throw new Unsupported(`tfjs: ${this.node.op}: it lacks ${what}`);
    }

    /* int64 is computed in int32: refused when the result might not fit. `bound` gets the largest magnitudes of the inputs. */
    fits(bound) {
        if (this.type !== TYPE.INT64)
            return;
        const largest = this.inputs.map(value => (value ? value.numbers() : []).reduce((most, x) => Math.max(most, Math.abs(x)), 0));
        if (bound(...largest) >= INT32_LIMIT)
            this.lacks('int64, and the result may not fit an int32');
    }

    /* The same elements as a constant: conditions and integers have no derivative, and tfjs has no gradients for them. */
    constant(tensor) {
        return this.tf.tensor(tensor.dataSync(), tensor.shape, tensor.dtype);
    }

    as(type, tensor) {
        return new Value(type, { tensor });
    }

    /* A Value of numbers that are known here, such as sizes and indices. */
    host(type, numbers, dims = [numbers.length]) {
        return this.as(type, this.tf.tensor(type === TYPE.FLOAT ? Float32Array.from(numbers) : Int32Array.from(numbers), dims,
            type === TYPE.FLOAT ? 'float32' : 'int32'));
    }
}

/* A row of the table: the element types that input 0 may have (f float32, i int32, l int64, b bool) and the function. */
const LETTER = { [TYPE.FLOAT]: 'f', [TYPE.INT32]: 'i', [TYPE.INT64]: 'l', [TYPE.BOOL]: 'b' };

function checkTypes(call, types) {
    const first = call.inputs[0];
    if (first && !types.includes(LETTER[first.type]))
        throw new Unsupported(`tfjs: ${call.node.op}: it lacks ${typeName(first.type)}`);
}

module.exports = { Call, checkTypes };
