'use strict';
/* Error classes from the library's text, by the rules of the native library's adapter (engines/opencv/status.c). */
const fs = require('fs');
const path = require('path');
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');
const { TYPE } = require('../sdk/js/onnx.js');
const { hasAllTypes } = require('./values.js');

const lacking = [...fs.readFileSync(path.join(__dirname, 'lacking.inc'), 'utf8').matchAll(/^LACKING\("(.*)"\)$/gm)].map(([, text]) => text);
const opsets = JSON.parse(fs.readFileSync(path.join(__dirname, 'opsets.json'), 'utf8'));

/* The newest opset that a release can be expected to know: one that came out half a year before it. Those that the native library's
 * adapter knows have its numbers. */
const NEWEST = [['4.5.3', 13], ['4.5.5', 14], ['4.6.0', 16], ['4.7.0', 17], ['4.8.0', 18], ['4.9.0', 19], ['4.10.0', 20], ['4.11.0', 21],
    ['4.12.0', 22], ['5.0.0', 24]];
const OLDEST = 12;

const place = version => version.split('.').reduce((sum, part) => sum * 1000 + Number(part), 0);

function newestOpset(library) {
    const known = NEWEST.filter(([version]) => place(version) <= place(library.version));
    return known.length ? known[known.length - 1][1] : OLDEST;
}

/* The reason, from its file's name on, without the path of the machine that built the library, in one line. */
function shorten(message) {
    return message.replace(/^OpenCV\([^)]*\) (?:[^:\n]*\/)?/, '').replace(/\n+$/, '').replaceAll('\n', ' ');
}

const isUsual = type => [TYPE.FLOAT, TYPE.INT64, TYPE.BOOL].includes(type);

/* Whether the model reads, holds or casts to another type than those that networks usually have. */
function hasUnusualType({ graph }) {
    return graph.initializer.some(({ dataType }) => !isUsual(dataType))
        || graph.input.some(({ type }) => type && type.tensorType && !isUsual(type.tensorType.elemType))
        || graph.node.some(node => node.attribute.some(({ name, i, t }) =>
            (['to', 'dtype', 'output_dtype'].includes(name) && !isUsual(Number(i))) || (t && !isUsual(t.dataType))));
}

/* A check of the importer itself names what it expects of a node: how it says which forms of an operator it has. */
const importerLacks = (text, { graph }) => graph.node.length === 1 && text.includes('onnx_importer') && text.includes("(expected: '");

/* A check of types names those that a layer has and what it was given. Kernels assert the same without the latter, which counts
 * where the model has unusual types: in one of float32 alone, it is the library that made another. */
function typeLacks(text, model) {
    const asserts = text.includes('(-215:') && (text.includes('type') || text.includes('func != '));
    if (!asserts && !text.includes('== CV_'))
        return false;
    const given = / \(CV_[0-9A-Z]*\)/.exec(text);
    return given ? given[0] !== ' (CV_32FC1)' : hasUnusualType(model);
}

/* A check by a list says what a layer has; those that compare two numbers say what they expected. */
const listLacks = text => text.includes(' == ') && text.includes('> where >') && !text.includes("(expected: '");

/* The library does not say which opsets it knows: what was new when the release came out, or is newer, may be refused. */
function opsetLacks(library, model) {
    const newest = newestOpset(library);
    const domain = model.opsetImport.find(entry => !entry.domain || entry.domain === 'ai.onnx'), opset = domain ? Number(domain.version) : 1;
    return model.graph.node.some(node => {
        const [since, reformed] = (!node.domain || node.domain === 'ai.onnx') && opsets[node.opType] || [0, 0];
        return since > newest || (reformed > newest && opset >= reformed);
    });
}

const isEmpty = ({ type }) => Boolean(type && type.tensorType && type.tensorType.shape
    && type.tensorType.shape.dim.some(dim => dim.dimParam === '' && dim.value === 'dimValue' && Number(dim.dimValue) === 0));

/* Up to 4.x there are no tensors without elements. An empty list among the weights is a parameter: the shape of a scalar, say. */
function emptyLacks(library, { graph }) {
    return !hasAllTypes(library) && (graph.input.some(isEmpty) || graph.output.some(isEmpty)
        || graph.initializer.some(({ dims }) => dims.length > 1 && dims.some(one => Number(one) === 0)));
}

function lacks(message, library, model) {
    const text = shorten(message);
    return lacking.some(one => message.includes(one)) || importerLacks(text, model) || typeLacks(text, model) || listLacks(text)
        || opsetLacks(library, model) || emptyLacks(library, model);
}

/* What is to be thrown for a message of the library. `first` is what 5.0's new engine printed before the older one took over: what it
 * lacks, the model needs, whatever then stopped the older engine. */
function refusal(stage, message, first, library, model) {
    const said = first && lacks(first, library, model) ? first : message;
    if (lacks(said, library, model))
        return new Unsupported(shorten(said));
    return stage === 'load' ? new Rejected(shorten(said)) : new Error(shorten(said));
}

module.exports = { refusal };
