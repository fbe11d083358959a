'use strict';
/* The adapter of jax-js: models by its own ONNX loader, and their gradients by its grad(), under Node. */
const fs = require('fs');
const path = require('path');
const protobuf = require('protobufjs');
const { Rejected, Unsupported, serve } = require('../sdk/js/adapter.js');
const { Library } = require('./library.js');
const { refusal } = require('./status.js');
const { gradientOf } = require('./gradient.js');
const { fromLibrary, toLibrary } = require('./values.js');

const Proto = protobuf.loadSync(path.join(__dirname, '../sdk/js/onnx.proto')).lookupType('onnx.ModelProto');
const MODELS_OF_AN_INSTANCE = 200;

let library, mode, net, model, bytes, outputs, served = 0;

const knobs = [
    { name: 'backend', values: 'cpu|wasm', value: 'wasm', help: 'kernels that JavaScript interprets, or that are compiled to WebAssembly' },
    /* It lacks what reads a value while the model is traced, so that it is no mere rewriting of the graph. */
    { name: 'mode', values: 'eager|jit', value: 'eager', help: 'operators one by one, or the whole model fused by jit() into other kernels' },
];

async function start(values) {
    const file = process.env.ASSAY_LIBRARY;
    if (!file || !fs.existsSync(file))
        throw new Error("jax-js is not installed: 'assay fetch jax-js' brings it");
    ({ mode } = values);
    library = await new Library(file, values.backend).open();
    return library.version;
}

/* Calls the library. What throws half-way keeps its arrays. */
function call(stage, what) {
    try {
        return what();
    } catch (error) {
        throw refusal(error, stage, model);
    }
}

/* A model as a function of its inputs: {run, free}. `run` takes the arrays that it is given. */
function open(data) {
    const opened = call('load', () => new library.Model(new Uint8Array(data)));
    if (mode === 'eager')
        return { run: opened.run, free: () => opened.dispose() };
    const run = library.jax.jit(opened.run);
    const free = () => {
        run.dispose();
        opened.dispose();
    };
    return { run, free };
}

function decoded(data) {
    try {
        return Proto.decode(data);
    } catch (error) {
        throw new Rejected(`not an ONNX model: ${error.message}`);
    }
}

async function load({ data, path: file, outputs: wanted }) {
    if (file)
        throw new Unsupported('jax-js is given models as bytes, and this one is a file');
    if (++served % MODELS_OF_AN_INSTANCE === 0)
        library = await library.anew();
    model = decoded(data);
    if (!model.graph)
        throw new Rejected('the model has no graph');
    bytes = data;
    net = open(bytes);
    const given = model.graph.output.map(({ name }) => name);
    outputs = wanted.length ? wanted : given;
    return { inputs: model.graph.input.map(({ name }) => name), outputs: given };
}

function unload() {
    if (net)
        net.free();
    net = model = bytes = null;
}

/* The element type that the model declares for an output. */
function declared(name) {
    const info = model.graph.output.find(one => one.name === name);
    return info && info.type && info.type.tensorType ? info.type.tensorType.elemType : 0;
}

function run(inputs) {
    return call('run', () => {
        const results = net.run(Object.fromEntries(inputs.map(value => [value.name, toLibrary(library, value)])));
        const made = outputs.map(name => ({ name, tensors: [fromLibrary(results[name].ref, declared(name))] }));
        Object.values(results).forEach(array => array.dispose());
        return made;
    });
}

serve({
    name: 'jax-js', knobs, start, load, run, unload,
    gradient: request => gradientOf({ library, open, call, model, bytes }, request),
});
