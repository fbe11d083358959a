'use strict';
/*
 * The library as an instance of WebAssembly: started, started anew, and what its API for JavaScript leaves out.
 *
 * It is compiled without a way to catch exceptions: what C++ throws leaves it as a number, the address of the exception, and
 * nothing is unwound. Locks stay taken and the stack stays where it was, so that an instance that threw is of no use for
 * the next model. Most 4.x are put back into the state in which they started, memory and stack, in milliseconds. 4.11 and 5.0
 * do not let anybody at their stack: what their exceptions leave on it stays there, so that after a few of them, long before it
 * is full, a new instance of the compiled code is made, in a sixth of a second.
 *
 * The API makes matrices of two dimensions alone. `matrix` makes one of as many elements, and writes the shape that is meant
 * where the library keeps it, the header in its memory, as its own results have it.
 */
const fs = require('fs');
const path = require('path');
const vm = require('vm');

/* Where a header has what, in words of 32 bits. Of 4.x `size` and `step` are addresses; from 5.0 on they are the lists themselves. */
const HEADERS = {
    4: { dims: 1, rows: 2, cols: 3, data: 4, size: 10, step: 11, words: 14, lists: false, channelBits: 3 },
    5: { dims: 1, rows: 2, cols: 3, data: 5, count: 11, size: 14, step: 24, words: 34, lists: true, channelBits: 5 },
};
const ZERO = Buffer.alloc(1 << 16); /* WebAssembly's memory comes in pieces of so many bytes */
/* Exceptions on a stack that cannot be put back. Of 1,442 on releases where it can, none left more than 4.8 kB; where its
 * maker says nothing of it, the stack has 64 kB. */
const THROWN = 8;
const WHAT = 2; /* the place of std::exception::what() in a table of virtual functions, behind two destructors */

class Library {
    constructor(file) {
        this.file = file;
        this.printed = [];
        this.compiled = null;
        /* Old releases take a Node that can fetch for a browser. */
        delete globalThis.fetch;
        /* Of several releases the last lines hide the global Module, by which a program gives settings. */
        const source = fs.readFileSync(file, 'utf8').replace(/var (?=Module ?= ?\{\};\s*return cv\(Module\))/, '');
        const define = (...given) => { this.factory ??= given[0]; };
        define.amd = {};
        vm.compileFunction(source, ['define', 'require', '__filename', '__dirname'], { filename: file })(
            define, require, file, path.dirname(file));
    }

    /* Starts an instance in place of the one before. */
    async open() {
        const events = ['uncaughtException', 'unhandledRejection'].map(name => [name, process.listeners(name)]);
        const instantiate = WebAssembly.instantiate;
        /* Only the first instance decodes and compiles the program. */
        WebAssembly.instantiate = async (bytes, imports) => {
            this.compiled = await WebAssembly.compile(bytes);
            const instance = await instantiate(this.compiled, imports);
            this.keep(instance, imports);
            return { instance, module: this.compiled };
        };
        try {
            await this.make(instantiate);
        } finally {
            WebAssembly.instantiate = instantiate;
            delete globalThis.Module;
        }
        /* They would end the process by themselves, and keep every instance alive. */
        for (const [name, before] of events)
            for (const one of process.listeners(name).filter(one => !before.includes(one)))
                process.removeListener(name, one);
        [this.version] = /(?<=for OpenCV )\d+\.\d+\.\d+/.exec(this.cv.getBuildInformation());
        [this.major, this.minor, this.patch] = this.version.split('.').map(Number);
        this.checkHeader();
        this.fresh = { stack: this.cv.stackRestore ? this.cv.stackSave() : 0, memory: this.used().slice() };
        this.thrown = 0;
    }

    /* Where memory ends that was ever used: all behind it is zero. */
    end() {
        const { buffer } = this.memory;
        let end = buffer.byteLength;
        while (end >= ZERO.length && ZERO.equals(new Uint8Array(buffer, end - ZERO.length, ZERO.length)))
            end -= ZERO.length;
        return end;
    }

    used() {
        return new BigUint64Array(this.memory.buffer, 0, this.end() / 8);
    }

    /* As if nothing had been called since it started. What lies behind is free memory, which may hold anything. */
    async renew() {
        const words = new BigUint64Array(this.memory.buffer), { stack, memory } = this.fresh;
        if (!this.cv.stackRestore && ++this.thrown > THROWN)
            return this.open();
        words.set(memory);
        if (this.cv.stackRestore)
            this.cv.stackRestore(stack);
        else
            words.subarray(memory.length, this.end() / 8).fill(0n); /* as a new instance has it */
        return undefined;
    }

    async make(instantiate) {
        const print = text => {
            this.printed.push(text);
            process.stderr.write(`${text}\n`);
        };
        const module = { print, printErr: print };
        const ready = new Promise(resolve => { module.onRuntimeInitialized = resolve; });
        if (this.compiled)
            module.instantiateWasm = (imports, done) => {
                instantiate(this.compiled, imports).then(instance => {
                    this.keep(instance, imports);
                    done(instance, this.compiled);
                });
                return {};
            };
        globalThis.Module = module;
        /* From 5.0 on it gives a promise; before, the module, whose `then` gives itself: whoever waits for it waits for ever. */
        const made = this.factory();
        const cv = made instanceof Promise ? await made : made;
        if (cv === made)
            await ready;
        delete cv.then;
        this.cv = cv;
    }

    keep(instance, imports) {
        const all = [instance.exports, ...Object.values(imports)].flatMap(from => Object.values(from));
        this.memory = all.find(one => one instanceof WebAssembly.Memory);
        this.table = all.find(one => one instanceof WebAssembly.Table);
    }

    words() {
        return new Int32Array(this.memory.buffer);
    }

    /* The text of what C++ threw, by its address: what() of std::exception, which all that it throws are. */
    what(address) {
        const words = this.words(), text = this.table.get(words[(words[address >> 2] >> 2) + WHAT])(address);
        const bytes = new Uint8Array(this.memory.buffer);
        return Buffer.from(bytes.slice(text, bytes.indexOf(0, text))).toString();
    }

    /* Matrices lie in memory as HEADERS says, or else this release needs a row of its own. */
    checkHeader() {
        this.header = HEADERS[this.major];
        const mat = new this.cv.Mat(2, 3, this.cv.CV_32F), at = mat.$$.ptr >> 2, words = this.words(), { header } = this;
        const size = header && (header.lists ? at + header.size : words[at + header.size] >> 2);
        const step = header && (header.lists ? at + header.step : words[at + header.step] >> 2);
        const right = header && words[at + header.dims] === 2 && words[size] === 2 && words[size + 1] === 3 && words[step] === 12
            && words[step + 1] === 4 && words[at + header.data] === mat.data.byteOffset;
        mat.delete();
        if (!right)
            throw new Error(`OpenCV ${this.version} keeps matrices in another form than the adapter knows`);
    }

    /* A matrix with these bytes. `release` gives everything back. */
    matrix(depth, elementSize, dims, bytes) {
        const total = bytes.length / elementSize, { cv, header } = this;
        const mat = new cv.Mat(1, Math.max(total, 1), depth), at = mat.$$.ptr >> 2;
        const lists = header.lists ? null : new cv.Mat(1, 2 * dims.length + 2, cv.CV_32S);
        const words = this.words(), before = words.slice(at, at + header.words);
        new Uint8Array(this.memory.buffer).set(bytes, words[at + header.data]);
        const list = lists ? words[(lists.$$.ptr >> 2) + header.data] >> 2 : 0;
        const size = lists ? list + 1 : at + header.size, step = lists ? size + dims.length : at + header.step;
        words[lists ? list : at + header.count] = dims.length; /* in 4.x their number stands before the sizes */
        if (lists) {
            words[at + header.size] = size << 2;
            words[at + header.step] = step << 2;
        } else {
            words.fill(0, size, at + header.words);
        }
        words[at + header.dims] = dims.length;
        words[at + header.rows] = dims.length > 2 ? -1 : dims.length === 2 ? dims[0] : 1;
        words[at + header.cols] = dims.length > 2 ? -1 : dims.length > 0 ? dims[dims.length - 1] : 1;
        for (let i = dims.length - 1, stride = elementSize; i >= 0; stride *= dims[i--]) {
            words[size + i] = dims[i];
            words[step + i] = stride;
        }
        const release = () => {
            this.words().set(before, at);
            mat.delete();
            if (lists)
                lists.delete();
        };
        return { mat, release };
    }

    /* {depth, channels, dims, bytes} of a matrix that the library made; the bytes are copied. */
    read(mat, sizes) {
        const whole = mat.isContinuous() ? mat : mat.clone(), { header } = this;
        const words = this.words(), at = whole.$$.ptr >> 2, rank = words[at + header.dims];
        const size = header.lists ? at + header.size : words[at + header.size] >> 2;
        const dims = [...words.slice(size, size + rank)], depth = whole.depth(), data = words[at + header.data];
        const length = dims.reduce((product, one) => product * one, 1) * whole.channels() * (sizes[depth] || 0);
        const result = { depth, channels: whole.channels(), dims, bytes: new Uint8Array(this.memory.buffer).slice(data, data + length) };
        if (whole !== mat)
            whole.delete();
        return result;
    }
}

module.exports = { Library };
