'use strict';
/*
 * Tensors to matrices and back. What the library cannot hold is unsupported; nothing is rounded here. The rules are those of the
 * adapter to the native library (engines/opencv/values.c), with the same words.
 */
const { VALUE, Unsupported } = require('../sdk/js/adapter.js');
const { TYPE, count, typeName } = require('../sdk/js/onnx.js');

/* Types as the library numbers them, with what their elements lie in; from 5.0 on it has them all. */
const DEPTHS = [
    [TYPE.UINT8, Uint8Array], [TYPE.INT8, Int8Array], [TYPE.UINT16, Uint16Array], [TYPE.INT16, Int16Array], [TYPE.INT32, Int32Array],
    [TYPE.FLOAT, Float32Array], [TYPE.DOUBLE, Float64Array], [TYPE.FLOAT16, Uint16Array],
    [TYPE.BFLOAT16, Uint16Array], [TYPE.BOOL, Uint8Array], [TYPE.UINT64, BigUint64Array], [TYPE.INT64, BigInt64Array],
    [TYPE.UINT32, Uint32Array],
];
const DEPTHS_OF_4 = 8, MOST_DIMS = 10;
const SIZES = DEPTHS.map(([, Elements]) => Elements.BYTES_PER_ELEMENT);
const ARRAYS = new Map(DEPTHS);
const RANGES = {
    [TYPE.BOOL]: [0n, 1n], [TYPE.UINT8]: [0n, 255n], [TYPE.INT8]: [-128n, 127n], [TYPE.UINT16]: [0n, 65535n], [TYPE.INT16]: [-32768n, 32767n],
    [TYPE.UINT32]: [0n, (1n << 32n) - 1n], [TYPE.INT32]: [-(1n << 31n), (1n << 31n) - 1n], [TYPE.UINT64]: [0n, (1n << 64n) - 1n],
    [TYPE.INT64]: [-(1n << 63n), (1n << 63n) - 1n],
};

const hasAllTypes = library => library.major >= 5;

function elements(type, bytes) {
    const own = Uint8Array.from(bytes);
    return new (ARRAYS.get(type))(own.buffer);
}

/* Up to 4.x every input becomes float32 inside, whatever its matrix: integers beyond 2^24 and most numbers of float64 would be rounded. */
function checkExact(library, name, type, data) {
    if (hasAllTypes(library) || ![TYPE.INT32, TYPE.DOUBLE].includes(type))
        return;
    const lost = elements(type, data).find(element => !Number.isNaN(element) && Math.fround(element) !== element);
    if (lost !== undefined)
        throw new Unsupported(`input '${name}': the library keeps ${typeName(type)} as float32, which cannot hold ${lost}`);
}

/* The matrix of an input: {mat, release}. */
function toLibrary(library, { name, kind, tensors }) {
    if (kind !== VALUE.TENSOR)
        throw new Unsupported(`input '${name}' is no tensor`);
    const [{ type, dims, data }] = tensors;
    const depth = DEPTHS.findIndex(([one]) => one === type);
    if (depth < 0 || (!hasAllTypes(library) && depth >= DEPTHS_OF_4))
        throw new Unsupported(`input '${name}': the library has no ${typeName(type)}`);
    if (!hasAllTypes(library) && count(dims) === 0)
        throw new Unsupported(`input '${name}': the library has no empty tensors`);
    if (dims.length > MOST_DIMS || dims.some(one => one > 0x7fffffff))
        throw new Unsupported(`input '${name}': a shape of ${dims} is beyond what a matrix holds`);
    checkExact(library, name, type, data);
    /* Up to 4.x the least rank is 2: a vector is a column. */
    const shape = hasAllTypes(library) || dims.length >= 2 ? dims : [dims.length ? dims[0] : 1, 1];
    return library.matrix(depth, SIZES[depth], shape, data);
}

/*
 * Up to 4.x [N] comes back as [N,1]. Where the model has tensors of rank 0 or 1 (`flat`) and the result differs from the declared
 * shape in ones only, the declared one is what the library meant. With dims left open nobody can say where the ones belong,
 * unless all the rest is one dim.
 */
function restoredDims(declared, given) {
    if (!declared || (declared.includes(null) && declared.length !== 1))
        return given;
    const rest = given.filter(one => one !== 1), meant = [...declared];
    let at = 0;
    for (let i = 0; i < meant.length; i++) {
        if (meant[i] === 1)
            continue;
        if (meant[i] === null)
            meant[i] = at < rest.length ? rest[at] : 1;
        else if (at === rest.length || rest[at] !== meant[i])
            return given;
        at += at < rest.length ? 1 : 0;
    }
    return at === rest.length ? meant : given;
}

function fits(list, type) {
    const [least, most] = RANGES[type];
    return list.every(one => typeof one === 'bigint' ? one >= least && one <= most
        : Number.isInteger(one) && BigInt(one) >= least && BigInt(one) <= most);
}

/*
 * Up to 4.x results are float32 (or int8) whatever the model says. An integer or bool output is brought back to its type when every
 * element is one of its values; else it stays as it is, and the judge sees another type. Other floats would need rounding,
 * which is the library's business: it lacks them. 5.0 computes each type in itself, except float16.
 */
function restoredType(library, name, declared, tensor) {
    const half = declared === TYPE.FLOAT16 || declared === TYPE.BFLOAT16;
    if (!declared || declared === tensor.type || (hasAllTypes(library) && !(half && tensor.type === TYPE.FLOAT)))
        return tensor;
    if (!RANGES[declared])
        throw new Unsupported(`output '${name}': the library computes ${typeName(declared)} in ${typeName(tensor.type)}`);
    const list = [...elements(tensor.type, tensor.data)], Elements = ARRAYS.get(declared);
    if (tensor.type === TYPE.FLOAT16 || !fits(list, declared))
        return tensor;
    const wide = Elements === BigInt64Array || Elements === BigUint64Array;
    return { ...tensor, type: declared, data: Elements.from(list, one => wide ? BigInt(one) : Number(one)) };
}

/* `declared` is what the model says of the output: {type, dims}, or undefined. */
function fromLibrary(library, mat, name, declared, flat) {
    const { depth, channels, dims, bytes } = library.read(mat, SIZES);
    if (!DEPTHS[depth] || channels !== 1)
        throw new Unsupported('unsupported: an output of another kind than a plain tensor');
    const shape = !hasAllTypes(library) && flat ? restoredDims(declared && declared.dims, dims) : dims;
    return restoredType(library, name, declared && declared.type, { type: DEPTHS[depth][0], dims: shape, data: bytes });
}

module.exports = { fromLibrary, hasAllTypes, toLibrary };
