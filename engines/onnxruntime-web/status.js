'use strict';
/* Error classes of what the library throws, by the rules of the native library's adapter. */
const fs = require('fs');
const path = require('path');
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');

const NOT_IMPLEMENTED = 9;
/* Codes that are no word on the model: a missing file, no model, an engine's error, a model loaded twice, a provider's. */
const OWN_TROUBLE = [3, 4, 5, 8, 11];

/* The texts by which a release says that it lacks something: of LACKING, or of LACKING_FORM. */
function texts(kind) {
    const list = fs.readFileSync(path.join(__dirname, 'lacking.inc'), 'utf8');
    return [...list.matchAll(new RegExp(`^${kind}\\("(.*?)"\\)`, 'gm'))].map(([, text]) => text);
}

const lacking = texts('LACKING'), lackingForm = texts('LACKING_FORM');

function lacks(message) {
    return lacking.some(text => message.includes(text))
        || (message.includes('"com.microsoft"') && lackingForm.some(text => message.includes(text)));
}

/* The library's own words and its code: before 1.16 it prints them, and C++ exceptions that it does not catch are numbers. */
function reason(error, printed) {
    if (typeof error === 'number')
        return { message: `an exception of C++ that nobody catches${printed.length ? `: ${printed.join('\n')}` : ''}` };
    const message = String(error && error.message !== undefined ? error.message : error);
    const [, code, words] = /ERROR_CODE: (\d+), ERROR_MESSAGE: ([^]*)/.exec(message) || [];
    if (words !== undefined)
        return { code: Number(code), message: words };
    return { message: printed.length ? printed.join('\n') : message, refused: printed.length > 0 };
}

function refusal(error, stage, printed) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof Unsupported)
        return error;
    const { code, message, refused } = reason(error, printed);
    if (code === NOT_IMPLEMENTED || lacks(message))
        return new Unsupported(message);
    if (stage === 'load' && (code === undefined ? refused : !OWN_TROUBLE.includes(code)))
        return new Rejected(message);
    return new Error(message);
}

module.exports = { refusal };
