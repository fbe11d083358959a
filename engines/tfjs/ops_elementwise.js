'use strict';
/* Operators that work element by element: functions of one input, activations, arithmetic with broadcasting, comparisons. */
const { TYPE } = require('../sdk/js/onnx.js');

const unary = name => ['f', c => c.tf[name](c.x(0))];
const binary = (types, name, bound) => [types, c => {
    if (bound)
        c.fits(bound);
    return c.tf[name](c.x(0), c.x(1));
}];
const logical = (types, name) => [types, c => c.as(TYPE.BOOL, c.tf[name](c.x(0), c.x(1)))];

/*
 * alpha (e^(x / divisor) - 1) where x is not positive, all scaled. tfjs's elu has alpha 1; its selu has constants of 64 bits,
 * ONNX of 32. The branch that is not taken stays finite, as its derivative is multiplied by 0.
 */
function expm1Branch(c, alpha, scale, divisor = 1) {
    const tf = c.tf, x = c.x(0), negative = tf.minimum(x, 0);
    const below = tf.mul(tf.expm1(divisor === 1 ? negative : tf.div(negative, divisor)), alpha * scale);
    return tf.where(c.constant(tf.greater(x, 0)), scale === 1 ? x : tf.mul(x, scale), below);
}

function elu(c) {
    const alpha = c.attribute('alpha', 1);
    return alpha === 1 ? c.tf.elu(c.x(0)) : expm1Branch(c, alpha, 1);
}

function gelu(c) {
    const x = c.x(0), tf = c.tf;
    if (c.attribute('approximate', 'none') === 'none')
        return tf.mul(tf.mul(x, 0.5), tf.add(1, tf.erf(tf.mul(x, Math.SQRT1_2))));
    const inner = tf.mul(Math.sqrt(2 / Math.PI), tf.add(x, tf.mul(0.044715, tf.mul(x, tf.mul(x, x)))));
    return tf.mul(tf.mul(x, 0.5), tf.add(1, tf.tanh(inner)));
}

/* Far below 0 it is x times 0, which has a limit that tfjs's tape cannot know. */
function mish(c) {
    if (c.value(0).active && c.value(0).numbers().includes(-Infinity))
        c.lacks('a derivative at -infinity');
    return c.tf.mul(c.x(0), c.tf.tanh(c.tf.softplus(c.x(0))));
}

function hardSigmoid(c, alpha, beta) {
    return c.tf.clipByValue(c.tf.add(c.tf.mul(c.x(0), alpha), beta), 0, 1);
}

function shrink(c) {
    const x = c.x(0), tf = c.tf, lambda = c.attribute('lambd', 0.5), bias = c.attribute('bias', 0);
    return tf.where(c.constant(tf.less(x, -lambda)), tf.add(x, bias),
        tf.where(c.constant(tf.greater(x, lambda)), tf.sub(x, bias), tf.zerosLike(x)));
}

/* With limits that cross, tfjs refuses and ONNX gives the upper one. */
function clip(c) {
    const limit = (index, name, preset) => {
        const given = c.numbersOr(index, name, preset);
        return Array.isArray(given) ? given[0] : given;
    };
    const least = limit(1, 'min', -Infinity), most = limit(2, 'max', Infinity);
    if (!(least <= most))
        c.lacks('a lower limit above the upper one, or limits that are NaN');
    return c.tf.clipByValue(c.x(0), least, most);
}

function where(c) {
    const shapes = new Set([0, 1, 2].map(i => String(c.value(i).dims)));
    if (shapes.size > 1 && !c.tf.takes['operands of where in several shapes'])
        c.lacks('operands in several shapes');
    return c.as(c.value(1).type, c.tf.where(c.x(0), c.x(1), c.x(2)));
}

function isInf(c) {
    const x = c.x(0), tf = c.tf, is = tf.isInf(x);
    const positive = c.attribute('detect_positive', 1), negative = c.attribute('detect_negative', 1);
    if (positive && negative)
        return c.as(TYPE.BOOL, is);
    if (!positive && !negative)
        return c.as(TYPE.BOOL, tf.zerosLike(is));
    return c.as(TYPE.BOOL, tf.logicalAnd(is, positive ? tf.greater(x, 0) : tf.less(x, 0)));
}

const negative = value => value.numbers().some(x => x < 0);

/* tfjs divides integers downwards, ONNX towards zero: the same where no operand is negative. */
function div(c) {
    if (c.type !== TYPE.FLOAT) {
        if (negative(c.value(0)) || negative(c.value(1)))
            c.lacks('integer division towards zero');
        if (c.value(1).numbers().includes(0))
            c.lacks('integer division by zero');
    }
    return c.tf.div(c.x(0), c.x(1));
}

/* tfjs's remainder has the sign of the divisor, as ONNX's for integers; with fmod=1 that of the dividend is wanted. */
function mod(c) {
    if (c.attribute('fmod', 0) && (negative(c.value(0)) || negative(c.value(1))))
        c.lacks('a remainder with the sign of the dividend');
    if (c.type !== TYPE.FLOAT && c.value(1).numbers().includes(0))
        c.lacks('an integer remainder by zero');
    return c.tf.mod(c.x(0), c.x(1));
}

function pow(c) {
    if (c.type !== TYPE.FLOAT)
        c.lacks('powers of integers that are exact');
    return c.tf.pow(c.x(0), c.value(1).type === TYPE.FLOAT ? c.x(1) : c.tf.cast(c.x(1), 'float32'));
}

function prelu(c) {
    return c.tf.prelu(c.x(0), c.x(1));
}

/* One after the other, as ONNX does not say in which order. */
const variadic = (types, name) => [types, c => {
    c.fits((...largest) => name === 'add' ? largest.reduce((a, b) => a + b, 0) : 0);
    return c.inputs.slice(1).reduce((sum, value) => c.tf[name](sum, value.tensor), c.tf.clone(c.x(0)));
}];

/* Older versions broadcast only when asked, and then from an axis on. */
const LEGACY_BROADCAST = 7;
const arithmetic = ([types, compute]) => [types, c => {
    if (c.opset < LEGACY_BROADCAST && c.attribute('broadcast', 0) && c.attribute('axis', null) !== null)
        c.lacks('broadcasting from an axis on');
    return compute(c);
}];

module.exports = {
    Abs: ['fil', c => c.tf.abs(c.x(0))],
    Acos: unary('acos'),
    Acosh: unary('acosh'),
    Asin: unary('asin'),
    Asinh: unary('asinh'),
    Atan: unary('atan'),
    Atanh: unary('atanh'),
    Ceil: unary('ceil'),
    Cos: unary('cos'),
    Cosh: unary('cosh'),
    Erf: unary('erf'),
    Exp: unary('exp'),
    Floor: unary('floor'),
    Log: unary('log'),
    Neg: ['fil', c => c.tf.neg(c.x(0))],
    Reciprocal: unary('reciprocal'),
    Relu: unary('relu'),
    Round: unary('round'),
    Sigmoid: unary('sigmoid'),
    Sign: ['f', c => c.tf.sign(c.x(0))],
    Sin: unary('sin'),
    Sinh: unary('sinh'),
    Softplus: unary('softplus'),
    Sqrt: unary('sqrt'),
    Tan: unary('tan'),
    Tanh: unary('tanh'),
    Not: ['b', c => c.as(TYPE.BOOL, c.tf.logicalNot(c.x(0)))],
    IsNaN: ['f', c => c.as(TYPE.BOOL, c.tf.isNaN(c.x(0)))],
    IsInf: ['f', isInf],
    Identity: ['filb', c => c.tf.clone(c.x(0))],

    Celu: ['f', c => expm1Branch(c, c.attribute('alpha', 1), 1, c.attribute('alpha', 1))],
    Clip: ['fi', clip],
    Elu: ['f', elu],
    Gelu: ['f', gelu],
    HardSigmoid: ['f', c => hardSigmoid(c, c.attribute('alpha', 0.2), c.attribute('beta', 0.5))],
    HardSwish: ['f', c => c.tf.mul(c.x(0), hardSigmoid(c, 1 / 6, 0.5))],
    LeakyRelu: ['f', c => c.tf.leakyRelu(c.x(0), c.attribute('alpha', 0.01))],
    Mish: ['f', mish],
    PRelu: ['f', prelu],
    Selu: ['f', c => expm1Branch(c, c.attribute('alpha', 1.6732632423543772), c.attribute('gamma', 1.0507009873554805))],
    Shrink: ['f', shrink],
    Softsign: ['f', c => c.tf.div(c.x(0), c.tf.add(1, c.tf.abs(c.x(0))))],
    Swish: ['f', c => c.tf.mul(c.x(0), c.tf.sigmoid(c.tf.mul(c.x(0), c.attribute('alpha', 1))))],
    ThresholdedRelu: ['f', c => c.tf.where(c.constant(c.tf.greater(c.x(0), c.attribute('alpha', 1))), c.x(0),
        c.tf.zerosLike(c.x(0)))],

    Add: arithmetic(binary('fil', 'add', (a, b) => a + b)),
    Sub: arithmetic(binary('fil', 'sub', (a, b) => a + b)),
    Mul: arithmetic(binary('fil', 'mul', (a, b) => a * b)),
    Div: arithmetic(['fil', div]),
    Mod: ['fil', mod],
    Pow: arithmetic(['fil', pow]),
    Max: variadic('fil', 'maximum'),
    Min: variadic('fil', 'minimum'),
    Sum: variadic('f', 'add'),
    Mean: ['f', c => {
        const sum = c.inputs.slice(1).reduce((part, value) => c.tf.add(part, value.tensor), c.x(0));
        return c.tf.div(sum, c.inputs.length);
    }],
    BitwiseAnd: ['i', c => c.tf.bitwiseAnd(c.x(0), c.x(1))],

    And: logical('b', 'logicalAnd'),
    Or: logical('b', 'logicalOr'),
    Xor: logical('b', 'logicalXor'),
    Equal: logical('filb', 'equal'),
    Greater: logical('fil', 'greater'),
    GreaterOrEqual: logical('fil', 'greaterEqual'),
    Less: logical('fil', 'less'),
    LessOrEqual: logical('fil', 'lessEqual'),
    Where: ['b', where],
};
