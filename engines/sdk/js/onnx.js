'use strict';
/*
 * ONNX models for adapters whose library cannot read them: the graph in plain objects, weights as bytes.
 *
 *     readModel({data, path}) -> {graph, opset}
 *     graph   {inputs, outputs, initialisers, nodes}: inputs and outputs are {name, type, dims}, where dims holds numbers,
 *             names or null; initialisers is a map from names to tensors {type, dims, data}
 *     node    {op, name, inputs, outputs, attributes}: an absent optional input has the name ''; attributes is an object
 *             of numbers, strings, lists of these, tensors and graphs
 *
 * What is malformed is Rejected; what this reader does not know (other operator sets, functions, sparse tensors) is
 * Unsupported.
 */
const fs = require('fs');
const path = require('path');
const protobuf = require('protobufjs');
const { Rejected, Unsupported } = require('./adapter.js');

const TYPE = {
    FLOAT: 1, UINT8: 2, INT8: 3, UINT16: 4, INT16: 5, INT32: 6, INT64: 7, STRING: 8, BOOL: 9, FLOAT16: 10, DOUBLE: 11,
    UINT32: 12, UINT64: 13, COMPLEX64: 14, COMPLEX128: 15, BFLOAT16: 16, FLOAT8E4M3FN: 17, FLOAT8E4M3FNUZ: 18,
    FLOAT8E5M2: 19, FLOAT8E5M2FNUZ: 20, UINT4: 21, INT4: 22, FLOAT4E2M1: 23, FLOAT8E8M0: 24, UINT2: 25, INT2: 26,
};
const TYPE_NAME = Object.fromEntries(Object.entries(TYPE).map(([name, value]) => [value, name.toLowerCase()
    .replace(/^float$/, 'float32').replace('double', 'float64')]));
/* Bytes of an element, for the types whose bytes this reader hands on. */
const TYPE_SIZE = { 1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2 };
const ATTRIBUTE = { FLOAT: 1, INT: 2, STRING: 3, TENSOR: 4, GRAPH: 5, FLOATS: 6, INTS: 7, STRINGS: 8 };
const EXTERNAL = 1;

const Model = protobuf.loadSync(path.join(__dirname, 'onnx.proto')).lookupType('onnx.ModelProto');

const typeName = type => TYPE_NAME[type] || `type ${type}`;
const count = dims => dims.reduce((product, size) => product * size, 1);

/* An int64 as a number. Limits such as INT64_MAX lose low bits, which no size or index needs. */
const number = value => typeof value === 'number' ? value : value.toNumber();

function size(value) {
    const result = number(value);
    if (!Number.isSafeInteger(result) || result < 0)
        throw new Rejected(`a tensor has the size ${result}`);
    return result;
}

function readExternal(tensor, folder) {
    const entry = Object.fromEntries(tensor.externalData.map(({ key, value }) => [key, value]));
    if (!folder)
        throw new Unsupported('weights in a file of their own, of a model that is no file');
    if (!entry.location || path.isAbsolute(entry.location) || entry.location.split('/').includes('..'))
        throw new Rejected(`external data outside of the model's folder: ${entry.location}`);
    const file = fs.openSync(path.join(folder, entry.location), 'r');
    try {
        const offset = Number(entry.offset || 0);
        const length = entry.length === undefined ? fs.fstatSync(file).size - offset : Number(entry.length);
        const data = Buffer.alloc(length);
        if (fs.readSync(file, data, 0, length, offset) !== length)
            throw new Rejected(`external data beyond the end of ${entry.location}`);
        return data;
    } finally {
        fs.closeSync(file);
    }
}

/* The bytes of elements that are listed in a field of their own. */
function listedData(tensor) {
    switch (tensor.dataType) {
    case TYPE.FLOAT: return Float32Array.from(tensor.floatData);
    case TYPE.DOUBLE: return Float64Array.from(tensor.doubleData);
    case TYPE.INT64: return BigInt64Array.from(tensor.int64Data, value => BigInt(value.toString()));
    case TYPE.UINT64: return BigUint64Array.from(tensor.uint64Data, value => BigInt(value.toString()));
    case TYPE.UINT32: return Uint32Array.from(tensor.uint64Data, number);
    case TYPE.INT32: return Int32Array.from(tensor.int32Data);
    case TYPE.INT16: return Int16Array.from(tensor.int32Data);
    case TYPE.UINT16: case TYPE.FLOAT16: case TYPE.BFLOAT16: return Uint16Array.from(tensor.int32Data);
    case TYPE.INT8: return Int8Array.from(tensor.int32Data);
    default: return Uint8Array.from(tensor.int32Data);
    }
}

function readTensor(tensor, folder) {
    const dims = tensor.dims.map(size);
    if (!TYPE_SIZE[tensor.dataType])
        throw new Unsupported(`a tensor of ${typeName(tensor.dataType)}`);
    let data;
    if (tensor.dataLocation === EXTERNAL)
        data = readExternal(tensor, folder);
    else if (tensor.rawData && tensor.rawData.length > 0)
        data = Buffer.from(tensor.rawData);
    else
        data = listedData(tensor);
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    if (bytes.length !== count(dims) * TYPE_SIZE[tensor.dataType])
        throw new Rejected(`tensor ${tensor.name}: ${bytes.length} bytes do not fit [${dims}] of ${typeName(tensor.dataType)}`);
    return { type: tensor.dataType, dims, data: bytes };
}

/* Models of IR version 1 have no types in their attributes. */
function attributeType(attribute) {
    if (attribute.type)
        return attribute.type;
    const lists = [['t', 'TENSOR'], ['g', 'GRAPH'], ['f', 'FLOAT'], ['i', 'INT'], ['s', 'STRING']];
    const single = lists.find(([field]) => Object.hasOwn(attribute, field));
    return single ? ATTRIBUTE[single[1]] : attribute.floats.length ? ATTRIBUTE.FLOATS : attribute.strings.length ? ATTRIBUTE.STRINGS
        : ATTRIBUTE.INTS;
}

function readAttribute(attribute, folder) {
    const text = bytes => Buffer.from(bytes).toString();
    switch (attributeType(attribute)) {
    case ATTRIBUTE.FLOAT: return attribute.f;
    case ATTRIBUTE.INT: return number(attribute.i);
    case ATTRIBUTE.STRING: return text(attribute.s);
    case ATTRIBUTE.TENSOR: return readTensor(attribute.t, folder);
    case ATTRIBUTE.GRAPH: return readGraph(attribute.g, folder);
    case ATTRIBUTE.FLOATS: return [...attribute.floats];
    case ATTRIBUTE.INTS: return attribute.ints.map(number);
    case ATTRIBUTE.STRINGS: return attribute.strings.map(text);
    default: throw new Unsupported(`attribute ${attribute.name} of a type that this reader does not know`);
    }
}

function readNode(node, folder) {
    if (node.domain && node.domain !== 'ai.onnx')
        throw new Unsupported(`operator ${node.domain}.${node.opType}`);
    return {
        op: node.opType, name: node.name, inputs: node.input, outputs: node.output,
        attributes: Object.fromEntries(node.attribute.map(attribute => [attribute.name, readAttribute(attribute, folder)])),
    };
}

function readInfo(info) {
    const tensor = info.type && info.type.tensorType;
    if (!tensor && info.type && (info.type.sequenceType || info.type.optionalType))
        throw new Unsupported(`${info.name} is no tensor`);
    const dims = tensor && tensor.shape ? tensor.shape.dim.map(dim => dim.dimParam || (dim.dimValue ? number(dim.dimValue) : null))
        : null;
    return { name: info.name, type: tensor ? tensor.elemType : 0, dims };
}

function readGraph(graph, folder) {
    if (graph.sparseInitializer.length)
        throw new Unsupported('sparse initialisers');
    return {
        inputs: graph.input.map(readInfo), outputs: graph.output.map(readInfo),
        initialisers: new Map(graph.initializer.map(tensor => [tensor.name, readTensor(tensor, folder)])),
        nodes: graph.node.map(node => readNode(node, folder)),
    };
}

function decode(bytes) {
    try {
        return Model.decode(bytes);
    } catch (error) {
        throw new Rejected(`not an ONNX model: ${error.message}`);
    }
}

function readModel({ data, path: file }) {
    const model = decode(data || fs.readFileSync(file));
    if (!model.graph)
        throw new Rejected('the model has no graph');
    if (model.functions && model.functions.length)
        throw new Unsupported('functions of a model');
    const domain = model.opsetImport.find(entry => !entry.domain || entry.domain === 'ai.onnx');
    return { graph: readGraph(model.graph, file ? path.dirname(file) : null), opset: domain ? number(domain.version) : 1 };
}

module.exports = { TYPE, count, readModel, typeName };
