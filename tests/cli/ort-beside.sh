# A report says what every release at hand does and what other engines answer, what ONNX says, and has the model as text.
mkdir -p data/onnxruntime
for version in 1.12.0 1.30.0; do ln -s "$ASSAY_DATA/onnxruntime/$version" data/onnxruntime/; done
cat >other.ini <<END_INI
[another]
command = {libexec}/assay-engine-onnxruntime
library = $ASSAY_DATA/onnxruntime/1.30.0/libonnxruntime.so
like = onnxruntime

[one-more]
command = {libexec}/assay-engine-onnxruntime
library = $ASSAY_DATA/onnxruntime/1.12.0/libonnxruntime.so
like = onnxruntime
END_INI
ASSAY_DATA=$PWD/data
mkdir data/models
for name in lenet5 moments; do ln -s "$source/models/$name" data/models/; done
quietly report "$source/tests/known-bugs/floor-large-f32" -E other.ini -e onnxruntime@1.12.0 -o bundle
grep -E '^- (Affected|Not affected)' bundle/report.md
grep -E 'gives? the expected result: ' bundle/report.md | grep -o 'another 1.30.0'
grep 'Not the expected result either: ' bundle/report.md | grep -o 'one-more 1.12.0 (wrong)'
grep '^ONNX' bundle/report.md | cut -c -120
sed -n "/parse_model/,/Serialize/p" bundle/report.md
grep -c 'models at hand' bundle/report.md
# And in how many models the form occurs.
found=$build/tests/found/cases/onnxruntime
quietly report "$found/maxpool-same-dilated" -e onnxruntime@1.30.0 --no-reduce --no-bisect -o second
grep 'models at hand' second/report.md
