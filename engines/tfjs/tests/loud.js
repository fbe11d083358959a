'use strict';
/* An adapter that prints to stdout whatever it does, and fails in each of the ways that there are: for the test of the SDK. */
const { serve, Rejected, Unsupported } = require(`${process.argv[2]}/adapter.js`);
const { readModel } = require(`${process.argv[2]}/onnx.js`);

let graph;

function shout(what) {
    console.log(`loud: ${what}`);
    process.stdout.write('loud: written\n');
    require('fs').writeSync(1, 'loud: written to 1\n');
}

serve({
    name: 'loud',
    knobs: [{ name: 'mood', values: 'good|bad', value: 'good', help: 'changes nothing' }],
    start: async knobs => {
        shout(knobs.mood);
        return '1';
    },
    load(model) {
        shout('load');
        ({ graph } = readModel(model));
        const [{ op }] = graph.nodes;
        if (op === 'Abs')
            throw new Unsupported('no Abs here');
        if (op === 'Neg')
            throw new Rejected('Neg is invalid');
        if (op === 'Log')
            graph.logarithm(); // which does not exist
        if (op === 'Exp')
            throw new Error('Exp went wrong');
    },
    run(inputs) {
        shout('run');
        return graph.outputs.map(({ name }) => ({ name, tensors: inputs[0].tensors }));
    },
});
