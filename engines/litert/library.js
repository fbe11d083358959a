'use strict';
/*
 * The library, which is made for pages and workers of browsers: Node gets the few names of a worker that it uses. Its WebAssembly then
 * finds Node by itself.
 *
 * What is wrong with a model it prints, and throws less.
 */
const fs = require('fs');
const path = require('path');
const v8 = require('v8');
const vm = require('vm');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const STDERR = 2;
const FILES = { plain: 'litert_wasm_compat_internal.js', relaxed: 'litert_wasm_internal.js' };

/* Scripts of the library are run as a worker runs them. The older kind of modules, for which they ask there, is what they get here. */
function prepare(folder) {
    globalThis.self = globalThis;
    globalThis.GPUBuffer ??= class {};
    globalThis.require = createRequire(path.join(folder, 'package.json'));
    globalThis.__dirname = path.join(folder, 'wasm');
    globalThis.__filename = path.join(folder, 'wasm', 'index.js');
    globalThis.importScripts = file => vm.runInThisContext(fs.readFileSync(file, 'utf8'), { filename: file });
}

class Library {
    constructor(file, { build, errors }) {
        this.folder = path.dirname(file);
        this.build = build;
        this.errors = errors;
        this.said = [];
        ({ version: this.version } = JSON.parse(fs.readFileSync(file, 'utf8')));
    }

    async open() {
        /* From Node 22 on it is there without being asked for. */
        if (this.build === 'relaxed')
            v8.setFlagsFromString('--experimental-wasm-relaxed-simd');
        prepare(this.folder);
        for (const name of ['log', 'info', 'warn', 'error'])
            console[name] = (...words) => this.hear(words.join(' '));
        this.api = await import(pathToFileURL(path.join(this.folder, 'dist', 'index.js')));
        await this.start();
    }

    start() {
        return this.api.loadLiteRt(path.join(this.folder, 'wasm', FILES[this.build]));
    }

    /* The memory of the instance before is let go with it. */
    async reopen() {
        this.api.unloadLiteRt();
        await this.start();
    }

    hear(line) {
        fs.writeSync(STDERR, `${line}\n`); /* at once: a crash may follow */
        const [, text] = /^(?:\S+\s+)?ERROR:\s*(?:\[[^\]]*\]\s*)?(.*)/.exec(line) || [];
        if (text)
            this.said.push(text);
    }

    /* Calls it. What it printed is the reason for what it throws, and from 2.0.0 on there is more: run() succeeds although the model has
     * failed, and gives memory that nobody wrote. So what it prints is thrown, unless `errors` says otherwise. */
    async call(what) {
        this.said = [];
        let result;
        try {
            result = await what();
        } catch (error) {
            if (this.said.length && !(error instanceof WebAssembly.RuntimeError))
                throw new Error(this.said.join('; '));
            throw error;
        }
        if (this.said.length && this.errors === 'printed')
            throw new Error(this.said.join('; '));
        return result;
    }
}

module.exports = { Library };
