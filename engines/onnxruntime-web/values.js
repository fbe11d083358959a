'use strict';
/* Values of the protocol to and from the library's Tensor, which is all that its API has: no sequences, no absent optionals. */
const { VALUE, Unsupported } = require('../sdk/js/adapter.js');
const { TYPE, count, typeName } = require('../sdk/js/onnx.js');

/* The library's names, and what its elements lie in; float16 as its bits, which Node 20 has no array for. */
const NUMBERS = {
    [TYPE.FLOAT]: ['float32', Float32Array], [TYPE.UINT8]: ['uint8', Uint8Array], [TYPE.INT8]: ['int8', Int8Array],
    [TYPE.UINT16]: ['uint16', Uint16Array], [TYPE.INT16]: ['int16', Int16Array], [TYPE.INT32]: ['int32', Int32Array],
    [TYPE.INT64]: ['int64', BigInt64Array], [TYPE.BOOL]: ['bool', Uint8Array],
    [TYPE.FLOAT16]: ['float16', globalThis.Float16Array || Uint16Array], [TYPE.DOUBLE]: ['float64', Float64Array],
    [TYPE.UINT32]: ['uint32', Uint32Array], [TYPE.UINT64]: ['uint64', BigUint64Array],
};
const TYPE_OF = { ...Object.fromEntries(Object.entries(NUMBERS).map(([type, [name]]) => [name, Number(type)])), string: TYPE.STRING };
const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function strings(data) {
    const list = [];
    for (let at = 0, length; at < data.length; at += 4 + length) {
        length = Buffer.from(data.buffer, data.byteOffset + at, 4).readUInt32LE();
        list.push(decoded(data.subarray(at + 4, at + 4 + length)));
    }
    return list;
}

function decoded(bytes) {
    if (bytes.includes(0))
        throw new Unsupported('a string with a NUL inside cannot be passed');
    try {
        return text.decode(bytes);
    } catch {
        throw new Unsupported('a string that is no UTF-8 cannot be passed');
    }
}

function bytesOf(list) {
    return Buffer.concat(list.flatMap(word => {
        const bytes = Buffer.from(word), length = Buffer.alloc(4);
        length.writeUInt32LE(bytes.length);
        return [length, bytes];
    }));
}

/* `Tensor` is the library's class. */
function toLibrary(Tensor, { name, kind, tensors }) {
    if (kind === VALUE.SEQUENCE || kind === VALUE.NONE)
        throw new Unsupported(`onnxruntime-web has tensors alone: no ${kind === VALUE.NONE ? 'absent optional' : 'sequence'} (input '${name}')`);
    const [{ type, dims, data }] = tensors;
    if (type === TYPE.STRING)
        return new Tensor('string', strings(data), dims);
    if (!NUMBERS[type])
        throw new Unsupported(`onnxruntime-web has no tensors of ${typeName(type)} (input '${name}')`);
    const [word, Elements] = NUMBERS[type], own = Uint8Array.from(data);
    return new Tensor(word, new Elements(own.buffer, 0, count(dims)), dims);
}

function fromLibrary({ type, dims, data }) {
    if (TYPE_OF[type] === undefined)
        throw new Unsupported(`onnxruntime-web gives a tensor of ${type}`);
    return { type: TYPE_OF[type], dims: [...dims], data: type === 'string' ? bytesOf(data) : data };
}

module.exports = { fromLibrary, toLibrary };
