'use strict';
/* LiteRT.js under Node, as an adapter whose models are files of LiteRT: litert.c starts it, and writes them. */
const fs = require('fs');
const { Unsupported, serve } = require('../sdk/js/adapter.js');
const { TYPE, typeName } = require('../sdk/js/onnx.js');
const { Library } = require('./library.js');

/* A refused model keeps its memory, and so does one that fails half-way. */
const MODELS_OF_AN_INSTANCE = 500;
/* ONNX's types whose tensors the library takes and gives, by its own names. */
const TYPES = { float32: [TYPE.FLOAT, Float32Array], int32: [TYPE.INT32, Int32Array], uint8: [TYPE.UINT8, Uint8Array] };

const knobs = [
    { name: 'build', values: 'plain|relaxed', value: 'plain', help: 'without or with relaxed SIMD' },
    { name: 'errors', values: 'printed|thrown', value: 'printed', help: 'which of its errors count' },
];

let library, model, served = 0;

async function start(values) {
    const file = process.env.ASSAY_LIBRARY;
    if (!file || !fs.existsSync(file))
        throw new Error("LiteRT is not installed: 'assay fetch litert' brings it");
    library = new Library(file, values);
    await library.open();
    return library.version;
}

async function load({ data }) {
    if (++served % MODELS_OF_AN_INSTANCE === 0)
        await library.reopen();
    model = await library.call(() => library.api.loadAndCompile(new Uint8Array(data), { accelerator: 'wasm' }));
}

function unload() {
    if (model)
        model.delete();
    model = null;
}

/* The elements, which may lie anywhere, in memory of their own. */
function toLibrary({ tensors: [{ type, dims, data }] }) {
    const found = Object.values(TYPES).find(([one]) => one === type);
    if (!found)
        throw new Unsupported(`the library has no tensors of type ${typeName(type)}`);
    return new library.api.Tensor(new found[1](Uint8Array.from(data).buffer), dims);
}

const fromLibrary = (tensor, i) => ({
    name: String(i),
    tensors: [{ type: TYPES[tensor.type.dtype][0], dims: [...tensor.type.layout.dimensions], data: tensor.toTypedArray() }],
});

async function run(inputs) {
    const tensors = [];
    try {
        return await library.call(async () => {
            inputs.forEach(value => tensors.push(toLibrary(value)));
            const outputs = await model.run(tensors);
            tensors.push(...outputs);
            return outputs.map(fromLibrary);
        });
    } finally {
        tensors.forEach(tensor => tensor.delete());
    }
}

serve({ name: 'litert', knobs, start, load, run, unload });
