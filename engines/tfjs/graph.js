'use strict';
/* A model on tfjs: node after node through the tables of operators, forward or under tfjs's tape. */
const { Call, checkTypes } = require('./call.js');
const { DTYPE, Value, checkType } = require('./value.js');
const { TYPE, readModel } = require('../sdk/js/onnx.js');
const { Rejected, Unsupported } = require('../sdk/js/adapter.js');

const table = {
    ...require('./ops_elementwise.js'), ...require('./ops_loss.js'), ...require('./ops_matrix.js'),
    ...require('./ops_move.js'), ...require('./ops_recurrent.js'), ...require('./ops_reduce.js').rows, ...require('./ops_window.js').rows,
};

/* How tfjs says that it lacks something. */
const LACKING = [/not registered for backend/, /not (yet |currently )?(supported|implemented)/i, /currently supported/,
    /gradient function not found/i, /only supports?/i];

function asLacking(error, node) {
    const text = String(error && error.message !== undefined ? error.message : error);
    if (error instanceof Unsupported || error instanceof Rejected || error instanceof WebAssembly.RuntimeError)
        return error;
    if (LACKING.some(pattern => pattern.test(text)))
        return new Unsupported(`tfjs: ${node ? `${node.op}: ` : ''}${text}`);
    return new Error(node ? `${node.op}: ${text}` : text);
}

/* Names that are read later than each node: values that are not among them can go. */
function lastUses(graph, outputs) {
    const last = new Map();
    graph.nodes.forEach((node, i) => node.inputs.forEach(name => last.set(name, i)));
    outputs.forEach(name => last.set(name, Infinity));
    return last;
}

/* `computed`, where it is set, is called with each node that was computed. */
class Graph {
    constructor(tf, model) {
        this.computed = null;
        const { graph, opset } = readModel(model);
        this.tf = tf;
        this.opset = opset;
        this.nodes = graph.nodes;
        this.initialisers = graph.initialisers;
        this.inputs = graph.inputs.filter(({ name }) => !graph.initialisers.has(name));
        this.outputs = model.outputs.length ? model.outputs : graph.outputs.map(({ name }) => name);
        for (const { name, type } of this.inputs)
            checkType(type, name);
        for (const [name, tensor] of graph.initialisers)
            checkType(tensor.type, name);
        const lacking = graph.nodes.find(({ op }) => !table[op]);
        if (lacking)
            throw new Unsupported(`tfjs has no operator ${lacking.op}`);
        this.last = lastUses(graph, this.outputs);
    }

    /* The values that a run starts with. */
    given(inputs) {
        const values = new Map();
        for (const [name, tensor] of this.initialisers)
            values.set(name, Value.of(this.tf, tensor, name));
        for (const { name, kind, tensors } of inputs) {
            if (kind || tensors.length !== 1)
                throw new Unsupported(`tfjs: input ${name} is no tensor`);
            values.set(name, Value.of(this.tf, tensors[0], name));
        }
        return values;
    }

    /* What a node's function returned, as Values. */
    results(call, returned) {
        return (Array.isArray(returned) ? returned : [returned]).map(result => {
            if (result instanceof Value)
                return result;
            /* Where there is nothing to do, some functions return what they got. */
            if (call.inputs.some(input => input && input.made === result))
                result = this.tf.clone(result);
            const type = result.dtype === 'bool' ? TYPE.BOOL : call.inputs[0].type;
            return new Value(type, { tensor: result });
        });
    }

    compute(node, values) {
        const inputs = node.inputs.map(name => {
            if (name && !values.has(name))
                throw new Rejected(`${node.op}: nothing makes its input ${name}`);
            return name ? values.get(name) : null;
        });
        while (inputs.length && !inputs[inputs.length - 1])
            inputs.pop();
        const call = new Call(this.tf, node, this.opset, inputs), [types, run] = table[node.op];
        checkTypes(call, types);
        let outputs;
        this.tf.tidy(() => {
            outputs = this.results(call, run(call));
            for (const value of outputs)
                if (value.type !== TYPE.FLOAT && inputs.some(input => input && input.active))
                    value.made = call.constant(value.tensor);
            return outputs.map(value => value.tensor);
        });
        for (const value of outputs) {
            if (value.tensor.dtype !== DTYPE[value.type])
                throw new Error(`tfjs gave ${value.tensor.dtype}`);
            value.dims = value.tensor.shape;
            value.active = value.type === TYPE.FLOAT && inputs.some(input => input && input.active);
        }
        return outputs;
    }

    /* Fills `values` with all values of the graph. Under a tape nothing may be freed on the way. */
    walk(values, taped) {
        this.nodes.forEach((node, i) => {
            try {
                const outputs = this.compute(node, values);
                this.computed?.(node);
                node.outputs.forEach((name, j) => name && outputs[j] && values.set(name, outputs[j]));
            } catch (error) {
                throw asLacking(error, node);
            }
            if (!taped)
                this.free(node, i, values);
        });
    }

    free(node, i, values) {
        for (const name of new Set([...node.inputs, ...node.outputs]))
            if (name && values.has(name) && !(this.last.get(name) > i)) {
                values.get(name).dispose();
                values.delete(name);
            }
    }

    output(name, values) {
        if (!values.has(name))
            throw new Rejected(`nothing makes the output ${name}`);
        return values.get(name);
    }

    run(inputs) {
        let results;
        const values = this.given(inputs);
        try {
            this.tf.tidy(() => {
                this.walk(values, false);
                results = this.outputs.map(name => ({ name, tensors: [this.output(name, values).toWire()] }));
            });
        } finally {
            values.forEach(value => value.dispose());
        }
        return results;
    }

    /*
     * The outputs that have an upstream gradient, and these gradients, each as one tensor: tfjs differentiates one result.
     * Several are laid end to end.
     */
    differentiated(values, upstream) {
        const parts = upstream.map(({ name }) => this.output(name, values).tensor);
        return parts.length === 1 ? parts[0] : this.tf.concat(parts.map(part => this.tf.reshape(part, [-1])));
    }

    upstreamOf(upstream) {
        const parts = upstream.map(({ name, tensors }) => Value.of(this.tf, tensors[0], name));
        const tensors = parts.map(part => this.tf.tensor(part.numbers(), part.dims, 'float32'));
        return tensors.length === 1 ? tensors[0] : this.tf.concat(tensors.map(part => this.tf.reshape(part, [-1])));
    }

    /* By tfjs's tape over the whole graph. It has no gradient for what nothing depends on. */
    backwards(values, upstream, names) {
        const { tf } = this, xs = names.map(name => values.get(name).tensor);
        names.forEach(name => { values.get(name).active = true; });
        const forward = () => {
            this.walk(values, true);
            return this.differentiated(values, upstream);
        };
        const { grads } = tf.engine().gradients(forward, xs, this.upstreamOf(upstream), true);
        return grads.map((gradient, i) => gradient || tf.zerosLike(xs[i]));
    }

    wantedNames(values, wanted) {
        const names = wanted.length ? wanted : [...values.keys()].filter(name => values.get(name).type === TYPE.FLOAT);
        for (const name of names)
            if (!values.has(name) || values.get(name).type !== TYPE.FLOAT)
                throw new Rejected(`no input or initialiser ${name} of float32`);
        return names;
    }

    gradient({ inputs, upstream, wanted }) {
        const values = this.given(inputs), names = this.wantedNames(values, wanted);
        upstream.forEach(({ name, tensors }) => checkType(tensors[0].type, name));
        const floats = upstream.filter(({ tensors }) => tensors[0].type === TYPE.FLOAT);
        let results;
        try {
            this.tf.tidy(() => {
                const gradients = names.length === 0 ? [] : floats.length ? this.backwards(values, floats, names)
                    : names.map(name => this.tf.zerosLike(values.get(name).tensor));
                results = gradients.map((tensor, i) => ({
                    name: names[i], tensors: [new Value(TYPE.FLOAT, { tensor }).toWire()],
                }));
            });
        } catch (error) {
            throw asLacking(error);
        } finally {
            this.dropTape();
            values.forEach(value => value.dispose());
        }
        return results;
    }

    /* tfjs forgets what its tape has kept when it fails half-way. */
    dropTape() {
        const { state } = this.tf.engine();
        for (const { saved } of state.activeTape || [])
            for (const tensor of saved || [])
                if (!tensor.isDisposed)
                    tensor.dispose();
        state.activeTape = null;
    }
}

module.exports = { Graph, operators: Object.keys(table).sort() };
