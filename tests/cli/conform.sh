# The identity engine on cases it can and cannot pass: text, JSON, JUnit, selections.
assay conform "$cases/node/test_identity" -e identity
assay conform "$cases/node" -e identity --match 'node/test_identity*'
assay conform "$cases/node" -e identity --match 'test_identity*' --list
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_shape" "$cases/node/test_training_dropout" -e identity -e identity --list
assay conform "$cases/node/test_identity" "$cases/node/test_abs" -e identity --format json
assay conform "$cases/node/test_identity" "$cases/node/test_abs" -e identity --format junit
assay conform "$cases/node/test_abs" -e identity --rtol 100
assay conform "$cases/node/test_identity" -e identity -o result.txt
cat result.txt
