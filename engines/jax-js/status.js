'use strict';
/* Error classes from the library's text. It has no codes and no classes of errors, and says when it runs a model what it lacks. */
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');

const LACKING = [
    /not supported/i, /^Unsupported/, /\bonly .*(is|are) supported/, /\bonly supports?\b/, /does not support/, /not (yet )?implemented/i,
    /^No (vmap|JVP) rule/, /must have int32 or bool type/,
    /* Which forms of an operator the importer has. */
    /^Split: either split or num_outputs must be provided/,
];
/* Where a value is traced, by jit() or grad(), there are no elements to read a shape or an axis from. */
const TRACED = /^op\.js is not a function/;
/* Operators of which the importer makes the first output alone. */
const ONE_OUTPUT = ['LayerNormalization', 'MaxPool'];
const WITHOUT_OUTPUT = /^Cannot read properties of undefined \(reading 'shape'\)/;

function lack(text, model) {
    if (TRACED.test(text))
        return `${text}: a shape, an axis or the like depends on what is traced`;
    const node = WITHOUT_OUTPUT.test(text) && model.graph.node.find(({ opType, output }) =>
        ONE_OUTPUT.includes(opType) && output.slice(1).some(Boolean));
    if (node)
        return `${text}: ${node.opType} has one output`;
    return LACKING.some(pattern => pattern.test(text)) ? text : null;
}

function refusal(error, stage, model) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof Unsupported)
        return error;
    const text = String(error && error.message !== undefined ? error.message : error), lacking = lack(text, model);
    if (lacking !== null)
        return new Unsupported(lacking);
    return stage === 'load' ? new Rejected(text) : new Error(text);
}

module.exports = { refusal };
