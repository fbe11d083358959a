# Past findings: backend tests and bundles, all formats, the engine they were found on, trouble.
bn="$cases/node/test_batchnorm_epsilon" conv="$cases/node/test_conv_with_strides_padding"
assay replay "$bn" "$conv" -e reference:fault=bn-sqrt-var -e reference:round=on --list
assay replay "$bn" -e reference:round=on
assay replay "$bn" -e reference:fault=bn-sqrt-var --format junit
# A bundle names its engine.
mkdir -p corpus/one corpus/two
cp -r "$bn"/. corpus/one
cp -r "$conv"/. corpus/two
cat >corpus/one/finding.json <<'END'
{"format": 1, "name": "one", "title": "BatchNormalization adds epsilon too late", "kind": "wrong",
 "engine": "reference:fault=bn-sqrt-var"}
END
cat >corpus/two/finding.json <<'END'
{"format": 1, "name": "two", "title": "an old one", "kind": "wrong", "engine": "reference:round=on"}
END
assay replay corpus --list
assay replay corpus --format json | sed -E 's/"seconds": [0-9.e-]+/"seconds": T/'
assay replay corpus/two
assay replay corpus/one -e reference:round=on --list
# Another release of the same engines; what is known to be wrong still, and what is so no more.
assay replay corpus --release 9.9
issue() { printf '[%s]\nengine = reference\nsymptom = wrong\noperators = %s\nopset = 9..\ncause = waits for a fix\ncase = corpus/%s\n\n' "$1" "$2" "$1"; }
{ echo '# since May'; issue one BatchNormalization; issue two Conv; } >known
assay replay corpus --known known --list
assay replay corpus/one --known known --format junit
# An engine that lacked what another setting of it ran was wrong: it still is when it says the same again.
mkdir -p lacking/test_data_set_0
model lacking/model.onnx <<'END'
<ir_version: 8, opset_import: ["" : 13, "com.example" : 1]> g (float[1] x) => (float[1] y) { y = com.example.Foo (x) }
END
cp "$cases"/node/test_abs/test_data_set_0/*.pb lacking/test_data_set_0
assay replay lacking -e reference --list
cat >lacking/finding.json <<'END'
{"format": 1, "title": "Foo is refused", "kind": "rejected", "engine": "reference",
 "engines": [{"engine": "reference", "outcome": "unsupported", "message": "operator com.example::Foo is not supported"}]}
END
assay replay lacking --list
sed -i 's/com.example::Foo is/com.example::Bar is/' lacking/finding.json
assay replay lacking --list
# Trouble.
assay replay corpus --known nowhere
assay replay corpus --release 1 -e reference
assay replay
assay replay "$bn"
assay replay nowhere -e reference
echo '{"engine": 1}' >corpus/one/finding.json
assay replay corpus
