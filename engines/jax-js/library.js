'use strict';
/*
 * One instance of the library: its two packages, loaded anew where Library is made anew.
 *
 * It counts references to arrays, and frees them when their caller gives them back; what throws half-way gives nothing back. And it
 * keeps each kernel that it has compiled for as long as it lives. So an instance serves a number of models and is then replaced.
 */
const fs = require('fs');
const { createRequire } = require('module');
const { Unsupported } = require('../sdk/js/adapter.js');

/* Releases ask of every array whether it is one of these, which Node has from 24 on (and makes one only for float16). */
class Missing {
    constructor() {
        throw new Unsupported('jax-js computes float16 by Float16Array, which this Node does not have');
    }
}

/* What it uses of iterators, which Node has from 22 on. */
const ITERATORS = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const HELPERS = {
    map: function* map(change) {
        for (const one of this)
            yield change(one);
    },
    filter: function* filter(keeps) {
        for (const one of this)
            if (keeps(one))
                yield one;
    },
};

/* The language as the library expects it. */
function prepare() {
    globalThis.Float16Array ??= Missing;
    for (const [name, value] of Object.entries(HELPERS))
        if (!(name in ITERATORS))
            Object.defineProperty(ITERATORS, name, { value, configurable: true, writable: true });
}

class Library {
    constructor(file, backend) {
        const load = createRequire(file);
        /* A part of the loader is a module of the newer kind, which require() takes from then on. */
        if (!process.features.require_module)
            throw new Error(`jax-js needs Node 20.19 or later, and this is ${process.version}`);
        prepare();
        for (const one of Object.keys(require.cache).filter(name => name.includes('/node_modules/@jax-js/')))
            delete require.cache[one];
        ({ version: this.version } = JSON.parse(fs.readFileSync(file, 'utf8')));
        this.jax = load('@jax-js/jax');
        ({ ONNXModel: this.Model } = load('@jax-js/onnx'));
        this.file = file;
        this.backend = backend;
    }

    anew() {
        return new Library(this.file, this.backend).open();
    }

    async open() {
        if (!(await this.jax.init(this.backend)).includes(this.backend))
            throw new Error(`the backend ${this.backend} does not start`);
        this.jax.defaultDevice(this.backend);
        return this;
    }

    get hasFloat16() {
        return globalThis.Float16Array !== Missing;
    }
}

module.exports = { Library };
