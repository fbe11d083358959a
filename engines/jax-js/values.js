'use strict';
/* Tensors to the library's arrays and back. It has 32-bit integers alone: a 64-bit one that does not fit is unsupported. */
const { VALUE, Unsupported } = require('../sdk/js/adapter.js');
const { TYPE, typeName } = require('../sdk/js/onnx.js');

/* ONNX's types that it has, each by its name there and what its elements lie in. */
const DTYPES = {
    [TYPE.FLOAT]: ['float32', Float32Array], [TYPE.DOUBLE]: ['float64', Float64Array], [TYPE.FLOAT16]: ['float16', Uint16Array],
    [TYPE.INT32]: ['int32', Int32Array], [TYPE.UINT32]: ['uint32', Uint32Array], [TYPE.BOOL]: ['bool', Uint8Array],
};
/* Those that its importer computes in 32 bits. */
const WIDE = { [TYPE.INT64]: [TYPE.INT32, BigInt64Array], [TYPE.UINT64]: [TYPE.UINT32, BigUint64Array] };
const TYPE_OF = Object.fromEntries(Object.entries(DTYPES).map(([type, [dtype]]) => [dtype, Number(type)]));
/* What can be differentiated by, also where the library has no such type. */
const FLOATS = [TYPE.FLOAT, TYPE.DOUBLE, TYPE.FLOAT16, TYPE.BFLOAT16, TYPE.FLOAT8E4M3FN, TYPE.FLOAT8E4M3FNUZ, TYPE.FLOAT8E5M2,
    TYPE.FLOAT8E5M2FNUZ];
const isFloat = type => FLOATS.includes(type);

/* The elements of bytes that may lie anywhere. */
const view = (Elements, bytes) => new Elements(Uint8Array.from(bytes).buffer);

function narrowed(name, type, bytes) {
    const [narrow, Wide] = WIDE[type], [, Elements] = DTYPES[narrow];
    return Elements.from(view(Wide, bytes), one => {
        const [fits] = Elements.of(Number(one));
        if (BigInt(fits) !== one)
            throw new Unsupported(`input '${name}': jax-js has no ${typeName(type)}, and ${one} does not fit ${typeName(narrow)}`);
        return fits;
    });
}

function elements(library, name, type, bytes) {
    if (WIDE[type])
        return narrowed(name, type, bytes);
    if (!DTYPES[type])
        throw new Unsupported(`input '${name}': jax-js has no ${typeName(type)}`);
    if (type === TYPE.FLOAT16 && !library.hasFloat16)
        throw new Unsupported(`input '${name}': jax-js computes float16 by Float16Array, which this Node does not have`);
    if (type === TYPE.FLOAT16)
        return view(globalThis.Float16Array, bytes);
    return type === TYPE.BOOL ? Int32Array.from(bytes) : view(DTYPES[type][1], bytes);
}

/* A new array, which belongs to the caller. */
function toLibrary(library, { name, kind, tensors }) {
    if (kind !== VALUE.TENSOR)
        throw new Unsupported(`input '${name}' is no tensor`);
    const [{ type, dims, data }] = tensors;
    const list = elements(library, name, type, data), [dtype] = DTYPES[WIDE[type] ? WIDE[type][0] : type];
    /* It makes an array of no elements from nothing, and not from an empty list. */
    return list.length === 0 ? library.jax.numpy.zeros(dims, { dtype }) : library.jax.numpy.array(list, { shape: dims, dtype });
}

function bytesOf(dtype, list) {
    if (dtype === 'float16')
        return new Uint16Array(list.buffer, list.byteOffset, list.length);
    return dtype === 'bool' ? Uint8Array.from(list) : list;
}

/* Takes the array. Where the model declares a 64-bit type, the 32-bit one that stands for it is brought back to it. */
function fromLibrary(array, declared) {
    const { dtype, shape } = array, type = TYPE_OF[dtype], list = array.dataSync();
    const dims = [...shape];
    if (WIDE[declared] && WIDE[declared][0] === type)
        return { type: declared, dims, data: WIDE[declared][1].from(list, BigInt) };
    return { type, dims, data: bytesOf(dtype, list) };
}

module.exports = { fromLibrary, isFloat, toLibrary };
