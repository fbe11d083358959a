'use strict';
/*
 * LSTM, GRU and RNN, step by step. tfjs's own recurrent operators belong to its layers, with other gates and no peepholes:
 * here the equations of ONNX are written with its matrix products and activations.
 */
const { TYPE } = require('../sdk/js/onnx.js');

const ACTIVATIONS = {
    relu: tf => x => tf.relu(x),
    tanh: tf => x => tf.tanh(x),
    sigmoid: tf => x => tf.sigmoid(x),
    softsign: tf => x => tf.div(x, tf.add(1, tf.abs(x))),
    softplus: tf => x => tf.softplus(x),
};

/* The activation functions of one direction, those given or the default ones. */
function activations(c, preset, direction) {
    const given = c.attribute('activations', null);
    const names = given ? given.slice(direction * preset.length, (direction + 1) * preset.length) : preset;
    return names.map(name => {
        const make = ACTIVATIONS[name.toLowerCase()];
        if (!make)
            c.lacks(`the activation ${name} of ONNX`);
        return make(c.tf);
    });
}

/* Sizes and weights of one direction. X is [time, batch, input], whatever the layout of the node. */
function prepare(c, gates) {
    const tf = c.tf;
    if (c.attribute('clip', null) !== null)
        c.lacks('clip');
    if (c.value(4))
        c.lacks('sequences of several lengths');
    const layout = c.attribute('layout', 0), x = layout ? tf.transpose(c.x(0), [1, 0, 2]) : c.x(0);
    const [time, batch] = x.shape, size = c.value(2).dims[2];
    const part = (index, direction) => tf.squeeze(tf.slice(c.x(index), [direction, ...Array(c.value(index).dims.length - 1).fill(0)],
        [1, ...c.value(index).dims.slice(1)]), [0]);
    const initial = (index, direction) => {
        if (!c.x(index))
            return tf.zeros([batch, size]);
        const state = layout ? tf.transpose(c.x(index), [1, 0, 2]) : c.x(index);
        return tf.reshape(tf.slice(state, [direction, 0, 0], [1, batch, size]), [batch, size]);
    };
    const biases = direction => c.x(3) ? tf.split(part(3, direction), 2 * gates, 0) : Array(2 * gates).fill(null);
    return { tf, x, time, batch, size, layout, part, initial, biases, gates };
}

/* x W' + bias for each gate. */
function project(r, x, weights, biases) {
    const product = r.tf.matMul(x, weights, false, true), parts = r.gates === 1 ? [product] : r.tf.split(product, r.gates, 1);
    return parts.map((part, gate) => biases[gate] ? r.tf.add(part, biases[gate]) : part);
}

/* Runs one direction; `step` maps inputs of the gates and a state to the next state, whose first member is the output. */
function sweep(r, direction, backwards, states, step) {
    const steps = Array.from({ length: r.time }, (_, i) => backwards ? r.time - 1 - i : i), outputs = Array(r.time);
    const weights = r.part(1, direction), biases = r.biases(direction), width = r.x.shape[2];
    for (const t of steps) {
        const x = r.tf.reshape(r.tf.slice(r.x, [t, 0, 0], [1, r.batch, width]), [r.batch, width]);
        states = step(project(r, x, weights, biases.slice(0, r.gates)), states);
        outputs[t] = states[0];
    }
    return { outputs, states };
}

/* All directions, and the results in the layout of the node: Y, Y_h and, for LSTM, Y_c. */
function recurrent(c, r, run) {
    const kind = c.attribute('direction', 'forward'), { tf } = r;
    const backwards = kind === 'bidirectional' ? [false, true] : [kind === 'reverse'];
    if (r.time === 0)
        c.lacks('an empty sequence');
    const done = backwards.map((back, direction) => run(direction, back));
    const order = tensor => r.layout ? tf.transpose(tensor, tensor.rank === 4 ? [2, 0, 1, 3] : [1, 0, 2]) : tensor;
    const all = tf.stack(Array.from({ length: r.time }, (_, t) => tf.stack(done.map(({ outputs }) => outputs[t]))));
    const last = done[0].states.map((_, i) => order(tf.stack(done.map(({ states }) => states[i]))));
    return [order(all), ...last].map(tensor => c.as(TYPE.FLOAT, tensor));
}

function rnn(c) {
    const r = prepare(c, 1), { tf } = r;
    return recurrent(c, r, (direction, backwards) => {
        const [f] = activations(c, ['Tanh'], direction), weights = r.part(2, direction), biases = r.biases(direction);
        return sweep(r, direction, backwards, [r.initial(5, direction)], ([input], [h]) =>
            [f(tf.add(input, project(r, h, weights, biases.slice(1))[0]))]);
    });
}

function gru(c) {
    const r = prepare(c, 3), { tf } = r, after = c.attribute('linear_before_reset', 0);
    return recurrent(c, r, (direction, backwards) => {
        const [f, g] = activations(c, ['Sigmoid', 'Tanh'], direction), biases = r.biases(direction).slice(3);
        const weights = r.part(2, direction), own = tf.slice(weights, [2 * r.size, 0], [r.size, r.size]);
        return sweep(r, direction, backwards, [r.initial(5, direction)], ([xz, xr, xh], [h]) => {
            const [hz, hr, hh] = project(r, h, weights, biases);
            const z = f(tf.add(xz, hz)), reset = f(tf.add(xr, hr));
            const bare = () => tf.matMul(tf.mul(reset, h), own, false, true);
            const recur = after ? tf.mul(reset, hh) : biases[2] ? tf.add(bare(), biases[2]) : bare();
            return [tf.add(tf.mul(tf.sub(1, z), g(tf.add(xh, recur))), tf.mul(z, h))];
        });
    });
}

function lstm(c) {
    const r = prepare(c, 4), { tf } = r;
    if (c.attribute('input_forget', 0))
        c.lacks('input_forget');
    return recurrent(c, r, (direction, backwards) => {
        const [f, g, h] = activations(c, ['Sigmoid', 'Tanh', 'Tanh'], direction), biases = r.biases(direction).slice(4);
        const weights = r.part(2, direction);
        const peepholes = c.x(7) ? tf.split(r.part(7, direction), 3, 0) : [null, null, null];
        const peep = (x, state, gate) => peepholes[gate] ? tf.add(x, tf.mul(peepholes[gate], state)) : x;
        return sweep(r, direction, backwards, [r.initial(5, direction), r.initial(6, direction)], (inputs, [last, cell]) => {
            const [i, o, forget, update] = project(r, last, weights, biases).map((part, gate) => tf.add(inputs[gate], part));
            const next = tf.add(tf.mul(f(peep(forget, cell, 2)), cell), tf.mul(f(peep(i, cell, 0)), g(update)));
            return [tf.mul(f(peep(o, next, 1)), h(next)), next];
        });
    });
}

module.exports = {
    GRU: ['f', gru],
    LSTM: ['f', lstm],
    RNN: ['f', rnn],
};
