'use strict';
/* Error classes from the library's text. It has no codes and no classes of errors, and says when it runs a model what it lacks. */
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');

const LACKING = [
    /not supported/i, /^Unsupported/, /only supports?/, /not (yet )?implemented/i, /not implemented (yet|for)/i, /^No (vmap|JVP) rule/,
    /is only available/, /must have int32 or bool type/,
    /* Which forms of an operator the importer has. */
    /^Split: either split or num_outputs must be provided/,
];

function refusal(error, stage) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof Unsupported)
        return error;
    const text = String(error && error.message !== undefined ? error.message : error);
    if (LACKING.some(pattern => pattern.test(text)))
        return new Unsupported(text);
    return stage === 'load' ? new Rejected(text) : new Error(text);
}

module.exports = { refusal };
