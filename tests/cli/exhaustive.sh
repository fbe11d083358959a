# Sweeps over all values: options that exclude each other, a fault of one value, the same campaign stopped in the middle, its shards.
assay fuzz -e reference --shard 1/2 --count 5 -o none
assay fuzz -e reference --exhaustive --shard 3/2 -o none
assay fuzz -e reference --exhaustive --rules -o none
assay fuzz -e reference --exhaustive --ops Softmax --no-probe -o none
assay fuzz -e reference --replay 'sweep seed=1 index=0 ops=Abs opset=13 types=int8 form=tails offset=5'
assay fuzz -e reference --replay 'sweep seed=1 index=0 ops=Abs opset=13 types=int8 form=ring'
e=reference:one-value=Abs:int8:131:1
sweep() { quietly fuzz -e $e --exhaustive --ops Abs --types int8 --no-probe --no-reduce --no-known "$@"; }
sweep -o whole
sweep -o halves --count 7
sweep -o halves
sweep -o first --shard 1/2
sweep -o second --shard 2/2
assay fuzz -e $e --exhaustive --ops Abs --types int8 --no-probe --no-reduce --no-known -o first --shard 2/2
for folder in whole halves first second; do assay findings $folder; done
