'use strict';
/* The losses of ONNX. */
const { TYPE } = require('../sdk/js/onnx.js');
const { Rejected } = require('../sdk/js/adapter.js');

/*
 * -sum_c target_c log p_c with weights, from log probabilities [N, C, ...]. The class is picked by a one-hot product, which
 * tfjs's own losses do as well.
 */
function negativeLogLikelihood(c, logs, labels, weights) {
    const { tf } = c, classes = logs.shape[1], ignored = c.attribute('ignore_index', null), numbers = labels.numbers();
    if (numbers.some(label => label !== ignored && (label < 0 || label >= classes)))
        throw new Rejected(`${c.node.op}: a class out of range`);
    const last = Array.from({ length: logs.rank }, (_, i) => i === logs.rank - 1 ? 1 : i === 0 ? 0 : i + 1);
    const places = tf.tensor(Int32Array.from(numbers, label => label === ignored ? -1 : label), labels.dims, 'int32');
    const chosen = tf.cast(tf.oneHot(places, classes), 'float32');
    const scaled = weights ? tf.mul(chosen, weights) : chosen;
    const losses = tf.neg(tf.sum(tf.mul(tf.transpose(logs, last), scaled), -1));
    const reduction = c.attribute('reduction', 'mean');
    if (reduction === 'none')
        return losses;
    return reduction === 'sum' ? tf.sum(losses) : tf.div(tf.sum(losses), tf.sum(scaled));
}

function softmaxCrossEntropy(c) {
    const { tf } = c, x = c.x(0), order = Array.from({ length: c.rank }, (_, i) => i === 0 ? 0 : i === c.rank - 1 ? 1 : i + 1);
    const back = [0, c.rank - 1, ...Array.from({ length: c.rank - 2 }, (_, i) => i + 1)];
    const logs = tf.transpose(tf.logSoftmax(tf.transpose(x, order)), back);
    return [negativeLogLikelihood(c, logs, c.value(1), c.x(2)), logs].map(tensor => c.as(TYPE.FLOAT, tensor));
}

module.exports = {
    NegativeLogLikelihoodLoss: ['f', c => negativeLogLikelihood(c, c.x(0), c.value(1), c.x(2))],
    SoftmaxCrossEntropyLoss: ['f', softmaxCrossEntropy],
};
