'use strict';
/* The adapter of TensorFlow.js: the backends cpu (JavaScript) and wasm (C++ compiled to WebAssembly). */
const { createRequire } = require('module');
const fs = require('fs');
const path = require('path');
const { serve, Unsupported } = require('../sdk/js/adapter.js');
const { Graph, operators } = require('./graph.js');

let tf, library, graph, traced = false, steps = [];

/* Forms of calls that not all releases take, tried once at the start. */
const forms = {
    'explicit pads of a pool': lib => lib.maxPool(lib.zeros([1, 2, 2, 1]), 1, 1, [[0, 0], [0, 0], [0, 0], [0, 0]], 'floor'),
    'operands of where in several shapes': lib => lib.where(lib.tensor1d([true, false]), lib.tensor1d([1]), lib.tensor1d([2])),
    'a type of oneHot': lib => lib.oneHot(lib.tensor1d([0], 'int32'), 2, 1, 0, 'float32').dtype === 'float32',
};

function takes(lib, form) {
    try {
        return lib.tidy(() => forms[form](lib) !== false);
    } catch {
        return false;
    }
}

/* The library as the operator tables see it. Releases differ in the functions that they have: one that is missing is a
 * lack of the release, whichever operator asks for it. `takes` says which forms of calls it has. */
function withLacks(lib) {
    const taken = Object.fromEntries(Object.keys(forms).map(form => [form, takes(lib, form)]));
    return new Proxy(lib, {
        get(target, name) {
            if (name === 'takes')
                return taken;
            if (!(name in target))
                throw new Unsupported(`tfjs ${target.version.tfjs} has no function ${String(name)}`);
            return target[name];
        },
    });
}

/* The package of the release that the registry chose. */
function open(backend) {
    const file = process.env.ASSAY_LIBRARY;
    if (!file || !fs.existsSync(file))
        throw new Error('TensorFlow.js is not installed; tools/fetch tfjs --tests fetches the release that the tests use');
    const fromLibrary = createRequire(file);
    tf = fromLibrary('@tensorflow/tfjs');
    if (backend !== 'wasm')
        return;
    const wasm = fromLibrary('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(path.join(path.dirname(fromLibrary.resolve('@tensorflow/tfjs-backend-wasm')), path.sep));
    wasm.setThreadsCount(1);
}

async function start(knobs) {
    open(knobs.backend);
    tf.enableProdMode();
    if (knobs.simd === 'off')
        tf.env().set('WASM_HAS_SIMD_SUPPORT', false);
    if (!await tf.setBackend(knobs.backend))
        throw new Error(`the backend ${knobs.backend} does not start`);
    library = withLacks(tf);
    return tf.version.tfjs;
}

/* The run under tfjs's profile, whose kernels are told apart by the nodes between which they came. An exception would
 * leave the profile on, so it goes round it. */
async function runTraced(inputs) {
    const device = tf.getBackend();
    let result, failure;
    steps = [];
    graph.computed = node => {
        const { kernels } = tf.engine().state.activeProfile;
        steps.push(...kernels.slice(steps.length).map(({ name }) => ({ name, device, outputs: node.outputs.filter(Boolean) })));
    };
    await tf.profile(() => {
        try {
            result = graph.run(inputs);
        } catch (error) {
            failure = error;
        }
    });
    graph.computed = null;
    if (failure)
        throw failure;
    return result;
}

serve({
    name: 'tfjs',
    knobs: [
        { name: 'backend', values: 'cpu|wasm', value: 'cpu', help: 'kernels in JavaScript, or in C++ compiled to WebAssembly' },
        { name: 'simd', values: 'on|off', value: 'on', help: 'wasm: the build with vector instructions, or the one without' },
    ],
    operators,
    start,
    load(model) {
        graph = new Graph(library, model);
        traced = model.trace;
        steps = [];
        return { inputs: graph.inputs.map(({ name }) => name), outputs: graph.outputs };
    },
    run: inputs => traced ? runTraced(inputs) : graph.run(inputs),
    trace: () => steps,
    gradient: request => graph.gradient(request),
    unload() {
        graph = null;
    },
});
