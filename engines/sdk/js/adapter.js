'use strict';
/*
 * The SDK for engine adapters in JavaScript (Node 18 or later). An adapter calls serve() once with an object:
 *
 *     name        "tfjs"
 *     knobs       [{name, values, value, help, kind, plain}]; `value` is the default, `kind` one of KIND
 *     operators   names of the operators that it supports ("Softmax@13": from opset 13 on); empty: not known beforehand
 *     types       ONNX's numbers of the element types that it computes with; empty: not known beforehand
 *     start(knobs)            opens the library and returns its version; `knobs` is an object of values by name
 *     load({data, path, outputs, trace})   makes a session from the bytes of a model or from a file; may return
 *                             {inputs, outputs}, lists of names
 *     run(inputs)             returns outputs; both are lists of values
 *     gradient({inputs, upstream, wanted})   optional: returns the gradients of the wanted inputs and initialisers
 *     trace()                 optional, asked after a load with `trace` and after each run that follows: returns what the
 *                             library did in it, a list of names of kernels, or of objects {name, kind, device, pass,
 *                             outputs} as TraceStep in engine.proto; `kind` is one of STEP
 *     unload()
 *
 * Each may be asynchronous. A value is {name, kind, tensors}, a tensor {type, dims, data}: ONNX's number of the element
 * type, an array of sizes, and the bytes as the protocol has them (little-endian, dense). A function that fails throws
 * Unsupported or Rejected; any other exception is a failure of the engine, and its message is what the user reads. A
 * mistake of the adapter's own code (a TypeError or ReferenceError whose top frame is outside of node_modules, such as a
 * call of what this release of the library does not have) is the adapter's, and nobody blames the engine for it.
 *
 * Start adapters by assay-node: the protocol is spoken on descriptor 0 and 3, so that what is printed to stdout by the
 * library cannot get into it.
 */
const os = require('os');
const path = require('path');
const v8 = require('v8');
const protobuf = require('protobufjs');
const { readMessage, readPayload, writeMessage } = require('./frames.js');

const PROTOCOL = 1;
const IN = 0, OUT = 3;
const KIND = { KERNELS: 0, GRAPH: 1, SCHEDULE: 2 };
const CLASS = { FAILED: 0, UNSUPPORTED: 1, REJECTED: 2, ADAPTER: 3 };
const STAGE = { UNKNOWN: 0, LOAD: 1, RUN: 2 };
const STEP = { KERNEL: 0, PASS: 1 };
const VALUE = { TENSOR: 0, SEQUENCE: 1, NONE: 2 };
const MESSAGE_LENGTH = 4000;

/* V8 compiles WebAssembly quickly first, and again, well, what has run for about a millisecond: for a small model that takes longer
 * than all else, and who tests has hundreds of them. A large one runs long enough to get there. */
v8.setFlagsFromString('--wasm-tiering-budget=1000000000');

class Unsupported extends Error {}
class Rejected extends Error {}

const root = protobuf.loadSync(path.join(__dirname, 'engine.proto'));
const Request = root.lookupType('assay.Request');
const Reply = root.lookupType('assay.Reply');

const number = value => typeof value === 'number' ? value : value.toNumber();

function choices(knob) {
    return knob.values.includes('|') ? knob.values.split('|') : null;
}

function setKnobs(adapter, given) {
    const values = {};
    for (const knob of adapter.knobs || [])
        values[knob.name] = knob.value;
    for (const { name, value } of given) {
        const knob = (adapter.knobs || []).find(knob => knob.name === name);
        if (!knob)
            throw new Rejected(`no knob '${name}'; there are: ${Object.keys(values).join(', ') || 'none'}`);
        if (choices(knob) && !choices(knob).includes(value))
            throw new Rejected(`${name}=${value}: the values are ${choices(knob).join(', ')}`);
        values[name] = value;
    }
    return values;
}

async function hello(session, request) {
    const { adapter } = session;
    if (session.started)
        throw new Error('hello came twice');
    if (request.protocol !== PROTOCOL)
        throw new Error(`Assay asks for protocol ${request.protocol}, this adapter speaks ${PROTOCOL}`);
    if (os.endianness() !== 'LE')
        throw new Error('this processor is big-endian, and tensors of the protocol are little-endian: run the engine elsewhere');
    const version = await adapter.start(setKnobs(adapter, request.knobs));
    session.started = true;
    const knobs = (adapter.knobs || []).map(knob => ({
        name: knob.name, values: knob.values, defaultValue: knob.value, help: knob.help, kind: knob.kind || KIND.KERNELS,
        plain: knob.plain || '',
    }));
    const { operators = [], types = [] } = adapter;
    return { welcome: { protocol: PROTOCOL, name: adapter.name, version, knobs, operators, types } };
}

async function unload(session) {
    if (session.loaded && session.adapter.unload)
        await session.adapter.unload();
    session.loaded = false;
}

async function load(session, request, payloads) {
    await unload(session);
    session.trace = Boolean(request.trace && session.adapter.trace);
    const names = await session.adapter.load({
        data: request.path ? null : payloads[0], path: request.path || null, outputs: request.outputs, trace: session.trace,
    });
    session.loaded = true;
    return { loaded: { inputs: names?.inputs || [], outputs: names?.outputs || [] } };
}

/* Values as the adapter gets them: each tensor with its payload. */
function withPayloads(values, payloads) {
    return values.map(value => ({
        name: value.name, kind: value.kind,
        tensors: value.tensors.map(tensor => ({ type: tensor.type, dims: tensor.dims.map(number), data: payloads.shift() })),
    }));
}

/* Values as the protocol has them, and their payloads in order. */
function asReply(values) {
    const payloads = [];
    const described = values.map(value => ({
        name: value.name, kind: value.kind || VALUE.TENSOR,
        tensors: value.tensors.map(tensor => {
            const bytes = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
            payloads.push(bytes);
            return { type: tensor.type, dims: tensor.dims, size: bytes.length };
        }),
    }));
    return { result: { values: { values: described } }, payloads };
}

function wantLoaded(session) {
    if (!session.loaded)
        throw new Error('no model is loaded');
}

async function run(session, request, payloads) {
    wantLoaded(session);
    return asReply(await session.adapter.run(withPayloads(request.inputs, payloads)));
}

async function gradient(session, request, payloads) {
    wantLoaded(session);
    if (!session.adapter.gradient)
        throw new Unsupported(`${session.adapter.name} has no gradients`);
    const inputs = withPayloads(request.inputs, payloads);
    const upstream = withPayloads(request.outputGradients, payloads);
    return asReply(await session.adapter.gradient({ inputs, upstream, wanted: request.wanted || [] }));
}

/* What follows a request, read before anything is done with it. */
function readPayloads(request) {
    if (request.load)
        return request.load.path ? [] : [readPayload(IN, number(request.load.modelSize))];
    const verb = request.run || request.gradient;
    if (!verb)
        return [];
    return [...verb.inputs, ...(verb.outputGradients || [])].flatMap(value => value.tensors)
        .map(tensor => readPayload(IN, number(tensor.size)));
}

/* The frame of the stack in which an error was raised: "scatter (/path/ops_move.js:148:21)". */
const topFrame = error => (/^ +at (.*)$/m.exec(error.stack || '') || [])[1] || '';

function isAdaptersOwn(error) {
    return (error instanceof TypeError || error instanceof ReferenceError) && topFrame(error) !== ''
        && !/node_modules|node:|wasm/.test(topFrame(error));
}

function classOf(error) {
    if (error instanceof Unsupported)
        return CLASS.UNSUPPORTED;
    if (error instanceof Rejected)
        return CLASS.REJECTED;
    return isAdaptersOwn(error) ? CLASS.ADAPTER : CLASS.FAILED;
}

function errorReply(error, stage) {
    const kind = classOf(error), where = kind === CLASS.ADAPTER ? `, in ${topFrame(error)}` : '';
    const message = String(error && error.message !== undefined ? error.message : error) + where;
    return { error: { stage, class: kind, message: message.slice(0, MESSAGE_LENGTH) } };
}

async function answer(session, request, payloads) {
    if (!session.started && !request.hello)
        throw new Error('the engine is not started');
    if (request.hello)
        return { result: await hello(session, request.hello) };
    if (request.load)
        return { result: await load(session, request.load, payloads) };
    if (request.run)
        return run(session, request.run, payloads);
    if (request.gradient)
        return gradient(session, request.gradient, payloads);
    await unload(session);
    return { result: { done: {} } };
}

/* What the library did, where it was asked for; a failure to tell it is no failure of the model. */
async function traceSteps(session, request) {
    if (!session.trace || !(request.load || request.run || request.gradient))
        return [];
    try {
        return (await session.adapter.trace()).map(step => typeof step === 'string' ? { name: step } : step);
    } catch (error) {
        console.error(`no trace: ${error.message}`);
        return [];
    }
}

function crash(error) {
    console.error(`crash: stack of the engine\n${error.stack}`);
    process.abort();
}

/* Every reply is written before the next request is read, so that a crash is attributed to the right request. */
async function handle(session, request) {
    const stage = request.load ? STAGE.LOAD : request.run || request.gradient ? STAGE.RUN : STAGE.UNKNOWN;
    const payloads = readPayloads(request);
    let reply;
    try {
        reply = await answer(session, request, payloads);
    } catch (error) {
        /* Code that was compiled to WebAssembly crashed: nothing in its memory can be relied on any more. */
        if (error instanceof WebAssembly.RuntimeError)
            crash(error);
        reply = { result: errorReply(error, stage) };
    }
    const trace = await traceSteps(session, request);
    writeMessage(OUT, Reply.encode({ id: request.id, trace, ...reply.result }).finish(), reply.payloads || []);
}

/* The knobs with all values that any release has, before the library is opened; as adapters in C do. */
function help({ name, knobs = [] }) {
    console.log(`${name}: an engine of Assay, which starts it. Knobs:`);
    for (const knob of knobs)
        console.log(`  ${knob.name}=${knob.values}  ${knob.help} (default ${knob.value})`);
}

async function serve(adapter) {
    if (process.argv.includes('--help'))
        return help(adapter);
    const session = { adapter, started: false, loaded: false, trace: false };
    for (let message; (message = readMessage(IN));)
        await handle(session, Request.decode(message));
}

module.exports = {
    KIND, STEP, VALUE, Rejected, Unsupported,
    /* A broken protocol or pipe ends the process, which Assay sees from outside. */
    serve: adapter => serve(adapter).then(() => process.exit(0), error => {
        console.error(`${adapter.name}: ${error.stack}`);
        process.exit(1);
    }),
};
