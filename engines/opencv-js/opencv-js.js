'use strict';
/* The adapter of OpenCV's DNN module compiled to WebAssembly, npm's @techstark/opencv-js, under Node. */
const fs = require('fs');
const path = require('path');
const protobuf = require('protobufjs');
const { Rejected, Unsupported, serve } = require('../sdk/js/adapter.js');
const { Library } = require('./library.js');
const { refusal } = require('./status.js');
const { fromLibrary, hasAllTypes, toLibrary } = require('./values.js');

const Model = protobuf.loadSync(path.join(__dirname, '../sdk/js/onnx.proto')).lookupType('onnx.ModelProto');
const GIVEN_UP = 'cannot be loaded with the new parser';

let library, engine, net, model, bytes, outputs, flat;
let broken = false; /* an exception left the library, whose memory nobody has tidied */

const knobs = [
    { name: 'engine', values: 'default|classic|new', value: 'default', help: 'which graph engine runs the model; from 5.0 on' },
];

async function start(values) {
    const file = process.env.ASSAY_LIBRARY;
    if (!file || !fs.existsSync(file))
        throw new Error("opencv-js is not installed: 'assay fetch opencv-js' brings it");
    library = new Library(path.join(path.dirname(file), 'dist/opencv.js'));
    await library.open();
    ({ engine } = values);
    if (engine !== 'default' && !hasAllTypes(library))
        throw new Rejected(`engine=${engine}: OpenCV ${library.version} has one engine only`);
    return library.version;
}

/* What 5.0's new engine says of a model that it does not take; it is printed, and said nowhere else. */
function firstSaid() {
    const said = library.printed.filter(line => line.includes('DNN/ONNX: '));
    const line = said.find(one => one.includes('DNN/ONNX: error ')) || said[0];
    return line === undefined ? '' : line.slice(line.indexOf('DNN/ONNX: '));
}

/* Calls the library. A number is the address of an exception of C++. */
function call(stage, what) {
    library.printed = [];
    try {
        return what();
    } catch (error) {
        broken = true;
        if (typeof error !== 'number')
            throw error;
        throw refusal(stage, library.what(error), stage === 'load' && engine === 'default' ? firstSaid() : '', library, model);
    }
}

function readNet() {
    const { cv } = library, data = new Uint8Array(bytes);
    if (!hasAllTypes(library) || engine === 'default')
        return cv.readNetFromONNX1 ? cv.readNetFromONNX1(data) : cv.readNetFromONNX(data);
    return cv.readNetFromONNX1(data, engine === 'new' ? cv.ENGINE_NEW : cv.ENGINE_CLASSIC);
}

async function openNet() {
    if (broken || library.cv.stackRestore)
        await library.renew(); /* what writes beyond its memory throws nothing, either */
    broken = false;
    net = call('load', readNet);
    const said = library.printed.join('\n');
    if (engine === 'new' && said.includes(GIVEN_UP))
        throw refusal('load', `an empty network: ${firstSaid()}`, '', library, model);
}

function unload() {
    if (net && !broken)
        net.delete();
    net = model = bytes = null;
}

function decoded(data) {
    try {
        return Model.decode(data);
    } catch (error) {
        throw new Rejected(`not an ONNX model: ${error.message}`);
    }
}

const shapeOf = info => info && info.type && info.type.tensorType && info.type.tensorType.shape;

function declaration(name) {
    const info = model.graph.output.find(one => one.name === name), shape = shapeOf(info);
    return info && info.type && info.type.tensorType && {
        type: info.type.tensorType.elemType,
        dims: shape ? shape.dim.map(dim => dim.value === 'dimValue' ? Number(dim.dimValue) : null) : null,
    };
}

async function load({ data, path: file, outputs: wanted }) {
    if (file)
        throw new Unsupported('opencv-js is given models as bytes, and this one is a file');
    model = decoded(data);
    if (!model.graph)
        throw new Rejected('the model has no graph');
    bytes = data;
    flat = [...model.graph.input, ...model.graph.output].some(info => shapeOf(info) && shapeOf(info).dim.length < 2);
    await openNet();
    outputs = wanted.length ? wanted : model.graph.output.map(({ name }) => name);
    return { inputs: model.graph.input.map(({ name }) => name), outputs: model.graph.output.map(({ name }) => name) };
}

/* The names go as an array: a StringVector, which later releases have, is taken for no names. 5.0 gives all outputs of the graph or none. */
function forward() {
    const mats = new library.cv.MatVector(), asked = hasAllTypes(library) ? model.graph.output.map(({ name }) => name) : outputs;
    call('run', () => net.forward2(mats, asked));
    if (mats.size() !== asked.length)
        throw new Error('another number of outputs than asked for');
    const results = outputs.map(name => {
        const mat = mats.get(asked.indexOf(name));
        try {
            return { name, tensors: [fromLibrary(library, mat, name, declaration(name), flat)] };
        } finally {
            mat.delete();
        }
    });
    mats.delete();
    return results;
}

async function run(inputs) {
    if (broken)
        await openNet();
    const given = [];
    try {
        for (const input of inputs) {
            const matrix = toLibrary(library, input);
            given.push(matrix);
            call('run', () => net.setInput(matrix.mat, input.name));
        }
        return forward();
    } finally {
        if (!broken)
            given.forEach(({ release }) => release());
    }
}

serve({ name: 'opencv-js', knobs, start, load, run, unload });
