# The cases of a folder in every form: a fault of one type is met by a case of another, the campaign goes on where it stopped, and a finding
# is made again from what was kept.
assay fuzz -e reference --from nowhere -o none
assay fuzz -e reference --from nowhere --ops Abs -o none
model abs.onnx <<'MODEL'
<ir_version: 8, opset_import: ["" : 13]>
g (int32[4] x) => (int32[4] y) { y = Abs (x) }
MODEL
npy x.npy '<i4' 4, '\203\377\377\377\1\0\0\0\7\0\0\0\371\377\377\377'
quietly report abs.onnx --data x.npy -e reference:one-value=Abs:int32:4294967171:1 --no-reduce --no-bisect -o given/abs
e=reference:one-value=Abs:int8:131:1
again() { quietly fuzz -e $e --from given --no-reduce --no-known -o whole "$@"; }
again --count 2
again
assay findings whole
assay fuzz -e $e --from given --no-reduce --no-known -o whole --time 1m | head -2
ls whole/cases
assay fuzz -e $e --replay "case cases/$(ls whole/cases)" -o whole
