'use strict';
/* The adapter of onnxruntime-web: ONNX Runtime compiled to WebAssembly, under Node, one thread. */
const { createRequire } = require('module');
const fs = require('fs');
const { KIND, serve, Unsupported } = require('../sdk/js/adapter.js');
const { refusal } = require('./status.js');
const { fromLibrary, toLibrary } = require('./values.js');

const LEVELS = { none: 'disabled', basic: 'basic', extended: 'extended', all: 'all' };
const SIMD_ALWAYS = 19; /* from 1.19 on the package has the build with vector instructions alone */

let ort, options, session, wanted;
/* What the library printed during the call: releases before 1.16 give the reason of an error nowhere else. */
let printed = [];

const knobs = [
    { name: 'opt', values: 'none|basic|extended|all', value: 'all', help: 'graph optimisation level', kind: KIND.GRAPH, plain: 'none' },
    { name: 'simd', values: 'on|off', value: 'on', help: 'the build with vector instructions, or the one without (not from 1.19 on)' },
    { name: 'accuracy', values: 'library|0|1|2|3|4', value: 'library',
        help: 'how products with dequantised weights are computed: 1 in float32, 4 in int8, which is what the library does by itself' },
    { name: 'arena', values: 'on|off', value: 'on', help: 'memory arena', kind: KIND.SCHEDULE },
    { name: 'pattern', values: 'on|off', value: 'on', help: 'memory pattern: one allocation planned from an earlier run',
        kind: KIND.SCHEDULE },
];

function listen() {
    for (const way of ['log', 'info', 'warn', 'error'])
        console[way] = (...words) => {
            printed.push(words.join(' '));
            process.stderr.write(`${words.join(' ')}\n`);
        };
}

/* Calls the library; what it throws comes back as the class and with the words of the native library's adapter. */
async function call(stage, what) {
    printed = [];
    try {
        return await what();
    } catch (error) {
        throw refusal(error, stage, printed);
    }
}

function setSimd(version, simd) {
    if (Number(version.split('.')[1]) < SIMD_ALWAYS) {
        ort.env.wasm.simd = simd === 'on';
        return;
    }
    knobs.find(({ name }) => name === 'simd').values = 'on';
    if (simd === 'off')
        throw new Unsupported(`onnxruntime-web ${version} has no build without vector instructions: 1.18 was the last one`);
}

function start({ opt, simd, accuracy, arena, pattern }) {
    const file = process.env.ASSAY_LIBRARY;
    if (!file || !fs.existsSync(file))
        throw new Error("onnxruntime-web is not installed: 'assay fetch onnxruntime-web' brings it");
    const { version } = JSON.parse(fs.readFileSync(file, 'utf8'));
    listen();
    /* Releases before 1.16 take a Node that can fetch for a browser, and ask it for a path. */
    delete globalThis.fetch;
    ort = createRequire(file)('onnxruntime-web');
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = 'fatal';
    setSimd(version, simd);
    options = {
        executionProviders: ['wasm'], graphOptimizationLevel: LEVELS[opt], logSeverityLevel: 4,
        enableCpuMemArena: arena === 'on', enableMemPattern: pattern === 'on',
    };
    if (accuracy !== 'library')
        options.extra = { session: { qdq_matmulnbits_accuracy_level: accuracy } };
    return version;
}

async function unload() {
    if (session)
        await (session.release ? session.release() : session.handler.dispose());
    session = null;
}

async function load({ data, path, outputs }) {
    if (path)
        throw new Unsupported('onnxruntime-web is given models as bytes, and this one is a file');
    session = await call('load', () => ort.InferenceSession.create(new Uint8Array(data), structuredClone(options)));
    wanted = outputs.length ? outputs : [...session.outputNames];
    return { inputs: [...session.inputNames], outputs: [...session.outputNames] };
}

async function run(inputs) {
    const feeds = Object.fromEntries(inputs.map(value => [value.name, toLibrary(ort.Tensor, value)]));
    const results = await call('run', () => session.run(feeds, wanted));
    return wanted.map(name => ({ name, tensors: [fromLibrary(results[name])] }));
}

serve({ name: 'onnxruntime-web', knobs, start, load, run, unload });
