'use strict';
/* Gradients by the library's vjp(), which differentiates by the inputs of a function: initialisers become inputs of the model. */
const path = require('path');
const protobuf = require('protobufjs');
const { VALUE } = require('../sdk/js/adapter.js');
const { readModel } = require('../sdk/js/onnx.js');
const { fromLibrary, isFloat, toLibrary } = require('./values.js');

const Model = protobuf.loadSync(path.join(__dirname, '../sdk/js/onnx.proto')).lookupType('onnx.ModelProto');

/* The bytes of the model with some of its initialisers as inputs. */
function withInputs(model, names) {
    const { graph } = model, known = new Set(graph.input.map(({ name }) => name));
    const moved = graph.initializer.filter(({ name }) => names.has(name));
    const added = moved.filter(({ name }) => !known.has(name)).map(({ name, dataType, dims }) => ({
        name, type: { tensorType: { elemType: dataType, shape: { dim: dims.map(dimValue => ({ dimValue })) } } },
    }));
    const initializer = graph.initializer.filter(one => !moved.includes(one));
    return Model.encode({ ...model, graph: { ...graph, input: [...graph.input, ...added], initializer } }).finish();
}

/* The inputs, and the initialisers that no input stands for, as values of the protocol. */
function given(bytes, inputs) {
    const names = new Set(inputs.map(({ name }) => name));
    const weights = [...readModel({ data: bytes }).graph.initialisers].filter(([name]) => !names.has(name))
        .map(([name, tensor]) => ({ name, kind: VALUE.TENSOR, tensors: [tensor] }));
    return [...inputs, ...weights];
}

/* The results that something arrives at, which are to be differentiated. Takes the results. */
function chosen(results, upstream) {
    for (const { name, tensors: [{ dims }] } of upstream)
        if (String(results[name].shape) !== String(dims))
            throw new Error(`output ${name} has the shape [${results[name].shape}], expected [${dims}]`);
    const taken = Object.fromEntries(upstream.map(({ name }) => [name, results[name].ref]));
    Object.values(results).forEach(array => array.dispose());
    return taken;
}

const zeros = ({ name, tensors: [{ type, dims, data }] }) => ({ name, tensors: [{ type, dims, data: new Uint8Array(data.length) }] });

/* `open` makes a function of a model, and `call` a refusal of what the library throws. */
function gradientOf({ library, open, call, model, bytes }, { inputs, upstream, wanted }) {
    const values = given(bytes, inputs).filter(({ name, tensors }) => wanted.length ? wanted.includes(name) : isFloat(tensors[0].type));
    const names = new Set(values.map(({ name }) => name)), others = inputs.filter(({ name }) => !names.has(name));
    const arriving = upstream.filter(({ tensors }) => isFloat(tensors[0].type));
    if (values.length === 0 || arriving.length === 0)
        return values.map(zeros);
    const arrays = list => Object.fromEntries(list.map(value => [value.name, toLibrary(library, value)]));
    const net = open(withInputs(model, names));
    try {
        return call('run', () => {
            /* Not the gradient of one sum: where outputs have several types, the sum's type would be that of all gradients. */
            const f = by => chosen(net.run({ ...by, ...arrays(others) }), arriving);
            const [results, back] = library.jax.vjp(f, [arrays(values)]);
            Object.values(results).forEach(array => array.dispose());
            const [gradients] = back(arrays(arriving));
            return values.map(({ name }) => ({ name, tensors: [fromLibrary(gradients[name])] }));
        });
    } finally {
        net.free();
    }
}

module.exports = { gradientOf };
